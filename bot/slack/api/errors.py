"""How a call to Slack fails, and what Slack's words for a refusal mean."""

import re
from collections.abc import Sequence

from bot.errors import FrontdeskError

TRANSIENT = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
"""`ok: false` answers after which, by Slack's documentation, part of the operation may have succeeded."""
OVER = frozenset({"stopped_by_user", "message_not_in_streaming_state", "message_not_found"})
"""Refusals which say that a stream has ended without our stop."""
LIMITED = frozenset({"ratelimited", "rate_limited"})
NO_SESSIONS = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "unknown_method",
        "method_deprecated",
        "deprecated_endpoint",
        "missing_scope",
        "not_allowed_token_type",
        "not_agent_app",
        "team_access_not_granted",
    }
)
"""Refusals which say that the app is no agent, or that this workspace has no agents
(https://docs.slack.dev/reference/methods/agents.sessions.setStatus)."""
NOT_OURS = frozenset({"not_authorized", "no_permission", "access_denied"})
"""Refusals that concern sessions in one channel."""
CHANNEL_FAULTS = (
    "not_in_channel",
    "channel_not_found",
    "is_archived",
    "restricted_action",
    "access_denied",
    "org_login_required",
)
"""The beginnings of refusals that are about the channel and not about the post."""
GONE = frozenset({"is_archived"})
"""After these refusals, by any method, other calls for the channel fail too."""
GONE_FOR_POSTS = GONE | {"channel_not_found", "not_in_channel"}
"""The same for the method that posts. Other methods can answer this way when they don't support the kind of channel."""
PERSON_GONE = frozenset({"user_disabled", "user_not_found", "user_not_visible", "cannot_dm_bot"})
"""Refusals of a direct message which say that there is no one to open it with."""
DEAD_TOKEN = frozenset({"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive"})
"""Refusals that are only about the token. Every call fails until an operator repairs it."""


class SlackRefused(FrontdeskError):
    """Slack answered no. The call did nothing, and the same call would be refused again.

    `error` is Slack's word, such as `channel_not_found`. `details` are Slack's sentences about what is wrong (with
    blocks, scopes). They can quote what was sent, so the exception's text leaves them out.
    """

    def __init__(self, method: str, error: str, details: Sequence[str] = ()) -> None:
        self.method = method
        self.error = error if re.fullmatch(r"[a-z0-9_.:]{1,80}", error) else "unknown_error"
        self.details = tuple(detail[:300] for detail in details[:20])
        super().__init__(f"{method}: {self.error}")

    @property
    def error_type(self) -> str:
        """Slack's word."""
        return self.error


class SlackUnanswered(FrontdeskError):
    """Slack gave no usable answer: a timeout, a broken connection, a server error, a rate limit that is too long.

    `reason` is one stable word. If `sent` is False, the call certainly did nothing and can be made again. Otherwise
    it may have been applied. `retry_after` is the wait in seconds that a rate limit asks for, Slack's or our own.
    """

    def __init__(self, method: str, reason: str, *, sent: bool = True, retry_after: float = 0.0) -> None:
        self.method = method
        self.reason = reason
        self.sent = sent
        self.retry_after = retry_after
        super().__init__(f"{method}: {reason}")

    @property
    def error_type(self) -> str:
        """The reason."""
        return self.reason
