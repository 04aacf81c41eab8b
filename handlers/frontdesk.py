"""/frontdesk cases | search | away | back | pause | resume | metrics | fix: for staff, and only they see the answer."""

import html
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from slack_bolt.async_app import AsyncApp

from bot.errors import StoreUnavailable
from bot.home.search import Place
from bot.reporting.desk_metrics import CASES_BUTTON
from bot.reporting.groups import read_group
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.blocks import Card
from bot.store.case_lists import Desks
from bot.views.queue_cards import VIEWS
from handlers.actions import chosen
from handlers.desk import Desk
from handlers.fixing import show_list
from handlers.payloads import Action, BlockActions, SlashCommand

logger = logging.getLogger(__name__)

USAGE = """\
Usage:
• `/frontdesk cases [all | mine | unassigned | late | customer | snoozed | claimed | solved] [tag:<tag>]` lists your \
desk's cases
• `/frontdesk search <words>` finds your desk's cases, open or closed, by their words, a name or a number, and by \
`from:@customer`, `owner:@agent` (`me`, `none`), `state:open`, `tag:`, `desk:#channel`, `since:2026-11-01`, `until:`
• `/frontdesk away [30m | 2h | 3d]` says that you're away, so that no case is assigned to you
• `/frontdesk back` says that you're back
• `/frontdesk pause [#channel]` pauses the assistant in a channel (this one if you name none)
• `/frontdesk resume [#channel]` lets it answer there again
• `/frontdesk metrics [days]` shows metrics for the last 30 days (or the number you give)
• `/frontdesk fix` lists up to five things to fix at your desk, the most frequent first"""
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
            answer = await _answer(desk, body, desks)
        else:
            answer = await desk.words(user, "not_staff")
        if isinstance(answer, Card):
            await desk.answer_command(body, answer.text, blocks=answer.blocks)
        elif answer:
            await desk.answer_command(body, answer)

    @app.action(CASES_BUTTON)
    async def show_cases(ack: Callable[..., Awaitable[None]], body: BlockActions, action: Action) -> None:
        await ack()
        user, group = body["user"]["id"], read_group(chosen(action))
        desks = await desk.staff.desks(user)
        if group is None or not desks:
            await desk.chat.respond(body.get("response_url") or "", text=await desk.words(user, "not_staff"))
            return
        try:
            await desk.views.open(body["trigger_id"], await desk.metrics.cases(group, at=desks))
        except (SlackRefused, SlackUnanswered, StoreUnavailable) as error:
            logger.warning("the cases of a group could not be shown", extra={"reason": str(error)})


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
        case "back" | "fix" if not words:
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


async def _answer(desk: Desk, body: SlashCommand, desks: Desks) -> str | Card:
    """Return the command's answer. Empty for a duplicate delivery, which was answered before."""
    command, user, overview = read_command(body.get("text") or ""), body["user_id"], desk.overview
    try:
        reads = command.verb not in ("pause", "resume", "away", "back")
        if not await desk.is_first(body["trigger_id"], user=user, channel=body["channel_id"], reads=reads):
            return ""
        chooses = body["channel_id"] in desk.staff.channels
        match command.verb:
            case "cases":
                return await overview.cases(command.words, user=user, at=desks, tag=command.tag, chooses=chooses)
            case "search":
                return await desk.search.page(Place(command.words), user=user, at=desks, chooses=chooses)
            case "fix":
                # What is to fix is looked up in the help pages, which takes its time.
                desk.start(show_list(desk, body, desks))
                return ""
            case "metrics":
                return await overview.metrics(int(command.words), at=desks)
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
