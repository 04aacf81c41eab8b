"""What a provider's errors mean."""

from datetime import UTC, datetime

import pytest

from bot.models.failures import lost_connection, provider_failure, retry_after

BUSY = ("rate_limited", True)
TOO_LONG = ("context_length", False)
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_retry_after_is_read_in_every_form() -> None:
    table = [
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
    ]
    misses = [(headers, got) for headers, seconds in table if (got := retry_after(headers, now=NOON)) != seconds]
    assert misses == []


def test_of_a_list_of_faults_the_places_are_told_and_not_what_was_sent() -> None:
    fault = {"type": "extra_forbidden", "loc": ["body", "messages", 0, "user", "name"], "msg": "Extra inputs"}
    detail = [fault | {"input": "My parcel is lost."}, "odd", {}]
    told = [
        "422 invalid_request_error, “body.messages.0.user.name: Extra inputs; :”",
        "422, “body.messages.0.user.name",
    ]
    for error, expected in zip(
        [{"message": {"detail": detail}, "type": "invalid_request_error"}, {"detail": detail}], told, strict=True
    ):
        failure = provider_failure(error, status=422)
        assert failure.kind == "refused_request"
        assert str(failure).endswith("”")
        assert expected in str(failure)
        assert "parcel" not in str(failure)


BAD_CALL = ("malformed", True)


def test_status_and_words_make_a_kind() -> None:
    table = [
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
        (400, {"code": "tool_use_failed", "message": "Tool choice is none, but model called a tool"}, *BAD_CALL),
        (None, {"code": "tool_use_failed", "type": "invalid_request_error"}, *BAD_CALL),
        (500, {"message": "oops"}, "model_unreachable", True),
        (503, "<html>busy</html>", "model_unreachable", True),
        (408, None, "model_unreachable", True),
        (529, {"type": "overloaded_error"}, "model_unreachable", True),
    ]
    misses = []
    for status, error, kind, retryable in table:
        failure = provider_failure(error, status=status)
        if (failure.kind, failure.retryable) != (kind, retryable):
            misses.append((status, error, failure.kind, failure.retryable))
    assert misses == []


def test_a_wait_may_stand_in_the_error_itself() -> None:
    table = [
        ({"message": "Rate limit reached. Please try again in 1.5s."}, 1.5),
        ({"message": "Please try again in 20ms."}, 0.02),
        ({"details": [{"retryDelay": "34s"}]}, 34.0),
        ({"message": "Please try again in a while."}, None),
    ]
    misses = [
        (error, seconds)
        for error, seconds in table
        if provider_failure(error, status=429).retry_after != seconds
        or provider_failure(error, status=429, wait=2.0).retry_after != 2.0
    ]
    assert misses == []


def test_a_key_in_a_providers_message_is_not_repeated() -> None:
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


BAD_FIELD = {
    "message": "Unsupported value: 'temperature' does not support 0.3 with this model.",
    "type": "invalid_request_error",
    "param": "temperature",
    "code": "unsupported_value",
}


def test_a_failure_says_what_the_provider_said_of_it() -> None:
    failure = provider_failure({"error": BAD_FIELD}, status=400)
    assert failure.kind == "refused_request"
    assert str(failure) == (
        "refused_request: 400 unsupported_value invalid_request_error, param temperature, "
        "“Unsupported value: 'temperature' does not support 0.3 with this model.”"
    )


def test_what_a_provider_says_is_masked() -> None:
    table = [
        ("Incorrect API key provided: sk-proj-a1b2****c3d4. See the page.", "Incorrect API key provided: [secret]"),
        ("Incorrect API key provided: deadbeef0123456789abcdef.", "Incorrect API key provided: [secret]."),
        ("bad content from anna.b@example.com, +49 170 1234567", "bad content from [e-mail address], [number]"),
        ("flagged: 'my card is 4111 1111 1111 1111'", "flagged: 'my card is [card number]'"),
        ("invalid user <@U0CUSTOMER1> of ORD-10482", "invalid user [person] of [number]"),
        (f'Invalid content: "{"I live at Elm Street. " * 4}"', "Invalid content: [quotation]"),
        ("two\nlines\x00 \u202eand tags", "two lines and tags"),
        ("Unknown model 'gpt-5-mini-2025-08-07' (max 128000)", "Unknown model 'gpt-5-mini-2025-08-07' (max 128000)"),
    ]
    kept_back = ("sk-proj", "deadbeef", "anna", "1234567", "4111", "U0CUSTOMER1", "10482", "Elm")
    misses = []
    for message, told in table:
        said = str(provider_failure({"message": message}, status=400))
        of_field = str(provider_failure({"message": message, "param": message}, status=400))
        if told not in said or any(each in of_field for each in kept_back):
            misses.append((message, said, of_field))
    assert misses == []


def test_no_more_than_the_beginning_of_what_a_provider_says_is_kept() -> None:
    said = provider_failure({"message": "word " * 100_000, "param": "x" * 1_000}, status=400).args[0]
    assert said.count("word ") == 40
    assert len(said) < 400
    hidden = provider_failure({"message": "x " * 97 + "anna.b@example.com and more"}, status=400).args[0]
    assert "anna" not in hidden, "what is cut is masked before"
