"""Output on a terminal: colours, width, progress, and control characters from outside."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from conversation_files import chat, write_jsonl


def test_control_characters_of_a_log_are_removed(run):
    text = "\x1b[31mred\x1b[0m \x07 [bold]markup[/] :smile: \ud800 end"
    write_jsonl("chats.jsonl", {"id": "one \x1b[2J", "messages": [{"role": "user", "content": text}, *chat(1)[1:]]})
    outputs = [run("replay", "chats.jsonl", "--budget", 4_000), run("log", "one"), run("explain", "one", "--all")]
    assert [code for code, _, _ in outputs] == [0, 0, 0]
    for _, out, _ in outputs:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", out)
    assert "[bold]markup[/] :smile:" in outputs[1][1]


def on_a_terminal(*args, columns):
    """Run a command on a pseudo terminal. Returns its exit code and everything it wrote."""
    main, side = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    code = "import sys; from transom.cli import main; sys.exit(main())"
    started = subprocess.Popen(
        [sys.executable, "-c", code, *args], stdin=side, stdout=side, stderr=side, env=environment, close_fds=True
    )
    os.close(side)
    seen = b""
    while True:
        try:
            chunk = os.read(main, 65_536)
        except OSError:  # Linux: the other side has gone
            break
        if not chunk:
            break
        seen += chunk
    os.close(main)
    return started.wait(timeout=60), seen.decode()


def test_a_real_terminal_gets_colours_and_no_line_is_too_long():
    code, seen = on_a_terminal("demo", columns=72)
    assert code == 0
    assert "\x1b[" in seen
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 72
    assert "Where to look next" in plain


def test_long_work_on_a_terminal_has_a_progress_bar():
    write_jsonl("chats.jsonl", *({"id": f"chat {n}", "messages": chat(25)} for n in range(12)))
    code, seen = on_a_terminal("replay", "chats.jsonl", "--budget", "5000", columns=100)
    assert code == 0
    assert "━" in seen
    assert "%" in seen.split("conversations")[0]
