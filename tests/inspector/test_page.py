"""The page in a real browser: `make inspector`.

Skipped without playwright, or without a Chromium (`CHROMIUM`, or one on the PATH). `AXE`: the file axe.min.js of
axe-core. `CALLS`: of the long conversation, 10,000 if not given.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from inspected import fill, reply

from transom import Conversation
from transom.core.edit import Fold, Pin, Undo
from transom.core.entry import Entry, Sent
from transom.core.message import Assistant, Call, Text, ToolResult, User
from transom.stores import open_store

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no Chromium", allow_module_level=True)

AXE = os.environ.get("AXE", "")
CALLS = int(os.environ.get("CALLS", "10000"))
SLOWNESS = float(os.environ.get("SLOWNESS", "1"))  # of a machine that others use, too
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
HOSTILE = (
    "</pre><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "<a href='javascript:window.hacked=3'>link</a> "
    "\N{RIGHT-TO-LEFT OVERRIDE}txet desrever\N{LEFT-TO-RIGHT ISOLATE} \x00\x1b[2J"
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served(url, *options):
    """Run the command on a store; gives the link that works once."""
    command = [sys.executable, "-m", "transom", "inspect", "--store", url, "--no-open", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
    finally:
        process.terminate()
        process.communicate(timeout=20)


@contextmanager
def opened(browser, link, size=WIDE, awaited=".row", **settings):
    """A page in a window of its own; what it complains about fails the test."""
    context = browser.new_context(viewport=size, **settings)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda problem: said.append(str(problem)))
    page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    page.goto(link)
    page.wait_for_selector(awaited)
    yield page
    context.close()
    assert said == []


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


def title_of(page):
    return page.locator("#window h2").text_content()


def wait_for_call(page, call):
    page.wait_for_function("text => document.querySelector('#window h2').textContent.includes(text)", arg=call)


# ---- time


def long_log(store, name, calls):
    """A conversation of many calls, written without planning: windows of about 100 messages, folded at every 50th."""
    log, entries = store.open(name), []
    counter = "o200k_base"

    def add(body, *tokens):
        entries.append(Entry(seq=len(entries), at=1e9 + len(entries), body=body, tokens=tokens, counter=counter))
        return len(entries) - 1

    add(User(parts=(Text("Fix the tests."),)), 4, 4)
    first = None
    for number in range(calls):
        sent = add(Sent(fingerprint="", limit=60_000, tokens=1_000 + number % 50 * 500, messages=3))
        call = Call(id=f"c{number}", name="shell", args='{"command": "ls"}')
        turn = Assistant(parts=(Text(f"Turn {number}."),), calls=(call,), answers=sent)
        add(turn, 4, 5, 8)
        add(ToolResult(parts=(Text(f"result {number} " * 80),), call=f"c{number}"), 4, 240)
        first = sent if first is None else first
        if number % 50 == 49:
            add(Fold(first=first, last=sent, text=f"{number} turns", why="digest"), 8)
    for at in range(0, len(entries), 5_000):
        log.append(entries[at : at + 5_000], at)
    conv = Conversation.open(store, name, budget=60_000)
    conv.user("And now?")
    conv.close()  # leaves a snapshot, as every handle does that has written


def test_the_first_picture_and_steps_are_fast(browser, url):
    store = open_store(url)
    for number in range(1_000):
        text = Entry(seq=0, at=1e9, body=User(parts=(Text("hello"),)), tokens=(4, 1), counter="o200k_base")
        store.open(f"support {number}").append([text], 0)
    long_log(store, "long", CALLS)
    with served(url) as link:
        began = time.perf_counter()
        with opened(browser, link, awaited=".u-over") as page:
            first = time.perf_counter() - began
            page.wait_for_selector(".row")
            window = time.perf_counter() - began
            wait_for_call(page, "next")
            page.wait_for_function("() => document.querySelector('.change')")
            page.keyboard.press("ArrowLeft")
            wait_for_call(page, f"{CALLS:,}")
            steps = []
            for key in ["ArrowLeft"] * 20 + ["Home"] + ["ArrowRight"] * 10 + ["]", "]", "[", "End"]:
                before = page.locator(".rows").get_attribute("aria-label")
                began = time.perf_counter()
                page.keyboard.press(key)
                page.wait_for_function(
                    "before => document.querySelector('.rows').ariaLabel !== before", arg=before, polling="raf"
                )
                steps.append(1000 * (time.perf_counter() - began))
            page.evaluate(
                """() => { window.seen = []; new MutationObserver(() => window.seen.push(performance.now()))
                .observe(document.querySelector('.rows'), { attributes: true, attributeFilter: ['aria-label'] }); }"""
            )
            page.keyboard.press("ArrowLeft")
            for _ in range(50):
                page.keyboard.down("ArrowLeft")
                page.wait_for_timeout(33)
            page.keyboard.up("ArrowLeft")
            page.wait_for_timeout(500)
            seen = page.evaluate("window.seen")
            held = [after - before for before, after in pairwise(seen)]
            wait_for_call(page, f"{CALLS - 50:,}")
    print(f"first picture {first:.2f} s, with the window {window:.2f} s; ", end="")
    print(f"a step {statistics.median(steps):.0f} ms, at most {max(steps):.0f}; ", end="")
    print(f"held down: {statistics.median(held):.0f} ms between two windows, at most {max(held):.0f}")
    assert first < 1 * SLOWNESS
    assert statistics.quantiles(steps, n=10)[-1] < 100 * SLOWNESS
    assert statistics.median(held) < 100 * SLOWNESS


# ---- what a log may hold


def test_a_hostile_log_is_text(browser, url):
    store = open_store(url)
    name = f"<b>name</b>{HOSTILE[:60]}"
    conv = Conversation.open(store, name, budget=5_000_000, system=HOSTILE)
    conv.user(HOSTILE)
    conv.request()
    conv.observe(reply(HOSTILE, "x"))
    conv.tool_result("x", HOSTILE + "y" * 5_000_000 + HOSTILE)
    conv.request()
    conv.observe(reply("done"))
    with served(url) as link, opened(browser, link) as page:
        assert name in page.locator("h2").first.text_content()
        page.keyboard.press("Home")
        wait_for_call(page, "call 1")
        page.keyboard.press("End")
        wait_for_call(page, "next")
        text = page.locator(".rows").text_content()
        assert text.count("<script>window.hacked = 1</script>") >= 3
        page.get_by_role("button", name="more characters").first.click()
        page.wait_for_selector("dialog pre")
        page.get_by_role("button", name="more characters").last.click()
        page.wait_for_function("() => document.querySelector('dialog pre').textContent.length >= 40000")
        assert page.evaluate("window.hacked") is None
        assert page.locator("#app script, #app img, #app a[href^=javascript]").count() == 0


def test_a_broken_log_is_shown(browser, url):
    """Edits of what is not there, a call without a name, an answer to nothing, a fold from the first entry on."""
    bodies = [
        (User(parts=(Text("hi"),)), (4, 1)),
        (Fold(first=5, last=90, text="of what is not there", why=HOSTILE), ()),
        (Pin(entry=900, why=HOSTILE), ()),
        (Undo(edit=0, why="no edit"), ()),
        (ToolResult(parts=(Text("stray"),), call="nope"), (4, 1)),
        (Assistant(parts=(), calls=(Call(id="", name="", args="{broken"),)), (4, 1)),
        (Assistant(parts=(Text("a"),)), (4, 1)),
        (Fold(first=0, last=0, text="all of it"), (3,)),
    ]
    entries = [
        Entry(seq=seq, at=1e9, body=body, tokens=tokens, counter="o200k_base")
        for seq, (body, tokens) in enumerate(bodies)
    ]
    open_store(url).open("broken").append(entries, 0)
    with served(url) as link, opened(browser, link) as page:
        page.wait_for_function("() => /a tool without a name/.test(document.querySelector('.rows').textContent)")
        page.get_by_role("button", name="in no window").click()
        page.wait_for_selector("dialog .left-out button")
        text = page.locator("#window").text_content()
        assert "NaN" not in text
        assert "undefined" not in text


# ---- others


def test_two_tabs_and_a_run_that_goes_on(browser, url):
    store = open_store(url)
    conv = fill(store, turns=3)
    with served(url) as link, opened(browser, link) as first:
        second = first.context.new_page()
        second.goto(link.partition("?")[0])
        second.wait_for_selector(".row")
        second.keyboard.press("Home")
        wait_for_call(second, "call 1")
        conv.user("one more question")
        conv.request()
        conv.observe(reply("the newest answer"))
        fill(store, "another", turns=1)
        first.wait_for_function("() => document.querySelector('.rows').textContent.includes('the newest answer')")
        second.wait_for_function("() => document.querySelector('.where').textContent.includes('of 4 calls')")
        assert title_of(second).endswith("call 1"), "who looks at the past is left there"
        for page in (first, second):
            page.wait_for_function("() => document.querySelectorAll('button.conversation').length === 2")


def test_what_was_left_out(browser, url):
    conv = fill(open_store(url))
    conv.append(ToolResult(parts=(Text("an answer to nothing"),), call="none"))
    with served(url) as link, opened(browser, link) as page:
        page.get_by_role("button", name="that it stands for").first.click()
        page.locator(".left-out button").first.click()
        page.wait_for_selector("dialog pre")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Which names are lost?").first.click()
        page.wait_for_function("() => /names are in this window/.test(document.querySelector('.names')?.textContent)")
        page.get_by_role("button", name="in no window").click()
        page.locator("dialog .left-out button", has_text="an answer to nothing").click()
        page.wait_for_function("() => document.querySelector('dialog pre')?.textContent === 'an answer to nothing'")


def test_a_link_to_a_call(browser, url):
    fill(open_store(url), "with #odd & name?", turns=5)
    with served(url, "--", "odd") as link, opened(browser, link) as page:
        page.keyboard.press("ArrowLeft")
        wait_for_call(page, "call 6")
        page.reload()
        wait_for_call(page, "call 6")


# ---- changes


def test_a_dry_run_and_then_the_real_one(browser, url):
    store = open_store(url)
    fill(store).close()
    entries = len(store.open("trip"))
    with served(url) as link, opened(browser, link) as page:
        page.get_by_role("button", name="Undo the last compaction").click()
        page.wait_for_selector(".dry")
        assert "Nothing is written" in page.locator(".dry").text_content()
        page.get_by_role("button", name="Leave the dry run").click()
        page.wait_for_selector(".dry", state="detached")
        assert len(store.open("trip")) == entries
        page.get_by_role("button", name="Undo the last compaction").click()
        page.get_by_role("button", name="Write it to the log").click()
        page.wait_for_selector(".dry", state="detached")
        assert len(store.open("trip")) > entries
        page.locator("select").select_option("sliding")
        page.get_by_label("Context window", exact=True).fill("900")
        page.get_by_role("button", name="Next request").click()
        page.wait_for_selector(".dry")
        assert "900 tokens" in page.locator(".dry").text_content()
        page.keyboard.press("Escape")
        page.wait_for_selector(".dry", state="detached")


def test_policies_and_context_windows_beside_each_other(browser, url):
    fill(open_store(url), turns=30)
    with served(url) as link, opened(browser, link) as page:
        section = page.locator(".compare")
        section.get_by_label("passthrough").uncheck()
        section.get_by_label("Context windows").fill("1,200 900")
        section.get_by_role("button", name="Compare", exact=True).click()
        page.wait_for_function("() => /Which to take/.test(document.querySelector('.compare').textContent)")
        assert section.locator("tbody tr").count() == 4
        assert "default in 1.2k: at most " in section.get_by_role("img").get_attribute("aria-label")
        section.get_by_role("button", name="sliding", exact=True).last.click()
        page.wait_for_selector(".dry")
        assert "with the policy sliding in 900 tokens" in page.locator(".dry").text_content()


def test_what_the_page_waits_for_is_said_and_asked_once(browser, url):
    fill(open_store(url))
    with served(url) as link, opened(browser, link) as page:
        asked = []

        def slow(route):
            asked.append(route.request.url)
            page.wait_for_timeout(700)
            route.continue_()

        page.route("**/api/try", slow)
        page.route("**/api/do", slow)
        pin = page.get_by_role("button", name="Pin…").first
        pin.click()
        pin.click()
        page.wait_for_function("() => /^Trying it out/.test(document.querySelector('.busy')?.textContent)")
        assert page.locator(".rows").get_attribute("aria-busy") == "true"
        page.wait_for_selector(".dry")
        assert page.locator(".busy").count() == 0
        assert [one.rpartition("/")[2] for one in asked] == ["try"]
        page.get_by_role("button", name="Write it to the log").dblclick()
        page.wait_for_function("() => /^Writing it to the log/.test(document.querySelector('.busy')?.textContent)")
        page.wait_for_selector(".dry", state="detached")
        assert page.locator(".busy").count() == 0
        assert [one.rpartition("/")[2] for one in asked] == ["try", "do"]


def test_the_charts_follow_light_and_dark(browser, url):
    fill(open_store(url))
    with served(url) as link, opened(browser, link, color_scheme="light") as page:
        page.wait_for_selector(".change")
        drawn = "() => document.querySelector('.chart canvas').toDataURL()"
        light = page.evaluate(drawn)
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"light => ({drawn})() !== light", arg=light)
        dark = page.evaluate(drawn)
        page.get_by_role("button", name="Light", exact=True).click()
        page.wait_for_function(f"light => ({drawn})() === light", arg=light)
        assert dark != light


def test_a_narrow_comparison_is_not_cut_off(browser, url):
    fill(open_store(url))
    with served(url) as link, opened(browser, link) as page:
        page.get_by_role("button", name="Compare", exact=True).click()
        page.wait_for_function("() => /Which to take/.test(document.querySelector('.compare').textContent)")
        for width in (1920, 1440, 1250, 1100, 870, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(100)
            table = page.locator(".compare .wide")
            assert table.evaluate("one => one.scrollWidth <= one.clientWidth"), width


def test_only_looking(browser, url):
    fill(open_store(url))
    with served(url, "--read-only") as link, opened(browser, link) as page:
        page.get_by_role("button", name="Undo the last compaction").click()
        page.wait_for_selector(".dry")
        assert page.get_by_role("button", name="Write it to the log").count() == 0


# ---- everybody


def test_every_control_is_reached_by_the_keyboard(browser, url):
    fill(open_store(url))
    with served(url) as link, opened(browser, link) as page:
        page.wait_for_selector(".change")
        wanted = page.evaluate(
            """() => { const all = [...document.querySelectorAll('button, select, input, summary, [role=slider]')]
            .filter((one) => !one.disabled && one.checkVisibility()); all.forEach((one, at) => one.dataset.at = at);
            return all.length; }"""
        )
        reached = set()
        for _ in range(3 * wanted):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.dataset.at"))
        assert {str(at) for at in range(wanted)} <= reached
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("?")
        page.wait_for_selector("dialog")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
        page.keyboard.press("/")
        page.keyboard.type("no such")
        page.wait_for_function("() => document.querySelector('.count').textContent.startsWith('0 of 1')")
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowLeft")
        wait_for_call(page, "call 13")
        assert page.get_by_role("slider").get_attribute("aria-valuetext").startswith("Call 13 of 13")


@pytest.mark.skipif(not AXE, reason="AXE names no axe.min.js")
@pytest.mark.parametrize("colors", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing(browser, url, colors, size):
    fill(open_store(url))
    script = Path(AXE).read_text(encoding="utf-8")

    def problems(page):
        page.evaluate(script)  # by the debugger, which no policy binds
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]

    with served(url) as link, opened(browser, link, size, color_scheme=colors) as page:
        page.wait_for_selector(".change")
        assert problems(page) == []
        for _ in range(6):
            page.keyboard.press("ArrowLeft")
        wait_for_call(page, "call 8")
        assert problems(page) == []
        page.get_by_role("button", name="that it stands for").first.click()
        page.wait_for_selector(".left-out")
        assert problems(page) == []
        page.keyboard.press("?")
        page.wait_for_selector("dialog")
        assert problems(page) == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Compare", exact=True).click()
        page.wait_for_function("() => /Which to take/.test(document.querySelector('.compare').textContent)")
        assert problems(page) == []
        page.get_by_role("button", name="Undo the last compaction").click()
        page.wait_for_selector(".dry")
        assert problems(page) == []


def test_a_phone_shows_everything_in_its_width(browser, url):
    fill(open_store(url))
    with served(url) as link, opened(browser, link, PHONE) as page:
        page.wait_for_selector(".change")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.get_by_role("button", name="Conversations").click()
        page.locator("button.conversation").click()
        page.wait_for_selector(".list-open", state="detached")


def test_the_saved_page_runs_nothing(browser, url, tmp_path):
    conv = fill(open_store(url))
    conv.user(HOSTILE)
    conv.close()
    command = [sys.executable, "-m", "transom", "explain", "trip", "--html", "-", "--store", url]
    (tmp_path / "page.html").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/page.html")
    assert "window.hacked = 1" in page.locator("main").text_content()
    assert page.evaluate("window.hacked") is None
    assert json.loads(page.evaluate("JSON.stringify([...document.scripts].length)")) == 0
    page.close()
