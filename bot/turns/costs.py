"""The costs of a turn by model: the rounds in its journal, and the failed requests."""

from collections.abc import Mapping

from bot.agent.loop import Outcome
from bot.agent.messages import JsonObject
from bot.agent.model import Usage
from bot.agent.replies import ModelReply
from bot.store.inbox import InboxItem
from bot.store.spending import Spending

UNKNOWN = "unknown"
"""The model's name for tokens of requests whose model is not known."""


def costs_of(item: InboxItem, rounds: Mapping[str, JsonObject], outcome: Outcome | None = None) -> list[Spending]:
    """Return one row for each model that was used.

    `rounds` are the turn's replies from the journal. `outcome` adds the usage of failed requests, which is known only
    when the turn has ended. It counts for the model that wrote last.
    """
    shares: dict[str, Usage] = {}
    for noted in rounds.values():
        reply = ModelReply.from_json(noted)
        shares[reply.model or UNKNOWN] = shares.get(reply.model or UNKNOWN, Usage()) + reply.usage
    if outcome is not None:
        rest = _rest(outcome.usage, sum(shares.values(), Usage()))
        if rest.input_tokens or rest.output_tokens:
            model = next(reversed(outcome.models), UNKNOWN)
            shares[model] = shares.get(model, Usage()) + rest
    used = [(model, usage) for model, usage in shares.items() if usage.input_tokens or usage.output_tokens]
    return [
        Spending(f"turn/{item.id}/{model}", "answer", item.thread, item.author, (model,), usage)
        for model, usage in used
    ]


def _rest(whole: Usage, known: Usage) -> Usage:
    return Usage(
        max(0, whole.input_tokens - known.input_tokens),
        max(0, whole.output_tokens - known.output_tokens),
        max(0, whole.cached_tokens - known.cached_tokens),
        max(0.0, whole.cost - known.cost),
        whole.estimated and not known.estimated,
        max(0, whole.written_tokens - known.written_tokens),
        max(0, whole.reasoning_tokens - known.reasoning_tokens),
    )
