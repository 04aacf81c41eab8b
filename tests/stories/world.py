"""The demo world as a test sees it: people who write, read and press; the model and the shop that can be scripted.

async with open_world(tmp_path) as world:
    asked = await world.customer.says("Where is ORD-1001?")
    answer = await world.customer.reads(asked)
    assert "on its way" in answer.text
"""

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from bot.views.queue_cards import placeholder
from demo.ports import free_port
from demo.program import READY_SECONDS
from tests import forkserver
from tests.patience import patience
from tests.stories import prepared

ROOT = Path(__file__).parents[2]
PATIENCE = patience(30.0)
"""Seconds that anything here may take; generous, since machines are slow at times."""
MISSED = patience(20.0)
"""Seconds more on Postgres: until then the others wait for a process that was killed."""
AT_ONCE_SECONDS = patience(2.0)
"""How long what others pressed is not to be seen yet."""
QUICKLY = {"SLACK_RATE": "3", "OPEN_CASES": "1000", "CUSTOMER_MESSAGES_PER_MINUTE": "1000"}
"""Stories follow one another faster than customers do; the local Slack's own limits hold all the same."""

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Post:
    """A message somewhere."""

    channel: str
    ts: str
    thread_ts: str

    @classmethod
    def of(cls, channel: str, message: Json) -> "Post":
        return cls(channel, message["ts"], message.get("thread_ts") or message["ts"])


@dataclass(frozen=True, slots=True)
class Seen(Post):
    """A message as it is shown."""

    text: str
    """The text with the words of every block and streamed part, below the name that it is posted under."""
    raw: Json = field(repr=False)

    @property
    def blocks(self) -> list[Json]:
        """The message's blocks, streamed ones included."""
        stream = self.raw.get("stream") or {}
        streamed = [block for part in stream.get("parts", ()) for block in part.get("blocks", ())]
        return [*(self.raw.get("blocks") or ()), *streamed]

    @property
    def tasks(self) -> dict[str, str]:
        """The progress cards, title -> status."""
        parts = (self.raw.get("stream") or {}).get("parts", ())
        return {part["title"]: part["status"] for part in parts if part["type"] == "task"}

    @property
    def buttons(self) -> dict[str, str]:
        """The buttons, action id -> value."""
        found: dict[str, str] = {}
        for element in _walk(self.blocks):
            if element.get("type") == "button":
                found[element["action_id"]] = element.get("value", "")
        return found

    @property
    def is_done(self) -> bool:
        return self.raw.get("streaming_state") != "in_progress"


