"""The wordings by which `overflow/classify.py:classify` recognises that a request was too long, and those that only
look like it.

A rule is a pattern with the place where its wording was seen. Patterns describe wordings, not whole messages: a gateway
that rewrites a message, or a server in no list, mostly keeps the words. They are searched in the text in lower case,
with single blanks.

An error with one of CODES is an overflow. Otherwise the text must match one of PHRASES, and none of LOOK_ALIKES.
OUTPUT_CAPS count only in a text that does not mention the input. LIMITS, INPUTS and BOTH_SIDES then find the numbers.
"""

from __future__ import annotations

import re

from msgspec import Struct


class Rule(Struct, frozen=True):
    """A pattern that is searched in the text, and the `source`: where its wording was seen.

    It is compiled by the first search: few processes ever see an overflow, and all import this module.
    """

    pattern: str
    source: str

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in the text that matches; None if there is none."""
        return re.search(self.pattern, text)


def _rule(pattern: str, source: str) -> Rule:
    """A rule from the text of its pattern."""
    return Rule(pattern, source)


CODES = {
    "context_length_exceeded": "OpenAI, Azure OpenAI, Groq: error.code",
    "context_window_exceeded": "UKGovernmentBEIS/inspect_ai: gateways that rename OpenAI's code",
    "context_window_exceeded_error": "BerriAI/litellm: ContextWindowExceededError",
    "exceed_context_size_error": "ggml-org/llama.cpp#15780: error.type",
    "context_exceeded": "antirez/ds4#150: error.type",
    "model_context_window_exceeded": "Anthropic, Z.ai: stop_reason and finish_reason",
    "model_max_prompt_tokens_exceeded": "GitHub Copilot: error.code",
    "reason_max_context": "UKGovernmentBEIS/inspect_ai, grok.py: finish_reason",
    "model_length": "Mistral: finish_reason",
    "request_too_large": "Anthropic: error.type, status 413",
    "1261": "Zhipu (docs.bigmodel.cn, error codes): Prompt 超长",
}
"""Values of `code`, `type`, `status` or a finish reason, in snake case, that say that the request is too long."""

LOOK_ALIKES = (
    # throttling and accounts
    _rule(r"rate.?limit|too many requests|throttl|slow down", "OpenAI, Anthropic, Groq, Bedrock: status 429"),
    _rule(
        r"\b(?:tokens?|requests?) ?(?:per|/) ?(?:min|day|hour|sec)|\bper-\w+ limit|this minute|\b(?:tpm|rpm|tpd|rpd)\b",
        "github:FoundationAgents/MetaGPT#523",
    ),
    _rule(
        r"\bquota|billing|\bcredits?\b|insufficient (?:balance|funds)|can only afford|extra usage",
        "github:anthropics/claude-code#42616; OpenRouter: status 402",
    ),
    _rule(r"resource.{0,3}exhausted|overloaded|(?:at|over) capacity|try again (?:later|in)\b", "Vertex; Anthropic 529"),
    _rule(r"please wait|deadline|time.?out|timed out|cancell?ed", "Bedrock; Go: context deadline exceeded"),
    _rule(r"限流|频率|额度|配额|并发", "Zhipu, DashScope: throttling"),
    # another length
    _rule(
        r"\b(?:string|array|list|name|id|url|field|description|password)(?: is)? too long|above_max_length",
        "github:agno-agi/agno#5382",
    ),
    _rule(
        r"too many (?:images?|tools?|functions?|documents|files|pages|stop sequences)|number of (?:images?|tools?)",
        "OpenAI: array too long; Anthropic: too many images",
    ),
    _rule(
        r"\b(?:image|file|pdf|audio|video)s? ?(?:\w+ ){0,3}(?:exceeds?|too (?:large|big|long))|image dimensions",
        "Anthropic: image exceeds 5 MB maximum",
    ),
)
"""A text with one of these is another error."""

OUTPUT_CAPS = (
    _rule(r"max\w*.{0,3}tokens? (?:value )?(?:that )?(?:you )?requested exceeds?", "github:charmbracelet/crush#946"),
    _rule(
        r"\bmax_\w*tokens\b.{0,30}? (?:too (?:large|high|big)|>|exceeds?|cannot|must be (?!at least|greater|positive))",
        "Anthropic: max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
    ),
    _rule(
        r"(?:at most|up to|maximum of) \d+ (?:completion|output)|\boutput tokens?\b", "OpenAI: supports at most 4096"
    ),
    _rule(r"range of max_(?:output_)?tokens", "DashScope: Range of max_tokens should be [1, 8192]"),
)
"""A text with one of these says that the wanted answer is longer than the model can write. That says nothing about the
input."""

INPUT_WORDS = re.compile(r"context|prompt|\binputs?\b|messages|conversation")
"""A text with one of these mentions the input."""

_SUBJECT = (
    r"(?:prompts?|inputs?|context|conversation|chat|histor(?:y|ies)|messages?|requests?|payload|query|text|sequence|"
    r"tokens?|document|total)"
)
_EXCEEDS = (
    r"(?:exceed(?:s|ed|ing)?|(?:longer|greater|larger|bigger|more|higher) than|overflow(?:s|ed)?|overr[au]ns?|"
    r"surpass(?:es|ed)?|beyond|\bover\b|above|(?:not|n't) fit|too (?:long|large|big|many))"
)
_MAX = r"max(?!_(?:output_|completion_|new_)?tokens\b)\w*"
_WINDOW = (
    r"(?:(?:context|model|token|input|prompt|sequence|length|size)[-_ ](?:length|window|size|limit|maximum|capacity)|"
    rf"context\b|n_ctx|{_MAX}[-_ ](?:(?:number of|\w+) ){{0,3}}?(?:length|len|size|window|tokens?|limit|context)|"
    r"(?:length|limit|maximum|capacity) of the model|(?:the )?model(?:'s|s')? (?:\w+ )?(?:limit|maximum|capacity))"
)

PHRASES = (
    _rule(
        rf"{_SUBJECT}.{{0,80}}?{_EXCEEDS}.{{0,60}}?{_WINDOW}",
        "Gemini: The input token count (…) exceeds the maximum number of tokens allowed; vLLM, SGLang, llama.cpp, Kimi",
    ),
    _rule(rf"{_WINDOW}.{{0,60}}?(?:{_EXCEEDS}|reached)", "LM Studio: context size has been exceeded; MiniMax"),
    _rule(
        r"(?:prompt|input|context|conversation|history|messages|request)(?: \w+){0,2}? too (?:long|large|big)",
        "github:earendil-works/pi#102",
    ),
    _rule(
        r"too many (?:\w+ ){0,3}(?:tokens|bytes|characters)",
        "github:strands-agents/sdk-python tests/strands/models/test_bedrock.py; Cohere",
    ),
    _rule(
        r"max\w* (?:\w+ )?(?:length|size|window|context|tokens?)\b.{0,60}?\d.{0,80}?"
        r"(?:request|messages|inputs?\b|prompt|resulted|contains?|received|got|given|have|has)",
        "OpenAI: This model's maximum context length is 4097 tokens. However, you requested …; xAI, OpenRouter",
    ),
    _rule(
        r"(?:reduce|shorten|decrease|trim|truncate) (?:the |your )?(?:(?:length|size) of )?(?:the |your )?"
        r"(?:prompt|messages|input|context|conversation|history)",
        "Groq: Please reduce the length of the messages or completion",
    ),
    _rule(
        r"max\w* (?:context|prompt|input|model) (?:length|size|window) is \d|context (?:length|size|window) is only \d",
        "OpenRouter: This endpoint's maximum context length is …",
    ),
    _rule(r"range of input length", "github:agentscope-ai/QwenPaw#6255"),
    _rule(
        r"max_\w*tokens must be (?:at least 1|greater than 0|positive).{0,12}-\d",
        "github:UKGovernmentBEIS/inspect_ai vllm.py: max_tokens = the window less the input",
    ),
    _rule(r"inputs?\W{0,2}(?: tokens?)? ?\+ ?\W?max_\w*tokens", "text-generation-inference: inputs + max_new_tokens"),
    _rule(
        r"(?:request|payload|entity|body)(?: \w+){0,2} (?:too large|exceeds? the (?:limit|maximum))",
        "Vertex: 400 Request payload size exceeds the limit",
    ),
    _rule(
        r"requested tokens.{0,20}exceed|tokens? (?:limit|count) (?:was |has been )?exceed",
        "github:fedora-copr/logdetective-website#193",
    ),
    _rule(
        r"(?:total|number of|prompt|input).{0,20}tokens?.{0,40}(?:cannot|must not|should not|may not) exceed",
        "github:cohere-ai/sandbox-topically#4",
    ),
    _rule(
        r"(?:prompt|input|输入|上下文|消息|内容|文本|请求|长度|token).{0,12}(?:超长|过长|超过|超出|超限)|"
        r"(?:超过|超出).{0,16}(?:长度|上下文|上限|限制)",
        "Zhipu, Moonshot, DashScope",
    ),
    _rule(r"context (?:overflow|exhausted|exceeded)|out of context|outside (?:the|its) context", "LM Studio"),
    _rule(r"only (?:supports?|accepts?|handles?|takes?) (?:up to )?\d+ ?(?:input |prompt )?tokens", "own wording"),
)
"""Wordings that say that the request is too long."""

INPUT_AND_ANSWER = re.compile(
    r"inputs?\W{0,2}(?: length| tokens?)? ?(?:and|plus|\+) ?\W?max_\w*tokens|"
    r"max_\w*tokens (?:would )?exceeds? (?:the )?context"
)
"""A text with this counts the wanted answer too, so a shorter answer may be enough."""

NO_TOKENS = re.compile(r"\b(?:bytes|characters|chars|[kmg]i?b)\b|invalid params, context window exceeds limit")
"""The numbers in a text with one of these are not numbers of tokens. (MiniMax's wording ends with an error code.)"""

LIMIT_FIELDS = ("n_ctx", "max_context_length", "context_length", "context_window", "max_input_tokens", "max_model_len")
INPUT_FIELDS = ("n_prompt_tokens", "prompt_tokens", "input_tokens", "num_prompt_tokens")
"""Fields of an error, beside its text, that have the limit or the input (llama.cpp and its relatives)."""


def _numbers(*patterns: str) -> tuple[str, ...]:
    """The expressions of patterns in which `<limit>`, `<input>` and `<output>` stand for a number with that name.

    They are compiled by the first error, as in Rule.
    """
    number = r"(?P<\1>(?<![\\d.\[-])\\d+(?![\\d]|\\.\\d))"
    return tuple(re.sub("<(limit|input|output)>", number, pattern) for pattern in patterns)


BOTH_SIDES = _numbers(
    r"<input> ?\+ ?<output> ?> ?<limit>",
    r"<limit>\. given: <input> \W?inputs?\W? (?:tokens )?and <output>",
    r"<input> (?:tokens )?(?:in|of|from) [a-z ]{0,12}(?:messages|prompt|input)[,;]? (?:and )?<output> ",
    r"<input> input tokens and (?:requested )?<output> output tokens",
    r"<output> > <limit> ?- ?<input>",
    r"<input>(?: tokens?)?\)? ?> ?<limit>",
    r"<input>(?: tokens?)?\)? (?:\w+ ){0,3}"
    r"(?:exceeds?|longer than|greater than|larger than|more than|over) [^\d.;]{0,60}<limit>",
    r"(?:length|count|size|tokens|prompt|input|request)[^\d.;]{0,12}<input>\)?[^\d.;]{0,30}"
    r"(?:exceed\w*|longer than|greater than|larger than|more than|over)[^\d;]{0,80}<limit>",
)
"""Patterns for the input together with the limit or the wanted answer."""

_GAP = r"(?:(?!request|got |receiv|contain|given|resulted|has |have )[^\d;]){0,30}?"
"""Words between the name of a limit and its number. None of them may begin a statement about the input."""

LIMITS = _numbers(
    r"\[\d+, ?<limit>\]",
    rf"context[-_ ](?:length|size|window|limit)\b{_GAP}<limit>",
    rf"{_MAX}[-_ ](?:[\w'’]+ ){{0,5}}?(?:length|len|size|window|tokens?|limit|context)\b{_GAP}<limit>",
    rf"(?:context|token|input|prompt|model)[-_ ](?:length|size|window|limit)\b{_GAP}<limit>",
    r"<limit>(?:[- ]tokens?)?[- ](?:max|limit|context|window)",
    r"(?:not exceed|less than|fewer than|at most|up to|<=|≤|no more than|limited to|limit(?: is| of)?|"
    rf"only \w+|exceeds?)\b{_GAP}<limit>",
    r"(?:超过|超出|最大|上限|限制)[^\d;]{0,16}<limit>",
)
"""Patterns for the limit alone. The first match counts."""

INPUTS = _numbers(
    r"(?:prompt|input|token|total)s? (?:token )?(?:count|length|size)[^\d.;]{0,12}<input>",
    r"too (?:long|large|big)[^\d;]{0,6}<input>",
    r"<input>(?: tokens)? (?:in|of|from|for) (?:the |your )?(?:messages|prompts?|text input|input)",
    r"<input> (?:input|prompt) tokens",
    r"(?:requested|resulted in|received|contains?|have|has|got|given|sent|found|used|provided)[^\d;]{0,24}<input>",
    r"(?:prompt|input|request|messages|tokens|length|text)[^\d.;]{0,20}\(<input>",
    r"(?:prompt|input|request|messages)(?: \w+){0,3}:? <input> tokens",
    r"<input> tokens",
)
"""Patterns for the input alone. The first match counts that is not the limit's number."""
