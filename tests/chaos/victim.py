"""The product as the harness starts and kills it: `python -m tests.chaos.victim`.

One process imports the product once and then forks a copy for every line of JSON that it reads, so that two hundred
starts do not cost two hundred imports. A copy is the product over its own entry points, with one more tool that
writes, at the place told by FRONTDESK_FAILPOINT armed, and, for the harness's own test, with one safeguard taken out.

    {"role": "serve", "environment": {…}, "log": "path"}
    ->  {"started": pid}   and once it has ended   {"ended": pid, "status": n}
"""

import asyncio
import ctypes
import json
import math
import os
import select
import signal
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import aiohttp
import sqlalchemy
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from bot import failpoints
from bot.agent.tools import Context, Tool, ToolProblem, tool
from bot.app import Role, serve
from bot.cases import case as case_steps
from bot.conversation import ShopCustomer
from bot.errors import ConfigurationError, FrontdeskError
from bot.guard.claim_patterns import load_wordings
from bot.ingest.fleet import open_fleet
from bot.language.matching import load_matchers
from bot.settings import load_settings
from bot.shops.actions import ActionRequest, Outcome
from bot.shops.rest import RestShop
from bot.slack.outbox import Outbox
from bot.slack.place import Place
from bot.slack.rate_limiter import RateLimiter
from bot.store import attempts, leases, schema, turns
from bot.store.cases import Case
from bot.telemetry import configure_logging
from bot.turns.answers.journal import TurnJournal

IMPORTED = (open_fleet,)
"""What the product imports when it needs it, here before it is forked."""
BROKEN = 99
"""The exit status of a copy that could not be started."""
POLL_SECONDS = 0.02
PACE = 20.0
"""Slack agrees to so many times what it usually does: hundreds of answers in minutes are not to be held up."""
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Fork at every line until the input ends; then end everything."""
    # What is read here need not be read in each that is forked.
    load_wordings()
    load_matchers()
    children: set[int] = set()
    pending = b""
    while True:
        readable, _, _ = select.select([0], [], [], POLL_SECONDS)
        if readable:
            chunk = os.read(0, 65_536)
            if not chunk:
                break
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                pid = _start(json.loads(line))
                children.add(pid)
                _say({"started": pid})
        while children and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            children.discard(ended[0])
            _say({"ended": ended[0], "status": os.waitstatus_to_exitcode(ended[1])})
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _say(what: Mapping[str, int]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def _start(order: Mapping[str, Any]) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = BROKEN
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.clear()
        os.environ.update(order["environment"])
        status = _run(order["role"])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:  # noqa: BLE001 - the copy must not go on as its parent
        os.write(2, f"the victim ended: {error!r}\n".encode())
    finally:
        os._exit(status)


def _run(role: Role) -> int:
    """Be the product in one of its roles; the exit status."""
    if place := os.environ.get("FRONTDESK_FAILPOINT"):
        name, _, passing = place.partition(":")
        how = signal.Signals[os.environ.get("FRONTDESK_FAILPOINT_SIGNAL", "SIGKILL")]
        failpoints.arm(name, int(passing or "1"), how=how)
    _agree_on(PACE)
    if control := os.environ.get("CHAOS_WITHOUT"):
        _take_out(control)
    try:
        settings = load_settings(os.environ, serving=True)
        configure_logging(settings.log_level, secrets=settings.secrets)
        return asyncio.run(serve(settings, role=role, more_tools=ledger_tools(os.environ["LEDGER_URL"])))
    except ConfigurationError as error:
        print(*error.faults, sep="\n", file=sys.stderr)
        return 2
    except FrontdeskError as error:
        print(error, file=sys.stderr)
        return 1


def ledger_tools(url: str) -> Sequence[Tool]:
    """`reserve_parcel`: a write that the shop makes once for each idempotency key."""

    @tool(title="Reserving", writes=True)
    async def reserve_parcel(
        context: Context, mark: Annotated[str, Field(max_length=40, description="What is to be reserved.")]
    ) -> str:
        """Reserve a parcel at the depot."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                url, json={"mark": mark, "turn": context.turn}, headers={"Idempotency-Key": context.key}
            ) as answer,
        ):
            if answer.status != 200:
                raise ToolProblem("The depot did not answer.")
            return await answer.text()

    return (reserve_parcel,)


def _agree_on(factor: float) -> None:
    defaults = RateLimiter.__init__.__kwdefaults__
    assert defaults is not None
    defaults["factor"] = factor


def _take_out(safeguard: str) -> None:
    """Without this safeguard the harness must find a violation; that it does shows that it can."""
    match safeguard:
        case "reconciliation":

            async def find_nothing(_self: Outbox, _row: object) -> None:
                return None

            async def own_nothing(_self: Place, *, since: float | None) -> list[dict[str, Any]]:
                del since
                return []

            Outbox._find = find_nothing  # type: ignore[method-assign,assignment]
            Place.own_messages = own_nothing  # type: ignore[method-assign,assignment]
        case "journaled-rounds":
            recall = TurnJournal.recall

            async def forget(self: TurnJournal, name: str) -> Any | None:
                return None if name.rpartition("/")[2].startswith("round-") else await recall(self, name)

            TurnJournal.recall = forget  # type: ignore[method-assign]
            # A key by what is asked for would hide it: the shop would see the same one.
            Context.key = property(lambda self: f"{self.turn}:{self.call}")  # type: ignore[assignment,method-assign]
        case "fence":

            async def let_pass(tx: AsyncConnection, row: int, fence: int) -> None:
                del tx, row, fence

            async def look_up(tx: AsyncConnection, turn: int, name: str, *, attempt: int) -> Any | None:
                del attempt
                return (await turns.recall(tx, turn)).get(name)

            record = turns.record

            async def record_anyway(
                tx: AsyncConnection, turn: int, steps: Mapping[str, Any], *, attempt: int, now: float
            ) -> None:
                del attempt
                fence = (await tx.execute(sqlalchemy.select(schema.inbox.c.fence).filter_by(id=turn))).scalar_one()
                await record(tx, turn, steps, attempt=fence, now=now)

            turns.record = record_anyway
            attempts.hold_row = let_pass
            turns.look_up = look_up
            leases.OVERDUE_SECONDS = math.inf
        case "case-states":

            def allow(case: Case, *states: str) -> None:
                del case, states

            case_steps._must_be = allow
        case "stored-request":
            sent = RestShop.send

            async def send_anew(self: RestShop, request: ActionRequest) -> Outcome:
                """Make key and revision when the request leaves, not when the customer is asked."""
                body = json.loads(request.body)
                order = await self.get_order(ShopCustomer(body["customer_id"], "", ""), body["arguments"]["order"])
                assert order is not None
                made = {"Idempotency-Key": str(uuid.uuid4()), "If-Match": f'"{order.revision}"'}
                return await sent(self, replace(request, headers={**request.headers, **made}))

            RestShop.send = send_anew  # type: ignore[method-assign]
        case _:
            raise ValueError(safeguard)


if __name__ == "__main__":
    main()
