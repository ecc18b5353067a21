"""Finds the images, files and other parts that a provider refused: an error names them by their path, or by their kind.

One image that is too large, a part that the model does not take, or a prompt that a filter blocks would otherwise end
a conversation for ever: it is in every later request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from transom.core import message as m
from transom.core.edit import Fold
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.wire.fields import as_dict, as_list
from transom.wire.media import asset_of
from transom.wire.media_tokens import has_unknown_tokens

COMPACTION = "compaction"
"""`RefusedPart.kind` of the provider's own compaction."""

STATUSES = frozenset({200, 400, 404, 413, 415, 422})
"""The statuses with which a part is refused. (200: an error in place of a reply, or inside a stream. 404: a file id
that is gone.)"""
INTERNAL_ERROR = 500
"""The status with which some local servers refuse images."""
_UNABLE = re.compile(r"(?i)\b(?:image|audio|video|multi-?modal)\b.{0,20}\bnot support|\bmissing data\b.*\bimage\b")
"""What a local server says with `INTERNAL_ERROR` if its model takes no images: llama.cpp, Ollama."""
_PATH = re.compile(r"\b(messages|input|contents)((?:[.\[][A-Za-z0-9_]+\]?)+)")
_KINDS = (
    (re.compile(r"(?i)\bimages?\b|\bimage_url\b|\binput_image\b|\bmulti-?modal\b"), "image"),
    # the codes of OpenAI: invalid_base64_image, unsupported_image_media_type, image_too_large, …
    (
        re.compile(r"\b(?:invalid|unsupported|empty|failed_to_download)_(?:base64_)?image|\bimage_(?:too|parse|file)_"),
        "image",
    ),
    (re.compile(r"(?i)\bpdfs?\b|\bdocuments?\b|\baudio\b|\bvideo\b|\bmime[ _-]?type\b|\binput_file\b"), "file"),
)
"""What an error without a path says of images, and of other files."""
_DOWNLOAD = re.compile(
    r"(?i)\b(?:(?:error|timeout|timed out|failed|failure)(?: while| when| to)?|unable to|can(?:not| not|'t)"
    r"|could(?:n't| not))(?: be)? (?:download|fetch)"
    r"|\b(?:download|fetch)(?:ing)? (?:failed|error|timed out)|\brobots\.txt\b"
)
"""What an error says of a file at a URL that the provider could not read. The words alone may name a tool."""


_COMPACTION = re.compile(r"(?i)\bcompaction(?:_|\b)|\bencrypted[_ ]content\b")
"""What an error says of the provider's own compaction, or of what is encrypted in it."""


class RefusedPart(NamedTuple):
    """A part in the window: the seq of its entry (for a compaction, of the summary that has it), its address, and its
    kind: "image", "file", "message" (a text), "compaction", or "part" for any other."""

    entry: int
    part: m.Address
    kind: str


def refused_parts(status: int | None, error: str, request: Mapping[str, Any], view: View) -> list[RefusedPart]:
    """The parts of the window that an error refuses. Empty if the error is about something else, or its status is not
    in `STATUSES`. (With status 500 an error counts only if it says that the server takes no such parts.)

    `error`: its text, or its whole body. `request`: the body that was sent, and `view`: that of its window. The first
    of these that finds something decides:

    - The error is about a compaction or encrypted content: the provider's compactions that folds show.
    - It has paths into the request: the parts at these paths.
    - It quotes URLs: the files at these URLs.
    - It is about a download: all files at URLs.
    - It names images or other files: all parts of this kind.

    The last three rules give only what came since the model's last reply, if anything of it did. Texts, calls and
    reasoning are never found.
    """
    if status not in STATUSES and not (status == INTERNAL_ERROR and _UNABLE.search(error)):
        return []
    if _COMPACTION.search(error) and (compacted := _compactions(view)):
        return compacted
    shown = list(_shown_parts(view))
    named = [_key(raw) for path in _PATH.finditer(error) for raw in _parts_at(request, path[1], path[2])]
    if named:
        return [_found(entry, address) for entry, address, part in shown if _key(part) in named]
    assets = [(each[:2], asset_of(each[2])) for each in shown if isinstance(each[2], m.Media)]
    remote = {place: asset.url for place, asset in assets if asset is not None and asset.url}
    of_kind = [place for place, url in remote.items() if url in error]
    if not of_kind and _DOWNLOAD.search(error):
        of_kind = list(remote)
    if not of_kind:
        kind = next((kind for pattern, kind in _KINDS if pattern.search(error)), None)
        of_kind = [
            (entry, address) for entry, address, part in shown if isinstance(part, m.Media) and part.media == kind
        ]
    return since_last_reply([_found(*each) for each in of_kind], view)


