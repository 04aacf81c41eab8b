"""What operators and staff learn of an answer.

warn  of an answer that should not have been written, or was not
tell  write the log line and the metrics of every answer
"""

import logging
from dataclasses import dataclass, field

from bot.agent.messages import AgentMessage
from bot.alerts import Alerts
from bot.clock import DAY, Clock
from bot.guard.values import Value
from bot.slack.outbox import Outbox
from bot.store import outbox, spending
from bot.store.database import Database
from bot.store.outbox import Outgoing
from bot.telemetry import Metrics
from bot.turns.answers.asking import Asked
from bot.turns.costs import costs_of
from bot.views import staff_cards

logger = logging.getLogger(__name__)

NOTICE_SECONDS = DAY
"""Within this time, staff get one notice that answers were withheld. In seconds."""


@dataclass(frozen=True, slots=True)
class AnswerReports:
    """Reports on answers. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    metrics: Metrics
    agent_channel: str = ""
    """The channel for notices to staff that belong to no case."""
    alerts: Alerts = field(default_factory=Alerts)

    async def warn(self, asked: Asked) -> None:
        """Tell operators, and staff if need be, of an answer that should not have been written."""
        turn, reply, reason = asked.question.item.id, asked.reply, asked.outcome.reason
        match asked.verdict:
            case "failed":
                # A model that is away fails every turn. That is one fault, not one for each turn.
                self.alerts.tell(logger, "the agent gave no answer", about=reason, turn=turn, reason=reason)
            case "claimed":
                claim = reply.claim
                logger.warning(
                    "an answer named what stands nowhere"
                    if isinstance(claim, Value)
                    else "an answer claimed what no tool had done",
                    extra={"turn": turn, "kind": claim and claim.kind, "form": getattr(claim, "form", "")},
                )
            case "leaked":
                extra = {"turn": turn, "holds": reply.leak}
                logger.warning("an answer was about to tell what the desk keeps to itself", extra=extra)
                await self._tell_staff(asked)

    def tell(self, asked: Asked, ended: str) -> None:
        """Write one line to the log, and count the metrics."""
        item, outcome = asked.question.item, asked.outcome
        for use in costs_of(item, asked.journal.rounds, outcome):
            spending.count(self.metrics, use)
        for reason, times in asked.reply.retries.items():
            self.metrics.model_retried(reason, times)
        if outcome.forced:
            self.metrics.answer_forced(outcome.reason)
        usage = outcome.usage
        logger.info(
            "the turn has ended",
            extra={
                "turn": item.id,
                "ended": ended,
                "reason": outcome.reason,
                "forced": outcome.forced,
                "rounds": sum(isinstance(message, AgentMessage) for message in outcome.messages),
                "models": outcome.models,
                "input_tokens": usage.input_tokens,
                "cached_tokens": usage.cached_tokens,
                "output_tokens": usage.output_tokens,
                "cost": round(usage.cost, 6),
                "seconds": round(self.clock.now() - item.received_at, 3),
            },
        )

    async def _tell_staff(self, asked: Asked) -> None:
        """Post in the agent channel that an answer was withheld, once in NOTICE_SECONDS across all processes."""
        now = self.clock.now()
        card = staff_cards.withheld(is_secret=asked.reply.leak == "secret", turn=asked.question.item.id)
        key = f"withheld/{asked.reply.leak}/{int(now // NOTICE_SECONDS)}"
        async with self.database.transaction() as tx:
            await outbox.add(tx, Outgoing(key, "post", self.agent_channel, {"text": card.text}), now=now)
        self.outbox.wake()
