"""Recall with an embedder: the evidence that the policy `recall` finds by words alone, and with vectors beside them.

    python benchmarks/recall_embedder.py FOLDER --model MODEL [--cache vectors.db] [--every 2] [--only locomo]

FOLDER holds `conversations/locomo.jsonl.gz` and `goodai_ltm.jsonl.gz`. MODEL is a folder with the ONNX file of
all-MiniLM-L6-v2 and its tokenizer. A vector is made once for each text, and kept in the cache. Needs
`transom[fastembed]`.
"""

from __future__ import annotations

import argparse
import sqlite3
import time
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from labelled_questions import evidence_found, questions_in
from transom.core.policy import Policy
from transom.importers import read
from transom.policies import RECALL
from transom.recall import Recall
from transom.search import Embedder
from transom.search.embedders import FastEmbedder

FAMILIES = {"locomo": 8_000, "goodai_ltm": 16_000}
"""The families with labelled questions, and the budget of each."""

MODEL = "sentence-transformers/all-MiniLM-L6-v2"


class Cached:
    """An embedder that keeps its vectors in a file: the same text is embedded once."""

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self.name, self._embedder = embedder.name, embedder
        self.made, self.seconds = 0, 0.0
        self._db = sqlite3.connect(file, isolation_level=None)
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def embed(self, texts: Sequence[str], /) -> list[Any]:
        """One vector for each text."""
        keys = [sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = {key: vector for key in keys if (vector := self._stored(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            begun = time.process_time()
            made = dict(zip(missing, self._embedder.embed(list(missing.values())), strict=True))
            self.made, self.seconds = self.made + len(made), self.seconds + time.process_time() - begun
            found |= {key: np.asarray(vector, dtype=np.float32) for key, vector in made.items()}
            rows = [(key, found[key].tobytes()) for key in made]
            self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        return [found[key] for key in keys]

    def _stored(self, key: bytes) -> Any:
        row = self._db.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="folder of the ONNX model")
    parser.add_argument("--cache", type=Path, default=Path("vectors.db"))
    parser.add_argument("--every", type=int, default=1, help="only every Kth conversation")
    parser.add_argument("--only", choices=FAMILIES, help="only this family")
    parser.add_argument("--alike", default="0.45", help="cosines from which a passage qualifies, with commas")
    args = parser.parse_args()
    embedder = Cached(FastEmbedder(MODEL, specific_model_path=str(args.model)), args.cache)
    policies = {"recall": RECALL}
    for alike in map(float, args.alike.split(",")):
        policies[f"recall, MiniLM, {alike:g}"] = replace(RECALL, recall=(Recall(embedder=embedder, alike=alike),))
    for family, budget in FAMILIES.items():
        if args.only in (None, family):
            path = args.data / "conversations" / f"{family}.jsonl.gz"
            print_family(path, budget, args.every, policies, embedder)


def print_family(path: Path, budget: int, every: int, policies: dict[str, Policy], embedder: Cached) -> None:
    """A table of one family: the evidence that each policy finds, by category of question."""
    chosen, asked = list(read(path))[::every], questions_in(path)
    wanted = [one for record in chosen for one in sorted(asked[record.id], key=lambda one: one.at)]
    categories = sorted({one.category for one in wanted})
    print(f"\n{path.name} at {budget:,}: conversations {len(chosen)}, questions {len(wanted):,}")
    print("| policy | evidence found | " + " | ".join(categories) + " | seconds |")
    print("| --- |" + " ---: |" * (len(categories) + 2))
    for name, policy in policies.items():
        begun = time.process_time()
        found = [one for record in chosen for one in evidence_found(record, asked[record.id], policy, budget)]
        by_category = defaultdict[str, list[float]](list)
        for question, share in zip(wanted, found, strict=True):
            by_category[question.category].append(share)
        parts = [f"{100 * sum(by_category[one]) / len(by_category[one]):.1f}" for one in categories]
        seconds = time.process_time() - begun
        share = 100 * sum(found) / len(found)
        print(f"| {name} | {share:.1f} | " + " | ".join(parts) + f" | {seconds:.0f} |", flush=True)
    if embedder.made:
        print(f"vectors made: {embedder.made:,}, {1e3 * embedder.seconds / embedder.made:.0f} ms of CPU each")


if __name__ == "__main__":
    main()
