"""How the optional packages of Transom are installed: the extras of `pyproject.toml`."""

from __future__ import annotations

import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path


def install_command(extra: str) -> str:
    """The command that installs an extra of Transom: by its folder where it runs from a clone, else by its name.

    It names uv where the environment has no pip, as one that `make setup` has made.
    """
    root = Path(__file__).parents[2]
    is_clone = (root / "pyproject.toml").is_file()
    installer = "pip"
    if find_spec("pip") is None:
        own = root / ".uv" / "bin" / "uv"
        installer = f"{shlex.quote(str(own)) if own.exists() and shutil.which('uv') is None else 'uv'} pip"
    what = f"-e {shlex.quote(f'{root}[{extra}]')}" if is_clone else f"'transom[{extra}]'"
    return f"{installer} install {what}"
