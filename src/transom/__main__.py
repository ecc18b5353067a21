"""`python -m transom`: the command line, where its script is not on the path."""

from transom.cli import main

raise SystemExit(main())
