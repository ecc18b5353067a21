"""The words of a shell command: its simple commands, without what only says how they are run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w{1,40})\1([^\n]*)\n(.*?)(?:\n[ \t]*\2(?=\s|$|[)\"'])|\Z)", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<into>(?:(?<![^\s;&|(])(?P<fd>\d)|&)?>>?\|?(?P<copy>&)?)"""
    r"""|(?P<word>(?:[^\s;&|<>()'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*+")++)|(?P<end>&&|\|\|?|[;&\n()])|.""",
    re.DOTALL,
)
_QUOTED_PART = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*+)\"|\\(.)""", re.DOTALL)
_SETS = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES = frozenset(
    ("sudo", "env", "command", "time", "nohup", "nice", "then", "do", "else", "if", "while", "!", "{")
)


class SimpleCommand(NamedTuple):
    """One command of a line: its `words`, what its output goes `into`, the text that is its input (`body`), and the
    operator at its `end`, such as a pipe."""

    words: list[str]
    into: list[str]
    body: str
    end: str = ""


def simple_commands(text: str) -> Iterator[SimpleCommand]:
    """The simple commands of a text, in order; a pipe separates commands too."""
    bodies: list[str] = []

    def without(match: re.Match[str]) -> str:
        bodies.append(match[4])
        return f" <<{len(bodies) - 1} {match[3]}\n"

    text = _HEREDOC.sub(without, text) if "<<" in text else text
    words: list[str] = []
    targets: list[str] = []
    body, takes = "", ""
    for token in _TOKEN.finditer(text):
        if token["word"]:
            word = _unquoted(token["word"])
            if takes == ">":
                targets.append(word)
            elif takes == "<<" and word.isdigit() and int(word) < len(bodies):
                body = bodies[int(word)]
            elif not takes:
                words.append(word)
            takes = ""
        elif token["into"]:
            takes = ">" if not token["copy"] and token["fd"] in {None, "1"} else "another"
        elif token[0] == "<":
            takes = "<<" if takes in {"<", "<<"} else "<"
        elif token["end"]:
            yield SimpleCommand(_bare(words), targets, body, token["end"])
            words, targets, body, takes = [], [], "", ""
    yield SimpleCommand(_bare(words), targets, body)


def _unquoted(word: str) -> str:
    """A word without its quotation marks."""
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTED_PART.sub(lambda found: next((one for one in found.groups() if one is not None), ""), word)


def _bare(words: list[str]) -> list[str]:
    """The words of a command without what stands before it: `sudo`, `timeout 60`, variables."""
    at = 0
    while at < len(words):
        if words[at] in {"timeout", "gtimeout"}:
            at += 1
            while at < len(words) and (words[at].startswith("-") or words[at][:1].isdigit()):
                at += 1
        elif words[at] in _PREFIXES or _SETS.match(words[at]):
            at += 1
        else:
            break
    return words[at:]
