"""What must hold whatever was killed: read from Slack, from the shop's ledger, from the database and from the log.

Findings      what was counted, and every violation in a sentence
look          look at everything, when all is quiet
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from bot.store import schema
from bot.store.cases import ERASED, ref_of
from bot.store.database import Database
from local_slack.workspace import Json, Workspace
from tests.chaos.outside import Outside
from tests.chaos.reading import (
    answers_to_aside,
    by_app,
    cards,
    cards_of,
    in_thread,
    queue_messages,
    quoting,
    relays,
    replies,
    stands,
    steps_told,
    told_of_case,
    words,
)
from tests.chaos.script import (
    AGENTS,
    CANARY,
    FAREWELL,
    RELAYED,
    STEPS,
    Line,
    Matter,
    answer_to,
    file_of,
    step_told,
)

NEVER_LOGGED = (
    "Task exception was never retrieved",
    "was never awaited",
    "Task was destroyed but it is pending",
    "Unclosed client session",
    CANARY,
)
AUDITED = {
    "claimed": ("case.claimed",),
    "resolved": ("case.resolved",),
    "reopened": ("case.reopened",),
    "handed_back": ("case.handed_back", "case.cancelled"),
}
"""What a customer is told -> what the audit trail calls it."""


@dataclass(slots=True)
class Findings:
    """The outcome of a campaign."""

    acked: int = 0
    lost: int = 0
    doubled: int = 0
    repeated_writes: int = 0
    violations: list[str] = field(default_factory=list)
    """Everything that is wrong, these three counted too."""

    def wrong(self, what: str) -> None:
        self.violations.append(what)


async def look(
    outside: Outside,
    everything: Sequence[Line],
    matters: Sequence[Matter],
    database: Database,
    logs: Iterable[Path],
    secrets: Sequence[str],
) -> Findings:
    """Everything, once nothing runs any more."""
    findings = Findings(acked=sum(line.acked_at is not None for line in everything))
    lines = [line for line in everything if not line.is_gone]
    _look_at_slack(outside.workspace, lines, matters, findings)
    for matter in matters:
        _look_at_matter(outside.workspace, matter, findings)
    _look_at_ledger(outside, lines, findings)
    _look_at_order(outside, lines, findings)
    await _look_at_database(database, everything, findings)
    await _look_at_cases(database, matters, findings)
    await _look_for_what_is_gone(outside.workspace, everything, database, findings)
    for path in logs:
        text = path.read_text("utf-8", errors="replace")
        for never in (*NEVER_LOGGED, *secrets):
            if never in text:
                what = "a secret" if never in secrets else repr(never)
                findings.wrong(f"the log holds {what}")
    return findings


def _look_at_slack(workspace: Workspace, lines: Sequence[Line], matters: Sequence[Matter], findings: Findings) -> None:
    for (channel, ts), stream in workspace.streams.items():
        if stream.state == "in_progress":
            findings.wrong(f"an open stream in {channel} at {ts}")
    threads: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        if line.kind != "reply":
            threads[line.channel, line.thread_ts].append(line)
    told = {(each.opening.channel, each.opening.thread_ts): _told_in(each) for each in matters}
    for (channel, thread_ts), asked in threads.items():
        messages, besides = in_thread(workspace, channel, thread_ts), told.get((channel, thread_ts), 0)
        _look_at_thread(workspace, channel, messages, asked, besides, findings)
    for line in lines:
        if line.kind == "aside":
            _count(line, answers_to_aside(workspace, line), findings)
        elif line.kind == "escalate":
            _count(line, len(cards_of(workspace, line)), findings, what="card")
        elif line.kind == "reply":
            _count(line, len(replies(workspace, line)), findings, what="copy")
        elif line.kind in RELAYED:
            copies = relays(workspace, line.mark)
            _count(line, len(copies), findings, what="copy")
            name, content = file_of(line.mark)
            brought = [(file["name"], file["size"]) for each in copies for file in each.get("files") or ()]
            if brought != [(name, len(content))] * (line.kind == "follow"):
                findings.wrong(f"{line.mark} brought {brought} to staff")
    _look_at_cards(workspace, lines, matters, findings)


def _told_in(matter: Matter) -> int:
    """How much the customer reads of a matter in its thread, beside what comes of their own words."""
    return matter.told.total() + sum(not line.is_gone for line in matter.replies)


def _look_at_thread(
    workspace: Workspace,
    channel: str,
    messages: Sequence[Json],
    asked: Sequence[Line],
    besides: int,
    findings: Findings,
) -> None:
    """In the order of the questions one answer each, and nothing else but `besides` messages."""
    read = [words(workspace, channel, message) for message in messages]
    if any(not text for text in read):
        findings.wrong(f"an empty message in {channel}, thread of {asked[0].mark}")
    for line in asked:
        match line.kind:
            case "work":
                _count(line, sum(text == answer_to(line.mark) for text in read), findings)
                for text in read:
                    if line.mark in text and text != answer_to(line.mark):
                        findings.wrong(f"{line.mark} was answered with other words: {text[:200]!r}")
            case "escalate":
                _count(line, len(told_of_case(workspace, line)), findings)
    expected = besides + sum(line.kind not in RELAYED for line in asked if line.acked_at is not None)
    if len(read) > expected:
        findings.doubled += 1
        short = [text[:30] for text in read]
        findings.wrong(f"{len(read)} messages instead of {expected} in {channel}, thread of {asked[0].mark}: {short}")
    marks = [mark for text in read for mark in re.findall(r"^Sentence 1 on (m\d+)", text)]
    if marks != sorted(marks):
        findings.wrong(f"answers out of order in {channel}: {marks}")


def _look_at_cards(workspace: Workspace, lines: Sequence[Line], matters: Sequence[Matter], findings: Findings) -> None:
    """Each case has its card, its opener and at most one transcript; nobody asked for any other. Of one whose customer
    is erased a line says so."""
    roots = cards(workspace)
    if len(queue_messages(workspace)) > 1:
        findings.doubled += 1
        findings.wrong("the queue is shown more than once")
    expected = sum(line.kind == "escalate" for line in lines) + sum(each.is_erased for each in matters)
    if len(roots) > expected:
        findings.wrong(
            f"{len(roots)} cards for {expected} cases: {[words(workspace, AGENTS, each)[:160] for each in roots][-3:]}"
        )
    for root in roots:
        under = [words(workspace, AGENTS, each) for each in in_thread(workspace, AGENTS, root["ts"])]
        for text, times in Counter(under).items():
            if times > 1:
                findings.doubled += 1
                findings.wrong(f"{times} times under a card: {text[:120]!r}")


def _look_at_matter(workspace: Workspace, matter: Matter, findings: Findings) -> None:
    """The customer was told of each step once, no answer came while a person was there, and the card says so too."""
    opening, name = matter.opening, f"the {matter.course} case of {matter.opening.mark}"
    if matter.is_erased:
        there = [str(each["text"]) for each in by_app(workspace, opening.channel)]
        if [FAREWELL in text for text in there] != [True]:
            findings.wrong(f"{opening.user} is erased and reads {[text[:60] for text in there]}")
        ended = [each for each in by_app(workspace, AGENTS) if f"{matter.ref} was erased" in each["text"]]
        if len(ended) != 1 or quoting(workspace, opening.user):
            findings.wrong(f"{name} is erased: {len(ended)} lines say so, {len(quoting(workspace, opening.user))} name")
        return
    told = steps_told(workspace, matter)
    for step in STEPS:
        findings.lost += told[step] < matter.told[step]
        findings.doubled += told[step] > matter.told[step]
    if told != matter.told or not stands(workspace, matter):
        findings.wrong(f"{name} is {matter.state} after {dict(matter.told)}, and Slack says {dict(told)}")
    is_with_person = False
    for each in in_thread(workspace, opening.channel, opening.thread_ts):
        if step := step_told(str(each["text"])):
            is_with_person = step == "claimed"
        elif is_with_person and re.match(r"Sentence 1 on", words(workspace, opening.channel, each)):
            findings.wrong(f"{name} was answered while a person was there")


def _count(line: Line, times: int, findings: Findings, *, what: str = "answer") -> None:
    if line.acked_at is None:
        findings.wrong(f"{line.mark} was never acknowledged")
    elif times == 0:
        findings.lost += 1
        findings.wrong(f"{line.mark} ({line.kind}) has no {what}")
    elif times > 1:
        findings.doubled += 1
        findings.wrong(f"{line.mark} ({line.kind}) has {times} {what}s")


def _look_at_ledger(outside: Outside, lines: Sequence[Line], findings: Findings) -> None:
    for line in lines:
        keys = outside.ledger.keys.get(line.mark, set())
        if line.kind in ("work", "aside") and not keys:
            findings.wrong(f"{line.mark} was not written in the shop")
        if len(keys) > 1:
            findings.repeated_writes += len(keys) - 1
            findings.wrong(f"{line.mark} was written {len(keys)} times in the shop")


def _look_at_order(outside: Outside, lines: Sequence[Line], findings: Findings) -> None:
    """The model is first asked about a message when the one before it in the thread has been answered, and never about
    one to a person."""
    first: dict[str, float] = {}
    for at, said in outside.model_requests:
        for mark in re.findall(r"\bm\d{5}\b", said):
            first.setdefault(mark, at)
    latest: dict[tuple[str, str], Line] = {}
    for line in lines:
        before = latest.get((line.channel, line.thread_ts))
        if before is not None and before.read_at and first.get(line.mark, before.read_at) < before.read_at:
            findings.wrong(f"{line.mark} was begun before {before.mark} was answered")
        if line.kind in RELAYED and line.mark in first:
            findings.wrong(f"the model was asked about {line.mark}, which was for a person")
        latest[line.channel, line.thread_ts] = line


async def _look_at_database(database: Database, lines: Sequence[Line], findings: Findings) -> None:
    inbox, outbox, journal = schema.inbox, schema.outbox, schema.journal
    written = inbox.c.kind.in_(("message", "staff"))
    unsent = (outbox.c.state != "sent") & (outbox.c.error != ERASED)
    async with database.transaction() as tx:
        rows = (await tx.execute(select(inbox).where(written))).all()
        left = (await tx.execute(select(outbox.c.key, outbox.c.state).where(unsent))).all()
        steps = (await tx.execute(select(func.count()).select_from(journal))).scalar_one()
        cases = (await tx.execute(select(func.count()).select_from(schema.kase))).scalar_one()
        pressed = inbox.c.kind.not_in(("message", "staff")) & (inbox.c.state != "done")
        open_presses = (await tx.execute(select(inbox.c.kind, inbox.c.state, inbox.c.reason).where(pressed))).all()
    by_ts = {row.ts: row for row in rows}
    for line in lines:
        row = by_ts.get(line.ts)
        if line.acked_at is not None and row is None:
            findings.lost += 1
            findings.wrong(f"{line.mark} was acknowledged and is not in the inbox")
        elif row is not None and not (row.state == "done" or (line.is_gone and row.state == "dropped")):
            findings.wrong(f"{line.mark} is {row.state} ({row.reason}) after {row.attempts} attempts")
    if len(rows) != len(by_ts):
        findings.wrong("a message is in the inbox twice")
    for interaction in open_presses:
        findings.wrong(f"a {interaction.kind} is {interaction.state} ({interaction.reason})")
    # What Slack cannot mark, since its author deleted it before.
    unmarked = {f"relay/{AGENTS}/{line.ts}/sent" for line in lines if line.is_gone and line.kind == "reply"}
    for key, state in left:
        if key not in unmarked or state != "failed":
            findings.wrong(f"{key} is {state} in the outbox")
    if steps:
        findings.wrong(f"{steps} steps are left in the journal")
    expected = sum(line.kind == "escalate" for line in lines)
    if cases != expected:
        findings.wrong(f"{cases} cases instead of {expected}")


async def _look_at_cases(database: Database, matters: Sequence[Matter], findings: Findings) -> None:
    """The cases stand as what was acknowledged says, and the audit trail has each step once."""
    kase, audit = schema.kase, schema.audit
    async with database.transaction() as tx:
        rows = {ref_of(row.id): row for row in await tx.execute(select(kase))}
        noted = Counter((row.subject, row.action) for row in await tx.execute(select(audit.c.subject, audit.c.action)))
    for matter in matters:
        row = rows.get(matter.ref)
        if row is None or row.state != matter.state or (row.state == "human" and row.owner != matter.owner):
            there = row and (row.state, row.owner)
            findings.wrong(f"{matter.ref} ({matter.course}) is {there} and not {matter.state}, {matter.owner}")
        for step, actions in AUDITED.items():
            if (times := sum(noted[matter.ref, action] for action in actions)) != matter.told[step]:
                findings.wrong(f"{matter.ref} was {step} {times} times by the audit trail, not {matter.told[step]}")


async def _look_for_what_is_gone(
    workspace: Workspace, lines: Sequence[Line], database: Database, findings: Findings
) -> None:
    """Of a deleted message, and of whoever is erased, nothing is said and nothing is kept."""
    async with database.transaction() as tx:
        tables = {table.name: str((await tx.execute(select(table))).all()) for table in schema.metadata.sorted_tables}
    for line in lines:
        if line.is_gone:
            there = [name for name, held in tables.items() if line.mark in held]
            there += [f"the thread of {each.get('thread_ts')}" for each in quoting(workspace, line.mark)]
            if there or line.acked_at is None:
                findings.wrong(
                    f"{line.mark} ({line.kind}) is gone (acknowledged: {bool(line.acked_at)}) and in {there}"
                )
