"""What makes an error an overflow, for `overflow/recognise.py:classify`: the rules that recognise that a request was
too long, and what only looks like it.

The rules name things and relations, not messages: an input, a limit, and that one is more than the other. Every server
says that in its own words; the words for these three things are few, also across languages.

A rule is a regular expression, searched in the text in lower case with single blanks. Above it stands where it was
needed first. It is compiled by the first error that is read: few processes ever see one, and all import this module.

An error is an overflow if

- a field or a word of it is a code that joins an input and an excess (CODE, ODD_CODES), or
- nothing of it is about another matter (OTHER_MATTERS), and its numbers say so (more tokens of input than the limit) or
  its words do (PHRASES). An error that speaks of the answer alone (ANSWER) says nothing about the input.

LIMITS, INPUTS and BOTH_SIDES find the numbers. Where they name no input above the limit, the larger one of two numbers
is the input.
"""

from __future__ import annotations

import re

CODE = (
    r"(?!.*(?:output|image|file|rate_|quota|per_|budget|string|array|name|url|header))"
    r"(?:.*_)?"
    r"(?:"
    r"(?:context|prompt|inputs?|model_length|request|conversation|messages?|sequence)(?:_.*)?"
    r"_(?:exceeded|overflow|full|too_(?:long|large|big))|"
    r"exceeds?_context.*"
    r")"
    r"(?:_error)?"
)
"""A code, type, status or finish reason in snake case that says that an input is too much: context_length_exceeded
(OpenAI), request_too_large (Anthropic), exceed_context_size_error (llama.cpp), model_max_prompt_tokens_exceeded
(Copilot), model_context_window_exceeded (finish reasons of Anthropic and Z.ai)."""

ODD_CODES = {
    "reason_max_context": "UKGovernmentBEIS/inspect_ai, grok.py: finish_reason",
    "model_length": "Mistral: finish_reason",
    "1261": "Zhipu (docs.bigmodel.cn, error codes): Prompt 超长",
}
"""Codes that mean the same as those of CODE, in other words; each with the place where it was seen."""

OTHER_MATTERS = (
    # OpenAI, Anthropic, Groq, Bedrock: status 429; github:FoundationAgents/MetaGPT#523
    (
        r"rate.?(?:limit|bucket)|"
        r"too many requests|"
        r"throttl|"
        r"slow down|"
        r"overloaded|"
        r"exhausted|"
        r"erschöpft|"
        r"(?:at|over) capacity|"
        r"try again (?:later|in)\b|"
        r"please wait|"
        r"deadline|"
        r"time.?out|"
        r"timed out|"
        r"cancell?ed|"
        r"concurren|"
        r"parallel|"
        r"\b(?:tokens?|requests?) ?(?:per|/) ?(?:min|day|hour|sec)|"
        r"per.(?:minute|day|hour|\w+ limit)|"
        r"\b(?:par|pro|por|al|all.|в|за) ?"
        r"(?:minut|heure|jour|stunde|tag\b|hora|d[ií]a\b|ora\b|giorno|минут|час|день|сутки)|"
        r"this minute|"
        r"\b[tr]p[md](?:\b|_)|"
        r"限流|"
        r"频率|"
        r"速率|"
        r"并发"
    ),
    # github:anthropics/claude-code#42616; OpenRouter: status 402
    (
        r"\bquota|"
        r"kontingent|"
        r"allowance|"
        r"\b(?:dai|month)ly|"
        r"\btier\b|"
        r"\bplan\b|"
        r"billing|"
        r"\bcredits?\b|"
        r"insufficient (?:balance|funds)|"
        r"afford|"
        r"extra usage|"
        r"usage|"
        r"\baccount|"
        r"(?:cost|spend)\w*\b|"
        r"budget has|"
        r"额度|"
        r"配额|"
        r"用量"
    ),
    # github:agno-agi/agno#5382; OpenAI: array too long; Anthropic: too many images
    (
        r"(?<!text )\b"
        r"(?:string|array|list|name|id|url|field|description|password|member|stop|metadata|keys?|headers?|cookie)s?\b"
        r".{0,40}?(?:too l\w+|exceed|more than|above|length|at most|less than)|"
        r"above_max_length|"
        r"(?:too many|at most|more than|(?:number|maximum) of) (?:\d+ )?"
        r"(?:image|tool|function|document|file|page|item|message|key|stop sequence|block)\w*(?:\(s\))?(?! tokens)"
    ),
    # Anthropic: image exceeds 5 MB maximum; Vertex: cached content is too small
    (
        r"(?<!tokens of )\b(?:image|file|pdf|audio|video|upload)s?\b.{0,40}?(?:exceed|too \w+|longer|over|limit)|"
        r"image dimensions|"
        r"exceeds upload|"
        r"图片|"
        r"文件|"
        r"(?:工具|函数|tools?) ?(?:的)?(?:数量|个数)|"
        r"\d ?(?:张|条|轮|次|个(?! ?(?:token|词元|令牌|字)))|"
        r"\b(?:minimum|min_\w+) |"
        r"\bmin\w* \w+ is|"
        r"content is too small|"
        r"\bcaching\b"
    ),
)
"""A text with one of these is about another matter: throttling, money, the size of something else than the input, or an
input that is too small."""

