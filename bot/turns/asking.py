"""How the agents are asked, and what of it the customer sees meanwhile.

ask          take the message apart, or have it answered as a whole
  _whole     one search, one reply: by the team, by the one agent there is, or by a lead
  _apart     a search, a reply and evidence for each question; written one below the other
judge        what an outcome is worth, in one stable word
choose_pattern       the pattern for a message
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Literal

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Models
from bot.agent.events import Emit, Event, HandedOver, TextDelta
from bot.agent.limits import Limits
from bot.agent.loop import Outcome
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolResult
from bot.agent.patterns import Pattern, Share, Terms, concurrent, handoff, magentic, reworded, sequential, single
from bot.clock import Clock
from bot.desk import policy
from bot.desk.answers import Evidence, TurnContext, known_from, page_text, passages_text
from bot.desk.escalate import without_escalating
from bot.desk.own_words import OwnWords, OwnWordsGate
from bot.desk.team import IN_DOUBT
from bot.guard.claim_patterns import Wording
from bot.guard.claims import Claim, ClaimGate, Grounds
from bot.guard.grounding import Kept
from bot.guard.guardrails import OutputGate
from bot.guard.values import Value
from bot.language.rhetoric import names_a_number
from bot.language.sentences import Sentences
from bot.slack.stream import StreamWriter
from bot.store.inbox import without_files
from bot.turns.column import Column, Section
from bot.turns.journal import TurnJournal
from bot.turns.question import Question
from bot.turns.reply import FAILURES_KEPT, Reply
from knowledge.knowledge_base import Findings, KnowledgeBase
from knowledge.passages import Hit

SOURCES = 4
"""Pages named under the answers to several questions, at the most."""
NAMED_LIMIT = 120
"""Characters of a question by which the customer is told which of several is meant."""
DECLINED = frozenset({"filtered", "refused"})
"""Failures that are no fault of anybody's: the model, or its provider's filter, will not speak of it."""

Verdict = Literal[
    "stands", "not_found", "pages_down", "too_fast", "claimed", "leaked", "shop_down", "escalated", "failed", "stopped"
]
"""It may be sent · nothing supports it · nothing supports it since the help pages could not be searched · or since
look-ups were refused that came too fast · it says that a deed was done which nothing did, or names what stands
nowhere · it tells what the desk keeps to itself · the shop did not answer · a person was called · there is no answer ·
the customer wants none any more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what the agents made of it, and where it is being said."""

    question: Question
    outcome: Outcome
    """Without an answer it holds only those words of the agents that the customer has read."""
    writer: StreamWriter
    reply: Reply
    verdict: Verdict
    sources: Sequence[Hit]
    """The pages that the answer used, best first."""
    confidence: float
    """Of the search with the customer's own words; the least, if there were several."""
    journal: TurnJournal
    partly: bool = False
    """True: some of its questions were answered or begun, and the others were spoken of, though the whole has no
    answer."""
    did: Sequence[Message] = ()
    """What the agents wrote and did, read or not."""


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """What belongs to one message while the agents are asked."""

    question: Question
    writer: StreamWriter
    journal: TurnJournal
    limits: Limits

    @property
    def conversation(self) -> list[Message]:
        return [*self.question.history, self.question.message]


