"""The command `transom doctor`: what of Transom is installed, which stores are here, and what to do about problems."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from transom.cli.commands.programs import Doctor
from transom.cli.find_stores import stores_here
from transom.cli.next_commands import command_for
from transom.cli.progress import ProgressBar
from transom.cli.stores import existing_store, store_path
from transom.cli.streams import counted, one_line
from transom.cli.terminal import Piece, print_json, print_line, print_wrapped, terminal
from transom.errors import TransomError, listed
from transom.extras import install_command
from transom.stores.conversation_list import conversations_in
from transom.stores.postgres_url import place_of

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")

REQUIREMENT = re.compile(
    r"(?P<package>[\w.-]+)(?:\[[^\]]*\])?(?:>=(?P<least>[\d.]+))?[^;]*(?:;.*extra == ['\"](?P<extra>[\w-]+))?"
)


class Package(Struct, frozen=True, kw_only=True):
    """A package that Transom or an extra needs. `installed`: its version, None if it is not installed. `least`: the
    lowest version that is enough."""

    name: str
    installed: str | None
    least: str

    @property
    def is_too_old(self) -> bool:
        """True if it is installed in a version that is too low."""
        return self.installed is not None and release(self.installed) < release(self.least)


class Extra(Struct, frozen=True, kw_only=True):
    """An extra of Transom. `state`: "installed", "not installed" if a package is missing, or "too old" if one is.
    `install`: the command that installs it."""

    name: str
    state: str
    packages: list[Package]
    install: str


class StoreHealth(Struct, frozen=True, kw_only=True):
    """What was found about a store. `damaged`: the ids of conversations that cannot be read; `problem`: why the store
    itself cannot be read, empty if it can."""

    url: str
    conversations: int
    damaged: list[str]
    problem: str


class Problem(Struct, frozen=True, kw_only=True):
    """A problem, and what to do about it, as sentences for people. `command`: a command line for the shell that does
    it, or that says more; empty if there is none."""

    problem: str
    do: str
    command: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """Everything that the command prints. `keys`: whether each variable is set; never what it is."""

    version: str
    python: str
    platform: str
    extras: list[Extra]
    stores: list[StoreHealth]
    keys: dict[str, bool]
    problems: list[Problem]


def run(options: Doctor) -> int:
    """Print the report. Exit code 1 if there is a problem."""
    with ProgressBar() as bar:
        stores = [(url, health(url, bar)) for url in ([options.store] if options.store else stores_here())]
    needed = packages(requires("transom") or ())
    extras = [extra_of(name, found) for name, found in needed.items() if name]
    report = Report(
        version=version("transom"),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        extras=extras,
        stores=[found for _, found in stores],
        keys={name: bool(os.environ.get(name)) for name in KEYS},
        problems=[*problems_of(needed[""], extras, stores)],
    )
    if options.json:
        print_json(report)
    else:
        show(terminal(), report)
    return 1 if report.problems else 0


def packages(requirements: Iterable[str]) -> dict[str, list[Package]]:
    """Return the packages that each extra needs, by the name of the extra; under "" those that are always needed.

    `requirements`: as the metadata of a package has them, such as "openai>=1.100; extra == 'openai'". A line of another
    form is left out.
    """
    found: dict[str, list[Package]] = {"": []}
    for line in requirements:
        if match := REQUIREMENT.match(line):
            package = Package(name=match["package"], installed=installed(match["package"]), least=match["least"] or "0")
            found.setdefault(match["extra"] or "", []).append(package)
    return dict(sorted(found.items()))


def installed(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version up to the first part that does not begin with a digit, without zeros at their
    end, so that two versions can be compared: (1, 2) for "1.2", "1.2.0" and "1.2rc1", which count as equal."""
    parts = (re.match(r"\d+", part) for part in version.split("."))
    numbers = [int(part[0]) for part in takewhile(bool, parts) if part]
    while numbers and not numbers[-1]:
        del numbers[-1]
    return tuple(numbers)


def extra_of(name: str, needed: list[Package]) -> Extra:
    """Make the report on one extra: whether all of `needed`, its packages, are installed and new enough."""
    there = [one for one in needed if one.installed is not None]
    complete = len(there) == len(needed) and not any(one.is_too_old for one in needed)
    state = "installed" if complete else "too old" if len(there) == len(needed) else "not installed"
    return Extra(name=name, state=state, packages=needed, install=install_command(name))