# Anthropic: max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens; DashScope
ANSWER = (
    r"max\w*.{0,3}tokens? (?:value )?(?:that )?(?:you )?requested exceeds?|"
    r"\bmax_?\w*tokens\b.{0,30}? (?:too (?:large|high|big)|>|exceeds?|cannot|(?:greater|larger|higher|more) than|"
    r"must be (?!at least|greater|positive))|"
    r"(?:at most|up to|maximum of) \d+ (?:completion|output)|"
    r"\b(?:output|completion) (?:tokens?|limit)\b|"
    r"range of max_(?:output_)?tokens|"
    r"max_tokens.{0,12}输出"
)
"""A text with this says that the wanted answer is longer than the model can write. That says nothing about the input,
unless the text mentions the input too."""

_TOO_MANY = (
    r"(?:(?:trop de|demasiados|troppi|zu viele|слишком много) "
    r"(?:(?:eingabe|input|prompt|kontext|входных)[- ]?)?(?:token|токен)\w*|\btokens demais)"
    r"(?: (?:envoyés|gesendet|enviados|inviati))?"
    r"(?= ?(?:[.:;,!(]|$)|"
    r"(?: \w+){0,2} (?:entr[aé]|input|prompt|conte|kontext|requ[eê]|anfrage|eingabe|richiesta|solicitud|контекст|"
    r"запрос|вход))"
)
"""Too many tokens, in other languages: nothing follows, or the input does. (Other words that follow may speak of
minutes, of the answer, or of tokens that are keys.)"""

INPUT_WORDS = (
    r"context|"
    r"prompt|"
    r"\binputs?\b|"
    r"input_|"
    r"messages|"
    r"conversation|"
    r"\brequest (?:has|holds|contains|of|with|body)|"
    r"tokens? in (?:the|your|this) request|"
    r"(?<!stop )\bsequence\b(?! limit)|"
    r"\bseq_?len|"
    r"\bquery\b|"
    r"\btoken count\b|"
    rf"{_TOO_MANY}|"
    r"history|"
    r"entr[aé]|"
    r"anfrage|"
    r"eingabe|"
    r"kontext|"
    r"requête|"
    r"\bwindow\b|"
    r"вход|"
    r"контекст|"
    r"输入|"
    r"提示|"
    r"上下文|"
    r"对话|"
    r"会话|"
    r"消息|"
    r"入力|"
    r"입력|"
    r"n_ctx"
)
"""A text with one of these mentions the input."""

_SUBJECT = (
    r"\b(?:prompts?|inputs?|context|conversation|chat|histor(?:y|ies)|messages?|requests?|payload|body|query|text|"
    r"sequence|tokens?|document|total|combined|anfrage|eingabe|entrada|requête|n_past)\b"
)
_EXCEEDS = (
    r"(?:exceed\w*|"
    r"(?:longer|greater|larger|bigger|more|higher) than|"
    r"overflow\w*|"
    r"overr[au]ns?|"
    r"surpass\w*|"
    r"beyond|"
    r"\b(?:go|run)\w* past|"
    r"reach\w*|"
    r"\bover\b|"
    r"above|"
    r"(?:not|n't) (?:fit|be served)|"
    r"too (?:long|large|big|many|much|small)|"
    r">=?|"
    r"überschreit\w*|"
    r"übersteigt|"
    r"supera|"
    r"excede|"
    r"dépasse\w*)"
)
_MAX = r"max(?!_(?:output_|completion_|new_)?tokens\b)\w*"
_WINDOW = (
    r"(?:"
    r"(?:context|model|tokens?|input|prompt|sequence|length|size)"
    r"[-_ ](?:length|len|window|size|limit|maximum|capacity)|"
    r"context\b|"
    r"(?:fenêtre|ventana) de|"
    r"n_ctx|"
    r"kontext\w*|"
    rf"{_MAX}[-_ ](?:(?:number of|\w+) ){{0,3}}?(?:length|len|size|window|tokens?|limit|context)|"
    r"(?:length|limit|maximum|capacity|window) (?:of|for) (?:the|this) model|"
    r"model(?:'s|s')? (?:can|(?:\w+ )?(?:limit|maximum|capacity))"
    r")"
)

