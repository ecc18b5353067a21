"""Secrets are named and not shown, wherever text leaves a message: folds, recalled texts, pages, mirrored files."""

from __future__ import annotations

import json
import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import Conversation, SubAgent, fit
from transom.core.edit import Fold
from transom.core.entry import Sent
from transom.core.log import IndexCache
from transom.core.message import Failure, Recalled, Text, ToolResult
from transom.core.redact_derived_text import redacted_turns, redacted_want
from transom.core.summary import SourceTurn, Summarise, Summary
from transom.errors import InvalidSetting
from transom.memory import Memory
from transom.providers.scripted import Scripted, call
from transom.readback import answer_call, mirror
from transom.redaction import redactor, secrets_in, without_keys
from transom.stores import open_store
from transom.testing import WordCounter

PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq3vfHk9sQ2Zt5x\n" * 12 + "-----END RSA PRIVATE KEY-----"
AWS = "AKIAIOSFODNN7EXAMPLQ"

SECRETS = [
    (f"AWS_ACCESS_KEY_ID={AWS}", AWS, "AWS Access Key"),
    (
        'aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"',
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY",
        "AWS Access Key",
    ),
    ("remote: ghp_" + "a1B2" * 9, "ghp_" + "a1B2" * 9, "GitHub Token"),
    ('password: "hunter2hunter"', "hunter2hunter", "secret"),
    ("Deploy with password = hunter2hunter3.", "hunter2hunter3", "password"),
    ("passphrase: Pa55-w0rd!x", "Pa55-w0rd!x", "password"),
    ("postgres://app:Pa55w0rd99@db.internal/x", "Pa55w0rd99", "Basic Auth Credentials"),
    ("export DB_PASSWORD=s3cr3tValue99", "s3cr3tValue99", "secret of an environment"),
    ("key sk-ant-api03-" + "abcD1234" * 9, "sk-ant-api03-" + "abcD1234" * 9, "API key"),
    ("token hf_" + "aBcD1234" * 4, "hf_" + "aBcD1234" * 4, "API key"),
    ("//registry/:npm_" + "aBcD1234" * 4, "npm_" + "aBcD1234" * 4, "API key"),
    ("twine pypi-AgEIcHlwaS5vcmcC" + "1aB2" * 9, "pypi-AgEIcHlwaS5vcmcC" + "1aB2" * 9, "API key"),
    ("password: hunter2abc", "hunter2abc", "password"),
    ("DB_Password: hunter2abc", "hunter2abc", "password"),
    ("Password=hunter2abc;Server=db", "hunter2abc", "password"),
    ('{"password": "hünter2abc"}', "hünter2abc", "secret"),
    (json.dumps({"content": json.dumps({"password": "hunter2abc"})}), "hunter2abc", "password"),
    (json.dumps({"content": "password: hunter2abc\nuser: bob"}), "hunter2abc", "password"),
    *(
        (f"{word}hunter2abc", "hunter2abc", "password")
        for word in ("Passwort: ", "contraseña: ", "密码：", "пароль = ")
    ),
    ("的密码:hunter2abc", "hunter2abc", "password"),
    ("tool --password hunter2abc --fast", "hunter2abc", "password"),
    ("tool --password=hunter2abc", "hunter2abc", "password"),
    ("curl -u bob:hunter2abc https://x", "hunter2abc", "password"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "dXNlcjpwYXNzd29yZDEyMw==", "credentials"),
    ('{"Authorization": "Basic dXNlcjpwYXNz"}', "dXNlcjpwYXNz", "credentials"),
    ("github_pat_11ABCDEFG0abc_" + "aB3d" * 9, "github_pat_11ABCDEFG0abc_" + "aB3d" * 9, "GitHub Token"),
    ("eyJhbGciOi1.eyJzdWIiOi2.dozjgNryP4J3", "eyJhbGciOi1.eyJzdWIiOi2.dozjgNryP4J3", "JSON Web Token"),
    ("GET /x?a=1&access_token=AbCdEf1234567890&b=2", "AbCdEf1234567890", "token"),
    ("Authorization: Bearer abcdefgh.12345678-ijkl", "abcdefgh.12345678-ijkl", "bearer token"),
    (f"cat id_rsa\n{PEM}\ndone", PEM, "private key"),
    (json.dumps({"output": f"cat id_rsa\n{PEM}"}), PEM.replace("\n", "\\n"), "private key"),
]
TOKENS = re.compile(r"customer token [0-9a-f]{8}")
SECRET_LINES = re.compile(r"secret-\d{6}")
HARMLESS = [
    *("token = get_token()", "def login(user: str, password: str) -> None:", "password: ${DB_PASSWORD}"),
    *("commit 9eadcdb0f2b34ce1a7c9d0e4b5a6978812345678", "listening on 192.168.0.1:8080", "the secret of good tea"),
    *("MAX_OUTPUT_TOKENS=100000", "TOKEN_COUNT=12345678", "docker run -u 1000:1000 image", "bypass: route66test"),
    *("--password required", "git log --user bob:alice", "pw: string", "authorization: basic auth is not enough"),
    *("password = get_pw2()", "password: settings.password2", "password: at least 8 characters", "password = str"),
]