class Person:
    """Somebody in the workspace."""

    def __init__(self, world: "World", user: str, direct: str) -> None:
        self._world = world
        self.user = user
        self.direct = direct
        """The person's direct messages with the app."""

    async def says(self, text: str, *, to: Post | str | None = None) -> Post:
        """Write: to the app directly, into a channel, or as a reply in a post's thread."""
        channel, thread_ts = (to.channel, to.thread_ts) if isinstance(to, Post) else (to or self.direct, None)
        body = {"user": self.user, "channel": channel, "text": text, "thread_ts": thread_ts}
        sent = await self._world.act("send", body)
        return Post(channel, sent["ts"], thread_ts or sent["ts"])

    async def shares(self, name: str, content: str | bytes, *, text: str = "", to: Post | str | None = None) -> Post:
        """Share a file where `says` would write."""
        channel, thread_ts = (to.channel, to.thread_ts) if isinstance(to, Post) else (to or self.direct, None)
        of_file = {"base64": b64encode(content).decode()} if isinstance(content, bytes) else {"content": content}
        body = {"user": self.user, "channel": channel, "name": name, "text": text, **of_file}
        sent = await self._world.act("upload", body | {"thread_ts": thread_ts})
        return Post(channel, sent["ts"], thread_ts or sent["ts"])

    async def deletes(self, post: Post) -> None:
        """Delete a message of one's own."""
        await self._world.act("delete", {"user": self.user, "channel": post.channel, "ts": post.ts})

    async def reads(
        self,
        thread: Post,
        *,
        having: Callable[[Seen], bool] = lambda seen: True,
        after: str = "",
        patience: float = PATIENCE,
    ) -> Seen:
        """The app's first finished message in the thread, newer than `after` (or the post), that is wanted."""
        newer = after or thread.ts

        def find(state: Json) -> Seen | None:
            for seen in seen_in(state, thread.channel):
                if (
                    seen.thread_ts == thread.thread_ts
                    and seen.ts > newer
                    and seen.is_done
                    and is_app(seen)
                    and having(seen)
                ):
                    return seen
            return None

        what = f"a message of the app in {thread.channel}"
        return await self._world.until(find, what=what, channel=thread.channel, patience=patience)

    async def presses(self, seen: Seen, action_id: str) -> None:
        """Press a button of a message."""
        value = seen.buttons.get(action_id)
        assert value is not None, f"no button {action_id} on: {seen.text} {seen.buttons}"
        body = {"user": self.user, "channel": seen.channel, "ts": seen.ts, "action_id": action_id, "value": value}
        await self._world.act("click", body)

    async def fills_in(self, callback_id: str, **inputs: Any) -> None:
        """Submit the dialog of this name, once it is open; each input is named by its block."""

        def find(state: Json) -> Json | None:
            views = state["modals"].get(self.user, ())
            return next((view for view in views if view["callback_id"] == callback_id), None)

        view = await self._world.until(find, what=f"the dialog {callback_id}")
        elements = {block["block_id"]: block["element"]["action_id"] for block in view["blocks"] if "element" in block}
        state = {block: {elements[block]: value} for block, value in inputs.items()}
        await self._world.act("submit_view", {"user": self.user, "view_id": view["id"], "state": state})

    async def resolves(self, card: "Seen", **inputs: Any) -> None:
        """Resolve the card's case, until the card says so."""
        await self.presses(card, "case.resolve")
        await self.fills_in("submit.resolve", **inputs)

        def is_closed(state: Json) -> bool | None:
            shown = (seen for seen in seen_in(state, card.channel) if seen.ts == card.ts)
            return all("case.resolve" not in seen.buttons for seen in shown) or None

        await self._world.until(is_closed, what="the card to be closed", channel=card.channel)

    async def runs(self, command: str, *, channel: str = "C0AGENTS") -> str:
        """Run a slash command; the newest thing that only this person sees."""
        before = len(await self.ephemerals())
        name, _, text = command.partition(" ")
        await self._world.act("command", {"user": self.user, "channel": channel, "command": name, "text": text})

        def find(state: Json) -> str | None:
            ephemerals = [each for each in state["ephemerals"] if each["user"] == self.user]
            return ephemerals[-1]["text"] if len(ephemerals) > before else None

        return await self._world.until(find, what=f"an answer to {command}")

    async def ephemerals(self) -> list[Json]:
        """Everything that only this person sees, oldest first."""
        return [each for each in (await self._world.state())["ephemerals"] if each["user"] == self.user]


