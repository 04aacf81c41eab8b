"""What must hold whatever was killed: read from Slack, from the shop's ledger, from the database and from the log.

is_answered   everything that must come of a message can be read
Findings      what was counted, and every violation in a sentence
look          look at everything, when all is quiet
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from bot.store import schema
from bot.store.database import Database
from demo.slack.workspace import Json, Workspace
from tests.chaos.outside import Outside
from tests.chaos.script import CANARY, Line, answer_to, file_of

AGENTS = "C0AGENTS"
NEVER_LOGGED = (
    "Task exception was never retrieved",
    "was never awaited",
    "Task was destroyed but it is pending",
    "Unclosed client session",
    CANARY,
)
_CASE = re.compile(r"\bFD-\d+\b")


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


def is_answered(outside: Outside, line: Line) -> bool:
    """Whether the customer, and for a case the staff, can read all that must come of the message."""
    workspace = outside.workspace
    match line.kind:
        case "work":
            return _answers(workspace, line, _in_thread(workspace, line.channel, line.thread_ts)) > 0
        case "aside":
            answered = _answers(workspace, line, _by_app(workspace, _direct(workspace, line.user)))
            told = [
                words(workspace, line.channel, each) for each in _in_thread(workspace, line.channel, line.thread_ts)
            ]
            return answered > 0 and any(told)
        case "escalate":
            return bool(_told_of_case(workspace, line)) and bool(_cards(workspace, line.mark))
        case "follow":
            return bool(_relays(workspace, line.mark))


async def look(
    outside: Outside, lines: Sequence[Line], database: Database, logs: Iterable[Path], secrets: Sequence[str]
) -> Findings:
    """Everything, once nothing runs any more."""
    findings = Findings(acked=sum(line.acked_at is not None for line in lines))
    _look_at_slack(outside, lines, findings)
    _look_at_ledger(outside, lines, findings)
    _look_at_order(outside, lines, findings)
    await _look_at_database(database, lines, findings)
    for path in logs:
        text = path.read_text("utf-8", errors="replace")
        for never in (*NEVER_LOGGED, *secrets):
            if never in text:
                what = "a secret" if never in secrets else repr(never)
                findings.wrong(f"the log holds {what}")
    return findings


def words(workspace: Workspace, channel: str, message: Json) -> str:
    """What a person reads of a message, without cards, buttons and what stands under an answer."""
    stream = workspace.streams.get((channel, message["ts"]))
    if stream is not None and stream.state == "in_progress":
        return "".join(part.get("text", "") for part in stream.parts if part["type"] == "markdown").strip()
    shown = [
        block["text"] if block["type"] == "markdown" else "".join(_leaves(block))
        for block in message.get("blocks") or ()
        if block["type"] in ("markdown", "rich_text")
    ]
    return "".join(shown).strip() if shown else str(message.get("text", "")).strip()


def _look_at_slack(outside: Outside, lines: Sequence[Line], findings: Findings) -> None:
    workspace = outside.workspace
    for (channel, ts), stream in workspace.streams.items():
        if stream.state == "in_progress":
            findings.wrong(f"an open stream in {channel} at {ts}")
    threads: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        threads[line.channel, line.thread_ts].append(line)
    for (channel, thread_ts), asked in threads.items():
        _look_at_thread(workspace, channel, _in_thread(workspace, channel, thread_ts), asked, findings)
    for line in lines:
        if line.kind == "aside":
            _count(line, _answers(workspace, line, _by_app(workspace, _direct(workspace, line.user))), findings)
        elif line.kind == "escalate":
            _count(line, len(_cards(workspace, line.mark)), findings, what="card")
        elif line.kind == "follow":
            relays = _relays(workspace, line.mark)
            _count(line, len(relays), findings)
            name, content = file_of(line.mark)
            brought = [(file["name"], file["size"]) for each in relays for file in each.get("files") or ()]
            if brought != [(name, len(content))]:
                findings.wrong(f"{line.mark} brought {brought} to staff")
    _look_at_cards(workspace, lines, findings)


def _look_at_thread(
    workspace: Workspace, channel: str, messages: Sequence[Json], asked: Sequence[Line], findings: Findings
) -> None:
    """In the order of the questions one answer each, and nothing else."""
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
                _count(line, len(_told_of_case(workspace, line)), findings)
    expected = sum(line.kind != "follow" for line in asked if line.acked_at is not None)
    if len(read) > expected:
        findings.doubled += 1
        short = [text[:30] for text in read]
        findings.wrong(f"{len(read)} messages instead of {expected} in {channel}, thread of {asked[0].mark}: {short}")
    marks = [mark for text in read for mark in re.findall(r"^Sentence 1 on (m\d+)", text)]
    if marks != sorted(marks):
        findings.wrong(f"answers out of order in {channel}: {marks}")


def _look_at_cards(workspace: Workspace, lines: Sequence[Line], findings: Findings) -> None:
    """Each case has its card, its opener and at most one transcript; nobody asked for any other."""
    roots = [message for message in _by_app(workspace, AGENTS) if message.get("thread_ts") in (None, message["ts"])]
    expected = sum(line.kind == "escalate" for line in lines)
    if len(roots) > expected:
        findings.wrong(
            f"{len(roots)} cards for {expected} cases: {[words(workspace, AGENTS, each)[:160] for each in roots][-3:]}"
        )
    for root in roots:
        under = [words(workspace, AGENTS, each) for each in _in_thread(workspace, AGENTS, root["ts"])]
        for text, times in Counter(under).items():
            if times > 1:
                findings.doubled += 1
                findings.wrong(f"{times} times under a card: {text[:120]!r}")


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
    """The model is first asked about a message when the one before it in the thread has been answered."""
    first: dict[str, float] = {}
    for at, said in outside.model_requests:
        for mark in re.findall(r"\bm\d{5}\b", said):
            first.setdefault(mark, at)
    latest: dict[tuple[str, str], Line] = {}
    for line in lines:
        before = latest.get((line.channel, line.thread_ts))
        if before is not None and before.read_at and first.get(line.mark, before.read_at) < before.read_at:
            findings.wrong(f"{line.mark} was begun before {before.mark} was answered")
        latest[line.channel, line.thread_ts] = line


async def _look_at_database(database: Database, lines: Sequence[Line], findings: Findings) -> None:
    inbox, outbox, journal = schema.inbox, schema.outbox, schema.journal
    async with database.transaction() as tx:
        rows = (await tx.execute(select(inbox.c.ts, inbox.c.state, inbox.c.reason, inbox.c.attempts))).all()
        unsent = (await tx.execute(select(outbox.c.key, outbox.c.state).where(outbox.c.state != "sent"))).all()
        steps = (await tx.execute(select(func.count()).select_from(journal))).scalar_one()
        cases = (await tx.execute(select(func.count()).select_from(schema.kase))).scalar_one()
    by_ts = {row.ts: row for row in rows}
    for line in lines:
        row = by_ts.get(line.ts)
        if line.acked_at is not None and row is None:
            findings.lost += 1
            findings.wrong(f"{line.mark} was acknowledged and is not in the inbox")
        elif row is not None and (row.state != "done" or not row.reason):
            findings.wrong(f"{line.mark} is {row.state} ({row.reason}) after {row.attempts} attempts")
    if len(rows) != len(by_ts):
        findings.wrong("a message is in the inbox twice")
    for key, state in unsent:
        findings.wrong(f"{key} is {state} in the outbox")
    if steps:
        findings.wrong(f"{steps} steps are left in the journal")
    expected = sum(line.kind == "escalate" for line in lines)
    if cases != expected:
        findings.wrong(f"{cases} cases instead of {expected}")


def _answers(workspace: Workspace, line: Line, messages: Iterable[Json]) -> int:
    """How many complete messages show exactly the line's answer."""
    channel = line.channel if line.kind == "work" else _direct(workspace, line.user)
    return sum(
        message.get("streaming_state") != "in_progress" and words(workspace, channel, message) == answer_to(line.mark)
        for message in messages
    )