@pytest.mark.parametrize(("text", "secret", "kind"), SECRETS)
def test_a_secret_is_named(text, secret, kind):
    assert redactor("secrets")(text) == text.replace(secret, f"[redacted: {kind}]")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_left(text):
    assert redactor("secrets")(text) == text


def test_a_secret_in_the_middle_of_an_endless_line_is_found():
    text = ("x" * 1_990 + f" {AWS} ") * 20
    assert redactor("secrets")(text) == text.replace(AWS, "[redacted: AWS Access Key]")


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        'password = "' * 10_000,
        "password = aaaaaa1(" * 10_000,
        "password=" + "a1" * 50_000,
        "-----BEGIN PRIVATE KEY-----a" * 3_000,
    ],
)
def test_the_search_is_bounded_in_time(text):
    begun = process_time()
    secrets_in(text)
    assert process_time() - begun < 5


@given(st.text(max_size=200), st.sampled_from(SECRETS), st.text(max_size=200))
def test_redacting_again_changes_nothing_and_no_text_raises(before, sample, after):
    redact = redactor("secrets")
    once = redact(f"{before}\n{sample[0]}\n{after}")
    assert sample[1] not in once
    assert redact(once, redact.secrets([sample[0]])).count("[redacted: ") >= 1


WORDS = ["customer", "token", "employee", "number", "12345678", "redacted", "[redacted: ", "]", " ", "ab", "deadbeef"]


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.lists(st.sampled_from(WORDS), max_size=12), st.data())
def test_redaction_ends_whatever_a_secret_is_called(one, other, data):
    text, source = "".join(one), "".join(other)
    kind = data.draw(st.sampled_from([text[:40], source[:40], "customer token", "redacted: x", "12345678"]) | st.text())
    values = data.draw(st.lists(st.sampled_from([*WORDS, source, source[3:30]]), max_size=3))

    def find(given: str) -> list[tuple[int, int, str]]:
        return [
            (given.find(value), given.find(value) + len(value), kind) for value in values if value and value in given
        ]

    redact = redactor(find)
    shown = redact(text, redact.secrets([source]))
    assert len(shown) <= (len(text) + 1) * 60
    again = shown
    for _ in range(4):
        again = redact(again, redact.secrets([source]))
    assert len(again) <= (len(shown) + 1) * 60**2  # it does not grow for ever


def test_a_name_with_its_own_secret_is_written_once():
    redact = redactor(lambda text: [(found.start(), found.end(), "customer token") for found in TOKENS.finditer(text)])
    source = "his customer token deadbeef is secret"
    once = redact(source, redact.secrets([source]))
    assert once == "his [redacted: customer token] is secret"
    assert redact(once, redact.secrets([source])) == once
    assert redact("of customer token dea… only", redact.secrets([source])) == "of [redacted: customer token]… only"


