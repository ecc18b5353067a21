"""Modes over one log: chat, agent and run differ in what the model is told beside the conversation.

The log is the same in every mode. A mode has two parts. The head (rules, tool policy, and outside of chat the persona)
precedes everything, so a new head costs the whole cached prefix. The state (banner, directive, step) is announced in
notes at the end, which cost nothing but themselves.

So a change of mode keeps the head that was sent, and announces in notes what is different from it. The head is renewed
when the prefix breaks anyway (a compaction), or at once if the caller accepts that with `new_head`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

from transom import texts
from transom.core.message import Head, Instruction, Note, Text
from transom.core.plan import Plan
from transom.core.plan_draft import visible_note
from transom.core.view import View
from transom.errors import InvalidSetting, quote

Mode = Literal["chat", "agent", "run"]

MODES: tuple[Mode, ...] = get_args(Mode)

BANNER, DIRECTIVE, STEP, STEP_CONTEXT = "mode", "directive", "step", "step context"
RULES, TOOL_POLICY, PERSONA = "rules", "tool policy", "persona"
"""The keys of the notes."""


class Profile(Struct, frozen=True, kw_only=True):
    """What the model is told in each mode.

    `rules`: the base rules; if empty, the system prompt that the conversation was opened with. `tool_policy`: how tools
    are used. `persona`: who the model is, in agent and run mode. A banner says which mode is on. `post_run`: the
    protocol after a run is completed. An empty text is left out.
    """

    rules: str = ""
    tool_policy: str = texts.TOOL_POLICY
    persona: str = ""
    chat_banner: str = texts.CHAT_BANNER
    """Read in chat mode."""
    agent_banner: str = texts.AGENT_BANNER
    """Read in agent mode."""
    run_banner: str = texts.RUN_BANNER
    """Read in run mode."""
    post_run: str = texts.POST_RUN


class Directive(Struct, frozen=True, kw_only=True):
    """What a run must do. `run_id` tells runs apart in the log.

    `step` and `step_context`: the brief of the active step and what it needs to know; empty if no step is active. When
    `completed`, the model reads the directive and the profile's `post_run`, and no step.
    """

    run_id: str
    text: str
    """The task, as the model reads it."""
    step: str = ""
    step_context: str = ""
    completed: bool = False


class ModeChange(Struct, frozen=True, kw_only=True):
    """What a change of mode costs with the next request. All tokens are calibrated: as the provider counts them.

    `announced`: the keys of the notes that it brings. `tokens`: of the window. `tokens_cached`: of the prefix that it
    shares with the last request. `tokens_read_again`: of the last request, sent again without the cache; 0 if the whole
    prefix is kept. `new_head`: the system prompt or the tools change with it.
    """

    before: str
    """The mode until now; empty if none was set."""
    mode: Mode
    """The new mode."""
    announced: tuple[str, ...]
    tokens: int
    tokens_cached: int
    tokens_read_again: int
    new_head: bool


class ModeSettings(Struct, frozen=True, kw_only=True):
    """The mode that is on, and what the model is told in it. `base`: the base rules; those of the profile are not read
    here. `directive`: what the run must do; None outside of run mode. `new_head`: renew the system prompt in the next
    request; otherwise the one that was sent stays until the prefix breaks."""

    mode: Mode
    profile: Profile
    base: str = ""
    directive: Directive | None = None
    new_head: bool = False

    @property
    def run_id(self) -> str:
        """The run that facts belong to; empty outside of run mode."""
        return "" if self.directive is None else self.directive.run_id

    def head_and_state(
        self, view: View, sent_text: str, *, at_break: bool = False
    ) -> tuple[str | None, dict[str, str]]:
        """The system prompt of the next request, and the state to announce, by key. None in place of a system prompt:
        the text that was sent, `sent_text`, stays, and the state says what is different from it.

        `at_break`: the prefix breaks anyway, so that a new system prompt costs little more.
        """
        profile = self.profile
        plain = _joined(self.base, profile.tool_policy)
        full = _joined(plain, profile.persona)
        wanted = plain if self.mode == "chat" else full
        sent = sent_text if view.sent_tokens else None
        is_known = sent in (plain, full)
        is_renewed = (self.new_head or at_break) and (is_known or bool(self.base))
        if sent is None or sent == wanted or is_renewed:
            return wanted, {**self._corrections(view), **self._state()}
        return None, {**self._differences(has_persona=sent == full, is_known=is_known), **self._state()}

    def _corrections(self, view: View) -> dict[str, str]:
        """The state for parts of the head about which the model can still read a note."""
        corrections: dict[str, str] = {}
        for key, text in self._parts().items():
            note = visible_note(view, key)
            if note is not None:
                corrections[key] = text if note == texts.state_note(key, text) else texts.SYSTEM_APPLIES
        return corrections

    def _parts(self) -> dict[str, str]:
        """The parts of the system prompt in this mode, by the key of their notes, without empty ones."""
        persona = "" if self.mode == "chat" else self.profile.persona
        parts = {RULES: self.base, TOOL_POLICY: self.profile.tool_policy, PERSONA: persona}
        return {key: text for key, text in parts.items() if text}

    def _differences(self, *, has_persona: bool, is_known: bool) -> dict[str, str]:
        """What the sent system prompt lacks in this mode, or has too much; all parts if it is of another profile."""
        if not is_known:
            return self._parts()
        return {PERSONA: texts.PERSONA_OFF if has_persona else self.profile.persona}

    def _state(self) -> dict[str, str]:
        profile, directive = self.profile, self.directive
        banners = {"chat": profile.chat_banner, "agent": profile.agent_banner, "run": profile.run_banner}
        state = {BANNER: banners[self.mode]}
        if directive is not None and directive.completed:
            state[DIRECTIVE] = _joined(directive.text, profile.post_run)
        elif directive is not None:
            state |= {DIRECTIVE: directive.text, STEP: directive.step, STEP_CONTEXT: directive.step_context}
        return {key: text for key, text in state.items() if text}


def checked_mode(mode: object, profile: object, directive: object) -> tuple[Mode, Directive | None]:
    """Check the arguments of `set_mode`, and return the mode and the directive.

    Raises InvalidSetting for an argument of a wrong type, an unknown mode, run mode without a directive, another mode
    with one, and a directive without a run_id or a text.
    """
    if profile is not None and not isinstance(profile, Profile):
        raise InvalidSetting(f"profile: must be a Profile, not {quote(profile)}")
    _check_texts("profile", profile)
    if mode not in MODES:
        raise InvalidSetting(f"mode: must be one of {', '.join(MODES)}, not {quote(mode)}")
    if directive is not None and not isinstance(directive, Directive):
        raise InvalidSetting(f"directive: must be a Directive, not {quote(directive)}")
    _check_texts("directive", directive)
    if (mode == "run") != (directive is not None):
        raise InvalidSetting("directive: run mode needs one, and no other mode takes one")
    if directive is not None and not (directive.run_id and directive.text):
        raise InvalidSetting("directive: needs a run_id and a text")
    return mode, directive


def mode_notes(view: View) -> dict[str, str]:
    """What the notes of modes say now, by key (`BANNER`, `RULES` and the others). Notes of a caller's own state under
    the same keys are left out, and so is what was removed."""
    found: dict[str, str] = {}
    for key in (RULES, TOOL_POLICY, PERSONA, BANNER, DIRECTIVE, STEP, STEP_CONTEXT):
        seq, text = view.notes.get(key, (0, ""))
        meta = view.fetch(seq).meta if text else None
        if meta is not None and meta.mode and text != texts.state_removed(key):
            found[key] = text.removeprefix(texts.state_note(key, ""))
    return found


def _check_texts(name: str, settings: Profile | Directive | None) -> None:
    """A struct does not check its fields. Raises InvalidSetting for one that is not of its type."""
    for field in () if settings is None else settings.__struct_fields__:
        value: object = getattr(settings, field)
        kind = bool if field == "completed" else str
        if not isinstance(value, kind):
            raise InvalidSetting(
                f"{name}: {field} must be {'a text' if kind is str else 'True or False'}, not {quote(value)}"
            )


def system_text(messages: Sequence[Instruction]) -> str:
    """The text of a system prompt, with an empty line between messages. Parts that are no text are left out."""
    return _joined(*("".join(part.text for part in each.parts if isinstance(part, Text)) for each in messages))


def change_of(before: str, settings: ModeSettings, view: View, done: Plan) -> ModeChange:
    """What a change of mode costs, by the plan of the next request, `done`. `before`: the mode until now."""
    window, scale = done.window, view.calibration
    added = [entry.body for entry in done.entries]
    return ModeChange(
        before=before,
        mode=settings.mode,
        announced=tuple(body.key for body in added if isinstance(body, Note) and body.key),
        tokens=window.tokens,
        tokens_cached=round(window.shared_tokens * scale),
        tokens_read_again=round(max(0, view.sent_tokens - window.shared_tokens) * scale),
        new_head=any(isinstance(body, Head) for body in added),
    )


def breaks_half(view: View, done: Plan) -> bool:
    """Whether a plan breaks the cached prefix so early that a new head costs little more: less than half of the last
    request's tokens are kept. `view`: before the plan."""
    return done.window.breaks is not None and 2 * done.window.shared_tokens < view.sent_tokens


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