def _told_of_case(workspace: Workspace, line: Line) -> list[Json]:
    """The messages in the customer's thread that name a case."""
    return [each for each in _in_thread(workspace, line.channel, line.thread_ts) if _CASE.search(str(each.get("text")))]


def _cards(workspace: Workspace, mark: str) -> list[Json]:
    return [
        message
        for message in _by_app(workspace, AGENTS)
        if message.get("thread_ts") in (None, message["ts"]) and f"Matter {mark}" in str(message)
    ]


def _relays(workspace: Workspace, mark: str) -> list[Json]:
    """What staff were shown of a message to them, save in a transcript."""
    return [
        message
        for message in _by_app(workspace, AGENTS)
        if message.get("thread_ts")
        and "(customer)" in message["text"]
        and f">Note {mark}" in message["text"].replace("&gt;", ">")
    ]


def _by_app(workspace: Workspace, channel: str) -> list[Json]:
    messages = workspace.messages.get(channel, {}).values()
    return sorted((each for each in messages if each.get("bot_id")), key=lambda each: str(each["ts"]))


def _in_thread(workspace: Workspace, channel: str, thread_ts: str) -> list[Json]:
    return [
        each for each in _by_app(workspace, channel) if each.get("thread_ts") == thread_ts and each["ts"] != thread_ts
    ]


def _direct(workspace: Workspace, user: str) -> str:
    return workspace.dm_with(user).id


def _leaves(block: Any) -> Iterator[str]:
    """The texts of a rich_text block, in order."""
    if isinstance(block, list):
        for each in block:
            yield from _leaves(each)
    elif isinstance(block, dict):
        if isinstance(block.get("text"), str):
            yield block["text"]
        yield from _leaves(block.get("elements", ()))
