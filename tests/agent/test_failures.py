"""What a provider's errors mean."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.agent.failures import lost_connection, provider_failure, retry_after

BUSY = ("rate_limited", True)
TOO_LONG = ("context_length", False)
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": " 600 "}, 600.0),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Fri, 20 Nov 99999 12:00:00 GMT"}, None),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:00 -9999"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOON) == seconds


@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (429, {"type": "requests", "code": "rate_limit_exceeded"}, "rate_limited", True),
        (429, {"code": "insufficient_quota"}, "insufficient_quota", False),
        (429, {"type": "insufficient_quota"}, "insufficient_quota", False),
        (402, None, "insufficient_quota", False),
        (403, {"code": "billing_not_active"}, "insufficient_quota", False),
        (400, {"message": "Your credit balance is too low to access the API."}, "insufficient_quota", False),
        (429, {"type": "exceeded_current_quota_error"}, "insufficient_quota", False),
        (429, [{"error": {"message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED"}}], *BUSY),
        (401, {"code": "invalid_api_key"}, "unauthorized", False),
        (403, {"code": 403, "message": "Permission denied."}, "unauthorized", False),
        (401, "<html>Sign in</html>", "unauthorized", False),
        (403, "<html>You have been blocked.</html>", "refused_request", False),
        (403, "error code: 1020", "refused_request", False),
        (403, None, "refused_request", False),
        (400, {"code": "context_length_exceeded"}, "context_length", False),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, "context_length", False),
        (400, {"message": "prompt is too long: 9000 tokens"}, "context_length", False),
        (400, {"message": "the request exceeds the available context size"}, "context_length", False),
        (400, {"message": "The input token count exceeds the maximum number of tokens allowed."}, *TOO_LONG),
        (413, {"code": "rate_limit_exceeded"}, "context_length", False),
        (400, {"code": "content_filter"}, "filtered", False),
        (400, {"code": "content_policy_violation"}, "filtered", False),
        (400, {"code": "invalid_prompt", "type": "invalid_request_error"}, "filtered", False),
        (400, {"code": "bio_policy"}, "filtered", False),
        (403, {"code": "ip_policy"}, "unauthorized", False),
        (403, {"code": 403, "message": "Your input was flagged by moderation."}, "filtered", False),
        (400, {"message": "unknown field"}, "refused_request", False),
        (404, {"code": "model_not_found"}, "refused_request", False),
        (500, {"message": "oops"}, "model_unreachable", True),
        (503, "<html>busy</html>", "model_unreachable", True),
        (408, None, "model_unreachable", True),
        (529, {"type": "overloaded_error"}, "model_unreachable", True),
    ],
)
def test_status_and_words_make_a_kind(status: int, error: Any, kind: str, retryable: bool) -> None:
    failure = provider_failure(error, status=status)
    assert (failure.kind, failure.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"message": "Rate limit reached. Please try again in 1.5s."}, 1.5),
        ({"message": "Please try again in 20ms."}, 0.02),
        ({"details": [{"retryDelay": "34s"}]}, 34.0),
        ({"message": "Please try again in a while."}, None),
    ],
)
def test_a_wait_may_stand_in_the_error_itself(error: dict[str, Any], seconds: float | None) -> None:
    assert provider_failure(error, status=429).retry_after == seconds
    assert provider_failure(error, status=429, wait=2.0).retry_after == 2.0


def test_a_providers_message_is_not_repeated() -> None:
    assert "sk-secret" not in str(provider_failure({"message": "Incorrect key sk-secret", "code": "x"}, status=401))


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        ("no way to http://me:hunter2@model:80/v1?key=hunter2&x=1 today", "no way to http://model:80/v1 today"),
        ("no way to https://me:hunter2/@x@model/v1", "no way to https://model/v1"),
        ("", "OSError"),
    ],
)
def test_of_an_address_neither_the_password_nor_the_query_is_told(cause: str, told: str) -> None:
    error = RuntimeError("Request timed out.")
    error.__cause__ = OSError(cause)
    assert lost_connection(error) == told
