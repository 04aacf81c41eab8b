"""The app's own tabs: the Home tab, and suggested prompts in an empty conversation."""

import logging
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.errors import StoreUnavailable
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store.persons import REQUEST
from bot.views.home import shown_in
from handlers.actions import chosen, read_home_interaction
from handlers.desk import Desk
from handlers.payloads import Action, BlockActions, HomeOpened

logger = logging.getLogger(__name__)

Ack = Callable[[], Awaitable[None]]


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the tabs: opening one fills it, and the Home tab's button and menu fill it again.

    A request for erasure must not be lost, so it goes through the inbox.
    """

    @app.event("app_home_opened")
    async def fill(event: HomeOpened) -> None:
        if event.get("tab") == "messages":
            await _suggest(desk, event)
        else:
            desk.start(_filled(desk.home.show(event["user"])))

    @app.action("home.refresh")
    async def refresh(ack: Ack, body: BlockActions) -> None:
        await ack()
        view, tag = _shown(body)
        desk.start(_filled(desk.home.show(body["user"]["id"], view=view, tag=tag)))

    @app.action("home.view")
    async def choose_view(ack: Ack, body: BlockActions, action: Action) -> None:
        view, (_, tag) = chosen(action), _shown(body)
        await ack()
        desk.start(_filled(desk.home.show(body["user"]["id"], view=view, tag=tag)))

    @app.action("home.tag")
    async def choose_tag(ack: Ack, body: BlockActions, action: Action) -> None:
        tag, (view, _) = chosen(action), _shown(body)
        await ack()
        desk.start(_filled(desk.home.show(body["user"]["id"], view=view, tag=tag)))

    @app.action(REQUEST)
    async def erase(ack: Ack, body: BlockActions, action: Action) -> None:
        await desk.inbox.accept(read_home_interaction(body, action, team=desk.me.team))
        await ack()

    @app.action("home.language")
    async def choose_language(ack: Ack, body: BlockActions, action: Action) -> None:
        language = chosen(action)
        await ack()
        desk.start(_filled(desk.home.choose_language(body["user"]["id"], language)))


def _shown(body: BlockActions) -> tuple[str, str]:
    """The view and the tag that the tab shows in which something was pressed."""
    return shown_in((body.get("view") or {}).get("private_metadata") or "")


async def _filled(showing: Awaitable[None]) -> None:
    try:
        await showing
    except (SlackRefused, SlackUnanswered, StoreUnavailable) as error:
        logger.warning("a Home tab could not be filled", extra={"reason": str(error)})


async def _suggest(desk: Desk, event: HomeOpened) -> None:
    prompts = desk.sentences.prompts(await desk.language(event["user"]))
    channel = event.get("channel")
    if channel is None:
        return
    try:
        await desk.views.suggest_prompts(channel, None, prompts)
    except (SlackRefused, SlackUnanswered) as error:
        logger.info("no prompts were suggested", extra={"reason": str(error)})
