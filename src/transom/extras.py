"""How the optional packages of Transom are installed: the extras of `pyproject.toml`."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def install_command(extra: str) -> str:
    """The command that installs an extra of Transom: by its folder where it runs from a clone, else by its name."""
    is_clone = (_ROOT / "pyproject.toml").is_file()
    what = f"-e {shlex.quote(f'{_ROOT}[{extra}]')}" if is_clone else f"'transom[{extra}]'"
    return f"{_installer()} install {what}"


@contextmanager
def imports_of(extra: str) -> Generator[None]:
    """A context manager for the imports of an extra: if its packages are missing or too old, the ImportError says how
    to install them."""
    try:
        yield
    except ImportError as error:
        why = f"{error.msg}: {install_command(extra)}"
        missing = type(error)(why, name=error.name, path=error.path)
    else:
        return
    raise missing


def package_command(requirement: str) -> str:
    """The command that installs a package which is no extra of Transom. `requirement`: as pip takes it, for example
    "litellm>=1.83"."""
    return f"{_installer()} install {shlex.quote(requirement)}"


def _installer() -> str:
    """`pip`, or `uv pip` where the environment has no pip, as one that `make setup` has made."""
    if find_spec("pip") is not None:
        return "pip"
    own = _ROOT / ".uv" / "bin" / "uv"
    return f"{shlex.quote(str(own)) if own.exists() and shutil.which('uv') is None else 'uv'} pip"