@dataclass(frozen=True, slots=True)
class Agents:
    """Those who are asked."""

    knowledge: KnowledgeBase
    sentences: Sentences
    clock: Clock
    team: Team
    models: Models
    wordings: Sequence[Wording]
    """How deeds are claimed."""
    link_hosts: frozenset[str]
    """Hosts that an answer may link to."""
    own_words: OwnWords = field(default_factory=OwnWords)
    """What no answer may tell."""
    lead: Agent | None = None
    """Leads the work on messages that ask for many things; None: the team answers these like any other."""
    checker: Agent | None = None
    """Reads an answer before it is sent; None: answers are shown as they are written."""
    takes_apart: bool = True
    """Whether the questions of one message are answered at the same time."""

    async def ask(self, question: Question, writer: StreamWriter, journal: TurnJournal, *, limits: Limits) -> Asked:
        """Have the question answered; what may be shown of the answer goes to `writer` as it comes."""
        inquiry = _Inquiry(question, writer, journal, limits)
        takes_apart = self.takes_apart and not question.is_unasked
        questions = policy.questions_apart(question.text) if takes_apart else ()
        return await (self._apart(inquiry, questions) if questions else self._whole(inquiry))

    async def _whole(self, inquiry: _Inquiry) -> Asked:
        question = inquiry.question
        findings = await self._search(question)
        evidence = self._evidence(question, findings)
        reply = self._reply(inquiry, inquiry.writer, evidence)
        terms = self._terms(inquiry, passages=self._passages(findings), evidence=evidence, emit=reply.emit)
        team, way = self.team, self.choose_pattern(question.text)
        if not question.concerns:
            # Nobody is called over what may be for others.
            team, way = without_escalating(team), self.choose_pattern("")
        outcome = await way(team, self._in_charge(question), inquiry.conversation, terms=terms)
        verdict: Verdict = judge(question.text, outcome, reply)
        if question.interrupt.is_set() and verdict != "escalated":
            verdict = "stopped"
        sources = evidence.sources(outcome.text)
        return Asked(
            question,
            _as_read(outcome, reply.said) if verdict in ("escalated", "failed", "stopped") else outcome,
            inquiry.writer,
            reply,
            verdict,
            sources,
            findings.confidence,
            inquiry.journal,
            did=outcome.messages,
        )

    async def _apart(self, inquiry: _Inquiry, questions: Sequence[str]) -> Asked:
        column = Column(inquiry.writer)
        parts = await self._parts(inquiry, questions, column)
        outcome = await concurrent(
            self.team,
            self._in_charge(inquiry.question),
            inquiry.conversation,
            [part.share for part in parts],
            terms=self._terms(inquiry, passages="", evidence=Evidence(), emit=lambda event: None),
            settle=lambda place, ended: self._settle(inquiry.question, parts[place], ended, column),
            go_live=lambda place: parts[place].section.open(),
            answering=self.choose_pattern(""),
        )
        verdicts = [part.verdict for part in parts]
        stood = "stands" in verdicts
        if stood:
            column.close()
        stopped = inquiry.writer.stopped or inquiry.question.interrupt.is_set()
        verdict = _verdict_of(verdicts, stopped=stopped)
        reply = self._reply(inquiry, inquiry.writer, Evidence())
        reply.private = any(part.reply.private for part in parts)
        reply.shown = column.spoke
        reply.claim = next((part.reply.claim for part in parts if part.verdict == "claimed"), None)
        reply.leak = next((part.reply.leak for part in parts if part.verdict == "leaked"), None)
        for part in parts:
            reply.retries.update(part.reply.retries)
            reply.failures.extend(part.reply.failures[: FAILURES_KEPT - len(reply.failures)])
        sources = {hit.url or hit.title: hit for part in parts for hit in part.sources}
        return Asked(
            inquiry.question,
            outcome,
            inquiry.writer,
            reply,
            verdict,
            list(sources.values())[:SOURCES],
            min(part.confidence for part in parts),
            inquiry.journal,
            partly=verdict not in ("stands", "stopped")
            and (stood or (verdict in ("claimed", "leaked", "too_fast") and column.spoke)),
            did=[message for part in parts for message in part.did],
        )

    async def _parts(self, inquiry: _Inquiry, questions: Sequence[str], column: Column) -> list["_Part"]:
        async with asyncio.TaskGroup() as group:
            searches = [group.create_task(self._search_part(inquiry.question.text, each)) for each in questions]
        parts: list[_Part] = []
        for text, search in zip(questions, searches, strict=True):
            findings, is_strange = search.result()
            evidence, section = self._evidence(inquiry.question, findings), Section(column)
            reply = self._reply(inquiry, section, evidence)
            share = Share(text, self._passages(findings), self._context(inquiry.question, evidence), reply.emit)
            parts.append(_Part(share, reply, section, findings.confidence, is_strange))
        return parts

    async def _search_part(self, message: str, question: str) -> tuple[Findings, bool]:
        """What the pages say to one question of a message; when nothing, to it and what leads up to it. And whether
        the question names nothing of the shop: no number, and no word that the pages know."""
        findings = await self.knowledge.search(question)
        is_strange = not (findings.hits or findings.degraded or names_a_number(question))
        lead = "" if findings.answerable else policy.lead_up_to(message, question)
        return (await self.knowledge.search(f"{lead}\n{question}") if lead else findings), is_strange

    def _settle(self, question: Question, part: "_Part", outcome: Outcome, column: Column) -> Outcome:
        """Let the part's answer stand, or say in its place why there is none."""
        part.verdict = judge(part.share.question, outcome, part.reply)
        part.did = outcome.messages
        match part.verdict:
            case "not_found" if part.is_strange:
                outcome = _as_read(outcome, part.section.drop())
            case "stands":
                part.section.open()
                part.reply.release()
                part.sources = part.reply.evidence.sources(outcome.text)
            case "not_found" | "pages_down" | "too_fast" | "claimed" | "leaked" | "shop_down" | "failed" as why:
                key = "part_declined" if why == "failed" and outcome.reason in DECLINED else _INSTEAD[why]
                if why == "claimed" and isinstance(part.reply.claim, Value):
                    key = "part_value_withdrawn"
                sentence = self.sentences.say(question.language, key, question=_in_short(part.share.question))
                said = part.section.drop()
                column.say_beside(sentence)
                outcome = reworded(_without_words(outcome), f"{said}\n\n{sentence}" if said else sentence)
            case "escalated" | "stopped":
                outcome = _as_read(outcome, part.section.drop())
        return outcome

    def choose_pattern(self, text: str) -> Pattern:
        """How a message is answered as a whole; small talk needs no check."""
        way: Pattern = _by_team if len(self.team.agents) > 1 else single
        if self.lead is not None and policy.is_compound(text):
            way = partial(magentic, lead=self.lead)
        if self.checker is None or policy.is_small_talk(text):
            return way
        return partial(sequential, checker=self.checker, drafting=way)

    async def _search(self, question: Question) -> Findings:
        """What the pages say to the message; when nothing, to it and the one before, as "And how long?" needs."""
        findings = await self.knowledge.search(question.text)
        written = [message.text for message in question.history if isinstance(message, CustomerMessage)]
        before = [text for text in map(without_files, written) if text]
        if findings.answerable or not before or policy.is_small_talk(question.text):
            return findings
        return await self.knowledge.search(f"{before[-1]}\n{question.text}")

    def _in_charge(self, question: Question) -> str:
        return question.agent if question.agent in self.team else self.team.entry

    def _terms(self, inquiry: _Inquiry, *, passages: str, evidence: Evidence, emit: Emit) -> Terms:
        context = self._context(inquiry.question, evidence)
        halt = inquiry.question.interrupt
        return Terms(self.models, context, emit, inquiry.limits, passages, inquiry.journal, halt)

    def _context(self, question: Question, evidence: Evidence) -> TurnContext:
        return TurnContext(question.customer, question.item.thread, str(question.item.id), evidence=evidence)

    def _passages(self, findings: Findings) -> str:
        return passages_text(findings, today=self._today())

    def _today(self) -> date:
        return datetime.fromtimestamp(self.clock.now(), UTC).date()

    def _evidence(self, question: Question, findings: Findings) -> Evidence:
        evidence = Evidence(known=known_from(question.known))
        evidence.add(findings)
        return evidence

    def _reply(self, inquiry: _Inquiry, page: StreamWriter | Section, evidence: Evidence) -> Reply:
        question = inquiry.question
        grounds = Grounds(
            results=lambda: inquiry.journal.results,
            passages=lambda: [f"{hit.heading} {hit.text}" for hit in evidence.hits.values()],
            earlier=[message for message in question.known if isinstance(message, ToolResult)],
            kept=Kept(
                results=lambda: inquiry.journal.results,
                pages=lambda: [page_text(hit) for hit in evidence.hits.values()],
                messages=[*question.known, question.message],
                own=[agent.instructions for agent in self.team.agents],
                today=self._today(),
                link_hosts=self.link_hosts,
            ),
        )
        gate = ClaimGate(self.wordings, grounds, OutputGate(self.link_hosts))
        titles = self.sentences.task_titles(question.language)
        return Reply(
            page,
            evidence,
            gate,
            is_direct=question.item.thread.is_direct,
            own=OwnWordsGate(self.own_words),
            titles=titles,
            private=any(side_effect.private for side_effect in inquiry.journal.side_effects),
            is_unasked=question.is_unasked,
            interrupt=question.interrupt,
        )