PHRASES = (
    # Gemini: The input token count (…) exceeds the maximum number of tokens allowed; LM Studio, vLLM, Kimi
    (rf"{_SUBJECT}.{{0,80}}?{_EXCEEDS}.{{0,60}}?{_WINDOW}|{_WINDOW}.{{0,60}}?(?:{_EXCEEDS}|reached|exhausted)"),
    # github:earendil-works/pi#102; Bedrock: too many total text bytes; Vertex: Request payload size exceeds …
    (
        r"(?:prompt|input|context|conversation|history|messages?|request|payload|entity)(?: \w+){0,5}? "
        r"(?:too (?:long|large|big)|over (?:length|long)|exceeds? the (?:limit|maximum|length))|"
        r"too much (?:context|input)|"
        r"too many (?:\w+ ){0,3}(?:tokens|bytes|characters)|"
        rf"{_TOO_MANY}|"
        r"out of context|"
        r"outside (?:the|its) context"
    ),
    # Groq: Please reduce the length of the messages or completion
    (
        r"(?:reduce|shorten|decrease|trim|truncate) (?:the |your )?(?:(?:length|size) of )?(?:the |your )?"
        r"(?:prompt|messages|input|context|conversation|history)"
    ),
    # OpenRouter: This endpoint's maximum context length is …; github:agentscope-ai/QwenPaw#6255
    (
        r"max\w* (?:context|prompt|input|model) (?:length|size|window) is \d|"
        r"context (?:length|size|window) is only \d|"
        r"range of input length|"
        r"only (?:supports?|accepts?|handles?|takes?|reads?) (?:up to )?\d+ ?(?:input |prompt )?tokens|"
        r"(?:input|messages|prompt|request)s? exceeds? \d+ tokens"
    ),
    # github:UKGovernmentBEIS/inspect_ai vllm.py: max_tokens = the window less the input; text-generation-inference
    (
        r"max_\w*tokens must be (?:at least 1|greater than 0|positive).{0,12}-\d|"
        r"inputs?\W{0,2}(?: tokens?)? ?\+ ?\W?max_\w*tokens"
    ),
    # github:cohere-ai/sandbox-topically#4; github:fedora-copr/logdetective-website#193
    (
        r"(?:tokens?|number of|prompt|input|requested).{0,40}(?:(?:cannot|must not|should not|may not|would) exceed|"
        r"exceeded)"
    ),
    # Zhipu, Moonshot, DashScope
    (
        r"(?:prompt|input|输入|提示|上下文|消息|内容|文本|请求|长度|token|入力|コンテキスト|입력|컨텍스트).{0,24}(?:超长|过长|超过|超出|超限|大于|高于|多于|已满|超え|超過|초과)|"
        r"(?:超过|超出).{0,16}(?:长度|上下文|窗口)"
    ),
)
"""Words that say that the request is too long: an input and its excess over a window, or one of them so that the other
is clear."""

UNIT = r"token|\btoks?\b|seq_?len|length|context|n_ctx|токен|トークン|토큰|长度|词元|令牌"
"""If a text matches this, mentions the input and has exactly two numbers, these are taken for a limit and a size."""

INPUT_AND_ANSWER = (
    r"inputs?\W{0,2}(?: length| tokens?)? ?(?:and|plus|\+) ?\W?max_\w*tokens|"
    r"max_\w*tokens (?:would )?exceeds? (?:the )?context"
)
"""A text with this counts the wanted answer too, so a shorter answer may be enough."""

BYTES = r"\b(?:bytes|characters|chars|[kmg]i?b)\b"
"""Units in which the size of a text or of a request's body is told."""

