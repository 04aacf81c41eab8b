"""The guided tour of one open page: which journey plays, what it tells, and the strip that shows both."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from local_slack.page.guide import Guide, Journey, Playlist, Tour
from local_slack.page.html import Html, element, join
from local_slack.page.icons import icon
from local_slack.page.loose import Json
from local_slack.page.screen import Screen
from local_slack.workspace import SlackError

logger = logging.getLogger(__name__)

BROKEN_OFF = "That took longer than it should; the inspector shows what happened. Play it again, or choose another."
BETWEEN_SECONDS = 1.5


class Player:
    """Plays one journey at a time on one page."""

    def __init__(self, tour: Tour, screen: Screen, *, send: Callable[[Json], None], paint: Callable[[], None]) -> None:
        self._tour = tour
        self._screen = screen
        self._send = send
        self._paint = paint
        self._told = ""
        self._playing = ""
        self._played: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def play(self, wanted: str) -> None:
        """Begin a journey or playlist by its id, or all of them for ""; what plays already is broken off."""
        chosen = self._tour.chosen(wanted)
        async with self._turn:
            await self._stop()
            self._task = asyncio.create_task(self._play_all(chosen))

    async def stop(self) -> None:
        """Break off what plays, if anything, and wait until it has put back what it had taken away."""
        async with self._turn:
            await self._stop()

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def draw(self) -> dict[str, Html]:
        """The parts of the strip that change, by element id."""
        if not self._tour.journeys:
            return {}
        playing = next((each for each in self._tour.journeys if each.id == self._playing), None)
        return {
            "tour-told": _told(self._told, playing),
            "tour-journeys": join(
                _card(number, each, self._state(each)) for number, each in enumerate(self._tour.journeys, 1)
            ),
        }

    def _state(self, journey: Journey) -> str:
        if journey.id == self._playing:
            return "playing"
        return "played" if journey.id in self._played else "waiting"

    async def _play_all(self, journeys: Sequence[Journey]) -> None:
        try:
            for journey in journeys:
                await self._play(journey)
                if journey is not journeys[-1]:
                    await asyncio.sleep(BETWEEN_SECONDS * self._tour.pace)
        finally:
            self._playing = ""
            self._paint()

    async def _play(self, journey: Journey) -> None:
        self._playing, self._told = journey.id, journey.look_at
        self._paint()
        guide = Guide(self._screen.workspace, self._screen, send=self._send, tell=self._tell, pace=self._tour.pace)
        try:
            await journey.play(guide)
            self._played.add(journey.id)
        except (TimeoutError, SlackError):
            logger.warning("the journey %s broke off", journey.id, exc_info=True)
            self._told = BROKEN_OFF

    def _tell(self, words: str) -> None:
        self._told = words
        self._paint()


def strip(tour: Tour) -> Html:
    """The tour's place on the page, still empty; the page's script opens it, at the first visit by itself."""
    close = {"type": "button", "class": "tool", "data-panel": "tour", "aria-label": "Close the tour", "tabindex": "-1"}
    playlists = tour.playlists or (Playlist("", "Play all", ()),)
    head = element(
        "header",
        None,
        element("h2", None, tour.title),
        element("div", {"id": "tour-told", "class": "told", "role": "status"}),
        element("div", {"class": "plays"}, [_play(at, each) for at, each in enumerate(playlists)]),
        element("button", close, icon("close")),
    )
    attributes = {"id": "tour", "class": "tour", "aria-label": "Guided tour", "hidden": True}
    journeys = element("ol", {"id": "tour-journeys", "class": "journeys"})
    tools = {"role": "toolbar", "aria-label": "What can be played", "data-rove": "row"}
    return element("aside", attributes, element("div", tools, head, journeys))


def _play(at: int, playlist: Playlist) -> Html:
    """The first button is the stop of the Tab key; the arrow keys reach the others and the journeys."""
    attributes = {
        "type": "button",
        "class": "button" if at else "button button-primary",
        "data-do": "tour",
        "data-name": playlist.id or None,
        "tabindex": "-1" if at else None,
    }
    return element("button", attributes, icon("play"), playlist.label)


def _told(words: str, playing: Journey | None) -> Html:
    if playing is None:
        return element("span", None, words or "Scenes that play by themselves, with the clicks of a person.")
    stop = {"type": "button", "class": "text-button", "data-do": "tour_stop"}
    dots = element("span", {"class": "dots", "aria-hidden": "true"})
    return join([dots, element("span", None, words), element("button", stop, "Stop the tour")])


def _card(number: int, journey: Journey, state: str) -> Html:
    attributes = {
        "type": "button",
        "class": "journey",
        "id": f"tour-{journey.id}",
        "data-do": "tour",
        "data-name": journey.id,
        "data-state": state,
        "aria-current": "step" if state == "playing" else None,
        "tabindex": "-1",
    }
    mark = icon("check") if state == "played" else str(number)
    spoken = {"playing": " (plays)", "played": " (played)"}.get(state)
    name = [journey.title, element("span", {"class": "unseen"}, spoken) if spoken else None]
    return element(
        "li",
        None,
        element(
            "button",
            attributes,
            element("span", {"class": "journey-mark", "aria-hidden": "true"}, mark),
            element("b", None, name),
            element("span", {"class": "look-at"}, journey.look_at),
        ),
    )
