"""How the agents are asked, and what the customer sees while they work.

ask              split the message into questions, or have it answered as a whole
  _whole         one search and one reply: by the team, by its only agent, or by a lead
  _apart         a search, a reply and evidence for each question; the replies appear one below the other
choose_pattern   the pattern for a message
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial

from bot.actions.known import may_be_claimed
from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Models
from bot.agent.events import Emit, Event, HandedOver, TextDelta
from bot.agent.journal import part_of
from bot.agent.limits import Limits
from bot.agent.loop import Outcome
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolResult
from bot.agent.model import Usage
from bot.agent.patterns import Pattern, Share, Terms, concurrent, handoff, magentic, reworded, sequential, single
from bot.clock import Clock
from bot.desk import policy
from bot.desk.answers import NOT_SURE, Evidence, TurnContext, known_from, page_text, passages_text
from bot.desk.courtesies import asks_nothing
from bot.desk.escalate import without_escalating
from bot.desk.own_words import OwnWords, OwnWordsGate
from bot.desk.procedures import Playbook, open_playbook
from bot.desk.rewriting import SecondLook, Seen, rewrites_in
from bot.desk.team import IN_DOUBT
from bot.desk.topics import marked_topic
from bot.desk_file.model import RefusedTopic
from bot.guard.claim_patterns import Wording
from bot.guard.claims import ClaimGate, Grounds
from bot.guard.grounding import EpisodeEvidence
from bot.guard.guardrails import OutputGate
from bot.language.rhetoric import names_a_number
from bot.language.sentences import Sentences
from bot.procedures.running import ProcedureRuns
from bot.slack.stream import StreamWriter
from bot.store.bodies import without_files
from bot.turns.answers.column import Column, Section
from bot.turns.answers.endings import Verdict, ending_of, judge, judge_whole
from bot.turns.answers.journal import TurnJournal
from bot.turns.answers.progress import ProgressLines
from bot.turns.answers.question import Question
from bot.turns.answers.reply import FAILURES_KEPT, Reply
from knowledge.knowledge_base import Findings, KnowledgeBase, surer
from knowledge.search.passages import Hit

SOURCES = 4
"""The largest number of pages named under the answers to several questions."""
PASSAGES = 8
"""The most passages of two searches for one question that the agents read."""
NAMED_LIMIT = 120
"""How many characters of a question are quoted to say which of several questions is meant."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its outcome, and where the answer is written."""

    question: Question
    outcome: Outcome
    """The outcome. Without an answer it holds only those words of the agents that the customer has read."""
    writer: StreamWriter
    reply: Reply
    verdict: Verdict
    sources: Sequence[Hit]
    """The pages that the answer used, best first."""
    confidence: float
    """The confidence of the search with the customer's own words. The lowest one if there were several searches."""
    journal: TurnJournal
    partly: bool = False
    """True if the whole has no answer, but the customer got something for each of several questions.

    Some questions were answered or begun, and for the others a sentence says why there is no answer.
    """
    did: Sequence[Message] = ()
    """What the agents wrote and did, even if the customer has not read it."""
    refusal: str = ""
    """What the shop says about a topic that the agent did not speak about. Empty if there is none."""
    rewrites: Sequence[str] = ()
    """What the cheap model made of the question, or of each of several, before the pages were searched again."""
    follows_procedure: bool = False
    """Whether a procedure was on when the agents had answered, or ended meanwhile."""


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """The state of one message while the agents work on it."""

    question: Question
    writer: StreamWriter
    journal: TurnJournal
    limits: Limits
    lines: ProgressLines
    playbook: Playbook | None
    """The procedures, where they can be used."""

    @property
    def conversation(self) -> list[Message]:
        question = self.question
        return [*question.history, replace(question, text=question.asked).message]


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents, with everything that they need to answer."""

    knowledge: KnowledgeBase
    second_look: SecondLook
    sentences: Sentences
    clock: Clock
    team: Team
    models: Models
    wordings: Sequence[Wording]
    """The phrases in which an answer can claim an action."""
    link_hosts: frozenset[str]
    """Hosts that an answer may link to."""
    own_words: OwnWords = field(default_factory=OwnWords)
    """Secrets and instructions, which no answer may contain."""
    lead: Agent | None = None
    """Leads the work on messages that ask for many things. None means that the team answers these like any other."""
    checker: Agent | None = None
    """Reads an answer before it is sent. None means that answers are shown while they are written."""
    refused: Sequence[RefusedTopic] = ()
    """The topics that the agents do not speak about, in the order of their marks."""
    procedures: ProcedureRuns | None = None
    """The team's playbooks. None for a desk without any."""
    takes_apart: bool = True
    """Whether the questions of one message are answered at the same time."""

    async def ask(self, question: Question, writer: StreamWriter, journal: TurnJournal, *, limits: Limits) -> Asked:
        """Have the question answered. What the customer may see is streamed to `writer`."""
        lines = ProgressLines(writer, self.sentences.task_titles(question.language))
        playbook = await self._open_playbook(question)
        limits = playbook.bounded(limits) if playbook else limits
        inquiry = _Inquiry(question, writer, journal, limits, lines, playbook)
        is_on = playbook is not None and playbook.is_on
        takes_apart = self.takes_apart and not question.is_unasked and not is_on
        questions = policy.questions_apart(question.asked) if takes_apart else ()
        return await (self._apart(inquiry, questions) if questions else self._whole(inquiry))

    async def _whole(self, inquiry: _Inquiry) -> Asked:
        question = inquiry.question
        seen = await self._search(inquiry)
        findings = seen.findings
        evidence = self._evidence(question, findings)
        reply = self._reply(inquiry, inquiry.writer, evidence)
        passages = self._passages(findings)
        terms = self._terms(inquiry, passages=passages, evidence=evidence, emit=reply.emit)
        team, way, playbook = self.team, self.choose_pattern(question.asked), inquiry.playbook
        if playbook is not None and (playbook.is_on or not self._leads(question.asked)):
            # A lead's specialists answer the lead, so they follow no procedure.
            team, way = playbook.equip(team), self.choose_pattern(question.asked, leads=False)
        if not question.concerns:
            # The message may be for others, so it must not call a person.
            team, way = without_escalating(team), self.choose_pattern("")
        outcome = await way(team, self._in_charge(question), inquiry.conversation, terms=terms.after(seen.usage))
        outcome = seen.counted_in(outcome)
        verdict, refusal = self._judge(question, question.asked, outcome, reply)
        if question.interrupt.is_set() and verdict != "escalated":
            verdict = "stopped"
        sources = evidence.sources(outcome.text)
        return Asked(
            replace(question, passages=passages),
            _as_read(outcome, reply.said) if verdict in ("escalated", "failed", "stopped") else outcome,
            inquiry.writer,
            reply,
            verdict,
            sources,
            findings.confidence,
            inquiry.journal,
            did=outcome.messages,
            refusal=refusal,
            rewrites=rewrites_in([seen]),
            follows_procedure=playbook is not None and playbook.running is not None,
        )

    async def _apart(self, inquiry: _Inquiry, questions: Sequence[str]) -> Asked:
        column = Column(inquiry.writer)
        parts, seen = await self._parts(inquiry, questions, column)
        outcome = await concurrent(
            self.team,
            self._in_charge(inquiry.question),
            inquiry.conversation,
            [part.share for part in parts],
            terms=self._terms(inquiry, passages="", evidence=Evidence(), emit=lambda event: None).after(
                sum((each.usage for each in seen), Usage())
            ),
            settle=lambda place, ended: self._settle(inquiry.question, parts[place], ended, column),
            go_live=lambda place: parts[place].section.open(),
            answering=self.choose_pattern(""),
        )
        for each in seen:
            outcome = each.counted_in(outcome)
        verdicts = [part.verdict for part in parts]
        stood = "stands" in verdicts
        if stood:
            column.close()
        stopped = inquiry.writer.stopped or inquiry.question.interrupt.is_set()
        verdict = judge_whole(verdicts, stopped=stopped)
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
            replace(inquiry.question, passages="\n\n".join(dict.fromkeys(part.share.passages for part in parts))),
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
            refusal="\n".join(dict.fromkeys(part.refusal for part in parts if part.verdict == "refused")),
            rewrites=rewrites_in(seen),
        )

    async def _parts(
        self, inquiry: _Inquiry, questions: Sequence[str], column: Column
    ) -> tuple[list["_Part"], list[Seen]]:
        async with asyncio.TaskGroup() as group:
            searches = [
                group.create_task(self._search_part(inquiry, each, number=number))
                for number, each in enumerate(questions, start=1)
            ]
        parts: list[_Part] = []
        for text, search in zip(questions, searches, strict=True):
            seen, is_strange = search.result()
            findings = seen.findings
            evidence, section = self._evidence(inquiry.question, findings), Section(column)
            reply = self._reply(inquiry, section, evidence)
            share = Share(text, self._passages(findings), self._context(inquiry.question, evidence), reply.emit)
            parts.append(_Part(share, reply, section, findings.confidence, is_strange))
        return parts, [search.result()[0] for search in searches]

    async def _search_part(self, inquiry: _Inquiry, question: str, *, number: int) -> tuple[Seen, bool]:
        """Search the pages for one question of a message, or with what leads up to it if they have no answer.

        Return the findings, and whether the question is strange: it has no number and no word that the pages know.
        """
        findings = await self.knowledge.search(question)
        is_strange = not (findings.hits or findings.degraded or names_a_number(question))
        lead = "" if findings.certainty != "not" else policy.lead_up_to(inquiry.question.asked, question)
        if lead:
            question = f"{lead}\n{question}"
            findings = await self.knowledge.search(question)
        return await self._look_again(inquiry, question, findings, step=f"rewrite-{number}"), is_strange

    def _settle(self, question: Question, part: "_Part", outcome: Outcome, column: Column) -> Outcome:
        """Show the part's answer, or say in its place why there is none. Return the outcome as shown."""
        part.verdict, part.refusal = self._judge(question, part.share.question, outcome, part.reply)
        part.did = outcome.messages
        match part.verdict:
            case "not_found" if part.is_strange:
                outcome = _as_read(outcome, part.section.drop())
            case "stands":
                part.section.open()
                part.reply.release()
                if part.refusal:
                    part.section.text(f"\n\n{part.refusal}")
                part.sources = part.reply.evidence.sources(outcome.text)
            case "not_found" | "pages_down" | "too_fast" | "claimed" | "leaked" | "shop_down" | "failed":
                key = ending_of(part.verdict, outcome, part.reply).part
                nearest = part.reply.evidence.nearest
                sentence = self.sentences.say(
                    question.language,
                    key,
                    question=_in_short(part.share.question),
                    page=nearest.title if nearest else "",
                )
                said = part.section.drop()
                column.say_beside(sentence)
                outcome = reworded(_without_words(outcome), f"{said}\n\n{sentence}" if said else sentence)
            case "refused":
                part.section.drop()
                column.say_beside(part.refusal)
                outcome = reworded(_without_words(outcome), part.refusal)
            case "escalated" | "stopped":
                outcome = _as_read(outcome, part.section.drop())
        return outcome

    def _judge(self, question: Question, asked: str, outcome: Outcome, reply: Reply) -> tuple[Verdict, str]:
        """The verdict on what was `asked`, and what the shop says if the agent names a topic to refuse."""
        verdict, topic = judge(asked, outcome, reply), marked_topic(outcome.text, self.refused)
        if topic is None:
            return ("not_found" if verdict == "refused" else verdict), ""
        return verdict, topic.sentence(question.language)

    def choose_pattern(self, text: str, *, leads: bool = True) -> Pattern:
        """Choose the pattern that answers a message as a whole. Small talk needs no checker."""
        way: Pattern = _by_team if len(self.team.agents) > 1 else single
        if leads and self.lead is not None and self._leads(text):
            way = partial(magentic, lead=self.lead)
        if self.checker is None or asks_nothing(text):
            return way
        return partial(sequential, checker=self.checker, drafting=way, needs_check=_is_sure)

    def _leads(self, text: str) -> bool:
        return self.lead is not None and policy.is_compound(text)

    async def _open_playbook(self, question: Question) -> Playbook | None:
        """The procedures, if the customer can have one: a known customer of the shop, in a thread that nobody else
        reads, about which no case is open.
        """
        item, customer = question.item, question.customer
        if self.procedures is None or customer.shop is None or not item.thread.is_direct or not question.concerns:
            return None
        return await open_playbook(self.procedures, customer, customer.shop, item, question.language)

    async def _search(self, inquiry: _Inquiry) -> Seen:
        """Search the pages for the message. If they have no answer, search for it with the message before it.

        A message such as "And how long?" needs that. If that is not enough either, the cheap model rewrites it. A
        message such as "And its packed size?" is always searched with the one before, because a page about something
        else can fit its own words.
        """
        question = inquiry.question
        findings = await self.knowledge.search(question.asked)
        written = [message.text for message in question.history if isinstance(message, CustomerMessage)]
        before = [text for text in map(without_files, written) if text]
        leans = bool(before) and policy.refers_back(question.asked)
        if asks_nothing(question.asked) or (findings.answerable and not leans):
            return Seen(findings)
        whole = f"{before[-1]}\n{question.asked}" if before else question.asked
        if before:
            together = await self.knowledge.search(whole)
            is_better = leans and together.answerable
            findings = _joined(together, findings) if is_better else surer(findings, together)
        return await self._look_again(inquiry, whole, findings, step="rewrite")

    async def _look_again(self, inquiry: _Inquiry, text: str, findings: Findings, *, step: str) -> Seen:
        context = self._context(inquiry.question, Evidence())
        return await self.second_look.look(text, findings, context=context, journal=part_of(inquiry.journal, step))

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
            passages=lambda: [f"{hit.heading} {hit.text}" for hit in evidence.passages],
            earlier=[message for message in question.known if isinstance(message, ToolResult)],
            done=may_be_claimed(question.actions),
            kept=EpisodeEvidence(
                results=lambda: inquiry.journal.results,
                pages=lambda: [page_text(hit) for hit in evidence.passages],
                messages=[*question.known, question.message],
                own=[agent.instructions for agent in self.team.agents],
                today=self._today(),
                link_hosts=self.link_hosts,
            ),
        )
        gate = ClaimGate(self.wordings, grounds, OutputGate(self.link_hosts))
        return Reply(
            page,
            question,
            evidence,
            gate,
            OwnWordsGate(self.own_words),
            inquiry.lines,
            private=any(side_effect.private for side_effect in inquiry.journal.side_effects),
        )


