"""Reads the session files of coding agents: one module for each of Claude Code, Codex and pi."""
