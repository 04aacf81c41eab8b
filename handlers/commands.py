"""/kb refresh | status | search | rollback | gaps: for staff, and only they see the answer."""

import html
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.desk.library import Library, Refresh
from bot.errors import StoreUnavailable
from handlers.desk import Desk
from knowledge.filters import Filter

logger = logging.getLogger(__name__)

USAGE = """\
Usage:
• `/kb refresh [source]` reads the documents again, all or one source; `--force` even if much would vanish
• `/kb status` tells what serves, from which sources, and what is wrong
• `/kb search <text>` shows what a question finds, and why; `--source`, `--category` and `--language` narrow it
• `/kb rollback` goes back to the generation before; `/kb rollback internal` that of the internal base
• `/kb gaps [days]` lists what customers asked within 30 days, or so many, and got no answer to"""
DAYS, DAYS_LIMIT = 30, 366

# Composers on phones and Macs make one long dash of two.
_OPTION = re.compile(r"(?:--|[—–])(force|source|category|language)\b")
_VALUE = re.compile(r"""\s*[= ]\s*(?:["“„]([^"”“]*)["”“]|(\S+))""")
_DAYS = re.compile(r"[1-9][0-9]{0,2}")
_ALLOWED = {"refresh": {"force"}, "search": {"source", "category", "language"}}


@dataclass(frozen=True, slots=True)
class Command:
    """What stands behind `/kb`."""

    verb: str
    words: str = ""
    options: dict[str, str] = field(default_factory=dict)


def register(app: AsyncApp, desk: Desk) -> None:
    """The knowledge base's command, and the button of what it says about a refresh."""

    @app.command("/kb")
    async def kb(ack: Callable[..., Awaitable[None]], body: dict[str, Any]) -> None:
        await ack()
        if not await desk.staff.includes(body["user_id"]):
            await desk.answer_command(body, await desk.words(body["user_id"], "not_staff"))
            return
        # A build, or a search of two bases, may take longer than the request.
        desk.start(_carry_out(desk, body, read_command(body.get("text", ""))))

    @app.action("kb.progress")
    async def show_progress(ack: Callable[..., Awaitable[None]], body: dict[str, Any], action: dict[str, Any]) -> None:
        await ack()
        user, address = body["user"]["id"], body["response_url"]
        if await desk.staff.includes(user):
            await desk.refreshes.show(action["value"], address=address)
        else:
            await desk.slack.respond(address, text=await desk.words(user, "not_staff"))


def read_command(text: str) -> Command:
    """The command as it was typed; what it may not be has the verb "usage"."""
    verb, _, rest = html.unescape(text).strip().partition(" ")
    verb, options = verb.lower(), {}
    while option := _OPTION.search(rest):
        name, end = option[1], option.end()
        value = None if name == "force" else _VALUE.match(rest, end)
        if name != "force" and value is None:
            return Command("usage")
        options[name] = (value[1] or value[2] or "") if value else "yes"
        rest = rest[: option.start()] + " " + rest[value.end() if value else end :]
    words = " ".join(rest.split())
    if not options.keys() <= _ALLOWED.get(verb, set()) or not _fits(verb, words):
        return Command("usage")
    return Command(verb, words, options)


def _fits(verb: str, words: str) -> bool:
    """Whether the words are what the verb wants."""
    match verb:
        case "status":
            return not words
        case "search":
            return bool(words)
        case "refresh":
            return " " not in words
        case "rollback":
            return words in ("", "public", "internal")
        case "gaps":
            return not words or (_DAYS.fullmatch(words) is not None and int(words) <= DAYS_LIMIT)
    return False


async def _carry_out(desk: Desk, body: dict[str, Any], command: Command) -> None:
    tell, by = partial(desk.answer_command, body), body["user_id"]
    try:
        if command.verb == "refresh":
            wish = Refresh(only=command.words, force="force" in command.options)
            await desk.refreshes.run(wish, tell=tell, by=by)
            return
        text = await _done(desk.library, command, by=by)
    except StoreUnavailable as error:
        logger.warning("a command could not be carried out", extra={"verb": command.verb, "reason": str(error)})
        text = "The database does not answer at the moment. Try again in a minute."
    await tell(text)


async def _done(library: Library, command: Command, *, by: str) -> str:
    words = command.words
    match command.verb:
        case "status":
            return await library.status()
        case "search":
            return await library.search(words, Filter(**command.options))
        case "rollback":
            return await library.roll_back("internal" if words == "internal" else "public", by=by)
        case "gaps":
            return await library.gaps(int(words or DAYS))
        case _:
            return USAGE
