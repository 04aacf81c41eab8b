"""An outage of the models is not people's work: what becomes of the questions that it leaves without an answer.

A question waits up to a minute (bot/agent/replies.py). If no model has answered by then, a person is called, and staff
get one notice. Once a model answers again, the assistant takes the cases back that nobody has claimed, in order, and
answers their questions. The notice then says what the outage has cost.

begin  an outage has left a question without an answer
run    look after an outage: of several processes, one at a time does
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bot.agent.endpoints import Endpoint, Models
from bot.alerts import Alerts
from bot.cases import case as steps
from bot.cases.case import MovedOn
from bot.cases.step import Stepping, current_case
from bot.clock import MINUTE
from bot.slack.blocks import Card
from bot.store import inbox, outages, outbox
from bot.store.cases import Case
from bot.store.database import Transaction
from bot.store.outages import BACK, NAME, Toll
from bot.store.outbox import Outgoing
from bot.views import staff_cards

logger = logging.getLogger(__name__)

OUTAGE_POLL_INTERVAL = 3.0
"""Seconds between two looks whether there is an outage, and whether it is over."""
PROBE_PAUSE = 15.0
"""Seconds between two requests that only ask whether a model answers again. Questions ask it too."""
MAX_TAKEN_BACK = 50
"""The number of cases that one look takes back. The model gets no more questions at once."""
NOTICE_SECONDS = 10.0
"""A shorter outage without a case is no news for staff. In seconds."""
ACTOR = "frontdesk"
"""Who takes cases back, in the audit trail."""
NOTE = "The team was called only because you could not be reached. The customer's question follows."
"""What the assistant reads of the time in between."""

Submit = Callable[[int, str], None]
"""Hands a stored row of a thread to the engine."""
Probe = Callable[[Endpoint], Awaitable[bool]]
"""Asks a model whether it answers."""


@dataclass(slots=True)
class ModelOutages:
    """Looks after the outages of the models."""

    stepping: Stepping
    models: Models
    probe: Probe
    agent_channel: str
    alerts: Alerts = field(default_factory=Alerts)
    _is_noted: bool = False
    """Whether the database knows of the outage that this process sees."""
    _probed_at: float = 0.0
    _decided_to: int = 0
    """The last case of which this process has decided whether it goes back to the assistant."""

    async def begin(self) -> None:
        """Note that an outage has left a question without an answer, and tell staff, once an outage."""
        now = self.stepping.clock.now()
        async with self.stepping.database.transaction() as tx:
            since = await outages.begin(tx, now=now)
            card = staff_cards.models_away(self.models.faults())
            await outbox.add(tx, self._notice(since, card), now=now)
        self._is_noted = True
        self.stepping.outbox.wake()

    async def run(self, submit: Submit) -> None:
        """Look after outages until cancelled."""
        while True:
            try:
                await self.look(submit)
            except Exception as error:  # noqa: BLE001 - the database may be away, and the loop must not end
                self.alerts.tell(logger, "an outage was not looked after", about=type(error).__name__)
            await self.stepping.clock.sleep(OUTAGE_POLL_INTERVAL)

    async def look(self, submit: Submit) -> None:
        """Note an outage that this process sees. If one is over, take its cases back and report it."""
        database, now = self.stepping.database, self.stepping.clock.now()
        if not self.models.are_away:
            self._is_noted = False
        elif not self._is_noted:
            async with database.transaction() as tx:
                await outages.begin(tx, now=now)
            self._is_noted = True
        async with database.reading() as tx:
            since = await outages.since(tx)
        if since is None or not await self._is_over(since):
            return
        async with database.transaction() as tx:
            if not await outages.take(tx, now=now, then=now + OUTAGE_POLL_INTERVAL):
                return
            left = await outages.waiting_cases(tx, limit=MAX_TAKEN_BACK, after=self._decided_to)
        undecided = [case for case in left if not await self._take_back(case, submit)]
        # What stays with the team is not looked at again in this outage, so that it hides no later case.
        self._decided_to = undecided[0].id - 1 if undecided else left[-1].id if left else self._decided_to
        if len(left) < MAX_TAKEN_BACK and not undecided:
            await self._report(since)
            self._decided_to = 0

    async def _is_over(self, since: float) -> bool:
        """Whether a model has answered since the outage began. If nobody asks one, it is asked now and then."""
        lasts = self.stepping.clock.now() - since
        if any(each.breaker.answered_ago < lasts for each in self.models.strong):
            return True
        now = self.stepping.clock.monotonic()
        open_to = [each for each in self.models.strong if not each.breaker.is_open]
        if not open_to or now - self._probed_at < PROBE_PAUSE:
            return False
        self._probed_at = now
        return await self.probe(open_to[0])

    async def _take_back(self, case: Case, submit: Submit) -> bool:
        """Take a case back and have its question answered. Return False if that can only be decided later.

        If the customer has written to the people since, the case is theirs. So it is after a second outage.
        """
        stepping = self.stepping
        async with stepping.database.transaction() as tx:
            try:
                before = await current_case(tx, case.ref)
            except MovedOn:
                return True
            said = await inbox.last_said_in(tx, before.thread, before.customer)
            if said is None or not before.waits:
                return True
            question, state, reason = said
            if state == "new":
                return False
            if reason != "failed" or question.is_again or question.body.is_erased:
                return True
            row = await inbox.ask_again(tx, question, now=stepping.clock.now())
            if row is None:
                return True
            await self._hand_back(tx, before)
        stepping.done()
        submit(row, before.thread.key)
        return True

    async def _hand_back(self, tx: Transaction, before: Case) -> None:
        stepping = self.stepping
        after = await stepping.change(tx, before, ACTOR, BACK, lambda case, now: steps.cancel(case, now=now))
        await stepping.say(tx, before, after, stepping.messages.announce(BACK, after, before=before))
        await stepping.back_to_assistant(tx, before, NOTE)

    async def _report(self, since: float) -> None:
        """Tell staff what the outage has cost, if it has cost anything, and end it."""
        now = self.stepping.clock.now()
        async with self.stepping.database.transaction() as tx:
            toll = await outages.count(tx, since=since)
            is_told = await outbox.by_key(tx, _key(since)) is not None
            if is_told or (toll.held and now - since >= NOTICE_SECONDS):
                card = staff_cards.models_back(toll, minutes=(now - since) / MINUTE)
                await outbox.add(tx, *self._last_words(since, card, is_told=is_told), now=now)
            await outages.end(tx)
        self._log(toll, now - since)
        self.stepping.outbox.wake()

    def _last_words(self, since: float, card: Card, *, is_told: bool) -> Sequence[Outgoing]:
        """The notice, in place of the one that said that the outage began."""
        if not is_told:
            return (self._notice(since, card),)
        words = {"text": card.text}
        return (Outgoing(f"{_key(since)}/over", "update", self.agent_channel, words, parent=_key(since)),)

    def _notice(self, since: float, card: Card) -> Outgoing:
        return Outgoing(_key(since), "post", self.agent_channel, {"text": card.text})

    def _log(self, toll: Toll, seconds: float) -> None:
        told = {"seconds": round(seconds, 1), "held": toll.held, "answered": toll.answered}
        logger.warning(
            "an outage of the models is over", extra={**told, "cases": toll.cases, "taken_back": toll.taken_back}
        )


def _key(since: float) -> str:
    return f"{NAME}/{since:.3f}"
