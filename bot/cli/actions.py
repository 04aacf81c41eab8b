"""`frontdesk actions`: the changes of orders, for operators and for the books. The commands only read the database."""

import argparse
import csv
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TextIO

from bot.reporting.traces import harmless
from bot.settings import Settings
from bot.shops.port import Money
from bot.store import actions, audit
from bot.store.actions import Action, Vote
from bot.store.audit import AuditEntry
from bot.store.database import Database, open_kept

MAX_LISTED = 100
EXPORT_PAGE = 500
"""Actions that one query of an export reads."""
COLUMNS = (
    "ref",
    "kind",
    "state",
    "reason",
    "subject",
    "shop_customer",
    "reference",
    "money_minor",
    "currency",
    "offered_at",
    "confirmed_at",
    "decided_at",
    "sent_at",
    "ended_at",
    "approved_by",
    "refused_by",
    "key",
    "arguments_hash",
    "policy",
    "undoes",
)
"""The columns of an export."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings that spreadsheets take for a formula."""


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """List actions, show one, or export them; return the exit status."""
    async with open_kept(settings.database, read_only=True) as database:
        match given.verb:
            case "show":
                return await _show(given.ref, database, clean=partial(harmless, secrets=settings.secrets))
            case "export":
                await _export(database, given.since, sys.stdout)
                return 0
            case _:
                return await _list(database, since=given.since or 0.0, is_open=given.open)


async def _list(database: Database, *, since: float, is_open: bool) -> int:
    async with database.transaction() as tx:
        found = await actions.listed(tx, since=since, unsettled=is_open, limit=MAX_LISTED)
    for each in found:
        state, subject = each.state + (" (settled)" if each.settled else ""), each.subject.partition("/")[2]
        print(
            f"{each.ref}  {_time(each.offered_at)}  {state:10}  {each.kind:24}  {subject:16}  {_money(each)}".rstrip()
        )
    if not found:
        print("No open actions." if is_open else "No actions.")
    return 0


async def _show(ref: str, database: Database, *, clean: Callable[[str], str]) -> int:
    async with database.transaction() as tx:
        action = await actions.find(tx, ref)
        if action is None:
            print(f"frontdesk: there is no action {ref}", file=sys.stderr)
            return 1
        votes, entries = await actions.votes_of(tx, [action.id]), await audit.of_subject(tx, action.ref)
    print(_whole(action, votes, entries, clean=clean))
    return 0


def _whole(action: Action, votes: Sequence[Vote], entries: Sequence[AuditEntry], *, clean: Callable[[str], str]) -> str:
    """What the row says, how staff voted, and the audit trail."""
    rules = ", ".join(f"{rule['id']} {'yes' if rule['held'] else 'no'}" for rule in action.rules.get("rules", ()))
    reason = f" ({action.reason})" if action.reason else ""
    sent = f"{action.request.get('method', '')} {action.request.get('path', '')}".strip()
    lines = [
        f"{action.ref}  {action.state}{reason}, version {action.version}" + (", settled" if action.settled else ""),
        f"kind       {action.kind}",
        f"subject    {action.subject}",
        f"money      {_money(action) or '-'}",
        f"customer   {clean(action.customer_name) or '-'} ({action.customer}), in the shop {action.shop_customer}",
        f"thread     {action.thread.key}, for {action.origin}",
        f"rules      {action.rules.get('outcome') or '-'}: {rules or '-'}",
        f"policy     {action.policy}",
        f"arguments  {clean(json.dumps(action.arguments, ensure_ascii=False, sort_keys=True))}",
        f"hash       {action.arguments_hash}",
        f"request    {clean(sent) or '-'}, {action.attempts} times sent, {action.looks} times asked about",
        f"key        {action.key}",
        f"reference  {clean(action.reference) or '-'}",
        *([f"undoes     {action.undoes}"] if action.undoes else []),
        *(f"{name:10} {_time(at)}" for name, at in _times(action) if at is not None),
        "",
    ]
    lines += [f"{_time(vote.at)}  {vote.choice:20}  {vote.person:14}  {vote.amount}" for vote in votes]
    for entry in entries:
        detail = ", ".join(f"{name} {value}" for name, value in entry.detail.items() if value)
        lines.append(f"{_time(entry.at)}  {entry.action:20}  {entry.actor:14}  {clean(detail)}".rstrip())
    return "\n".join(lines).rstrip()


async def _export(database: Database, since: float, to: TextIO) -> None:
    """Write the actions that were offered since then, oldest first. Memory holds one page of them."""
    rows = csv.writer(to, lineterminator="\n")
    rows.writerow(COLUMNS)
    after = 0
    while True:
        async with database.transaction() as tx:
            page = await actions.next_page(tx, since=since, after=after, limit=EXPORT_PAGE)
            votes = await actions.votes_of(tx, [each.id for each in page])
        for each in page:
            rows.writerow(_row(each, [vote for vote in votes if vote.action == each.id]))
        if len(page) < EXPORT_PAGE:
            return
        after = page[-1].id


def _row(action: Action, votes: Sequence[Vote]) -> list[str | int]:
    approved = " ".join(dict.fromkeys(vote.person for vote in votes if vote.choice == "approve"))
    refused = " ".join(dict.fromkeys(vote.person for vote in votes if vote.choice != "approve"))
    times = ["" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}" for _, at in _times(action)]
    words = (action.ref, action.kind, action.state, action.reason, action.subject, action.shop_customer)
    return [
        *map(_plain, words),
        _plain(action.reference),
        action.money,
        action.currency,
        *times,
        approved,
        refused,
        action.key,
        action.arguments_hash,
        action.policy,
        action.undoes,
    ]


def _times(action: Action) -> tuple[tuple[str, float | None], ...]:
    return (
        ("offered", action.offered_at),
        ("confirmed", action.confirmed_at),
        ("decided", action.decided_at),
        ("sent", action.sent_at),
        ("ended", action.ended_at),
    )


def _plain(text: str) -> str:
    """The text as no spreadsheet takes it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _money(action: Action) -> str:
    return f"{Money(action.money, action.currency)}" if action.money else ""


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
