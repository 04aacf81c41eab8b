"""How one model wants to be asked, beyond the conversation itself."""

from dataclasses import dataclass
from typing import Literal

from bot.agent.model import ModelRequest

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How long a model thinks before it writes; which words a model knows, its provider says."""

THINKING_TOKENS = 20_000
"""What a reply may take on top of its own tokens for thinking: providers count both against one limit."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What is known of a model when it is opened. The default leaves everything to the request."""

    reasons: bool = False
    """True: it thinks before it writes. Such models refuse a temperature."""
    effort: Effort | None = None
    """None: the provider's default."""
    temperature: float | Literal["none"] | None = None
    """In place of the one that an agent asks for; "none": never sent. None: as the agent asks."""

    def output_tokens_for(self, request: ModelRequest) -> int:
        """The limit to send for a reply's tokens."""
        return request.output_tokens + (THINKING_TOKENS if self.reasons else 0)

    def temperature_for(self, request: ModelRequest) -> float | None:
        """The temperature to send; None for none."""
        if self.reasons or self.temperature == "none":
            return None
        return request.temperature if self.temperature is None else self.temperature
