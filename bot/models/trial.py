"""One real round with one tool against a model, for `frontdesk check`."""

from dataclasses import dataclass

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.events import Event, RequestFailed, ToolFinished
from bot.agent.limits import Limits
from bot.agent.loop import run
from bot.agent.messages import CustomerMessage, Image
from bot.agent.model import Usage
from bot.agent.tools import Context, tool
from bot.conversation import Customer, ThreadRef

_INSTRUCTIONS = (
    "You test a connection. Call the tool look_up once with the word ready. Then answer with the word that it returns, "
    "and nothing else."
)
_LIMITS = Limits(rounds=3, turn_seconds=150.0, closing_seconds=5.0, output_tokens=500, retries=0)
_IMAGE = Image(
    "image/png",
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAAAAACPAi4CAAAAK0lEQVR42u3MMREAAAgEoNf+nTWEmwcBqMlNRyAQCAQCgUAgEAgEAsHzYAFQLQF/OJ8+2wAA"
    "AABJRU5ErkJggg==",
    64,
    64,
)
"""A white square. A server that takes no images refuses it now, and not the first customer's."""
_PASSING = ("model_unreachable", "rate_limited", "cut", "deadline")
"""The kinds of failure that say nothing about the settings."""
_CONTEXT = Context(Customer("", "", name="", locale="", member_type="member"), ThreadRef("", "", ""), "trial")


@dataclass(frozen=True, slots=True)
class Trial:
    """How a round with a model went."""

    model: str
    failure: str
    """Why there was no answer, in the provider's masked words. Empty if there was one."""
    first_token: float | None
    """Seconds to the first sign of life."""
    called: bool
    """Whether the model called the tool."""
    usage: Usage
    has_price: bool
    left_out: tuple[str, ...]
    """The fields that the server refused, or is known to refuse."""
    may_pass: bool = False
    """Whether the model only did not answer: what failed may work a little later."""
    took_image: bool = False
    """Whether it was sent an image and did not refuse it."""

    def note(self) -> str:
        """Return the trial in a sentence for operators."""
        parts = [f"the first sign of life came after {self.first_token or 0.0:.1f} s"]
        parts.append("it called the tool" if self.called else "it did not call the tool it was asked to call")
        price = f"{self.usage.cost:.6f} US dollars" if self.has_price else "no price is known"
        tokens = f"{self.usage.input_tokens} tokens in, {self.usage.output_tokens} out"
        parts.append("it takes images" if self.took_image else "it gets no images")
        parts.append(f"{'about ' if self.usage.estimated else ''}{tokens}, {price}")
        parts.append(f"left out: {', '.join(self.left_out)}" if self.left_out else "nothing had to be left out")
        return f"{self.model}: {'; '.join(parts)}"


async def try_model(endpoint: Endpoint) -> Trial:
    """Ask the model for a word that only the tool knows."""

    @tool(title="Looking up a word")
    async def look_up(context: Context, word: str) -> str:
        """Look up a word."""
        return "all is well"

    seen: list[Event] = []
    before = len(endpoint.first_tokens.seconds)
    outcome = await run(
        Team((Agent("trial", _INSTRUCTIONS, (look_up,)),), entry="trial"),
        "trial",
        [CustomerMessage("Look up the word.", images=(_IMAGE,) if endpoint.takes_images() else ())],
        models=Models((endpoint,)),
        context=_CONTEXT,
        passages="",
        emit=seen.append,
        limits=_LIMITS,
    )
    times = [*endpoint.first_tokens.seconds][before:]
    failures = [event.words for event in seen if isinstance(event, RequestFailed)]
    failure = "" if outcome.ended == "answered" else (failures[-1] if failures else outcome.reason)
    called = any(isinstance(event, ToolFinished) for event in seen)
    has_price, left_out = endpoint.price is not None, tuple(endpoint.left_out)
    first_token, took_image = times[0] if times else None, endpoint.takes_images()
    may_pass = outcome.reason in _PASSING
    return Trial(endpoint.name, failure, first_token, called, outcome.usage, has_price, left_out, may_pass, took_image)
