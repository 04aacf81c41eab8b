"""The limits of one turn."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one turn. Each one leads to an answer or to a reason, never to an exception."""

    rounds: int = 8
    """The number of replies of the model. The last one has no tools, so that it is an answer."""
    calls: int = 16
    """The number of tool calls. Further ones are refused in words, and the answer is forced."""
    calls_per_tool: int = 10
    """The number of calls of one tool. Further ones are refused in words, and the answer is forced."""
    handovers: int = 4
    """The number of handovers between agents. Further ones are refused in words."""
    tokens: int = 200_000
    """Input and output tokens together. Beyond this the answer is forced."""
    cost: float | None = None
    """The cost in US dollars. Beyond this the answer is forced. None means no limit."""
    turn_seconds: float = 120.0
    """The time of the whole turn, with tools and retries. After this the turn has failed."""
    closing_seconds: float = 30.0
    """If the turn has no more time left than this, the answer is forced."""
    round_seconds: float = 60.0
    """The time of one reply, from the request to its end."""
    first_token_seconds: float = 13.0
    """The time from a request to the first sign of life in its stream. With the second try it is 20 seconds at most."""
    idle_seconds: float = 15.0
    """The time between two signs of life, to within a tenth. Keep-alive comments do not count as such."""
    silent_again_seconds: float = 6.0
    """Replaces both times after one request of the round was silent for too long: the customer has waited enough."""
    tool_concurrency: int = 8
    """The number of calls of one round that run at the same time."""
    output_tokens: int = 4_000
    """The number of tokens that the provider may write in one reply."""
    output_characters: int = 24_000
    """The number of characters after which a reply is cut off, even if the provider ignores `output_tokens`."""
    window_characters: int = 24_000
    """The number of characters of conversation sent with a request. `history.fit` says what is dropped first."""
    retries: int = 2
    """The number of retries in one turn of requests that failed before anything was shown.

    Each endpoint's own budget for all turns can allow fewer.
    """
    retry_seconds: float = 0.5
    """The pause before the first retry. It doubles each time, and up to half is randomly taken off."""
    retry_after_seconds: float = 20.0
    """The longest pause that a provider can ask for. If it asks for more, the turn does not wait."""
    outage_seconds: float = 60.0
    """How long a turn waits in total until a server that is away can be asked again, within the turn's own time."""
    continuations: int = 1
    """How often a turn continues a reply that broke off after some of it was shown."""
