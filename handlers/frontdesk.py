"""/frontdesk cases | search | away | back | pause | resume | metrics: for staff, and only they see the answer."""

import html
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from slack_bolt.async_app import AsyncApp

from bot.errors import StoreUnavailable
from bot.store.case_lists import Desks
from bot.views.queue_cards import VIEWS
from handlers.desk import Desk
from handlers.payloads import SlashCommand

logger = logging.getLogger(__name__)

USAGE = """\
Usage:
• `/frontdesk cases [all | mine | unassigned | late | customer | snoozed | claimed | solved] [tag:<tag>]` lists your \
desk's cases
• `/frontdesk search <words>` finds your desk's cases, open or closed, by their words, a name or a number
• `/frontdesk away [30m | 2h | 3d]` says that you're away, so that no case is assigned to you
• `/frontdesk back` says that you're back
• `/frontdesk pause [#channel]` pauses the assistant in a channel (this one if you name none)
• `/frontdesk resume [#channel]` lets it answer there again
• `/frontdesk metrics [days]` shows metrics for the last 30 days (or the number you give)"""
DAYS, DAYS_LIMIT = 30, 366
SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
AWAY_LIMIT = 60 * 86_400
"""The longest time for which people can say that they are away."""
NO_CHANNEL = "A direct message isn't a channel. Name one, for example `/frontdesk pause #support`."

# With should_escape, Slack writes a channel's id next to its name.
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]+)(?:\|[^>]*)?>")
_SPAN = re.compile(r"([1-9][0-9]{0,2})([mhd])")
_DAYS = re.compile(r"[1-9][0-9]{0,2}")
_LIST = re.compile(rf"(?:({'|'.join(VIEWS)})(?: |$))?(?:tag:(\S{{1,40}}))?")


@dataclass(frozen=True, slots=True)
class FrontdeskCommand:
    """A parsed `/frontdesk` command."""

    verb: str
    words: str = ""
    tag: str = ""
    """The tag that a list is narrowed to."""


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the desk's command."""

    @app.command("/frontdesk")
    async def frontdesk(ack: Callable[..., Awaitable[None]], body: SlashCommand) -> None:
        await ack()
        user = body["user_id"]
        if desks := await desk.staff.desks(user):
            text = await _answer(desk, body, desks)
        else:
            text = await desk.words(user, "not_staff")
        if text:
            await desk.answer_command(body, text)


def read_command(text: str) -> FrontdeskCommand:
    """Parse the command. Anything that is no valid command has the verb "usage"."""
    verb, _, rest = text.strip().partition(" ")
    verb, words = verb.lower(), " ".join(rest.split())
    match verb:
        case "cases" if listed := _LIST.fullmatch(words):
            return FrontdeskCommand(verb, listed[1] or "all", tag=listed[2] or "")
        case "search" if words:
            return FrontdeskCommand(verb, html.unescape(words))
        case "away" if words == "" or _seconds(words):
            return FrontdeskCommand(verb, words)
        case "back" if not words:
            return FrontdeskCommand(verb)
        case "pause" | "resume" if not words:
            return FrontdeskCommand(verb)
        case "pause" | "resume" if named := _CHANNEL.fullmatch(words):
            return FrontdeskCommand(verb, named[1])
        case "metrics" if not words or (_DAYS.fullmatch(words) and int(words) <= DAYS_LIMIT):
            return FrontdeskCommand(verb, words or str(DAYS))
    return FrontdeskCommand("usage")


def _seconds(span: str) -> int | None:
    """The seconds of a span such as `2h`. None if it is none, or too long."""
    match = _SPAN.fullmatch(span.lower())
    seconds = int(match[1]) * SECONDS[match[2]] if match else 0
    return seconds if 0 < seconds <= AWAY_LIMIT else None


async def _answer(desk: Desk, body: SlashCommand, desks: Desks) -> str:
    """Return the command's answer. Empty for a duplicate delivery, which was answered before."""
    command, user, overview = read_command(body.get("text") or ""), body["user_id"], desk.overview
    try:
        reads = command.verb not in ("pause", "resume", "away", "back")
        if not await desk.is_first(body["trigger_id"], user=user, channel=body["channel_id"], reads=reads):
            return ""
        match command.verb:
            case "cases":
                return await overview.cases(command.words, user=user, at=desks, tag=command.tag)
            case "search":
                return await overview.search(command.words, at=desks)
            case "metrics":
                return await overview.metrics(int(command.words))
            case "away":
                return await overview.leave(user, seconds=_seconds(command.words))
            case "back":
                return await overview.come_back(user)
            case "pause" | "resume" if (channel := command.words or body["channel_id"]).startswith("D"):
                return NO_CHANNEL
            case "pause":
                return await overview.pause(channel, user=user)
            case "resume":
                return await overview.resume(channel, user=user)
    except StoreUnavailable as error:
        logger.warning("a command could not be carried out", extra={"verb": command.verb, "reason": str(error)})
        return "The database isn't answering right now. Try again in a minute."
    return USAGE
