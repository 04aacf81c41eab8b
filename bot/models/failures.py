"""What a provider's error means for a turn: one of our own kinds, whether to try again, and when.

Providers agree on HTTP status codes more than on the words in the body. Both are read. The beginning of a provider's
message is kept for people. It is masked, because some messages repeat parts of a key or of the conversation.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from bot.agent.model import ModelFailure
from bot.guard.guardrails import clean, mask

_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum (context|number of tokens)|too many (input )?tokens"
    r"|(prompt|input|message) is too long|reduce the length|exceeded model token limit",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(
    r"insufficient.(quota|balance|credits?|funds)|billing.(hard.limit|not.active)|exceeded.current.quota"
    r"|credit balance is too low",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content.?(filter|policy)|flagged|moderation|responsibleai|safety.system", re.IGNORECASE)
_BUSY = re.compile(r"rate.?limit|too.many.requests|resource.exhausted|throttl", re.IGNORECASE)
_ASKED_WAIT = re.compile(r"(?:try again in |retryDelay\W{1,5})(\d{1,6}(?:\.\d{1,9})?)\s?(ms|s)\b", re.IGNORECASE)
_PRIVATE = re.compile(r"(?<=//)\S{0,200}@|\?\S*")
"""The private parts of an address: the user, and the query."""
_WORDS_LIMIT = 200
_WORDS_READ = 2_000
"""The number of characters of a message that are read, so that nothing is cut before it is masked."""
_PARAM_LIMIT = 80
_ENTRIES_READ = 20
_PERSONAL = (
    # A provider may quote a part of what was sent. The names of fields are shorter.
    (re.compile(r"\"[^\"]{41,}\"|'[^']{41,}'|`[^`]{41,}`|“[^”]{41,}”"), "[quotation]"),
    (re.compile(r"\b(?i:sk|pk|rk|key|tok)-[\w*-]{1,200}"), "[secret]"),
    (re.compile(r"[\w.-]{0,40}\*{3,}[\w.-]{0,40}"), "[secret]"),
    (re.compile(r"\b(?=[A-Za-z]{0,40}\d)(?=\d{0,40}[A-Za-z])[A-Za-z0-9]{20,}\b"), "[secret]"),
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"), "[e-mail address]"),
    (re.compile(r"<?@?\b[UW](?=[A-Z0-9]*\d)[A-Z0-9]{7,20}\b>?"), "[person]"),
    (re.compile(r"(?<![\w-])\+?\d[\d ()/.-]{6,30}\d(?!\w)"), "[number]"),
    (re.compile(r"\b[A-Z]{2,8}-\d{3,}\b|\b\d{8,}\b"), "[number]"),
)
"""What is masked in addition to what `mask` knows."""
_TRANSIENT = frozenset({408, 409, 425})


def provider_failure(error: object, *, status: int | None = None, wait: float | None = None) -> ModelFailure:
    """The failure behind an error body or an error object in a stream.

    `status` is the HTTP status. It is None inside a stream, where many providers put it into the error's code. `wait`
    is what `retry_after` returned. Without it, the wait that the error itself asks for is used.
    """
    error = _unwrapped(error)
    fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    code, kind, name = (str(fields.get(key) or "") for key in ("code", "type", "status"))
    message = _message(fields)
    if status is None:
        status = int(code) if code.isdecimal() else 400 if "invalid_request" in kind else None
    words = f"{code} {kind} {name}"
    detail = _detail(f"{status or ''} {words}", fields.get("param"), message)
    if wait is None:
        wait = _asked_wait(f"{message} {fields.get('details') or ''}")
    if status == 402 or _NO_MONEY.search(words) or (_NO_MONEY.search(message) and status in (400, 403, 429)):
        return ModelFailure("insufficient_quota", detail)
    if status == 413 or "context_length" in words or "context_size" in words or _TOO_LONG.search(message):
        return ModelFailure("context_length", detail)
    if _FILTERED.search(words) or (status in (400, 403) and _FILTERED.search(message)):
        return ModelFailure("filtered", detail)
    if status in (None, 400) and ("invalid_prompt" in words or "policy" in code):  # in OpenAI's words
        return ModelFailure("filtered", detail)
    if code == "tool_use_failed":  # at Groq; the model wrote a call that is none, and may do better the next time
        return ModelFailure("malformed", detail, retryable=True)
    if status == 429 or _BUSY.search(words):
        return ModelFailure("rate_limited", detail, retryable=True, retry_after=wait)
    if status == 403 and not isinstance(error, Mapping):  # from a firewall and not from the provider
        return ModelFailure("refused_request", detail)
    if status in (401, 403) or "invalid_api_key" in words or "authentication" in words:
        return ModelFailure("unauthorized", detail)
    if status is None or status >= 500 or status in _TRANSIENT:
        return ModelFailure("model_unreachable", detail, retryable=True, retry_after=wait)
    return ModelFailure("refused_request", detail)


def _message(fields: Mapping[str, Any]) -> str:
    """What an error says. Of FastAPI's list, which Mistral wraps, the places and the faults, and not what was sent."""
    match fields:
        case {"message": {"detail": [*entries]}} | {"message": [*entries]} | {"detail": [*entries]}:
            said = [each for each in entries[:_ENTRIES_READ] if isinstance(each, Mapping)]
            return "; ".join(f"{_place(each.get('loc'))}: {each.get('msg', '')}" for each in said)
        case _:
            return str(fields.get("message") or fields.get("detail") or "")


