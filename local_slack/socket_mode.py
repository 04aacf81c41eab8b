"""Socket Mode: tickets, sockets, envelopes, acknowledgements and redelivery.

An envelope goes to one socket. Unacknowledged for three seconds it is sent again, to whichever socket is next;
while the app is away it waits, so an app that died with work in hand gets it again when it returns.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from local_slack.clock import Clock
from local_slack.deliveries import HASTE, NEVER_SENT, UNANSWERED, WAITING, Delivery, EventBudget, interaction_delivery
from local_slack.faults import Disorder, Faults
from local_slack.workspace import Ack, Json, Workspace

TICKETS = 100
TICKET_SECONDS = 30
LEAVING_SECONDS = 10.0
"""Between the word that a connection will end and its end; documented for a warning, believed of the other reasons."""
HEARTBEAT_SECONDS = 30
"""How long a client may be without a sign of life."""
PING_SECONDS = 10
"""Slack pings each client so often (recorded), whatever the client says meanwhile; slack-go and @slack/socket-mode give
a connection up after 30 seconds without."""
PING = b"Ping from applink-local"
GOODBYE_SECONDS = 1.0
HUGE_FRAME = 5_000_000


class Socket:
    """One open websocket; frames leave in the order in which they were queued."""

    def __init__(self, websocket: web.WebSocketResponse, transport: asyncio.WriteTransport) -> None:
        self.websocket = websocket
        self.transport = transport
        self.open = True
        self.silent = False
        """Neither sends nor answers any more, as behind a network that forgot the connection."""
        self.timer: asyncio.Task[None] | None = None
        """Until it is warned, and then until its end."""
        self._frames: asyncio.Queue[str | None] = asyncio.Queue(maxsize=2 * WAITING)

    def send(self, *frames: Json) -> None:
        """Queue frames. A client that reads nothing loses its connection."""
        try:
            for frame in frames:
                self._frames.put_nowait(json.dumps(frame))
        except asyncio.QueueFull:
            self.cut()

    def end(self) -> None:
        """Close the connection behind everything that was queued."""
        self.open = False
        if self._frames.full():
            self.cut()
        else:
            self._frames.put_nowait(None)

    def cut(self) -> None:
        """End the connection without a word."""
        self.open = False
        self.transport.abort()

    async def write(self) -> None:
        """Send the queued frames until the connection ends."""
        while not self.websocket.closed:
            frame = await self._frames.get()
            if frame is None:
                await self.websocket.close(code=WSCloseCode.GOING_AWAY)
                return
            if self.silent:
                continue
            try:
                await self.websocket.send_str(frame)
            except ConnectionError:
                return

    async def ping(self, clock: Clock) -> None:
        """Ping the client until the connection ends."""
        while self.open and not self.websocket.closed:
            await clock.sleep(PING_SECONDS)
            if self.silent:
                continue
            try:
                await self.websocket.ping(PING)
            except ConnectionError:
                return


class SocketMode:
    """The transport for an app that connects by itself."""

    def __init__(self, workspace: Workspace, faults: Faults) -> None:
        self._workspace = workspace
        self._faults = faults
        self._tickets: OrderedDict[str, float] = OrderedDict()
        self._sockets: list[Socket] = []
        self._waiting: OrderedDict[str, Delivery] = OrderedDict()
        self._sent: OrderedDict[str, tuple[Delivery, Socket]] = OrderedDict()
        self._forgotten: set[str] = set()
        """Deliveries whose acknowledgement shall not arrive."""
        self._order = Disorder(faults)
        self._budget = EventBudget(workspace)

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/link", self.link), web.get("/link/", self.link)]

    def connection_url(self) -> str:
        """An address that opens one socket, within half a minute."""
        ticket = self._workspace.new_id("", length=24).lower()
        self._tickets[ticket] = self._workspace.clock.time() + TICKET_SECONDS
        while len(self._tickets) > TICKETS:
            self._tickets.popitem(last=False)
        address = self._workspace.url.replace("http", "ws", 1)
        return f"{address}/link/?ticket={ticket}&app_id={self._workspace.app.app_id}"

    def event(self, event: Json, *, is_ext_shared: bool) -> None:
        if (delivery := self._budget.delivery(event, is_ext_shared=is_ext_shared)) is None:
            return
        self._wait(delivery)
        self._pump()

    async def interact(self, kind: str, payload: Json) -> Ack:
        answer: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        delivery = interaction_delivery(self._workspace, kind, payload, answer=answer)
        self._start_timer(delivery, self._workspace.rules.ack_seconds)
        self._wait(delivery)
        self._pump()
        return await answer

    def break_all(self, how: str) -> None:
        """Do to every connection what local_slack.faults says; for any other reason ask its client to come back."""
        for socket in self._sockets:
            match how:
                case "close":
                    socket.end()
                case "cut":
                    socket.cut()
                case "silent":
                    socket.silent = True
                case "huge":
                    socket.send({"type": "events_api", "padding": "x" * HUGE_FRAME})
                case reason:
                    self._dismiss(socket, reason)

    def _dismiss(self, socket: Socket, reason: str) -> None:
        """Ask a client to leave; one that stays loses its connection."""
        socket.send(_goodbye(reason))
        self._workspace.note("delivery", "disconnect", detail={"reason": reason})
        last_word = "refresh_requested" if reason == "warning" else ""
        self._set_timer(socket, LEAVING_SECONDS, lambda: self._end(socket, last_word))

    def _end(self, socket: Socket, last_word: str) -> None:
        if last_word:
            socket.send(_goodbye(last_word))
        socket.end()

    def _set_timer(self, socket: Socket, seconds: float, act: Callable[[], object]) -> None:
        if socket.timer is not None:
            socket.timer.cancel()
        socket.timer = self._workspace.background.after(self._workspace.clock, seconds, act)

    async def close(self) -> None:
        """Say goodbye to every client."""
        goodbyes = [socket.websocket.close(code=WSCloseCode.GOING_AWAY) for socket in self._sockets]
        await asyncio.gather(*goodbyes, return_exceptions=True)

    async def link(self, request: web.Request) -> web.StreamResponse:
        """One connection, from the ticket to the end."""
        until = self._tickets.pop(request.query.get("ticket", ""), 0.0)
        if self._workspace.clock.time() > until:
            return web.Response(status=408, text="the ticket is unknown, used or too old")
        if self._faults.take_socket("refuse"):
            return web.Response(status=503, text="no healthy upstream")
        if len(self._sockets) >= self._workspace.rules.max_sockets or request.transport is None:
            return web.Response(status=429, text="too many websockets")
        websocket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, timeout=GOODBYE_SECONDS, autoping=False)
        await websocket.prepare(request)
        socket = Socket(websocket, request.transport)
        tasks = [asyncio.create_task(socket.write()), asyncio.create_task(socket.ping(self._workspace.clock))]
        self._welcome(socket)
        try:
            async for message in websocket:
                if socket.silent:
                    continue
                if message.type is WSMsgType.PING:
                    await websocket.pong(message.data)
                else:
                    self._receive(message)
        finally:
            self._part(socket)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return websocket

    def _welcome(self, socket: Socket) -> None:
        """Say hello, then send everything that waits, also what would rest for a later retry."""
        self._sockets.append(socket)
        self._presence()
        fault = self._faults.take_socket("mute", "crowded")
        if fault == "crowded":
            self._dismiss(socket, "too_many_websockets")
            return
        life = self._workspace.rules.refresh_seconds
        warned = max(life - LEAVING_SECONDS, life / 2)
        self._set_timer(socket, warned, lambda: self._dismiss(socket, "warning"))
        if fault != "mute":
            socket.send(self._hello())
        for delivery in self._waiting.values():
            if delivery.answer is None and delivery.timer is not None:
                delivery.timer.cancel()
                delivery.timer = None
        self._pump()

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self._sockets),
            "debug_info": {
                "host": "applink-local",
                "build_number": 1,
                "approximate_connection_time": int(self._workspace.rules.refresh_seconds),
            },
            "connection_info": {"app_id": self._workspace.app.app_id},
        }

    def _part(self, socket: Socket) -> None:
        """What this socket still owes is sent again when its three seconds are over."""
        socket.open = False
        if socket.timer is not None:
            socket.timer.cancel()
        self._sockets.remove(socket)
        self._presence()

    def _presence(self) -> None:
        self._workspace.online = len(self._sockets)
        self._workspace.note("delivery", "sockets", detail={"open": len(self._sockets)})
        self._workspace.changed("presence")

    def _wait(self, delivery: Delivery) -> None:
        self._waiting[delivery.id] = delivery
        if len(self._waiting) > WAITING:
            _, dropped = self._waiting.popitem(last=False)
            self._give_up(dropped, NEVER_SENT)

    def _pump(self) -> None:
        """Send what is due, oldest first, each to the next socket in turn."""
        due = [each for each in self._waiting.values() if each.answer is not None or each.timer is None]
        for delivery in due:
            sockets = [socket for socket in self._sockets if socket.open]
            if not sockets:
                return
            self._sockets.append(self._sockets.pop(self._sockets.index(sockets[0])))
            del self._waiting[delivery.id]
            self._send(delivery, sockets[0])

    def _send(self, delivery: Delivery, socket: Socket) -> None:
        self._sent[delivery.id] = (delivery, socket)
        frame = {
            "envelope_id": delivery.id,
            "type": delivery.kind,
            "payload": delivery.payload,
            "accepts_response_payload": _answers(delivery),
        }
        if delivery.answer is None:
            frame |= {"retry_attempt": delivery.attempts, "retry_reason": delivery.reason}
        fault = self._faults.take_delivery() if delivery.answer is None else ""
        if delivery.answer is None:
            seconds = self._workspace.rules.ack_seconds
            self._start_timer(delivery, seconds * HASTE if fault == "hasty" else seconds)
        kind = "retry" if delivery.attempts else "delivery"
        self._workspace.note(kind, delivery.name, detail=frame | ({"fault": fault} if fault else {}))
        delivery.attempts += 1
        if fault == "forget":
            self._forgotten.add(delivery.id)
        frames = [] if fault == "drop" else [frame]
        if fault == "duplicate":
            frames.append(frame | {"envelope_id": self._workspace.new_id("", length=24)})
        if delivery.answer is None:
            self._order.leave(fault, lambda: socket.send(*frames))
        else:
            socket.send(frame)

    def _start_timer(self, delivery: Delivery, seconds: float) -> None:
        delivery.timer = self._workspace.background.after(
            self._workspace.clock, seconds, lambda: self._overdue(delivery)
        )

    def _overdue(self, delivery: Delivery) -> None:
        """No acknowledgement came. Events are tried again, interactions have failed."""
        delivery.timer = None
        _, socket = self._sent.pop(delivery.id, (delivery, None))
        if delivery.answer is not None:
            self._waiting.pop(delivery.id, None)
            self._give_up(delivery, UNANSWERED if socket else NEVER_SENT)
            return
        delivery.reason = "timeout"
        if socket is None or not socket.open:
            self._wait(delivery)
            self._pump()
            return
        delays = self._workspace.rules.retry_delays
        if delivery.failures >= len(delays):
            self._give_up(delivery, UNANSWERED)
            return
        delay = delays[delivery.failures]
        delivery.failures += 1
        self._wait(delivery)
        if delay:
            delivery.timer = self._workspace.background.after(
                self._workspace.clock, delay, lambda: self._rested(delivery)
            )
        self._pump()

    def _rested(self, delivery: Delivery) -> None:
        delivery.timer = None
        self._pump()

    def _receive(self, message: WSMessage) -> None:
        """An acknowledgement may come by any socket."""
        if message.type is not WSMsgType.TEXT:
            return
        try:
            frame = json.loads(message.data)
            if frame["envelope_id"] in self._forgotten:
                self._forgotten.remove(frame["envelope_id"])
                self._sent[frame["envelope_id"]][1].cut()
                return
            delivery, _ = self._sent.pop(frame["envelope_id"], (None, None))
        except (ValueError, KeyError, TypeError):
            self._workspace.note("error", "unreadable frame", ok=False, detail=str(message.data)[:500])
            return
        if delivery is None:
            return
        payload = frame.get("payload") or {}
        self._workspace.note("ack", delivery.name, detail=payload or None)
        delivery.settle(Ack(ok=True, payload=payload))

    def _give_up(self, delivery: Delivery, error: str) -> None:
        self._workspace.note("error", delivery.name, ok=False, detail={"error": error, "payload": delivery.payload})
        delivery.settle(Ack(ok=False, error=error))


def _goodbye(reason: str) -> Json:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-local"}}


def _answers(delivery: Delivery) -> bool:
    """Whether the acknowledgement may carry a payload."""
    return delivery.kind == "slash_commands" or delivery.payload.get("type") in ("view_submission", "block_suggestion")