@dataclass(slots=True)
class World:
    """A running demo world."""

    http: aiohttp.ClientSession
    ready: Json
    data: Path
    database: str = ""
    """The address of the product's database, unless it is a file in `data`."""

    @property
    def customer(self) -> Person:
        """Customer A, a full member with orders."""
        return Person(self, "U0CUSTOMERA", "D0CUSTOMERA")

    @property
    def other_customer(self) -> Person:
        """Customer B."""
        return Person(self, "U0CUSTOMERB", "D0CUSTOMERB")

    @property
    def third_customer(self) -> Person:
        """Customer G, a full member whom the shop does not know."""
        return Person(self, "U0CUSTOMERG", "D0CUSTOMERG")

    @property
    def guest(self) -> Person:
        """Guest C, who can use the app only where it is no agent."""
        return Person(self, "U0GUEST", "D0GUEST")

    @property
    def stranger(self) -> Person:
        return Person(self, "U0STRANGER", "D0STRANGER")

    @property
    def staff(self) -> Person:
        """Agent A."""
        return Person(self, "U0AGENTA", "D0AGENTA")

    @property
    def other_staff(self) -> Person:
        """Agent B."""
        return Person(self, "U0AGENTB", "D0AGENTB")

    async def act(self, what: str, body: Json) -> Json:
        """Do something as a person."""
        return await self._post(f"{self._slack}/_local/act/{what}", body)

    async def refusal(self, what: str, body: Json) -> str:
        """Try something as a person; why it could not be done, or nothing."""
        async with self.http.post(
            f"{self._slack}/_local/act/{what}", json=body, params={"secret": self._secret}
        ) as response:
            return str((await response.json()).get("error", ""))

    async def breaks(self, **fault: Any) -> None:
        """Break something in Slack; see local_slack/local.py."""
        await self._post(f"{self._slack}/_local/fault", fault)

    async def at_once(self, *presses: Awaitable[None], channel: str = "C0AGENTS") -> None:
        """Buttons of a message are pressed several times before anybody sees what one press has changed."""
        await self.breaks(method="chat.update", channel=channel, do="slow", seconds=AT_ONCE_SECONDS)
        await asyncio.gather(*presses)

    async def state(self, channel: str | None = None) -> Json:
        """What can be seen, everywhere or in one channel."""
        query = {"secret": self._secret} | ({"channel": channel} if channel else {})
        async with self.http.get(f"{self._slack}/_local/state", params=query) as response:
            state: Json = await response.json()
            return state

    async def log(self, kind: str) -> list[Json]:
        """The workspace's log of one kind."""
        query = {"secret": self._secret, "kind": kind}
        async with self.http.get(f"{self._slack}/_local/log", params=query) as response:
            entries: list[Json] = (await response.json())["entries"]
            return entries

    async def next_change(self) -> None:
        """Wait until something changes, for a second at most."""
        query = {"secret": self._secret, "after": str((await self.state())["n"]), "timeout": "1"}
        async with self.http.get(f"{self._slack}/_local/changes", params=query) as response:
            await response.read()

    async def posts(self, channel: str) -> list[Seen]:
        """The app's messages in a channel, oldest first, without the one that shows the queue."""
        shown = seen_in(await self.state(channel), channel)
        return [seen for seen in shown if is_app(seen) and not shows_queue(seen.raw)]

    async def replies(self, to: Post) -> list[Seen]:
        """The app's messages in a post's thread, oldest first."""
        return [seen for seen in await self.posts(to.channel) if seen.thread_ts == to.thread_ts]

    async def under_way(self, asked: Post, *, having: str = "") -> Seen:
        """What is being written in a post's thread, as soon as it has these words."""

        def find(state: Json) -> Seen | None:
            shown = (seen for seen in seen_in(state, asked.channel) if seen.thread_ts == asked.thread_ts)
            return next((seen for seen in shown if not seen.is_done and having in seen.text), None)

        return await self.until(find, what="an answer under way", channel=asked.channel)

    async def shows_work(self, asked: Post) -> None:
        """Return when Slack shows that the app is working in the post's thread."""

        def find(state: Json) -> bool | None:
            sessions = (each for each in state["sessions"] if each["thread_ts"] == asked.thread_ts)
            return any(each["status"] == "processing" for each in sessions) or None

        await self.until(find, what="an agent session at work")

    async def card_of(self, asked: Post) -> Seen:
        """The card of the case whose number is told in the post's thread."""
        told = await self.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
        ref = re.search(r"FD-\d+", told.text)
        assert ref is not None
        return await self.card(having=ref[0])

    async def card(self, *, after: str = "0", having: str = "") -> Seen:
        """The newest case card in the agent channel, with these words."""

        def find(state: Json) -> Seen | None:
            found = [
                seen for seen in seen_in(state, "C0AGENTS") if is_card(seen) and seen.ts > after and having in seen.text
            ]
            return found[-1] if found else None

        return await self.until(find, what="a case card", channel="C0AGENTS")

    async def hands_all_back(self) -> None:
        """Let no case stay open: one customer may have five, and the stories of a file share theirs."""

        def every_card(state: Json) -> list[Seen] | None:
            """The cards, once each case that a customer has been told of has its card."""
            told = {ref for channel in state["messages"] for seen in seen_in(state, channel) for ref in _cases(seen)}
            cards = [seen for seen in seen_in(state, "C0AGENTS") if is_card(seen)]
            return cards if told <= {ref for card in cards for ref in _cases(card)} else None

        for card in await self.until(every_card, what="a card for each case"):
            if "case.handback" in card.buttons:
                await self.staff.presses(card, "case.handback")
                await self.staff.fills_in("submit.handback")
        await self.until(
            lambda state: not any("case.handback" in seen.buttons for seen in seen_in(state, "C0AGENTS")) or None,
            what="no open case",
            channel="C0AGENTS",
        )

    async def until(
        self, find: Callable[[Json], T | None], *, what: str, channel: str | None = None, patience: float = PATIENCE
    ) -> T:
        """Look again at every change until `find` finds something, for `patience` seconds at most."""
        async with asyncio.timeout(patience + (MISSED if self.database else 0)):
            try:
                while True:
                    state = await self.state(channel)
                    found = find(state)
                    if found is not None:
                        return found
                    query = {"secret": self._secret, "after": str(state["n"]), "timeout": "5"}
                    async with self.http.get(f"{self._slack}/_local/changes", params=query) as response:
                        await response.read()
            except asyncio.CancelledError:
                shown = [seen.text for seen in seen_in(await self.state(channel), channel)] if channel else []
                raise AssertionError(f"never seen: {what}; there is: {shown[-6:]}\n{self.bot_log()[-3000:]}") from None

    async def model_says(self, *rounds: Json) -> None:
        """Script the model's next rounds, in place of what was scripted before; see demo/model/script.py."""
        await self._model("DELETE", "script")
        await self.model_says_too(*rounds)

    async def model_says_too(self, *rounds: Json) -> None:
        """Script rounds beside those that are waiting; `when` says for which message."""
        await self._model("POST", "script", {"rounds": list(rounds)})

    async def model_requests(self) -> list[Json]:
        """Every request that the model has seen."""
        requests: list[Json] = (await self._model("GET", "requests"))["requests"]
        return requests

    async def shop_breaks(self, **fault: Any) -> None:
        """Break something in the shop; see demo/shop/faults.py."""
        await self._shop("POST", "_local/fault", fault)

    async def shop_changes(self, order: str, *, status: str, is_told: bool = False) -> None:
        """Change an order as the warehouse would. `is_told`: the shop sends an event about it."""
        await self._shop("POST", "_local/order", {"id": order, "status": status, "told": is_told})

    async def shop_order(self, number: str) -> Json:
        """An order as the shop has it."""
        return await self._shop("GET", f"orders/{number}")

    async def shop_has_done(self) -> int:
        """How many changes of orders the shop has made."""
        return int((await self._shop("GET", "_local/digest"))["changes"])

    async def _shop(self, method: str, what: str, body: Json | None = None) -> Json:
        shop = self.ready["shop"]
        headers = {"Authorization": f"Bearer {shop['token']}"}
        async with self.http.request(method, f"{shop['url']}/{what}", json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            told: Json = await response.json()
            return told

    async def bot(self, what: str) -> None:
        """`kill`, `stop` or `restart` the product."""
        await self._post(f"{self._slack}/_world/{what}", {})

    async def health(self) -> Json:
        """What /healthz says; `status` is the HTTP status, 0 while nobody listens."""
        try:
            async with self.http.get(f"{self.ready['bot']['url']}/healthz") as response:
                told: Json = await response.json()
                return {**told, "status": response.status}
        except aiohttp.ClientConnectionError:
            return {"ready": False, "missing": "everything", "status": 0}

    async def metrics(self) -> str:
        """The product's own counters."""
        async with self.http.get(f"{self.ready['bot']['url']}/metrics") as response:
            return await response.text()

    async def counts(self, line: str) -> None:
        """Return when the product's counters have the line; a turn is counted a moment after it can be read."""
        async with asyncio.timeout(PATIENCE):
            while line not in await self.metrics():  # noqa: ASYNC110 - another process's counters
                await asyncio.sleep(0.05)

    def bot_log(self) -> str:
        """The product's log so far."""
        return "\n".join(path.read_text("utf-8") for path in sorted(self.data.rglob("*.log")))

    @property
    def _slack(self) -> str:
        return str(self.ready["slack"]["url"])

    @property
    def _secret(self) -> str:
        return str(self.ready["slack"]["secret"])

    async def _model(self, method: str, what: str, body: Json | None = None) -> Json:
        model = self.ready["model"]
        headers = {"Authorization": f"Bearer {model['key']}"}
        async with self.http.request(method, f"{model['local']}/{what}", json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            answer: Json = await response.json()
            return answer

    async def _post(self, url: str, body: Json) -> Json:
        async with self.http.post(url, json=body, params={"secret": self._secret}) as response:
            answer: Json = await response.json()
            assert response.status == 200, f"{url}: {answer}"
            return answer


@asynccontextmanager
async def open_world(
    folder: Path,
    *,
    kb: Path | None = None,
    env: dict[str, str] | None = None,
    pace: float = 1.0,
    ingress_only: bool = False,
    manifest: Path | None = None,
    is_read: bool = True,
    is_empty: bool = True,
    shop: str = "",
) -> AsyncIterator[World]:
    """Start the world as a user would, and leave no process behind. `pace` is the model's, 0 for no pauses.
    `is_empty`: without the conversations that a visitor finds there at first.

    `shop`: which order system it is, demo/shop unless given.
    `is_read`: the knowledge base of the shop's own pages is there already.
    """
    arguments = ["--json", "--no-browser", "--port", "0", "--data", str(folder), "--pace", str(pace)]
    arguments += ["--empty"] if is_empty else []
    arguments += ["--kb", str(kb)] if kb else []
    arguments += ["--shop", shop] if shop else []
    arguments += ["--ingress-only"] if ingress_only else []
    arguments += ["--manifest", str(manifest)] if manifest else []
    settings = QUICKLY | (env or {})
    arguments += [word for name, value in settings.items() for word in ("--env", f"{name}={value}")]
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    if (
        kb is None
        and not {"KB_PATH", "CHROMA_URL", "EMBEDDING_MODEL", "EMBEDDING_MODEL_FOLDER"} & settings.keys()
        and is_read
    ):
        await asyncio.to_thread(prepared.lay_out, folder)
    process = await forkserver.start("-m", "demo", *arguments, env=surroundings, cwd=ROOT, stdout=PIPE)
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS + PATIENCE)
        assert line, "the world did not start"
        async with aiohttp.ClientSession() as http:
            yield World(http, json.loads(line), folder, settings.get("DATABASE_URL", ""))
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), PATIENCE)


