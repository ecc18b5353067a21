"""The inspector: a page in the browser that shows what a model read at each call, and why (`transom inspect`).

`server.py` serves the page in `static/` and the data for it; `access.py` says who may ask. Everything that is shown
comes from the layers below: nothing is computed twice. `window_html.py` writes one window as one file.

It needs the extra `inspect`, and is imported only by the command.
"""