def files_of_unknown_size(view: View) -> list[RefusedPart]:
    """The files in the window that may have any number of tokens, because only a URL or an id names them."""
    shown = ((entry, address) for entry, address, part in _shown_parts(view) if _is_of_unknown_size(part))
    return [_found(*each) for each in shown]


def since_last_reply(parts: list[RefusedPart], view: View) -> list[RefusedPart]:
    """Those of these parts that came since the model's last reply; all of them if none did. The model has accepted what
    was there before."""
    replies = (unit.key for unit in view.visible_units() if isinstance(unit.first_fact, m.Assistant))
    since = max(replies, default=-1)
    return [each for each in parts if each.entry > since] or parts


def prompt_parts(view: View) -> list[RefusedPart]:
    """The parts of the user's messages and the results that came since the last reply; if none came, of the results of
    the last turn. A provider that refuses a whole prompt has accepted all that was there before. Blank texts, and parts
    that were left out before, are not among them."""
    units = list(view.visible_units())
    last = max((at for at, unit in enumerate(units) if isinstance(unit.first_fact, m.Assistant)), default=-1)
    newest = [(seq, fact) for unit in units[last + 1 :] for seq, fact in zip(unit.seqs, unit.facts, strict=True)]
    if not newest and units:  # the last turn with the results of its calls
        newest = list(zip(units[last].seqs, units[last].facts, strict=True))[1:]
    left_out = {trim.place for unit in units[max(0, last) :] for trim in unit.trims if trim.trim.refused}
    return [
        RefusedPart(seq, address, "message") if address[0] == "text" else _found(seq, address)
        for seq, fact in newest
        if isinstance(fact, m.User | m.ToolResult)
        for address, part in m.addressed_parts(fact)
        if (seq, address) not in left_out and not (isinstance(part, m.Text) and not part.text.strip())
    ]


def _compactions(view: View) -> list[RefusedPart]:
    """The compactions of the provider that folds show; the entry is that of the summary."""
    shown = (slot for slot in view.slots if isinstance(slot, FoldedSlot) and slot.compaction is not None)
    folds = (view.fetch(slot.seq).body for slot in shown)
    seqs = (fold.summary for fold in folds if isinstance(fold, Fold))
    return [RefusedPart(seq, ("other", 0), COMPACTION) for seq in seqs if seq is not None]


def _found(entry: int, address: m.Address) -> RefusedPart:
    return RefusedPart(entry, address, address[0] if address[0] != "other" else "part")


def _is_of_unknown_size(part: m.Media | m.Other) -> bool:
    return isinstance(part, m.Media) and has_unknown_tokens(part)


def _shown_parts(view: View) -> Iterator[tuple[int, m.Address, m.Media | m.Other]]:
    """The images, files and other parts that the window shows, with their entries and addresses."""
    for unit in view.visible_units():
        for seq, whole, shown in zip(unit.seqs, unit.facts, unit.shown_facts(), strict=True):
            left = m.parts_of(shown)
            for address, part in m.addressed_parts(whole):
                if isinstance(part, (m.Media, m.Other)) and part in left:
                    yield seq, address, part


def _parts_at(request: Mapping[str, Any], root: str, path: str) -> list[m.Raw]:
    """The innermost part that a path leads to; of a path to a message, all its parts except texts."""
    held: Any = request.get(root)
    message: m.Raw = {}
    found: m.Raw | None = None
    for step in re.findall(r"[A-Za-z_]+|\d+", path):
        if step.isdigit():
            items = as_list(cast("object", held))
            if int(step) >= len(items):
                break
            part = held = as_dict(items[int(step)])
            message, found = (message, part) if message else (part, None)
        elif isinstance(held, dict) and step in held:
            held = cast("m.Raw", held)[step]  # any other word names a type, as in `content.1.image.source`
    if found is not None:
        return [found]
    inner = [as_dict(each) for key in ("content", "parts", "output") for each in as_list(message.get(key))]
    return [each for each in inner if "text" not in each]


def _key(part: m.Raw | m.Media | m.Other) -> object:
    """What a stored part and the part that was sent for it share: data or URL, else all but the cache mark."""
    raw = part.raw if isinstance(part, (m.Media, m.Other)) else part
    asset = asset_of(m.Media("file", raw))
    if asset is not None:
        return asset.data or asset.url
    return repr({key: value for key, value in raw.items() if key != "cache_control"})