def test_a_conversation_whose_redactor_names_a_part_of_the_secret_is_compacted():
    redact = redactor(lambda text: [(found.start(), found.end(), "customer token") for found in TOKENS.finditer(text)])
    with Conversation.open("memory:", "x", budget=4_000, redact=redact) as conv:
        for turn in range(60):
            conv.user(
                f"Question {turn}: whose is customer token deadbeef in src/mod_{turn}.py? " + "Some more words. " * 20
            )
        conv.request()
        folds = [entry.body.text for entry in conv.log.read() if isinstance(entry.body, Fold)]
        assert folds
        assert not any("deadbeef" in text for text in folds)


def test_many_secrets_take_even_time():
    source = "".join(f"secret-{number:06d}\n" for number in range(60_000))

    def find(text: str) -> list[tuple[int, int, str]]:
        return [(found.start(), found.end(), "one") for found in SECRET_LINES.finditer(text)]

    begun = process_time()
    redact = redactor(find)
    shown = redact("secret-000007 and " + "no secret " * 5_000, redact.secrets([source]))
    assert shown.startswith("[redacted: one] and no secret")
    assert process_time() - begun < 5


ORDINARY = [
    "Unrecognized request argument supplied: skip_special_tokens",
    '{"param": "skip_special_tokens", "code": "unknown_parameter"}',
    "model sk-learn_pipeline_transformer_x was not found; xai-grok-code-fast-1-0825 is",
    "hf_hub_download npm_config_registry_default pypi-server-2.3.1-py3 hf_transfer_enabled_v2",
    "https://x/?key=introduction-to-python&token=next_page_of_the_list",
    "The branch sk-something-like-this-branch-name is protected",
    "Bearer authentication_required_here; api_key: required_parameter, api key: expected a string",
    "skeleton_of_the_request pk_column_of_table_names gsk_formulation_of_things",
]
KEYS = [
    "sk-proj-abcdefghij0123456789",
    "sk-ant-api03-" + "abcD1234" * 9,
    "gsk_" + "a1B2" * 13,
    "xai-" + "Q7r8" * 20,
    "AIza" + "SyD3x_9" * 5,
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_of_an_error_are_left(text):
    assert without_keys(text) == redactor("secrets")(text) == text


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "place", ["Incorrect API key provided: {}.", '{{"x-api-key": "{}"}}', "Bearer {}", "api_key={}"]
)
def test_keys_in_an_error_are_named(key, place):
    for text in (without_keys(place.format(key)), redactor("secrets")(place.format(key))):
        assert key[4:] not in text
        assert "[redacted: " in text


def test_known_keys_and_credentials_in_an_address_are_named():
    error = "Proxy http://me:pw-of-mine@proxy:3128 refused the key plainword; tiny abc stays"
    shown = "Proxy http://me:[redacted: password]@proxy:3128 refused the key [redacted: API key]; tiny abc stays"
    assert without_keys(error, "plainword", "abc", "") == shown


def test_a_part_of_a_secret_of_the_source_is_a_secret():
    redact = redactor("secrets")
    assert redact(f"«…{AWS[4:]}» and {AWS[:14]}…", redact.secrets([f"key {AWS}"])) == (
        "«…[redacted: AWS Access Key]» and [redacted: AWS Access Key]…"
    )
    assert redact("hunter2hunter", redact.secrets(['password: "hunter2hunter"'])) == "[redacted: secret]"


@pytest.mark.parametrize("text", [text for text, _, _ in SECRETS])
def test_what_is_redacted_stays_as_it_is(text):
    redact = redactor("secrets")
    once = redact(text)
    assert redact(once, redact.secrets([text])) == once


def test_a_forged_name_hides_no_secret():
    names = redactor(lambda text: [(at, at + 3, "name") for at in range(len(text)) if text[at : at + 3] == "ted"])
    assert names("ted was redacted") == "[redacted: name] was redac[redacted: name]"
    assert AWS not in redactor("secrets")(f"AWS_ACCESS_KEY_ID=[redacted: {AWS}]")


def test_a_function_gives_a_text_or_spans():
    spans = redactor(lambda text: [(at, at + 4, "name") for at in range(len(text)) if text[at : at + 4] == "Anna"])
    assert spans("Anna and Anna") == "[redacted: name] and [redacted: name]"
    replace = redactor(lambda text: text.replace("Anna", "A."))
    assert replace("Anna and Ben", replace.secrets(["Anna"])) == "A. and Ben"
    assert redactor(lambda _: [(0, 3, "a]b\n" + "c" * 60), (2, 5, "d")])("0123456") == f"[redacted: a b {'c' * 36}]56"
    assert redactor(None) is None