def _is_sure(draft: Outcome) -> bool:
    """Whether the draft is an answer. A checker could make one of what says that it is not."""
    return NOT_SURE not in draft.text


def _without_words(outcome: Outcome) -> Outcome:
    """Return the outcome without the agents' words. Their calls stay."""
    messages = [
        replace(message, text="") if isinstance(message, AgentMessage) else message for message in outcome.messages
    ]
    return replace(outcome, text="", messages=tuple(messages))


def _joined(first: Findings, then: Findings) -> Findings:
    """The findings of two searches for the same, those of the first one before the others."""
    found = {hit.chunk_id: hit for hit in (*first.hits, *then.hits)}
    return replace(first, hits=tuple(found.values())[: max(len(first.hits), PASSAGES)])


def _as_read(outcome: Outcome, said: str) -> Outcome:
    """Return the outcome with `said`, which the customer has read, as the agents' only words."""
    texts = [message.text.strip() for message in outcome.messages if isinstance(message, AgentMessage)]
    is_read = all(text in said for text in (outcome.text.strip(), *texts))
    return outcome if is_read else reworded(_without_words(outcome), said)


def _in_short(question: str) -> str:
    return question if len(question) <= NAMED_LIMIT else question[: NAMED_LIMIT - 1].rsplit(" ", 1)[0] + "…"


async def _by_team(team: Team, agent: str, history: Sequence[Message], *, terms: Terms) -> Outcome:
    """Return the team's answer, without the words of an agent that only passes messages on.

    Such an agent can greet and ask back. If it says more, that is not shown, and the agent IN_DOUBT answers.
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
    """Holds back the words of an agent that does not see the passages, until it is clear that they are the reply."""

    team: Team
    to: Emit
    drawn: bool
    _held: list[TextDelta] = field(default_factory=list)
    _spoke: bool = False

    def emit(self, event: Event) -> None:
        """Pass the event on, or hold it back."""
        match event:
            case TextDelta() if self.drawn:
                self._held.append(event)
            case TextDelta(text) if not self._spoke:
                # After words that were not shown, the paragraph break is not shown either.
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
        """Show what was held back."""
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
    """True if the question has no number and no word that the pages know."""
    verdict: Verdict = "stopped"
    sources: Sequence[Hit] = ()
    refusal: str = ""
    """What the shop says about a topic that the agent did not speak about."""
    did: Sequence[Message] = ()
    """What the agents wrote and did."""
