"""/kb refresh | status | search | rollback | gaps | learned | forget | suggest: for staff. Only they see the answer."""

import html
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.cases.dialogs import NO_SUCH_CASE
from bot.cases.step import UnknownCase
from bot.conversation import ThreadRef
from bot.errors import StoreUnavailable
from bot.help_center.library import Refresh
from bot.store.bodies import InteractionBody
from bot.store.inbox import Arrival
from handlers.actions import chosen
from handlers.desk import Desk
from handlers.payloads import Action, BlockActions, SlashCommand
from knowledge.search.filters import Filter

logger = logging.getLogger(__name__)

USAGE = """\
Usage:
• `/kb refresh [source]` reads the documents again, all or one source; `--force` even if many would be removed
• `/kb status` shows what serves, its sources, and what is wrong
• `/kb search <text>` shows what a question finds, and why; `--source`, `--category` and `--language` narrow it
• `/kb rollback` goes back to the previous generation; `/kb rollback internal` does so for the internal base
• `/kb gaps [days]` lists customers' unanswered questions of the last 30 days (or the number you give)
• `/kb learned` lists the articles that staff added; `/kb forget <number>` removes one
• `/kb suggest <case>` suggests an article from what a person answered in a case"""
DAYS, DAYS_LIMIT = 30, 366
CHANGES = frozenset({"refresh", "rollback", "forget", "suggest"})

# Phones and Macs replace two typed dashes with one long dash.
_OPTION = re.compile(r"(?:--|[—–])(force|source|category|language)\b")
_VALUE = re.compile(r"""\s*[= ]\s*(?:["“„]([^"”“]*)["”“]|(\S+))""")
_DAYS = re.compile(r"[1-9][0-9]{0,2}")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_CASE = re.compile(r"FD-[1-9][0-9]{0,11}")
_ALLOWED = {"refresh": {"force"}, "search": {"source", "category", "language"}}


@dataclass(frozen=True, slots=True)
class KbCommand:
    """A parsed `/kb` command."""

    verb: str
    words: str = ""
    options: dict[str, str] = field(default_factory=dict)


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the knowledge base's command, and the button in its message about a refresh."""

    @app.command("/kb")
    async def kb(ack: Callable[..., Awaitable[None]], body: SlashCommand) -> None:
        await ack()
        if not await desk.staff.desks(body["user_id"]):
            await desk.answer_command(body, await desk.words(body["user_id"], "not_staff"))
            return
        # A build, or a search of two knowledge bases, can take longer than Slack waits.
        desk.start(_carry_out(desk, body, read_command(body.get("text") or "")))

    @app.action("kb.progress")
    async def show_progress(ack: Callable[..., Awaitable[None]], body: BlockActions, action: Action) -> None:
        await ack()
        user, address = body["user"]["id"], body.get("response_url") or ""
        if await desk.staff.desks(user):
            await desk.refreshes.show(chosen(action), address=address)
        else:
            await desk.chat.respond(address, text=await desk.words(user, "not_staff"))


def read_command(text: str) -> KbCommand:
    """Parse the command. Anything that is no valid command has the verb "usage"."""
    verb, _, rest = html.unescape(text).strip().partition(" ")
    verb, options = verb.lower(), {}
    while option := _OPTION.search(rest):
        name, end = option[1], option.end()
        value = None if name == "force" else _VALUE.match(rest, end)
        if name != "force" and value is None:
            return KbCommand("usage")
        options[name] = (value[1] or value[2] or "") if value else "yes"
        rest = rest[: option.start()] + " " + rest[value.end() if value else end :]
    words = " ".join(rest.split())
    if not options.keys() <= _ALLOWED.get(verb, set()) or not _fits(verb, words):
        return KbCommand("usage")
    return KbCommand(verb, words, options)


def _fits(verb: str, words: str) -> bool:
    """Whether the words are valid arguments of the verb."""
    match verb:
        case "status" | "learned":
            return not words
        case "forget":
            return _NUMBER.fullmatch(words) is not None
        case "suggest":
            return _CASE.fullmatch(words.upper()) is not None
        case "search":
            return bool(words)
        case "refresh":
            return " " not in words
        case "rollback":
            return words in ("", "public", "internal")
        case "gaps":
            return not words or (_DAYS.fullmatch(words) is not None and int(words) <= DAYS_LIMIT)
    return False


async def _carry_out(desk: Desk, body: SlashCommand, command: KbCommand) -> None:
    tell, by = partial(desk.answer_command, body), body["user_id"]
    try:
        reads = command.verb not in CHANGES
        if not await desk.is_first(body["trigger_id"], user=by, channel=body["channel_id"], reads=reads):
            return
        if command.verb == "refresh":
            interrupt = Refresh(only=command.words, force="force" in command.options)
            await desk.refreshes.run(interrupt, tell=tell, by=by)
            return
        if command.verb == "suggest":
            await _suggest(desk, body, command.words.upper())
            return
        text = await _done(desk, command, by=by)
    except StoreUnavailable as error:
        logger.warning("a command could not be carried out", extra={"verb": command.verb, "reason": str(error)})
        text = "The database isn't answering right now. Try again in a minute."
    await tell(text)


async def _done(desk: Desk, command: KbCommand, *, by: str) -> str:
    words, library = command.words, desk.library
    match command.verb:
        case "status":
            return await library.status()
        case "search":
            return await library.search(words, Filter(**command.options))
        case "rollback":
            return await library.roll_back("internal" if words == "internal" else "public", by=by)
        case "gaps":
            return await library.gaps(int(words or DAYS))
        case "learned":
            return await desk.articles.told()
        case "forget":
            return await desk.articles.forget(int(words), by)
        case _:
            return USAGE


async def _suggest(desk: Desk, body: SlashCommand, case: str) -> None:
    """Have an article suggested from a case of one of the person's desks.

    Whether a case exists at another desk is not shown.
    """
    desks = await desk.staff.desks(body["user_id"])
    try:
        is_theirs = desks.have(await desk.cases.find(case))
    except UnknownCase:
        is_theirs = False
    if is_theirs:
        who, where = body["user_id"], body["channel_id"]
        await desk.inbox.accept(suggesting(desk, case, user=who, channel=where, trigger=body["trigger_id"]))
    else:
        await desk.answer_command(body, NO_SUCH_CASE)


def suggesting(desk: Desk, case: str, *, user: str, channel: str, trigger: str) -> Arrival:
    """Return the interaction of "Suggest an article" on a case's card, for a command or a button elsewhere."""
    lane = f"suggest-{trigger}"[:32]
    return Arrival(
        event_id=f"command/{trigger}",
        kind="interaction",
        thread=ThreadRef(desk.me.team, channel, lane),
        ts=lane,
        author=user,
        author_team=desk.me.team,
        body=InteractionBody("kb.suggest", case, message_ts=lane),
        addressed=True,
    )