def judge(asked: str, outcome: Outcome, reply: Reply) -> Verdict:
    """What the outcome of asking this is worth. Who was called is called, whatever came in between."""
    reply.end(outcome.text)
    if reply.has_person and outcome.ended != "answered":
        return "escalated"
    if reply.writer.stopped or outcome.reason == "halted":
        return "stopped"
    if reply.wants_person:
        return "failed"
    if outcome.ended != "answered":
        return outcome.ended
    if reply.is_dead_end:
        return "shop_down"
    if reply.is_too_fast:
        return "too_fast"
    if reply.leak is not None:
        return "leaked"
    if isinstance(reply.claim, Claim):
        return "claimed"
    found, in_vain = reply.evidence.supports(outcome.text), reply.evidence.searched is False
    is_grounded = policy.is_grounded(outcome.text, asked, evidence=found, searched_in_vain=in_vain)
    if is_grounded:
        # Of an answer that rests on nothing at all it is said that nothing was found, whatever it names.
        return "stands" if reply.claim is None else "claimed"
    return "pages_down" if reply.evidence.unasked else "not_found"


def _without_words(outcome: Outcome) -> Outcome:
    """The outcome with nothing of what the agents said; their calls stay."""
    messages = [
        replace(message, text="") if isinstance(message, AgentMessage) else message for message in outcome.messages
    ]
    return replace(outcome, text="", messages=tuple(messages))


