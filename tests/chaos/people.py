"""What people do while the product is killed: they write, press and delete, and press again when nobody answers.

open_people   the people of a world
People        say, say_some, begin a matter
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from local_slack.changes import Change
from local_slack.workspace import Ack, Channel, Json, User
from tests.chaos.invariants import Findings
from tests.chaos.outside import Outside
from tests.chaos.reading import buttons, by_app, cards_of, direct, in_thread, is_answered, quoting, ref_told, stands
from tests.chaos.script import AGENTS, COURSES, FAREWELL, ORDERS, STAFF, Course, Kind, Line, Matter, file_of
from tests.patience import patience

logger = logging.getLogger(__name__)

PATIENCE = patience(120.0)
"""After this long without an answer nobody waits any more."""
AGAIN_SECONDS = 0.3
"""How long somebody waits whose press was not acknowledged, until they press again;"""
DIALOG_SECONDS = 2.0
"""and somebody who sees no dialog, or no Home tab."""
MOMENT_SECONDS = patience(15.0)
"""How long somebody who kills waits for a moment: a matter may be held up by a process that is not there."""
SUPPORT = "C0SUPPORT"


class Unheard(AssertionError):
    """Nothing has come of what somebody did; the words say of what."""


@dataclass(slots=True)
class People:
    """Customers and staff, and what they have said so far."""

    outside: Outside
    chance: random.Random
    findings: Findings
    lines: list[Line] = field(default_factory=list)
    matters: list[Matter] = field(default_factory=list)
    waiting: dict[str, Line] = field(default_factory=dict)
    """By mark: said and not yet answered."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when something is new in Slack; whoever waits for that clears it."""
    _playing: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """By the mark of its first message: matters that are not over."""
    _busy: dict[str, asyncio.Lock] = field(default_factory=lambda: {user: asyncio.Lock() for user in STAFF})
    """One of the staff fills in one dialog after the other."""

    @property
    def are_busy(self) -> bool:
        """Whether anything is unanswered, or a matter goes on."""
        return bool(self.waiting or self._playing)

    async def say(self, kind: Kind, *, thread: Line | None = None, user: str = "") -> Line:
        """Somebody writes, in a new thread or in that of an earlier message; whoever wrote that one, if not told."""
        author = user or (thread.user if thread else self.chance.choice(sorted(ORDERS)))
        channel = thread.channel if thread else (SUPPORT if kind == "aside" else f"D0{author.removeprefix('U0')}")
        return await self._write(kind, author, channel, thread.thread_ts if thread else None)

    async def say_some(self, *, course: Course | None = None) -> list[Line]:
        """A few conversations at once: one goes on before it is answered, one calls a person and writes to them.

        With a `course` staff take that one's case up.
        """
        first = await self.say("work")
        said = [first, await self.say("work", thread=first)]
        if course is not None:
            said += await self.begin(course)
        else:
            broken = await self.say("escalate")
            said += [broken, await self.say("follow", thread=broken)]
        if self.chance.random() < 0.5:
            said.append(await self.say("aside"))
        older = [line for line in self.lines[:-5] if line.kind == "work" and line.answered_at and not line.is_gone]
        if older and self.chance.random() < 0.5:
            said.append(await self.say("work", thread=self.chance.choice(older[-8:])))
        return said

    def any_course(self) -> Course:
        """How the next case goes on."""
        return self.chance.choice(COURSES)

    async def begin(self, course: Course) -> list[Line]:
        """A customer calls a person and writes to them; the rest of the matter goes on beside whatever else is done."""
        user = self._newcomer() if course == "erased" else ""
        opening = await self.say("escalate", user=user)
        follow = await self.say("follow", thread=opening)
        matter = Matter(opening, course)
        self.matters.append(matter)
        playing = asyncio.create_task(self._play(matter, follow), name=f"{course} {opening.mark}")
        self._playing[opening.mark] = playing
        playing.add_done_callback(partial(self._played, matter))
        return [opening, follow]

    async def set_about(self, matter: Matter, steps: int) -> None:
        """Return when people have set about so many things in the matter, or it is over, or does not get on."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MOMENT_SECONDS):
                while matter.steps < steps and matter.opening.mark in self._playing:
                    await self._change()

    async def close(self) -> None:
        """Leave every matter where it is."""
        playing = tuple(self._playing.values())
        for each in playing:
            each.cancel()
        await asyncio.gather(*playing, return_exceptions=True)

    # What they see.

    def hear(self, change: Change) -> None:
        """Something is new in Slack."""
        if change.kind in ("message", "removed"):
            self.look()
            self.changed.set()

    def look(self) -> None:
        """See what is answered by now."""
        for line in tuple(self.waiting.values()):
            if line.acked_at is None:
                line.acked_at = self.outside.deliveries.acked.get(line.event)
            if not line.thread_ts or not is_answered(self.outside.workspace, line):
                continue
            line.read_at = line.read_at or time.monotonic()
            if line.acked_at is not None:
                line.answered_at = time.monotonic()
                del self.waiting[line.mark]

    def hit(self) -> None:
        """What waits for its answer now was hit."""
        for line in self.waiting.values():
            if line.acked_at is not None and line.hit_at is None:
                line.hit_at = time.monotonic()

    def late(self) -> list[float]:
        """For each message that was hit, the seconds until its answer."""
        return [line.answered_at - line.hit_at for line in self.lines if line.hit_at and line.answered_at]

    # How a matter goes on.

    async def _play(self, matter: Matter, follow: Line) -> None:
        opening, course = matter.opening, matter.course
        await self._until(lambda: opening.answered_at is not None, f"case of {opening.mark}")
        matter.ref = ref_told(self.outside.workspace, opening)
        if course == "unwanted":
            await self._press(matter, opening.user, "esc.cancel", "handed_back", "bot")
            await self._answered(await self.say("work", thread=opening))
            return
        await self._claim(matter)
        await self._reply(matter)
        await self._answered(follow)
        if course == "erased":
            await self._be_erased(matter)
            return
        for line in (follow, *matter.replies):
            if self.chance.random() < 0.5:
                await self._delete(matter, line)
        if course == "returned":
            await self._fill_in(matter, "case.handback", "submit.handback", "handed_back", "bot")
            await self._answered(await self.say("work", thread=opening))
            return
        await self._fill_in(matter, "case.resolve", "submit.resolve", "resolved", "resolved")
        if course == "not_solved":
            await self._press(matter, opening.user, "case.reopen", "reopened", "waiting")
            await self._claim(matter)
        if course == "written_again":
            matter.steps += 1
            self._expect(matter, "reopened", "waiting")
            await self._answered(await self.say("again", thread=opening))
            await self._stands(matter)
            await self._press(matter, opening.user, "esc.cancel", "handed_back", "bot")

    async def _claim(self, matter: Matter) -> None:
        matter.owner = self.chance.choice(STAFF)
        await self._press(matter, matter.owner, "case.claim", "claimed", "human")

    async def _reply(self, matter: Matter) -> None:
        """The owner writes under the card, and the customer reads it."""
        matter.steps += 1
        (card,) = cards_of(self.outside.workspace, matter.opening)
        reply = await self._write("reply", matter.owner, AGENTS, card["ts"], read_in=matter.opening)
        matter.replies.append(reply)
        await self._answered(reply)

    async def _delete(self, matter: Matter, line: Line) -> None:
        matter.steps += 1
        await self.outside.workspace.act.delete(line.user, line.channel, line.ts)
        self._let_go(line, acked_at=None)
        await self._answered(line)

    async def _be_erased(self, matter: Matter) -> None:
        """The customer writes where others write too, and has everything erased, be it answered by then or not."""
        user, workspace = matter.opening.user, self.outside.workspace
        others = [line for line in self.lines if line.kind == "aside" and line.answered_at and not line.is_gone]
        if not others:
            others = [await self.say("aside")]
            await self._answered(others[0])
        aside = await self.say("aside", thread=self.chance.choice(others[-8:]), user=user)
        if self.chance.random() < 0.5:
            await self._answered(aside)
        theirs = [*(line for line in self.lines if line.user == user), *matter.replies]
        await self._until(lambda: all(self._is_acked(line) for line in theirs), f"acknowledgement of {aside.mark}")
        matter.steps += 1
        matter.state = "closed"
        for line in theirs:
            self._let_go(line, acked_at=time.monotonic())
        while not self._farewells(user):
            tab = workspace.homes.get(user)
            if tab is None:
                await workspace.act.open_home(user)
                await self._change(DIALOG_SECONDS)
            elif (await workspace.act.click_view(user, tab["id"], "home.erase")).ok:
                break
            else:
                await asyncio.sleep(AGAIN_SECONDS)
        await self._until(lambda: bool(self._farewells(user)), f"farewell to {user}")
        for line in theirs:
            await self._answered(line)
        await self._until(lambda: not quoting(workspace, user), f"{user} gone")

    def _farewells(self, user: str) -> list[Json]:
        workspace = self.outside.workspace
        return [each for each in by_app(workspace, direct(workspace, user)) if FAREWELL in each["text"]]

    # What they do.

    async def _press(self, matter: Matter, user: str, action: str, told: str, state: str) -> None:
        """Press a button of the case, again until it is acknowledged or has done what it does."""
        self._expect(matter, told, state)
        matter.steps += 1
        while not stands(self.outside.workspace, matter):
            ack = await self._click(matter, user, action)
            if ack is None:
                await self._change()
            elif ack.ok:
                break
            else:
                await asyncio.sleep(AGAIN_SECONDS)
        await self._stands(matter)

    async def _fill_in(self, matter: Matter, action: str, dialog: str, told: str, state: str) -> None:
        """The owner opens a dialog on the card and submits it, again until that is acknowledged."""
        workspace, user = self.outside.workspace, matter.owner
        self._expect(matter, told, state)
        matter.steps += 1
        async with self._busy[user]:
            while not stands(workspace, matter):
                view = next((each for each in workspace.modals.get(user, ()) if _is_of(each, dialog, matter)), None)
                if view is None:
                    await self._click(matter, user, action)
                    await self._change(DIALOG_SECONDS, until=lambda: bool(workspace.modals.get(user)))
                elif (await workspace.act.submit_view(user, view["id"])).ok:
                    break
                else:
                    await asyncio.sleep(AGAIN_SECONDS)
            await self._stands(matter)
            for view in tuple(workspace.modals.get(user, ())):
                # It had been taken, and nobody was told so.
                await workspace.act.close_view(user, view["id"])

    async def _click(self, matter: Matter, user: str, action: str) -> Ack | None:
        """Press the newest button of that kind that the person sees of the case; None when there is none."""
        workspace, opening = self.outside.workspace, matter.opening
        if user in STAFF:
            channel, shown = AGENTS, cards_of(workspace, opening)
        else:
            channel, shown = opening.channel, in_thread(workspace, opening.channel, opening.thread_ts)
        message = next((each for each in reversed(shown) if action in buttons(each)), None)
        return None if message is None else await workspace.act.click(user, channel, message["ts"], action)

    async def _write(
        self, kind: Kind, user: str, channel: str, thread_ts: str | None, *, read_in: Line | None = None
    ) -> Line:
        line = Line(f"m{len(self.lines) + 1:05}", kind, user, channel)
        if read_in is not None:
            line.read_in = (read_in.channel, read_in.thread_ts)
        self.lines.append(line)
        self.waiting[line.mark] = line
        act = self.outside.workspace.act
        if kind == "follow":
            name, content = file_of(line.mark)
            line.ts = await act.upload(user, channel, name, content, text=line.text, thread_ts=thread_ts)
        else:
            line.ts = await act.send(user, channel, line.text, thread_ts=thread_ts)
        line.thread_ts = thread_ts or line.ts
        return line

    def _expect(self, matter: Matter, told: str, state: str) -> None:
        matter.told[told] += 1
        matter.state = state

    def _let_go(self, line: Line, *, acked_at: float | None) -> None:
        """Nothing must be left of the message from here on."""
        line.is_gone, line.acked_at, line.answered_at, line.hit_at = True, acked_at, None, None
        self.waiting[line.mark] = line

    def _is_acked(self, line: Line) -> bool:
        return line.acked_at is not None or line.event in self.outside.deliveries.acked

    def _newcomer(self) -> str:
        """Somebody whom the product does not know yet, with direct messages of their own."""
        workspace = self.outside.workspace
        name = f"LEAVING{sum(matter.course == 'erased' for matter in self.matters) + 1:03}"
        user = f"U0{name}"
        workspace.users[user] = User(user, name.lower(), name.title(), f"{name.lower()}@example.com")
        members = [user, workspace.app.user_id]
        workspace.channels[f"D0{name}"] = Channel(f"D0{name}", "", is_im=True, members=members)
        workspace.channel(SUPPORT).members.append(user)
        return user

    # What they wait for.

    async def _stands(self, matter: Matter) -> None:
        step = f"{matter.course} {matter.opening.mark} as {matter.state}"
        await self._until(lambda: stands(self.outside.workspace, matter), step)

    async def _answered(self, line: Line) -> None:
        await self._until(lambda: line.answered_at is not None, f"{line.kind} {line.mark}")

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not is_so():
                    await self._change()
                    # Of an acknowledgement Slack tells nobody.
                    self.look()
        except TimeoutError:
            raise Unheard(what) from None

    async def _change(self, seconds: float = 1.0, *, until: Callable[[], bool] = lambda: True) -> None:
        """Wait until something is new in Slack, and is so."""
        workspace = self.outside.workspace
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await workspace.wait_for_change(workspace.counter, timeout=left)
            if until():
                return

    def _played(self, matter: Matter, playing: asyncio.Task[None]) -> None:
        del self._playing[matter.opening.mark]
        self.changed.set()
        if playing.cancelled():
            self.findings.wrong(f"not over: {playing.get_name()}, {matter.state} after {dict(matter.told)}")
        elif (error := playing.exception()) is not None:
            logger.error("a matter ended", exc_info=error)
            self.findings.wrong(f"nothing came of what was done: {playing.get_name()}, {error!r}")


def _is_of(view: Json, dialog: str, matter: Matter) -> bool:
    """Whether it is the case's dialog of this name; one that was opened late may be another's."""
    return bool(view["callback_id"] == dialog and matter.ref in view["title"]["text"])


@asynccontextmanager
async def open_people(outside: Outside, chance: random.Random, findings: Findings) -> AsyncIterator[People]:
    """People who watch Slack."""
    people = People(outside, chance, findings)
    hanging_up = outside.workspace.subscribe(people.hear)
    try:
        yield people
    finally:
        hanging_up()
        await people.close()