def product_environment(world: World, data: Path) -> dict[str, str]:
    """The documented variables, as the world sets them; with the world's own `data`, its database too."""
    database = {"DATABASE_URL": world.database} if world.database and data == world.data else {}
    return {
        **database,
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": world.ready["slack"]["bot_token"],
        "SLACK_APP_TOKEN": world.ready["slack"]["app_token"],
        "SLACK_API_URL": world.ready["slack"]["api_url"],
        "AGENT_CHANNEL": "C0AGENTS",
        "OPEN_CASES": "1000",
        "CUSTOMER_MESSAGES_PER_MINUTE": "1000",
        "CUSTOMER_MESSAGES_PER_DAY": "10000",
        "OPENAI_API_KEY": world.ready["model"]["key"],
        "OPENAI_BASE_URL": world.ready["model"]["url"],
        "DATA_DIR": str(data),
        "PORT": "0",
    }


@dataclass(slots=True)
class Worker:
    """One `frontdesk work` beside the world's own process."""

    process: asyncio.subprocess.Process
    url: str

    async def metrics(self, http: aiohttp.ClientSession) -> str:
        """Its own counters."""
        async with http.get(f"{self.url}/metrics") as response:
            return await response.text()


@asynccontextmanager
async def open_worker(world: World, name: str, *, env: dict[str, str], is_read: bool = True) -> AsyncIterator[Worker]:
    """A process that works on what the world's takes, ready; its log is among the world's.

    `is_read`: the knowledge base of the shop's own pages is there already.
    """
    data = world.data / name
    data.mkdir()
    if is_read:
        await asyncio.to_thread(prepared.lay_out, data)
    port = free_port()
    environment = product_environment(world, data) | env | {"PORT": str(port)}
    del environment["SLACK_APP_TOKEN"]
    with (data / "worker.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "bot", "work", env=environment, cwd="/", stdout=log, stderr=log
        )
    try:
        url = f"http://127.0.0.1:{port}"
        await became_ready(world.http, url, process, patience=6 * PATIENCE)
        yield Worker(process, url)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), PATIENCE)


