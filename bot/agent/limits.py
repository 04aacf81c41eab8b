"""What one turn may cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one turn. Each ends in an answer or in a reason, never in an exception."""

    rounds: int = 8
    """Replies of the model; the last one is asked for without tools, so that there is an answer."""
    calls: int = 16
    """Tool calls; further ones are refused in words and the answer is forced."""
    calls_per_tool: int = 10
    """Calls of one tool; the same."""
    handovers: int = 4
    """Changes of agent; further ones are refused in words."""
    tokens: int = 200_000
    """Input and output together; past it the answer is forced."""
    cost: float | None = None
    """US dollars; past it the answer is forced. None: no bound."""
    turn_seconds: float = 120.0
    """The whole turn, tools and retries included; past it the turn has failed."""
    closing_seconds: float = 30.0
    """When no more than this is left of the turn, the answer is forced."""
    round_seconds: float = 60.0
    """One reply, from the request to its end."""
    first_token_seconds: float = 13.0
    """From a request to the first sign of life in its stream; with the second try 20 seconds at most."""
    idle_seconds: float = 15.0
    """Between two signs of life; keep-alive comments are none. Kept to within a tenth."""
    silent_again_seconds: float = 6.0
    """Both, once a request of the round has been silent for too long: the customer has waited for that."""
    tool_concurrency: int = 8
    """Calls of one round that run at the same time."""
    output_tokens: int = 4_000
    """What the provider may write in one reply."""
    output_characters: int = 24_000
    """Where a reply is cut off, whatever the provider makes of output_tokens."""
    window_characters: int = 24_000
    """Conversation sent with a request; see history.fit for what goes first."""
    retries: int = 2
    """Further attempts in one turn at requests that failed before anything was shown; each endpoint's own budget for
    all turns may allow fewer."""
    retry_seconds: float = 0.5
    """The pause before the first retry; doubled each time, less up to half of it by chance."""
    retry_after_seconds: float = 20.0
    """The longest pause a provider may ask for; when it wants more, it is not waited for."""
    outage_seconds: float = 60.0
    """How long a turn waits, all in all, for a server that is away to be asked again; within the turn's own time."""
    continuations: int = 1
    """How often a turn goes on with a reply that broke off after some of it was shown."""
