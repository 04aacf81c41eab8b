"""Whatever Slack sends, it is acknowledged, and what comes next is taken: every field in every odd form."""

import asyncio
import itertools
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from sqlalchemy import select

import handlers
from bot.app import dispatch_to
from bot.clock import SystemClock
from bot.ingest.inbox import Inbox
from bot.language.sentences import load_sentences
from bot.slack.api.directory import SlackUser
from bot.slack.api.errors import SlackRefused
from bot.slack.socket import SocketConnection
from bot.store import schema
from bot.store.database import Database
from bot.telemetry import Metrics
from handlers.desk import Desk
from handlers.door import Door, Unreadable, decode
from handlers.http import EVENTS_PATH, Serving, build_web_app
from handlers.payloads import KINDS, Malformed, kind_of, parse
from local_slack.http_events import signed
from local_slack.workspace import Json
from tests.doubles.clock import ManualClock
from tests.handlers.slack_payloads import MISSING, ODD, PAYLOADS, mutated, places
from tests.patience import patience
from tests.turns.arrivals import ME

SECRET = "a-signing-secret"
MUTATIONS = [
    (name, place, odd) for name, payload in PAYLOADS.items() for place in places(payload) for odd in range(len(ODD))
]
PACE = 7
"""One of so many mutations is sent, of each payload others; 1 sends them all, which takes some minutes."""
STORED = frozenset({"message", "edit", "deletion", "mention"})
PATIENCE = patience(60.0)


class Anything:
    """Stands for every part behind the handlers: it does what it is asked, and says nothing."""

    channels = frozenset({"C0AGENTS"})
    source = None

    @property
    def scoring(self) -> "Anything":
        """As Cases.scoring."""
        return Anything()

    def __getattr__(self, name: str) -> Any:
        async def answer(*_: Any, **__: Any) -> Any:
            return ""

        return answer

    def __iter__(self) -> Any:
        return iter(())


class Staffed(Anything):
    """Everybody is staff."""

    async def includes(self, user: str, *, channel: str) -> bool:
        assert isinstance(user, str)
        assert isinstance(channel, str)
        return True


class Speechless(Anything):
    """The directory of Slack, which knows nobody."""

    async def user(self, user_id: str) -> SlackUser:
        assert isinstance(user_id, str)
        raise SlackRefused("users.info", "user_not_found")


class Queue:
    """Takes rows and does nothing with them."""

    def submit(self, item_id: int, thread: str) -> None:
        """As an engine."""


@dataclass(frozen=True, slots=True)
class Room:
    """The door with the real Bolt app, the real handlers and the real inbox behind it."""

    door: Door
    metrics: Metrics
    inbox: Inbox
    writer: asyncio.Task[None]
    http: TestClient[Any, Any]

    async def post(self, body: bytes, content_type: str = "application/json") -> int:
        headers = signed(body, SECRET, at=time.time()) | {"Content-Type": content_type}
        async with self.http.post(EVENTS_PATH, data=body, headers=headers) as response:
            return response.status

    async def deliver(self, payload: Json) -> int:
        """Post a payload as Slack does: events as JSON, interactions and commands as forms."""
        if "command" in payload and "type" not in payload:
            flat = {name: value if isinstance(value, str) else json.dumps(value) for name, value in payload.items()}
            body = urlencode(flat, errors="surrogatepass").encode()
            return await self.post(body, "application/x-www-form-urlencoded")
        if "user" in payload:
            body = urlencode({"payload": json.dumps(payload)}).encode()
            return await self.post(body, "application/x-www-form-urlencoded")
        return await self.post(json.dumps(payload).encode())

    def malformed(self) -> float:
        lines = self.metrics.text().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("frontdesk_payloads_malformed_total"))


async def nobody() -> AuthorizeResult:
    """Who the app is: it is not asked."""
    raise AssertionError


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[Room]:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id=ME.team, bot_token="x", bot_id="B", bot_user_id=ME.user)

    async def well() -> str | None:
        return None

    metrics, work = Metrics(), set[asyncio.Task[None]]()
    inbox = Inbox(database, ManualClock(), metrics)
    parts: dict[str, Any] = {field.name: Anything() for field in fields(Desk)}
    parts |= {"me": ME, "database": database, "clock": ManualClock(), "inbox": inbox, "staff": Staffed()}
    parts |= {"directory": Speechless(), "sentences": load_sentences(None)}
    parts["channels"] = SimpleNamespace(hear=str.strip)
    parts["start"] = lambda doing: work.add(asyncio.create_task(doing))
    bolt = AsyncApp(authorize=authorize, signing_secret=SECRET, request_verification_enabled=False)
    handlers.register(bolt, Desk(**parts))
    door = Door(bolt, metrics, SystemClock())
    app = build_web_app(Serving(missing=well, door=door), metrics=metrics, takes_events=True, signing_secret=SECRET)
    writer = asyncio.create_task(inbox.run(Queue()))
    async with TestClient(TestServer(app)) as http:
        yield Room(door, metrics, inbox, writer, http)
    writer.cancel()
    await asyncio.gather(writer, *work, return_exceptions=True)


