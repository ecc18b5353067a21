"""The command `transom check`: what must be true of the windows of recorded conversations."""

from __future__ import annotations

from transom.cli.commands.recorded import Check
from transom.cli.progress import ProgressBar
from transom.cli.streams import counted, one_line
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.reports.check_file import check_files_in, read_check_file
from transom.reports.checks import Checked, run_checks


def run(options: Check) -> int:
    """Run the checks of every file, and print the results. Exit code 0 if all hold, else 1."""
    files = [read_check_file(path, budget=options.budget) for path in check_files_in(options.files)]
    done: list[Checked] = []
    with ProgressBar() as bar:
        for number, file in enumerate(files):
            done.append(
                run_checks(
                    file,
                    policy=options.policy,
                    on_progress=lambda record, share, n=number: bar.update((n + share) / len(files), record.source),
                )
            )
    failed = sum(len(checked.failed) for checked in done)
    if options.json:
        print_json({"failed": failed, "files": done})
    else:
        for checked in done:
            _print(checked)
    return 1 if failed else 0


def _print(checked: Checked) -> None:
    console = terminal()
    about = f"{checked.policy}, {checked.budget:,} tokens, {counted(checked.conversations, 'conversation')}"
    print_line(console, (one_line(checked.file), "bold"), f": {about}, {counted(checked.calls, 'call')}")
    for result in checked.results:
        if not result.failures:
            print_line(console, ("  holds ", "green"), one_line(result.name), f" ({counted(result.calls, 'call')})")
            continue
        print_line(console, ("  fails ", "red"), (one_line(result.name), "bold"))
        for failure in result.failures:
            for number, line in enumerate(failure.lines()):
                print_wrapped(console, one_line(line), indent=8 if not number else 10)