def health(url: str, bar: ProgressBar) -> StoreHealth:
    """Open the store at a URL, read the beginning and the end of each conversation, and return what was found. If the
    store cannot be read, nothing is raised: `StoreHealth.problem` says why."""
    shown = place_of(url)
    try:
        with existing_store(url) as store:
            every = list(conversations_in(store, update=bar.update))
    except (TransomError, OSError) as problem:
        return StoreHealth(url=shown, conversations=0, damaged=[], problem=str(problem))
    damaged = [one.id for one in every if one.damaged]
    return StoreHealth(url=shown, conversations=len(every), damaged=damaged, problem="")


def problems_of(needed: list[Package], extras: list[Extra], stores: list[tuple[str, StoreHealth]]) -> Iterator[Problem]:
    """Yield each problem of the packages, the extras and the stores. An extra that is not installed is no problem, one
    that is too old is. `needed`: the packages that are always needed. `stores`: each with the URL at which it was
    looked for; `StoreHealth.url` has no password."""
    for package in needed:
        if package.installed is None or package.is_too_old:
            has = package.installed or "not installed"
            what = f"{package.name} is {has}; Transom needs {package.least} or later"
            yield Problem(problem=what, do="install Transom again")
    for extra in extras:
        if extra.state == "too old":
            old = ", ".join(f"{one.name} {one.installed}" for one in extra.packages if one.is_too_old)
            what = f"the extra {extra.name} is too old: {old}"
            yield Problem(problem=what, do="install it again", command=extra.install)
    for url, store in stores:
        if store.problem:
            do = "give another --store"
            yield Problem(problem=store.problem, do=f"{do}, or move the file away" if _is_there(url) else do)
        if store.damaged:
            what = f"{store.url}: {counted(len(store.damaged), 'conversation')} damaged: {listed(store.damaged, 3)}"
            command = command_for("conversations", store=url, options=["--full"])
            yield Problem(problem=what, do="see what is damaged", command=command)


def _is_there(url: str) -> bool:
    """Whether a store is a file or folder that exists."""
    try:
        path = store_path(url)
    except TransomError:
        return False
    return bool(path) and Path(path).exists()


def show(console: Console, report: Report) -> None:
    """Print the report for people."""
    print_line(console, (f"Transom {report.version}", "bold"), f", Python {report.python}, {report.platform}")
    if sys.prefix == sys.base_prefix:
        print_line(console, "  not in a virtual environment")
    print_line(console, ("\nExtras", "bold"))
    width = max(len(one.name) for one in report.extras) + 2
    for extra in report.extras:
        has = listed([f"{one.name} {one.installed}" for one in extra.packages], 4)
        mark = {"installed": ("yes  ", "green"), "too old": ("old  ", "red"), "not installed": ("no   ", "dim")}
        start = (f"  {extra.name:<{width}}", mark[extra.state])
        if extra.state == "not installed":
            _print_command(console, *start, (extra.install, "dim"))
        else:
            print_line(console, *start, has)
    print_line(console, ("\nStores", "bold"))
    if not report.stores:
        print_line(console, "  none in this folder")
    for store in report.stores:
        state = "cannot be read" if store.problem else counted(store.conversations, "conversation")
        damage = f", {len(store.damaged)} damaged" if store.damaged else ""
        print_line(console, f"  {one_line(store.url)}  ", (state + damage, "red" if store.problem or damage else ""))
    print_line(console, ("\nKeys", "bold"))
    for name, is_set in report.keys.items():
        print_line(console, f"  {name:<20}", ("set", "green") if is_set else ("not set", "dim"))
    print_line(console, ("\nProblems", "bold"))
    for problem in report.problems:
        print_wrapped(console, (one_line(problem.problem), "red"), indent=2)
        if not problem.command:
            print_wrapped(console, f"→ {one_line(problem.do)}", indent=4)
            continue
        print_wrapped(console, f"→ {problem.do}:", indent=4)
        _print_command(console, "      ", (problem.command, "cyan"))
    if not report.problems:
        print_line(console, "  none")


def _print_command(console: Console, *pieces: Piece) -> None:
    """Print a line that ends with a command. It is never cut nor wrapped, so that it can be copied."""
    console.print(Text.assemble(*pieces), soft_wrap=True)
