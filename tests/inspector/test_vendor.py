"""The files of others are the files that npm has, with their licences."""

from __future__ import annotations

import hashlib
from pathlib import Path

import transom.inspector

STATIC = Path(transom.inspector.__file__).parent / "static"
MOST_BYTES = 200_000


def test_the_files_have_the_hashes_that_are_written_down():
    stated = {}
    for line in (STATIC / "vendor" / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        stated[name] = digest
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (STATIC / "vendor").glob("*.*")}
    found.pop("README.md")
    assert found == stated


def test_it_is_small():
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()) < MOST_BYTES


def test_our_own_files_need_no_eval_and_make_no_markup():
    for path in STATIC.glob("*.js"):
        text = path.read_text()
        for bad in ("eval(", "new Function", "innerHTML =", "document.write", "insertAdjacentHTML"):
            assert bad not in text, (path.name, bad)
        assert text.count("dangerouslySetInnerHTML") == (path.name == "html.js"), path.name
    page = (STATIC / "index.html").read_text()
    assert page.count("<script") == page.count("<script src=") + page.count('<script type="module" src=')
    assert "style=" not in page
