"""`frontdesk doctor`: what waits, for what, since when, and what to do about it."""

import argparse
import asyncio
import json
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bot.cli.status import recipe_of, roots_of
from bot.clock import DAY, HOUR, MINUTE, WEEK
from bot.locks import owner_of
from bot.settings import Settings
from bot.store import moving, waiting
from bot.store.addresses import SQLITE
from bot.store.cases import ref_of
from bot.store.database import Transaction, open_kept
from bot.store.statements import clock_differs
from bot.store.waiting import Waiting
from knowledge.status import read_status

PATIENCE = 2 * MINUTE
"""How long something waits until it counts as stuck."""
HEALTH_SECONDS = 5.0
"""How long the running process has to answer."""
CLOCK_SECONDS = 5.0
"""By how much this machine's clock may differ from that of Postgres' machine."""
ROOM = 1_000_000_000
"""The bytes that should be free on the disk of DATA_DIR; as many as the database has, if that is more."""
RUNBOOK = "docs/guides/operations.md"


@dataclass(slots=True)
class Findings:
    """What was found: what needs a person, and what is good to know."""

    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def waits(self, what: str, found: Waiting, *, now: float, advice: str, patience: float = PATIENCE) -> None:
        """Something waits. It needs a person if the oldest waits for longer than `patience`."""
        if not found.number:
            return
        age = now - found.since
        told = f"{found.number} {what}, the oldest for {in_words(age)} ({', '.join(found.about)})"
        if age > patience:
            self.wrong.append(f"{told}. {advice}")
        else:
            self.notes.append(told)


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print what was found. The exit status is 1 if something needs a person."""
    del given
    findings = Findings()
    now = time.time()
    async with open_kept(settings.database) as database, database.transaction() as tx:
        is_running = _find_process(findings, settings, await waiting.roles(tx, now=now))
        await _find_waiting(findings, tx, now=now)
        ahead = await clock_differs(tx, now)
    if abs(ahead) > CLOCK_SECONDS:
        findings.wrong.append(
            f"this machine's clock differs by {abs(ahead):.0f} seconds from the database's. Set it, as with NTP"
        )
    await _ask_process(findings, settings, is_running=is_running)
    await asyncio.to_thread(_look_around, findings, settings)
    for fault in findings.wrong:
        print(f"wrong: {fault}")
    for note in findings.notes:
        print(f"note: {note}")
    if not findings.wrong:
        print("Nothing needs you.")
    return 1 if findings.wrong else 0


def in_words(seconds: float) -> str:
    """A length of time, as `2 hours`."""
    for unit, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''}"
    return f"{max(0, int(seconds))} seconds"


def _find_process(findings: Findings, settings: Settings, roles: Counter[str]) -> bool:
    """Whether a process serves here. Those of a fleet are found in the database, wherever they are."""
    owner = owner_of(settings.data_dir / "frontdesk.lock")
    if settings.is_shared:
        told = ", ".join(f"{number} {role}" for role, number in sorted(roles.items()))
        if not roles:
            findings.wrong.append("no process runs. Start one: frontdesk serve")
        elif not roles["serve"] + roles["work"]:
            findings.wrong.append(f"no process answers, since those that run only take events ({told}): frontdesk work")
        elif not roles["serve"] + roles["ingress"]:
            findings.wrong.append(f"no process takes events ({told}). Start one: frontdesk serve --ingress-only")
        else:
            findings.notes.append(f"processes that run: {told}")
    elif owner is None:
        findings.wrong.append("no process runs. Start one: frontdesk serve")
    else:
        findings.notes.append(f"process {owner} runs")
    return owner is not None


async def _find_waiting(findings: Findings, tx: Transaction, *, now: float) -> None:
    if moved := await moving.find_moved(tx):
        findings.wrong.append(moved)
    findings.waits(
        "messages or presses wait",
        await waiting.messages(tx),
        now=now,
        advice=f"If a process runs, look in its log for these numbers; `frontdesk turns show` tells more ({RUNBOOK})",
    )
    findings.waits(
        "posts wait for Slack",
        await waiting.posts(tx),
        now=now,
        advice=f"Is the app still in these channels, and is its token good? Look for `a post waits` ({RUNBOOK})",
    )
    unclaimed = await waiting.cases(tx)
    if unclaimed.number:
        named = ", ".join(ref_of(int(number)) for number in unclaimed.about)
        told = f"{unclaimed.number} cases wait for a person, the oldest for {in_words(now - unclaimed.since)} ({named})"
        findings.notes.append(told)
    findings.waits(
        "changes of orders are stuck",
        await waiting.actions(tx),
        now=now,
        patience=0.0,
        advice="Look in the shop whether they took effect, and press a button on their cards in the agent channel",
    )
    findings.waits(
        "messages or presses were set aside in the last week",
        await waiting.dead_letters(tx, since=now - WEEK),
        now=now,
        patience=0.0,
        advice="Mend the cause, and then: frontdesk dead list, frontdesk dead retry",
    )
    if late := await waiting.overdue(tx, before=now - HOUR):
        findings.wrong.append(f"recurring work is late: {', '.join(late)}. Does a process run? Its log says why")


async def _ask_process(findings: Findings, settings: Settings, *, is_running: bool) -> None:
    """Ask the process of this folder how it is."""
    if not is_running or not settings.port:
        return
    try:
        timeout = aiohttp.ClientTimeout(total=HEALTH_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://127.0.0.1:{settings.port}/healthz") as answer,
        ):
            told = json.loads(await answer.text())
            missing, degraded = told["missing"], told["degraded"]
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
        findings.wrong.append(f"the process does not answer on port {settings.port}. Look at its log, or restart it")
        return
    if missing:
        findings.wrong.append(f"customers get no answers: {missing}. Find it in {RUNBOOK}")
    if degraded:
        findings.wrong.append(f"it works worse than it should: {degraded}. Find it in {RUNBOOK}")


def _look_around(findings: Findings, settings: Settings) -> None:
    """Look at the disk and at the knowledge base."""
    file = Path(settings.database.removeprefix(SQLITE))
    size = 0 if settings.is_shared else file.stat().st_size
    free = shutil.disk_usage(settings.data_dir if settings.data_dir.exists() else Path.cwd()).free
    if free < max(ROOM, size):
        findings.wrong.append(f"the disk of DATA_DIR has {free / 1e9:.1f} GB left. Make room")
    root = roots_of(settings.data_dir / "kb")["public"]
    if settings.kb_path is not None:
        status = read_status(root, embedder=recipe_of(settings).name, chroma_url=settings.chroma_url or "")
        if status.error:
            findings.wrong.append(f"the knowledge base: {status.error} Try: frontdesk kb build")
