"""A second look at the help pages, with the question in the pages' words: the cheap model rewrites it.

build_rewriter  Builds the agent that rewrites. It is alone in its team and has no tools.
SecondLook      Rewrites a question without a clear answer, searches again, and returns the surer of the two.
look_for_staff  Returns a function that does so for what staff search for.

The model sees the question and the headings of the nearest public passages. They show the language and the words of
the pages. Its reply is only searched for: no customer reads it.
"""

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Models
from bot.agent.journal import NO_JOURNAL, Journal
from bot.agent.limits import Limits
from bot.agent.loop import Outcome, run
from bot.agent.messages import CustomerMessage
from bot.agent.model import Usage
from bot.agent.tools import Context
from bot.agent.wording import without_tags
from bot.alerts import Alerts
from bot.conversation import Customer, ThreadRef
from bot.desk.answers import place
from bot.desk.courtesies import asks_nothing
from bot.desk.prompts import read_instructions
from bot.telemetry import Metrics
from knowledge.knowledge_base import Findings, KnowledgeBase, surer

logger = logging.getLogger(__name__)

REWRITE_TIMEOUT = 3.0
"""How long one rewrite may take, in seconds, waiting for a slot included."""
REWRITES = 8
"""Rewrites that run at the same time."""
REWRITES_KEPT = 1_000
"""The number of latest rewrites that are kept. A question that is asked again costs nothing."""
REWRITE_KEPT = 3_600.0
"""Seconds for which one is kept: the longest that it stays in another process after a person is erased."""
QUESTION_CHARACTERS = 600
QUERY_CHARACTERS = 300
HEADINGS = 6
LIMITS = Limits(
    rounds=1, turn_seconds=REWRITE_TIMEOUT, output_tokens=500, output_characters=QUERY_CHARACTERS, retries=0
)
NOBODY = Context(Customer("", "", name="", locale="", member_type="member"), ThreadRef("", "", ""), "rewrite")
"""The context of a question that no customer has asked here."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a second look."""

    findings: Findings
    query: str = ""
    """What the model made of the question. Empty if it was not rewritten."""
    models: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """What the rewrite has cost. Zero if it was kept from before."""

    def counted_in(self, outcome: Outcome) -> Outcome:
        """The outcome of an answer, with the rewrite's models and usage."""
        models = tuple(dict.fromkeys((*self.models, *outcome.models)))
        return replace(outcome, usage=self.usage + outcome.usage, models=models)


def rewrites_in(seen: Sequence[Seen]) -> tuple[str, ...]:
    """What was looked up in place of questions, each once."""
    return tuple(dict.fromkeys(each.query for each in seen if each.query))


def build_rewriter(*, shop_name: str) -> Team:
    """The agent that rewrites questions, alone in its team."""
    instructions = read_instructions("rewrite").replace("{shop}", shop_name)
    return Team((Agent("rewrite", instructions, tier="cheap"),), entry="rewrite")


@dataclass(frozen=True, slots=True)
class _Kept:
    """A rewrite that is used again."""

    query: str
    users: set[str]
    """The people who asked. If one of them is erased, it is dropped."""
    until: float
    """When it is dropped in any case, by the monotonic clock."""


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Looks again at the public pages. Whatever fails, the first look stands."""

    knowledge: KnowledgeBase
    """The public base: only its headings are given to the model."""
    models: Models | None
    """Only the cheap models. Without them, nothing is rewritten."""
    team: Team
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(REWRITES))
    _kept: "OrderedDict[bytes, _Kept]" = field(default_factory=OrderedDict)
    """A digest of question and headings -> the rewrite."""
    _alerts: Alerts = field(default_factory=Alerts)

    def forget(self, user: str) -> None:
        """Drop what was made of a person's questions, or perhaps was: a draft does not say whose words it reads."""
        for key in [key for key, kept in self._kept.items() if kept.users & {user, NOBODY.customer.user}]:
            del self._kept[key]

    async def look(
        self, question: str, found: Findings, *, context: Context = NOBODY, journal: Journal = NO_JOURNAL
    ) -> Seen:
        """Search again for a question, unless the first look has `found` an answer clearly, or nothing is asked.

        The journal keeps the rewrite for a turn that is resumed.
        """
        if self.models is None or found.answerable or not found.hits or asks_nothing(question):
            return Seen(found)
        headings = [place(hit) for hit in found.hits[:HEADINGS]]
        asked = _framed(question[-QUESTION_CHARACTERS:], headings)
        key = hashlib.blake2b(asked.encode(), digest_size=16).digest()
        seen = Seen(found, self._kept_for(key, context.customer.user))
        if not seen.query:
            seen = await self._rewrite(self.models, asked, found, context, journal)
            self._keep(key, seen.query, context.customer.user)
        if not seen.query:
            return seen
        return replace(seen, findings=surer(await self.knowledge.search(seen.query), found))

    async def _rewrite(self, models: Models, asked: str, found: Findings, context: Context, journal: Journal) -> Seen:
        now = asyncio.get_running_loop().time
        deadline = now() + REWRITE_TIMEOUT
        try:
            async with asyncio.timeout_at(deadline):
                await self.places.acquire()
        except TimeoutError:
            self._alerts.tell(logger, "a question was not rewritten", about="busy")
            return Seen(found)
        try:
            # The run's own deadline ends it, so that what it has cost is known.
            outcome = await run(
                self.team,
                self.team.entry,
                [CustomerMessage(asked)],
                models=models,
                context=context,
                passages="",
                emit=lambda event: None,
                limits=replace(LIMITS, turn_seconds=max(deadline - now(), 0.0)),
                journal=journal,
            )
        finally:
            self.places.release()
        query = _query_in(outcome.text) if outcome.ended == "answered" else ""
        if not query:
            self._alerts.tell(logger, "a question was not rewritten", about=outcome.reason)
        return Seen(found, query, outcome.models, outcome.usage)

    def _kept_for(self, key: bytes, user: str) -> str:
        kept = self._kept.get(key)
        if kept is None or time.monotonic() > kept.until:
            return ""
        kept.users.add(user)
        return kept.query

    def _keep(self, key: bytes, query: str, user: str) -> None:
        if query:
            self._kept[key] = _Kept(query, {user}, time.monotonic() + REWRITE_KEPT)
        if len(self._kept) > REWRITES_KEPT:
            self._kept.popitem(last=False)


def look_for_staff(
    second_look: SecondLook, metrics: Metrics
) -> Callable[[str, Findings], Awaitable[tuple[Findings, str]]]:
    """The second look for what staff search for: what is found then, and for which words. Metrics count its cost."""

    async def look(question: str, found: Findings) -> tuple[Findings, str]:
        seen = await second_look.look(question, found)
        if seen.models:
            metrics.model_used(
                ", ".join(seen.models),
                "search",
                input_tokens=seen.usage.input_tokens,
                cached_tokens=seen.usage.cached_tokens,
                written_tokens=seen.usage.written_tokens,
                output_tokens=seen.usage.output_tokens,
                cost=seen.usage.cost,
            )
        return seen.findings, seen.query

    return look


def _framed(question: str, headings: list[str]) -> str:
    """The question and the headings in frames, without tags that would end them."""
    listed = "\n".join(without_tags(heading, "headings") for heading in headings)
    return f"<question>\n{without_tags(question, 'question')}\n</question>\n<headings>\n{listed}\n</headings>"


def _query_in(reply: str) -> str:
    """The first line of the reply that says something."""
    lines = (line.strip(" \t\"'`*") for line in reply.splitlines())
    return next((line[:QUERY_CHARACTERS] for line in lines if line), "")
