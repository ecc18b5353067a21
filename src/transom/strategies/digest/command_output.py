"""What the words of a shell command say about its output: whether it shows files, looks for something, or echoes the
exit code of another command."""

from __future__ import annotations

import re

SCANNED = 4_000
"""Characters of a command that are looked at."""

_QUOTED = re.compile(r"""'[^']*+'|"(?:[^"\\]|\\.)*+\"""", re.DOTALL)
_SHELL = re.compile(r"""\b(?:ba|z)?sh -l?c (['"])(.*?)\1""", re.DOTALL)
_AND_THEN = re.compile(r"(?<!>)&+(?!>)|\|\||[;\n]")
_FINDERS = r"(?:git (?:diff|grep)|grep|rg|egrep|diff|find|which|test)\b"
_VIEWERS = (
    r"(?:cat|sed -n|head|tail|nl|less|awk\b(?!.*\s-f\b)|jq|ls|grep|egrep|rg"
    r"|git (?:--no-pager )?(?:diff|show|log|grep|blame)|gh \w+ (?:view|list|diff)|gh api"
    r"|diff|echo|printf|wc|sort|cd|pwd|true)\b(?!\s*[<>])"
)
_FILTERS = r"(?:sed\b(?!.*\s-i)|cut|uniq|tr|column|tac|rev|fold|paste|less|more|tee|xxd|od|base64)\b"
_XARGS = r"(?:xargs(?:\s+-(?:[InPLd]\s*\S+|\S+))*\s+)?"
_FIND = rf"find\b(?!.*\s-(?:exec|ok)(?:dir)?\s+(?!{_VIEWERS}))"
_SHOWS = re.compile(rf"\s*(?:{_XARGS}(?:{_VIEWERS}|{_FIND})|\\?\Z)")
_PASSES_ON = re.compile(rf"\s*{_XARGS}{_FILTERS}")
_FINDS = re.compile(rf"\s*(?:{_XARGS}{_FINDERS}(?!.*\s-(?:exec|ok)))")
_ECHOES = re.compile(r"\$\?|PIPESTATUS|EXIT_?CODE|RETURNCODE", re.IGNORECASE)


def shows_files(command: str) -> bool:
    """Whether all that a command does is to print files, or what others print of them. A pipe separates commands too:
    what `cat list | xargs pytest` prints is the output of pytest."""
    return all(
        _SHOWS.match(one) or (at and _PASSES_ON.match(one))
        for pipeline in _pipelines(command)
        for at, one in enumerate(pipeline)
    )


def finds(command: str) -> bool:
    """Whether a command ends with exit code 1 where it finds nothing, or a difference."""
    first, *later = next(iter(_pipelines(command)))
    return bool(_FINDS.match(first)) and all(
        _SHOWS.match(one) or _FINDS.match(one) or _PASSES_ON.match(one) for one in later
    )


def echoes_code(command: str) -> bool:
    """Whether a command prints the exit code of another one, as in `echo "exit=$?"`."""
    return bool(_ECHOES.search(command))


def _pipelines(command: str) -> list[list[str]]:
    """The commands of each pipeline, without what stands in quotation marks, unless that is for a shell."""
    bare = _QUOTED.sub("''", _SHELL.sub(r"\2", command[:SCANNED]))
    return [pipeline.split("|") for pipeline in _AND_THEN.split(bare)]