async def test_what_slack_documents_fits(database: Database) -> None:
    misses, malformed = [], 0.0
    async with opened(database) as room:
        for name, payload in PAYLOADS.items():
            status, before, malformed = await room.deliver(payload), malformed, room.malformed()
            if kind_of(payload) not in KINDS - {"unknown"} or status != 200 or malformed != before:
                misses.append((name, status))
    assert misses == []


def check_answered(statuses: list[int], mutations: list[Any]) -> None:
    wrong = [(each, status) for each, status in zip(mutations, statuses, strict=True) if status != 200]
    assert not wrong, wrong[:20]


@pytest.mark.parametrize("name", PAYLOADS)
async def test_every_field_in_every_odd_form_is_acknowledged_over_http(database: Database, name: str) -> None:
    mine = [each for each in MUTATIONS if each[0] == name][:: PACE if name in STORED else 3 * PACE]
    async with opened(database) as room, asyncio.timeout(PATIENCE * 5):
        check_answered([await room.deliver(mutated(PAYLOADS[name], place, ODD[odd])) for _, place, odd in mine], mine)
        assert not room.writer.done()
        assert room.inbox.fault is None
        before = room.malformed()
        assert await room.deliver(PAYLOADS["message"]) == 200
        assert room.malformed() == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    chosen=st.lists(
        st.tuples(
            st.sampled_from(sorted(PAYLOADS)),
            st.lists(st.tuples(st.integers(0, 400), st.sampled_from(range(len(ODD)))), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=5,
    )
)
@example(chosen=[("a /me message", [(29, 10)])])
def test_several_odd_fields_at_once_are_read_or_left_and_nothing_else(chosen: list[Any]) -> None:
    for name, changes in chosen:
        payload = PAYLOADS[name]
        for at, odd in changes:
            found = list(places(payload))
            if found:
                payload = mutated(payload, found[at % len(found)], ODD[odd])
        fault, parsed = None, {}
        try:
            parsed = parse(payload)
        except Malformed as error:
            fault = error
        # What is read is read again as the same.
        assert fault is not None or parse(parsed) == parsed
        assert fault is None or (fault.kind in KINDS and len(fault.shape) < 200)


def test_what_says_who_or_where_is_no_longer_than_the_database_takes_and_all_of_it_is_seen() -> None:
    message, interaction = PAYLOADS["message"], PAYLOADS["staff's press"]
    table = [
        (message, ("event", "channel"), ["C" * 33, "C0\n", ""]),
        (message, ("event", "user"), ["U" * 33, "U0 1", "<@U1>"]),
        (message, ("event", "ts"), ["1" * 16 + ".0", "1", "٣.٣"]),
        (message, ("event_id",), ["E" * 201, "Ev\x00"]),
        (interaction, ("actions", 0, "action_id"), ["a" * 256, "case.claim\n"]),
        (interaction, ("actions", 0, "value"), ["v" * 3_001, "FD-1001\x00", "FD-1001\n"]),
        (interaction, ("trigger_id",), ["t" * 201, "t t"]),
        (PAYLOADS["menu"], ("actions", 0, "selected_option", "value"), ["v" * 3_001, "\x7f"]),
    ]
    for payload, place, values in table:
        parse(payload)
        for value in values:
            with pytest.raises(Malformed):
                parse(mutated(payload, place, value))


async def test_a_signed_request_in_an_odd_shape_is_answered(database: Database) -> None:
    table = [
        (b"", "application/json", 400),
        (b"", "application/x-www-form-urlencoded", 400),
        (b"{", "application/json", 400),
        (b'{"type": "event_callback", "event": {"type": "mess', "application/json", 400),
        (b"\xff\xfe{}", "application/json", 400),
        (b'{"type": "\xff"}', "application/json", 400),
        (b"payload", "application/x-www-form-urlencoded", 400),
        (b"payload=", "application/x-www-form-urlencoded", 400),
        (b"payload=%7B", "application/x-www-form-urlencoded", 400),
        (b"payload=%FF", "application/x-www-form-urlencoded", 400),
        (b"token=x&team_id=T1", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"f%d=1" % n for n in range(5_000)), "application/x-www-form-urlencoded", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"a":' * 100_000, "application/json", 400),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "application/json", 200),
        (b'{"type": "event_callback", "event": ' + b"[" * 800 + b"]" * 800 + b"}", "application/json", 200),
        (b"1" * 10_000, "application/json", 400),
        (b'{"n": ' + b"1" * 10_000 + b"}", "application/json", 400),
        (b'{"n": NaN, "m": 1e999}', "application/json", 200),
        (b"null", "application/json", 400),
        (b"[]", "application/json", 200),
        (b"{}", "application/json", 200),
        (b"payload=null", "application/x-www-form-urlencoded", 200),
        (b"payload=%5B%5D", "application/x-www-form-urlencoded", 200),
        (b"ssl_check=1&token=x", "application/x-www-form-urlencoded", 200),
        (b'{"type": "event_callback"}', "text/plain", 200),
        (b"<xml/>", "application/xml", 400),
        (b'{"type":"event_callback","x":"' + b"y" * 1_000_000 + b'"}', "application/json", 200),
    ]
    misses = []
    async with opened(database) as room:
        for body, content_type, status in table:
            answers = await room.post(body, content_type), await room.deliver(PAYLOADS["message"])
            if answers != (status, 200) or room.writer.done():
                misses.append((body, content_type, answers))
    assert misses == []


async def test_the_body_decides_what_it_is_and_not_its_type(database: Database) -> None:
    async with opened(database) as room:
        for content_type in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin-1",
            "x",
        ):
            assert await room.post(json.dumps(PAYLOADS["message"]).encode(), content_type) == 200
        assert room.malformed() == 0


