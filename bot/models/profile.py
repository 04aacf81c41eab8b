"""How to ask one model, apart from the conversation itself."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from bot.agent.model import ModelRequest

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How long a model thinks before it writes. The provider documents which of these words a model accepts."""

_LOW: frozenset[Effort] = frozenset({"none", "minimal", "low"})
THINKING_TOKENS = 20_000
"""The extra tokens of a reply for thinking. Providers count both against one limit."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What is known of a model when it is opened. The default leaves everything to the request."""

    reasons: bool = False
    """True: the model thinks before it writes."""
    effort: Effort | None = None
    """The effort to ask for. None: the provider's default."""
    least_effort: Effort = "low"
    """The lowest effort that the model is known to accept."""
    temperature: float | None = None
    """The operator's setting. It is not sent to models that think, because they refuse it. None: it is sent to no
    model."""

    takes: frozenset[str] = frozenset()
    """The fields beyond the protocol's common ones that the model's provider is known to take."""
    customers_key: bytes = b""
    """The key of the hashes that name customers to providers. Without one, none is named."""

    def fields_for(self, request: ModelRequest) -> dict[str, str]:
        """The fields that say which requests begin alike, and for which customer one is."""
        fields: dict[str, str] = {}
        if "prompt_cache_key" in self.takes and request.instructions:
            fields["prompt_cache_key"] = f"frontdesk-{_digest(request.instructions)}"
        if "safety_identifier" in self.takes and request.customer and self.customers_key:
            fields["safety_identifier"] = _digest(request.customer, key=self.customers_key)
        return fields

    @property
    def marks_instructions(self) -> bool:
        """Whether the end of the instructions is marked as the end of what the cache keeps for all customers."""
        return "prompt_cache_breakpoint" in self.takes

    def output_tokens_for(self, request: ModelRequest) -> int:
        """The limit to send for a reply's tokens."""
        thinks = self.reasons and self.effort_for(request) != "none"
        return request.output_tokens + (THINKING_TOKENS if thinks else 0)

    def effort_for(self, request: ModelRequest) -> Effort | None:
        """The effort to send; None for none. A model that should think less gets "low", or its least effort below
        that.
        """
        if not request.thinks_less or not self.reasons:
            return self.effort
        if self.effort in _LOW:
            return self.least_effort if self.effort == "low" else self.effort
        return "low"

    @property
    def temperature_sent(self) -> float | None:
        """The temperature to send; None for none."""
        return None if self.reasons else self.temperature


def _digest(text: str, *, key: bytes = b"") -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=key).hexdigest()