BODY = r"\b(?:requests?|payload|entity|body|content|anfrage|requête|solicitud|richiesta)\b|_too_large|请求"
"""What a gateway or a server measures before any model sees the request."""

TOKENS = r"tokens?|токен|トークン|토큰|词元|令牌"
MODEL_WORDS = (
    rf"{TOKENS}|\bmodel|context|контекст|kontext|上下文|コンテキスト|컨텍스트|prompt|提示|\binputs?\b|input_|输入|入力|입력|"
    r"\bmessages\b|消息|conversation|对话|会话|history|entr[aé]|eingabe|вход|n_ctx|"
    r"\bsequence\b|sequence_|seq_?len|\bwindow\b|n_positions|长度"
)
"""A text without any of these says nothing of tokens, of a context or of the model."""

NO_TOKENS = rf"{BYTES}|invalid params, context window exceeds limit"
"""The numbers in a text with one of these are not numbers of tokens. (MiniMax's wording ends with an error code.)"""

EXCESS = (
    r"\bby \d+ tokens|"
    r"\bwhich is \d+ tokens (?=(?:more|over|longer|larger|greater|bigger|higher|above|beyond|past|too|in excess)\b)"
)
"""The number of tokens that are too many. It is neither the limit nor the input. Without such a word behind it, "which
is 8192 tokens" is a limit or an input."""

LIMIT_FIELD = r"(?!max_(?:output_|completion_|new_)?tokens$).*(?:limit|max|n_ctx|context_(?:length|window|size)).*"
"""Names of fields of an error, beside its text, that have the limit: n_ctx of llama.cpp, limit_value of a validator."""
INPUT_FIELD = r"(?!.*(?:limit|max)).*(?:(?:prompt|input)_?tokens|actual|current|given|requested).*"
"""Names of fields of an error, beside its text, that have the input: n_prompt_tokens of llama.cpp, actual_value of a
validator."""


def _numbers(*patterns: str) -> tuple[str, ...]:
    """Regular expressions from patterns in which `<limit>`, `<input>` and `<output>` stand for a number: each becomes a
    group with that name."""
    number = r"(?P<\1>(?<![\\d.\[-])\\d+(?![\\d]|\\.\\d))"
    return tuple(re.sub("<(limit|input|output)>", number, pattern) for pattern in patterns)


BOTH_SIDES = _numbers(
    r"<input> ?\+ ?<output> ?> ?<limit>",
    r"<limit>\. given: <input> \W?inputs?\W? (?:tokens )?and <output>",
    r"<input> (?:tokens )?(?:in|of|from) [a-z ]{0,12}(?:messages|prompt|input)[,;]? (?:and )?"
    r"(?:\d+ (?:tokens )?(?:in|of|from) [a-z ]{0,12}(?:messages|prompt|input|tools)[,;]? (?:and )?)*<output> ",
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
    r"context(?: is| of|:)? <limit>",
    r"<limit>(?:[- ]tokens?)?[- ](?:max|limit|context|window)",
    r"(?:not exceed|less than|fewer than|at most|up to|<=|≤|no more than|limited to|limit(?: is| of)?|"
    rf"only \w+|exceeds?)\b{_GAP}<limit>",
    r"(?:超过|超出|最大|上限|限制)[^\d;]{0,16}<limit>",
)
"""Patterns for the limit alone. The first match counts."""

INPUTS = _numbers(
    r"(?:prompt|input|token|total)s? (?:token )?(?:count|length|size)[^\d.;]{0,12}<input>",
    r"too (?:long|large|big)[^\d;]{0,6}<input>",
    r"(?:数量|总长度|总数|当前请求|共)[^\d;]{0,12}<input>",
    r"<input>(?: tokens)? (?:in|of|from|for) (?:the |your )?(?:messages|prompts?|text input|input)",
    r"<input> (?:input|prompt) tokens",
    r"(?:requested|resulted in|received|contains?|have|has|got|given|sent|found|used|provided)[^\d;]{0,24}<input>",
    r"(?:prompt|input|request|messages|tokens|length|text)[^\d.;]{0,20}\(<input>",
    r"(?:prompt|input|request|messages)(?: \w+){0,3}:? <input> tokens",
    r"<input> tokens",
)
"""Patterns for the input alone. The first match counts that is not the limit's number."""