def _place(loc: object) -> str:
    return ".".join(str(part)[:_PARAM_LIMIT] for part in loc[:8]) if isinstance(loc, list) else ""


def _detail(codes: str, param: object, message: str) -> str:
    """What appears in the log and for staff: status, code and type, the faulty field, and the beginning of the
    message.
    """
    parts = [" ".join(re.findall(r"[\w.-]{1,40}", codes)[:3])]
    if isinstance(param, str) and param.strip():
        parts.append(f"param {_in_one_line(param)[:_PARAM_LIMIT]}")
    if said := _in_one_line(message)[:_WORDS_LIMIT]:
        parts.append(f"“{said}”")
    return ", ".join(filter(None, parts))


def _in_one_line(words: str) -> str:
    """A provider's words without control characters, secrets, personal data, and long quotations."""
    text = " ".join(clean(words[:_WORDS_READ], limit=_WORDS_READ).split())
    text = mask(text)
    for pattern, instead in _PERSONAL:
        text = pattern.sub(instead, text)
    return text


def lost_connection(error: BaseException) -> str:
    """Why there was no connection, in the words of the error that the client wrapped. The client calls a refusal a
    timeout.

    The password and the query of an address are removed.
    """
    words = " ".join(str(error.__cause__ or "")[:_WORDS_READ].split())
    words = mask(_PRIVATE.sub("", words))[:_WORDS_LIMIT]
    return words or type(error.__cause__ or error).__name__


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """The seconds for which the headers ask to wait (RFC 9110 section 10.2.3, and OpenAI's milliseconds), or None.

    Whole and decimal seconds and dates are read. Anything else, including a negative wait, counts as None.
    """
    if (millis := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return millis / 1000
    value = headers.get("retry-after", "").strip()
    if (seconds := _seconds(value)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, OverflowError):
        return None


def _unwrapped(error: object) -> object:
    """The error itself, without its wrapping. Google wraps it in a list."""
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, Mapping) and isinstance(error.get("error"), Mapping):
        error = error["error"]
    return error


def _asked_wait(text: str) -> float | None:
    found = _ASKED_WAIT.search(text)
    return float(found[1]) / (1000 if found[2].lower() == "ms" else 1) if found else None


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if isfinite(seconds) and seconds >= 0 else None
