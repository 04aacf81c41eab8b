"""What a provider's error means for a turn: one of our own kinds, whether to try again, and when.

Providers agree on HTTP status codes more than on the words in the body; both are read. Their messages are
matched and then dropped, since some repeat parts of a key or of the conversation.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from bot.agent.model import ModelFailure

_TOO_LONG = re.compile(
    r"context.{0,3}(length|window)|maximum context|too many (input )?tokens|prompt is too long", re.IGNORECASE
)
_TRANSIENT = frozenset({408, 409, 425})


def provider_failure(error: object, *, status: int | None = None, wait: float | None = None) -> ModelFailure:
    """The failure behind an error body or an error object in a stream.

    `status` is the HTTP status, None inside a stream, where many providers put it into the error's code. `wait` is
    what `retry_after` read.
    """
    fields = error if isinstance(error, Mapping) else {"message": error}
    code, kind, message = (str(fields.get(name) or "") for name in ("code", "type", "message"))
    if status is None and code.isdecimal():
        status = int(code)
    words = f"{code} {kind}"
    detail = " ".join(re.findall(r"[\w.-]{1,40}", f"{status or ''} {words}")[:3])
    if "insufficient_quota" in words or status == 402:
        return ModelFailure("insufficient_quota", detail)
    if "context_length" in words or _TOO_LONG.search(message):
        return ModelFailure("context_length", detail)
    if "content_filter" in words:
        return ModelFailure("filtered", detail)
    if status == 429 or "rate_limit" in words:
        return ModelFailure("rate_limited", detail, retryable=True, retry_after=wait)
    if status in (401, 403) or "invalid_api_key" in words:
        return ModelFailure("unauthorized", detail)
    if status is None or status >= 500 or status in _TRANSIENT:
        return ModelFailure("model_unreachable", detail, retryable=True, retry_after=wait)
    return ModelFailure("refused_request", detail)


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds that the headers ask to wait (RFC 9110 section 10.2.3, and OpenAI's milliseconds), or None.

    Reads whole and decimal seconds and dates; anything else, a negative wait too, says nothing.
    """
    if (millis := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return millis / 1000
    value = headers.get("retry-after", "").strip()
    if (seconds := _seconds(value)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if isfinite(seconds) and seconds >= 0 else None
