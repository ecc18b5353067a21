"""The command `transom audit`: what the compactions of Claude Code and Codex lost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from transom.cli.commands.recorded import Audit
from transom.cli.input_files import check_files, named_files, read_input, readable_conversations
from transom.cli.progress import ProgressBar
from transom.cli.streams import counted, one_line
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.errors import InvalidSetting
from transom.reports.audit import AuditedCompaction, audit
from transom.tokenizer import o200k

MOST_LOST = 3
"""Without --all, how many lost texts of each kind are printed for a compaction."""


def run(options: Audit) -> int:
    """Audit every compaction in the files (sessions of Claude Code and Codex have some), and print what each lost. The
    exit code is 0, whatever was lost. Raises InvalidSetting if the files hold no conversation."""
    check_files(options.files)
    found: list[AuditedCompaction] = []
    conversations = 0
    with ProgressBar() as bar:
        for done, file in enumerate(options.files):
            reader = read_input(file, options.format)
            for record, _ in readable_conversations(reader, file):
                bar.update((done + reader.progress) / len(options.files), record.source)
                conversations += 1
                found += audit(record, o200k())
    if not conversations:
        raise InvalidSetting(f"no conversation in {named_files(options.files)}")
    if options.json:
        print_json({"conversations": conversations, "total": _total(found), "compactions": found})
        return 0
    console = terminal()
    for one in found:
        _print(console, one, None if options.all else MOST_LOST)
    _print_total(console, conversations, found)
    return 0


def _print(console: Console, one: AuditedCompaction, most: int | None) -> None:
    """Print what one compaction lost. `most`: how many lost texts of each kind; None: all."""
    after = f"{one.tokens_after:,} tokens" if one.is_readable else "a summary that the file does not have"
    size = f"{one.tokens_before:,} → {after}"
    print_line(console, (f"{one_line(one.conversation)}, message {one.message}", "bold"), f": {size}")
    for what, total, lost in (
        ("requests", one.requests, one.lost_requests),
        ("changed files", one.files, one.lost_files),
        ("decisions", one.decisions, one.lost_decisions),
    ):
        if total:
            print_line(console, f"  {len(lost):,} of {total:,} {what} lost")
            for text in lost[:most]:
                print_line(console, f"    message {text.message}: {one_line(text.text)}")
            if most is not None and len(lost) > most:
                print_line(console, f"    … {len(lost) - most:,} more: --all")
    if one.repeated:
        tokens = sum(call.tokens for call in one.repeated)
        print_line(console, f"  {counted(len(one.repeated), 'call')} made again for the same result, {tokens:,} tokens")
        for call in one.repeated[:most]:
            print_line(console, f"    message {call.message}, as in {call.before}: {one_line(call.text)}")


def _total(found: Sequence[AuditedCompaction]) -> dict[str, int]:
    """Return the sums over all compactions, as --json prints them. What several compactions had counts once."""
    return {
        "compactions": len(found),
        "requests": sum(one.requests - one.earlier_requests for one in found),
        "lost_requests": sum(len(one.lost_requests) for one in found),
        "files": sum(one.files - one.earlier_files for one in found),
        "lost_files": sum(len(one.lost_files) for one in found),
        "decisions": sum(one.decisions - one.earlier_decisions for one in found),
        "lost_decisions": sum(len(one.lost_decisions) for one in found),
        "repeated_calls": sum(len(one.repeated) for one in found),
        "repeated_tokens": sum(call.tokens for one in found for call in one.repeated),
    }


def _print_total(console: Console, conversations: int, found: Sequence[AuditedCompaction]) -> None:
    total = _total(found)
    about = f"{counted(conversations, 'conversation')}, {counted(len(found), 'compaction')}"
    if not found:
        where = "Only sessions of Claude Code and Codex say when they were compacted."
        print_wrapped(
            console, f"{about}: {'it was not' if conversations == 1 else 'none of them was'} compacted. {where}"
        )
        return
    lost = ", ".join(
        f"{total[f'lost_{name}']:,} of {total[name]:,} {what}"
        for name, what in (("requests", "requests"), ("files", "changed files"), ("decisions", "decisions"))
    )
    again = f"{counted(total['repeated_calls'], 'call')} made again ({total['repeated_tokens']:,} tokens)"
    print_wrapped(console, (f"{about}: ", "bold"), f"lost {lost}; {again}.")
