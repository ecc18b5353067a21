"""Makes a map of a repository for a coding agent: its files and symbols, ranked, within a token budget.

Needs `pip install "transom[map]"`. `transom map FOLDER` prints one.
"""

from transom.repo_map.map_text import MappedFile
from transom.repo_map.repo_map import RepoMap
from transom.repo_map.symbols import Symbol

__all__ = ["MappedFile", "RepoMap", "Symbol"]