async def became_ready(
    http: aiohttp.ClientSession, url: str, process: asyncio.subprocess.Process, *, patience: float = PATIENCE
) -> None:
    """Return when the product at `url` says that it is ready."""
    async with asyncio.timeout(patience):
        while True:
            assert process.returncode is None, "it ended at its start"
            with suppress(aiohttp.ClientConnectionError):
                async with http.get(f"{url}/healthz") as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.1)


async def run_product(environment: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Run the product until it ends by itself; its exit status and what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "bot",
        *arguments,
        env=environment,
        cwd="/",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(patience(60)):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def seen_in(state: Json, channel: str) -> list[Seen]:
    """The messages of a channel as they are shown, oldest first."""
    messages = sorted(state["messages"].get(channel, ()), key=lambda message: message["ts"])
    return [
        Seen(channel, message["ts"], message.get("thread_ts") or message["ts"], _text(message), message)
        for message in messages
        if message.get("subtype") != "message_deleted"
    ]


def _cases(seen: Seen) -> set[str]:
    return set(re.findall(r"FD-\d+", seen.text)) if is_app(seen) else set()


def is_app(seen: Seen) -> bool:
    """Whether the app wrote it."""
    return bool(seen.raw.get("bot_id"))


def is_card(seen: Seen) -> bool:
    """Whether it is the app's own message in a team channel, and not the one that shows the queue."""
    return is_app(seen) and seen.ts == seen.thread_ts and not shows_queue(seen.raw)


def shows_queue(message: Json) -> bool:
    """Whether it is the message that shows a desk's queue, filled in or not yet."""
    return bool(message["text"].startswith(("Queue:", placeholder().text)))


def _text(message: Json) -> str:
    parts = (message.get("stream") or {}).get("parts", ())
    streamed = "".join(part.get("text", "") for part in parts if part["type"] == "markdown")
    blocks = [*(message.get("blocks") or ()), *(block for part in parts for block in part.get("blocks", ()))]
    words = " ".join(str(element["text"]) for element in _walk(blocks) if isinstance(element.get("text"), str))
    name = f"*{message['username']}*\n" if message.get("username") else ""
    return f"{name}{streamed or message.get('text', '')}\n{words}"


def _walk(value: Any) -> list[Json]:
    """Every JSON object inside, outermost first."""
    if isinstance(value, list):
        return [found for each in value for found in _walk(each)]
    if isinstance(value, dict):
        return [value, *(found for each in value.values() for found in _walk(each))]
    return []