@pytest.mark.parametrize("span", [(0, 99, "x"), (2, 2, "x"), (-1, 2, "x"), (0, 1), "ab", (0, 1, 3)])
def test_a_span_outside_of_the_text_is_refused(span):
    with pytest.raises(InvalidSetting, match=r"^redact: must return a text, or spans \(start, end, kind\) within"):
        redactor(lambda _: [span])("text")


@pytest.mark.parametrize("answer", [None, 5, b"text"])
def test_an_answer_that_is_neither_text_nor_spans_is_refused(answer):
    with pytest.raises(InvalidSetting, match="redact: must return a text, or spans"):
        redactor(lambda _: answer)("a text")


def test_what_is_no_setting_is_refused():
    with pytest.raises(InvalidSetting, match=r'^redact: must be "secrets", a function of a text, or None, not 3$'):
        Conversation.open("memory:", "x", budget=400, redact=3)


# ---- where text leaves a message


LINES = [text for text, _, _ in SECRETS[:8]]
VALUES = [secret for _, secret, _ in SECRETS[:8]]


def work(conv, turns=24):
    """A conversation whose tools print secrets, and that is compacted several times."""
    conv.user("Deploy the service, and remember what the tools print about credentials.")
    for number in range(turns):
        conv.plan_request()
        call = {"id": f"c{number}", "type": "function", "function": {"name": "shell", "arguments": '{"cmd": "env"}'}}
        conv.observe({"role": "assistant", "content": f"step {number} of credentials", "tool_calls": [call]})
        conv.tool_result(f"c{number}", f"{LINES[number % 8]}\nhost deploy_{number}.example.com " + "word " * 60)
    conv.user("And now? Which credentials did the tools print?")


def opened(policy="default", redact="secrets", url="memory:"):
    return Conversation.open(url, "x", budget=1_200, policy=policy, counter=WordCounter(), redact=redact)


def derived_texts(entries):
    return [entry.body.text for entry in entries if isinstance(entry.body, (Fold, Recalled, Summary))]


@pytest.mark.parametrize("policy", ["default", "recall", "summary", "sliding", "dynamiq", "agenticloop"])
def test_no_fold_and_no_recalled_text_shows_a_secret(policy):
    with opened(policy) as conv, opened(policy, redact=None) as plain:
        for each in (conv, plain):
            work(each)
            each.plan_request()
        texts = derived_texts(conv.log)
        assert texts
        assert [value for value in VALUES if any(value in text for text in texts)] == []
        if policy in {"default", "recall"}:
            assert any("[redacted: " in text for text in texts)
            assert any(value in text for value in VALUES for text in derived_texts(plain.log)), (
                "else this test is empty"
            )
        log = "".join(str(entry.body) for entry in conv.log)
        assert all(value in log for value in VALUES), "the log is as it was"
        newest = conv.view.slots[-1].first_fact.parts if hasattr(conv.view.slots[-1], "first_fact") else ()
        assert all("[redacted" not in part.text for part in newest)


def test_the_same_log_gives_the_same_windows(tmp_path):
    digests = []
    for name in ("a.db", "b.db"):
        with opened(url=tmp_path / name) as conv:
            work(conv)
            digests.append([entry.body.fingerprint for entry in conv.log if isinstance(entry.body, Sent)])
            last = conv.view_at_call(-1).fingerprint()
        with Conversation.open(tmp_path / name, "x", budget=1_200, counter=WordCounter()) as again:
            assert again.view_at_call(-1).fingerprint() == last, "also where nothing is redacted any more"
    assert digests[0] == digests[1]


def test_what_is_read_back_is_redacted():
    with opened() as conv:
        work(conv, 4)
        at = next(entry.seq for entry in conv.log if isinstance(entry.body, ToolResult))
        assert AWS not in conv.readback("transom_read", {"ref": f"entry {at}"})
        assert "[redacted: AWS Access Key]" in conv.readback("transom_grep", {"pattern": "AWS_ACCESS"})
        assert AWS not in conv.readback("transom_list", {})


