"""Reads the session files of programs: one file for each program."""
