"""The families of recorded conversations: one file each in the folder of real ones."""

from __future__ import annotations

FAMILIES = (
    "aider",
    "api_cassettes",
    "claude_code",
    "claude_code2",
    "codex",
    "deerflow",
    "goodai_ltm",
    "locomo",
    "memorybank",
    "pi_mono",
    "swe_agent",
    "tau2",
    "tau2_es",
    "taubench",
    "toolbench",
    "webdancer",
    "who_when",
)