def part_of(secret, text):
    """Whether 12 characters of the secret in a row are in the text."""
    return any(secret[at : at + 12] in text for at in range(len(secret) - 11))


def test_what_is_read_back_ends_in_no_secret():
    key = "sk-proj-" + "aB3dE5fG7h" * 4
    with opened() as conv:
        for blanks in range(0, 90, 4):
            conv.user("x " * blanks + key + " y" * 400)
        for arguments in ({"pattern": "y y y"}, {"pattern": "x x"}, {"pattern": "G7haB"}, {"pattern": "aB3d"}):
            answer = conv.readback("transom_grep", arguments)
            assert "matching line" in answer
            assert not part_of(key, answer)
        assert not part_of(key, conv.readback("transom_list", {}))
        for column in range(1, 60):
            page = conv.readback("transom_read", {"ref": "entry 0", "column": column})
            assert " y y" in page
            assert not part_of(key, page)


def test_mirrored_files_are_redacted(tmp_path):
    with opened() as conv:
        work(conv, 8)
        conv.plan_request()
        conv.observe({"role": "assistant", "content": "", "tool_calls": [CALL]})
        conv.tool_result("parts", [{"type": "text", "text": f"one {AWS}"}, {"type": "text", "text": "two"}])
        found = mirror(conv.log, tmp_path, redact=redactor("secrets"))
    files = [json.loads(path.read_text()) for path in found]
    assert len(files) == 9
    assert [value for value in VALUES for file in files if value in str(file["content"])] == []
    assert files[0]["content"].startswith("AWS_ACCESS_KEY_ID=[redacted: AWS Access Key]\nhost deploy_0.example.com")
    assert "one [redacted: AWS Access Key]" in str(files[8]["content"])


CALL = {"id": "parts", "type": "function", "function": {"name": "shell", "arguments": "{}"}}


def test_a_recalled_text_that_is_appended_is_redacted():
    with opened() as conv:
        source = conv.user(f"my key is {AWS}")
        at = conv.append(Recalled(text=f"you said {AWS[:15]}", refs=(source, 99)))
        assert conv.log[at].body.text == "you said [redacted: AWS Access Key]"


def test_turns_to_be_summarised_are_redacted():
    with opened() as conv:
        work(conv, 8)
        facts = tuple(entry.body for entry in conv.log if isinstance(entry.body, ToolResult))
        turns = redacted_turns([SourceTurn(key=1, facts=facts)], redactor("secrets"))
    shown = [part.text for fact in turns[0].facts for part in fact.parts if isinstance(part, Text)]
    assert len(shown) == 8
    assert all("[redacted: " in text for text in shown)
    assert [value for value in VALUES for text in shown if value in text] == []


def test_a_reply_that_broke_off_is_redacted_for_a_summary():
    broken = Failure(failure="interrupted", text=f"the key: {AWS}", shown=f"[cut off] the key: {AWS}", error=AWS)
    turns = redacted_turns([SourceTurn(key=1, facts=(broken,))], redactor("secrets"))
    assert AWS not in str(turns)
    assert turns[0].facts[0].shown == "[cut off] the key: [redacted: AWS Access Key]"


def test_a_want_for_a_summary_has_no_secret():
    result = ToolResult(call="c", parts=(Text(f"{LINES[0]} at deploy_1.example.com"),))
    turns = (SourceTurn(key=1, facts=(result,)),)
    want = Summarise(last=1, turns=turns, exact=(AWS, "deploy_1.example.com"), notes=(f"the key is {AWS[:14]}",))
    with opened() as conv:
        found = redacted_want(conv.view, want, redactor("secrets"), IndexCache())
    assert (found.exact, found.notes) == (("deploy_1.example.com",), ("the key is [redacted: AWS Access Key]",))
    assert AWS not in str(found.turns)