def _as_read(outcome: Outcome, said: str) -> Outcome:
    """The outcome with no other words of the agents than `said`, which the customer has read."""
    texts = [message.text.strip() for message in outcome.messages if isinstance(message, AgentMessage)]
    is_read = all(text in said for text in (outcome.text.strip(), *texts))
    return outcome if is_read else reworded(_without_words(outcome), said)


def _in_short(question: str) -> str:
    return question if len(question) <= NAMED_LIMIT else question[: NAMED_LIMIT - 1].rsplit(" ", 1)[0] + "…"


_INSTEAD = {
    "not_found": "part_not_found",
    "pages_down": "part_pages_down",
    "too_fast": "part_too_fast",
    "claimed": "part_withdrawn",
    "leaked": "part_withheld",
    "shop_down": "shop_down",
    "failed": "part_failed",
}
"""Verdict on one of several questions -> the sentence in place of its answer."""


def _verdict_of(verdicts: Sequence[Verdict], *, stopped: bool) -> Verdict:
    """What the whole is worth: the gravest of what cannot be left to the text, else that some of it stands."""
    if stopped and "escalated" not in verdicts:
        return "stopped"
    grave: Sequence[Verdict] = (
        *("escalated", "failed", "claimed", "leaked", "shop_down", "pages_down", "stands", "too_fast"),
    )
    return next((verdict for verdict in grave if verdict in verdicts), "not_found")


async def _by_team(team: Team, agent: str, history: Sequence[Message], *, terms: Terms) -> Outcome:
    """The team's answer, without what an agent said that only passes messages on.

    Such an agent may greet and ask back. If it says more, nobody reads that, and the one for doubtful cases answers.
    """
    now = asyncio.get_running_loop().time
    end = now() + terms.limits.turn_seconds
    curtain = _Curtain(team, terms.emit, drawn=not team[agent].sees_passages)
    outcome = await handoff(team, agent, history, terms=replace(terms, emit=curtain.emit))
    if outcome.ended != "answered" or team[outcome.agent].sees_passages:
        return outcome
    asked = next((message.text for message in reversed(history) if isinstance(message, CustomerMessage)), "")
    if policy.is_grounded(outcome.text, asked, evidence=False):
        curtain.open()
        return outcome
    left = terms.after(outcome.usage)
    limits = replace(left.limits, turn_seconds=max(0.0, end - now()))
    again = await handoff(team, IN_DOUBT, history, terms=replace(left, limits=limits).part("again"))
    return replace(again, usage=outcome.usage + again.usage, models=tuple(dict.fromkeys(outcome.models + again.models)))


@dataclass(slots=True)
class _Curtain:
    """Keeps back what an agent says that does not see the passages, until it is clear that it is the reply."""

    team: Team
    to: Emit
    drawn: bool
    _held: list[TextDelta] = field(default_factory=list)
    _spoke: bool = False

    def emit(self, event: Event) -> None:
        """Pass the event on, or keep it."""
        match event:
            case TextDelta() if self.drawn:
                self._held.append(event)
            case TextDelta(text) if not self._spoke:
                # The break after what is not shown is not shown either.
                if text.strip():
                    self._spoke = True
                    self.to(TextDelta(text.lstrip()))
            case HandedOver(_, target):
                self._held.clear()
                self.drawn = not self.team[target].sees_passages
                self.to(event)
            case _:
                self.to(event)

    def open(self) -> None:
        """Show what was kept."""
        for event in self._held:
            self.to(event)
        self._held.clear()


@dataclass(slots=True)
class _Part:
    """One of several questions while it is being answered."""

    share: Share
    reply: Reply
    section: Section
    confidence: float
    is_strange: bool
    """It names nothing of the shop."""
    verdict: Verdict = "stopped"
    sources: Sequence[Hit] = ()
    did: Sequence[Message] = ()
    """What the agents wrote and did."""