@given(st.binary(max_size=300))
def test_any_bytes_are_a_payload_or_unreadable(body: bytes) -> None:
    with suppress(Unreadable):
        decode(body)


async def test_a_form_that_is_not_known_is_counted_each_time_and_logged_once_without_what_it_holds(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    odd = mutated(PAYLOADS["message"], ("event", "user"), {"secret words": "of somebody"})
    async with opened(database) as room:
        with caplog.at_level(logging.DEBUG):
            for _ in range(3):
                assert await room.deliver(odd) == 200
            assert await room.deliver(mutated(PAYLOADS["message"], ("event", "ts"), MISSING)) == 200
        assert room.malformed() == 4
    told = [record for record in caplog.records if record.name == "handlers.door"]
    assert [vars(record)["shape"] for record in told] == ["event.user string_type", "event.ts missing"]
    assert all("secret words" not in record.getMessage() + str(vars(record)) for record in told)


async def test_a_me_message_is_something_said(database: Database) -> None:
    async with opened(database) as room:
        assert await room.deliver(PAYLOADS["a /me message"]) == 200
    async with database.transaction() as tx:
        bodies = (await tx.execute(select(schema.inbox.c.body))).scalars().all()
    assert [body["text"] for body in bodies] == ["Where is my order?"]


async def test_a_rate_limit_of_slacks_is_counted_and_shown(database: Database) -> None:
    async with opened(database) as room:
        assert await room.deliver(PAYLOADS["rate limit"]) == 200
        assert "app_rate_limited" in str(room.door.impaired)
        assert "frontdesk_app_rate_limited_total 1.0" in room.metrics.text().decode()


async def test_that_a_rate_limit_was_met_is_told_for_a_while() -> None:
    clock = ManualClock()
    door = Door(AsyncApp(authorize=nobody, signing_secret=SECRET), Metrics(), clock)
    await door.take(PAYLOADS["rate limit"])
    clock.advance(599)
    assert door.impaired is not None
    clock.advance(2)
    assert door.impaired is None


class Line:
    """A Socket Mode connection that notes what is sent."""

    closed = False

    def __init__(self) -> None:
        self.sent: list[Json] = []

    async def send_str(self, message: str) -> None:
        self.sent.append(json.loads(message))

    async def close(self) -> None:
        """As a connection."""


@asynccontextmanager
async def connected(room: Room) -> AsyncIterator[tuple[SocketConnection, Line]]:
    slack = SimpleNamespace(web=AsyncApp(signing_secret=SECRET, authorize=nobody).client, proxy=None)
    socket, line = SocketConnection(cast(Any, slack), "xapp-1", SystemClock()), Line()
    socket.socket_mode_request_listeners.append(dispatch_to(room.door, SystemClock()))
    socket.current_session = cast(Any, line)
    try:
        yield socket, line
    finally:
        await socket.close()  # type: ignore[no-untyped-call]


async def test_every_field_in_every_odd_form_is_acknowledged_over_socket_mode(database: Database) -> None:
    async with opened(database) as room, connected(room) as (socket, line), asyncio.timeout(10 * PATIENCE):
        some = list(itertools.islice(MUTATIONS, 0, None, 6 * PACE + 1))
        for number, (name, place, odd) in enumerate(some):
            payload = mutated(PAYLOADS[name], place, ODD[odd])
            envelope = {"type": "events_api", "envelope_id": f"e{number}", "payload": payload}
            await socket.run_message_listeners(envelope, json.dumps(envelope))
        sent = {each["envelope_id"] for each in line.sent}
        check_answered([200 if f"e{number}" in sent else 0 for number in range(len(some))], some)
        assert not room.writer.done()


async def test_an_envelope_with_nothing_to_read_in_it_is_acknowledged(database: Database) -> None:
    misses = []
    async with opened(database) as room:
        for kind, payload in itertools.product(
            ("events_api", None, ["x"], MISSING), (None, [], 7, "text", {}, MISSING)
        ):
            envelope = {"type": kind, "envelope_id": "e1", "payload": payload}
            envelope = {name: value for name, value in envelope.items() if value is not MISSING}
            async with connected(room) as (socket, line):
                await socket.run_message_listeners(envelope, json.dumps(envelope))
                if [each["envelope_id"] for each in line.sent] != ["e1"]:
                    misses.append((envelope, line.sent))
    assert misses == []