def test_a_summarizing_model_reads_no_secret_that_another_message_tells():
    echo = Echo()
    with Conversation.open(
        "memory:", "x", budget=3_000, policy="summary", counter=WordCounter(), redact="secrets", summarizer=echo
    ) as conv:
        for number in range(60):
            conv.user(f"Log in as bob, the password: Tr0ub4dor{number}x. " + "word " * 40)
            conv.plan_request()
            arguments = json.dumps({"user": "bob", "with": f"Tr0ub4dor{number}x"})
            login = {"id": f"c{number}", "type": "function", "function": {"name": "login", "arguments": arguments}}
            conv.observe({"role": "assistant", "content": None, "tool_calls": [login]})
            conv.tool_result(f"c{number}", f"bob came in with Tr0ub4dor{number}x. " + "word " * 40)
        conv.user("And now?")
        conv.compact()
        texts = derived_texts(conv.log)
    assert "[redacted: password]" in str(echo.requests)
    assert "Tr0ub4dor" not in str(echo.requests) + str(texts)


@pytest.mark.parametrize("name", ["employee number", "the number of somebody who works here, in six digits", "\n3 rm"])
def test_a_record_whose_names_of_secrets_are_long_gets_smaller(name):
    def find(text):
        return [(found.start(), found.end(), name) for found in re.finditer(r"\b[A-Z]\d{6}\b", text)]

    with Conversation.open("memory:", "x", budget=1_200, counter=WordCounter(), redact=find) as conv:
        for turn in range(60):
            conv.user(f"Question {turn}: what of A{turn:06} in src/mod_{turn}.py, of B{turn:06}? " + "Some more. " * 20)
            conv.request()
            conv.observe({"role": "assistant", "content": f"Answer {turn}: see C{turn:06}. " + "And more. " * 20})
        conv.user("go on")
        conv.request()
        assert conv.window().tokens > 600
        records = [text for text in derived_texts(conv.log) if "a record of" in text]
    assert records
    assert not re.search(r"\b[A-Z]\d{6}\b", "".join(records))


class Echo:
    """A model that repeats everything that it is sent."""

    name, dialect, model, context_size = "echo", "openai", "echo", 100_000

    def __init__(self):
        self.requests = []

    def complete(self, request, **_):
        self.requests.append(request)
        content = "\n".join(message["content"] for message in request["messages"])
        return {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}


def test_a_summarizing_model_reads_no_secret():
    echo = Echo()
    with Conversation.open(
        "memory:", "x", budget=3_000, policy="summary", counter=WordCounter(), redact="secrets", summarizer=echo
    ) as conv:
        work(conv, 60)
        conv.compact()
        texts = derived_texts(conv.log)
    assert echo.requests
    assert "[redacted: " in str(echo.requests)
    assert [value for value in VALUES if value in str(echo.requests) + str(texts)] == []


def test_a_summary_with_notes_is_shown_where_names_of_secrets_are_longer_than_the_secrets():
    answer = Scripted(then="## User intent\n- deploy\n## Progress\n- [done] deployed it")
    with Conversation.open("memory:", "c", budget=4_000, policy="summary", summarizer=answer, redact="secrets") as conv:
        for n in range(8):
            conv.user(f"Deploy with AWS_ACCESS_KEY_ID={AWS}, please, for customer C-123456 number {n}. " * 6)
            conv.observe({"role": "assistant", "content": f"Done {n} with password = 'hunter2secret{n}'. " * 14})
        done = conv.compact(notes="The door code is 4711.")
        assert done.summary is not None
        folds = [entry.body.text for entry in conv.log.read() if isinstance(entry.body, Fold)]
        assert any("- The door code is 4711." in text for text in folds)
        assert not any(AWS in text for text in folds)


def test_fit_redacts_too():
    history = [{"role": "user", "content": "go"}]
    for number in range(30):
        history.append({"role": "user", "content": f"{LINES[number % 8]} deploy_{number} " + "word " * 50})
        history.append({"role": "assistant", "content": f"step {number} of credentials"})
    history.append({"role": "user", "content": "Which credentials?"})
    shown = fit(history, budget=1_200, counter=WordCounter(), redact="secrets")
    assert "[redacted: " in str(shown)


# ---- in sub-agents and memory

BADGE = re.compile(r"EMP-\d{6}")


def badges(text: str) -> list[tuple[int, int, str]]:
    return [(found.start(), found.end(), "badge") for found in BADGE.finditer(text)]


