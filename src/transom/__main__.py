"""`python -m transom` runs the command line, for where its script is not on the path."""

from transom.cli import main

raise SystemExit(main())
