"""Which files a shell command changes, as far as its words tell."""

from __future__ import annotations

import json

import pytest

from transom.core.message import Call
from transom.strategies.actions.action import action_of, command_of
from transom.strategies.actions.arguments import arguments
from transom.strategies.actions.commands import commands_in


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("sed -i '' 's/a.b/c/g' x.py y.py", {"x.py", "y.py"}),
        ("sed -i.bak -e 's/x.y/z/' -e 's/p/q/' a/b.go", {"a/b.go"}),
        ("find . -name '*.go' | xargs sed -i 's#a.Upload/b#a.Up/g#'", set()),
        ("perl -0pi -e 's/x.y/z/' a.txt", {"a.txt"}),
        ("perl -pi -e 's/x.y/z/' a.txt", {"a.txt"}),
        (". venv/bin/activate && prettier --write web/a.ts", {"web/a.ts"}),
        ("cat > f.py <<'EOF'\nimport os > x.py\nEOF\npytest 2>&1 | tail -5", {"f.py"}),
        ("cat <<EOF > a/b.txt\nmv c.txt d.txt\nEOF", {"a/b.txt"}),
        ("echo a | tee -a log.txt 2>err.txt", {"log.txt"}),
        ("make &> all.log; ls >> Makefile", {"all.log", "Makefile"}),
        ("mkdir -p test/snapshots && touch notes", {"test/snapshots", "notes"}),
        ("git mv a.py b.py; git rm --cached c.py", {"a.py", "b.py"}),
        ("cd /x && sudo timeout 9 FOO=1 rm -rf dist", {"dist"}),
        ("cp a.txt b.txt", {"b.txt"}),
        ("gofmt -l a.go; gofmt -w c.go", {"c.go"}),
        ("grep -n 'a > b.py' f.py > /dev/null", set()),
        ("git commit -m \"$(cat <<'EOF'\nfix: a > b.py\n\nEOF\n)\"", set()),
        ("sed -n '1,9p' a.py; git restore --staged b.py; git checkout main", set()),
        ("echo x > $OUT; rm *.pyc", set()),
        ("git mv x/plugin.json .claude/plugin.json", {"x/plugin.json", ".claude/plugin.json"}),
        ("sed -i 's/{a,b}/c/' .env", {".env"}),
    ],
)
def test_the_files_that_a_command_changes(command, changes):
    assert set().union(*(one.changes for one in commands_in(command))) == changes


def test_a_script_that_runs_commands_changes_what_they_change():
    script = 'const r = await tools.exec_command({ cmd: "mv a.py b.py", workdir: "/x" });\ntext(r.a > b.py);'
    assert action_of(Call(name="exec", args=script, id="c")).changes == {"a.py", "b.py"}
    shell = Call(name="shell", args=json.dumps({"command": ["bash", "-lc", "touch c.py"], "workdir": "/d.py"}), id="c")
    assert action_of(shell).changes == {"c.py"}


@pytest.mark.parametrize(
    ("command", "roles"),
    [
        (". venv/bin/activate && pytest -q || exit 1", ["beside", "other", "beside"]),
        ("kill 7; npm test", ["beside", "other"]),
        ("[[ -f a.py ]] && cat a.py", ["finds", "shows"]),
        ("find . -name '*.pyc' -delete", ["other"]),
    ],
)
def test_what_a_command_is_for(command, roles):
    assert [one.role for one in commands_in(command)] == roles


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("bash scripts/check.sh rm", ["bash"]),
        ("bash -x check.sh rm; sh build.sh", ["bash", "sh"]),
        ("bash -euo pipefail -c 'rm a.py' && bash", ["rm", "bash"]),
        ("bash --norc -c 'make; ls'", ["make", "ls"]),
        ("zsh -l -c 'make'; bash -o pipefail check.sh", ["make", "bash"]),
        ("bash -c", []),
    ],
)
def test_a_shell_runs_a_text_only_with_its_option_for_it(command, programs):
    assert [one.program for one in commands_in(command)] == programs


@pytest.mark.parametrize(
    ("args", "command"),
    [
        ({"command": ["bash", "-lc", "make"]}, "make"),
        ({"command": ["bash", "check.sh", "fast"]}, "bash check.sh fast"),
        ({"command": ["bash", "-euo", "pipefail", "-c", "make x"]}, "make x"),
        ({"command": "bash", "input": "make"}, "make"),
        ({"command": ["git", "commit", "-m", "mend the sums"]}, "git commit -m 'mend the sums'"),
        ({"command": ["cd src", "make"]}, "cd src make"),
        ({"command": "make", "input": "y"}, "make y"),
        ({"command": "bash"}, "bash"),
    ],
)
def test_the_command_that_a_call_runs(args, command):
    call = Call(name="shell", args=json.dumps(args), id="c")
    assert command_of(call, arguments(call)) == command


def test_a_word_of_a_list_stays_one_word():
    def given(*words):
        return action_of(Call(name="shell", args=json.dumps({"command": words}), id="c"))

    assert given("git", "commit", "-m", "mend the sums").about == 'git commit "mend the sums"'
    assert given("sed", "-i", "s/a b/c/", "x.py").changes == {"x.py"}
    assert given("rg", "-n", "a > b.py", "src").changes == set()


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("git commit -qm 'Mend the sums'", 'git commit "Mend the sums"'),
        ("git -C sub commit -m 'Mend the sums'", 'git commit "Mend the sums"'),
        ("git -c user.name=ada commit --message='Mend the sums'", 'git commit "Mend the sums"'),
        ("gh pr create --title 'Mend the sums'", 'gh pr create "Mend the sums"'),
    ],
)
def test_what_a_command_makes_is_named_with_its_verb(command, title):
    assert [one.title for one in commands_in(command)] == [title]