def lookup(n: int) -> str:
    """Look up."""
    return f"badge EMP-{700_000 + n} belongs to file src/unit_{n}.py, owner team_{n}. " + "filler words here " * 30


def fails(n: int) -> str:
    raise RuntimeError(f"no such badge: EMP-{n}")


class Broken(Scripted):
    """A provider that fails with an exception which quotes the conversation."""

    def complete(self, *arguments, **settings):
        raise RuntimeError("I choke on EMP-700001")


def child_agent(name: str, provider: Scripted, policy: str = "default", **settings) -> SubAgent:
    return SubAgent(name, "Finds.", system="s", budget=3_000, policy=policy, provider=provider, **settings)


@pytest.mark.parametrize("policy", ["default", "summary", "recall"])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_sub_agent_redacts_as_its_caller_does(policy, depth):
    calls = [call("lookup", n=number) for number in range(25)]
    echo = Scripted(then="## User intent\n- find EMP-700001\n## Progress\n- [done] EMP-700002 was found")
    agent = child_agent("deep", Scripted(*calls, "all found"), policy, tools=[lookup])
    if depth == 2:
        agent = child_agent("middle", Scripted(call("deep", task="find badges"), "found"), tools=[agent])
    with Conversation.open("memory:", "main", budget=20_000, redact=badges, summarizer=echo) as conv:
        outer = call("deep" if depth == 1 else "middle", task="find badges")
        assert conv.run("go", provider=Scripted(outer, "done"), tools=[agent]).text == "done"
        names = [name for name in conv.store.names() if "deep" in name]
        derived = [text for name in names for text in derived_texts(conv.store.open(name).read())]
    assert derived
    assert [text for text in derived if BADGE.search(text)] == []


def test_the_failure_of_a_sub_agent_is_redacted_where_its_caller_reads_it():
    agent = child_agent("helper", Broken("x"))
    with Conversation.open("memory:", "main", budget=20_000, redact=badges) as conv:
        conv.run("go", provider=Scripted(call("helper", task="find"), "done"), tools=[agent])
        (result,) = (entry.body for entry in conv.log.read() if isinstance(entry.body, ToolResult))
    assert result.failed
    assert "I choke on [redacted: badge]" in str(result.parts)


def test_what_a_memory_stores_is_redacted():
    store = open_store("memory:")
    memory = Memory.open(store, redact=badges)
    memory.add_block("people", text="EMP-700001 is Ann")
    memory.append("people", "EMP-700002 is Ben")
    memory.rethink("people", memory.block("people").text + "\nEMP-700003 is Cleo")
    number = memory.archive.store("badge EMP-700004 is lost")
    stored = [memory.block("people").text, memory.archive.read(number).text]
    assert [BADGE.findall(text) for text in stored] == [[], []]
    assert [text.count("[redacted: badge]") for text in stored] == [3, 1]
    assert "EMP-7" not in str([entry for name in store.names() for entry in store.open(name).read()])


@pytest.mark.parametrize(
    "text", ["token" + " " * 4_000, "password" + "\t " * 2_000, ("api_key" + " " * 15 + "x ") * 500]
)
def test_blanks_behind_a_word_cost_no_more_than_their_number(text: str) -> None:
    """The patterns of the library take cubic time on them: 2,000 blanks took a minute."""
    start = process_time()
    assert secrets_in(text) == []
    assert process_time() - start < 2


def test_an_answer_is_redacted_by_any_function_of_a_text():
    with opened() as conv:
        conv.user("the password is hunter2")
        answer = answer_call(
            conv.log, "transom_read", {"ref": "entry 0"}, redact=lambda text: text.replace("hunter", "XX")
        )
    assert "the password is XX2" in answer


def test_the_description_of_a_memory_block_is_redacted_like_its_text() -> None:
    with Memory.open("memory:", redact="secrets") as memory:
        block = memory.add_block("deploy", "password = hunter2hunter9", text="Type hunter2hunter9 at the prompt.")
        assert "hunter2hunter9" not in block.text + block.description + memory.text_of(block)
        assert "hunter2hunter9" not in memory.block("deploy").description
