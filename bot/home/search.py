"""The search for cases by staff: pages of ten, of the desks where the person is staff at that moment.

page       one page for what a person has typed
Place      where a page is, as its buttons hold it
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from bot.cases.hours import Hours
from bot.cases.staff import Staff
from bot.desk_file.model import DeskFile
from bot.home.home import links_to
from bot.home.search_terms import NotUnderstood, read_terms
from bot.slack.api.transport import Identity
from bot.slack.blocks import Card
from bot.store import case_lists
from bot.store.case_lists import Desks
from bot.store.case_search import search_cases
from bot.store.database import Database
from bot.views import search_cards

PAGE = 10
"""The cases of one page."""
MAX_PAGES = 40
"""The pages of one search that can be shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page is. A button holds it, so nothing in it is trusted: it is read like what a person types."""

    text: str
    """What the person has typed."""
    behind: tuple[int, ...] = ()
    """The cases behind which the pages up to this one begin. Empty on the first page."""

    def __str__(self) -> str:
        return json.dumps([self.text, *self.behind], ensure_ascii=False)

    @classmethod
    def of(cls, value: str) -> "Place":
        """Parse the result of `str`. Raises ValueError if the text has another form."""
        match json.loads(value):
            case [str(text), *behind] if len(behind) < MAX_PAGES and all(map(_is_id, behind)):
                return cls(text, tuple(behind))
        raise ValueError("the place is not one of ours")

    def next(self, case_id: int) -> "Place":
        """The page behind that case."""
        return Place(self.text, (*self.behind, case_id))

    def previous(self) -> "Place | None":
        """The page before. None on the first page."""
        return Place(self.text, self.behind[:-1]) if self.behind else None


@dataclass(frozen=True, slots=True)
class CaseSearch:
    """Searches for cases."""

    me: Identity
    database: Database
    hours: Hours
    staff: Staff
    desk_file: Callable[[], DeskFile] = DeskFile
    """The desk file in force."""

    async def page(self, place: Place, *, user: str, at: Desks, chooses: bool = False) -> Card:
        """A page of the cases of these desks that fit what the user has typed, or what is wrong with it.

        With `chooses`, it has the button to change several of them.
        """
        try:
            terms = read_terms(place.text, user=user, tags=self.desk_file().cases.tags, hours=self.hours)
        except NotUnderstood as error:
            return search_cards.not_understood(error.faults)
        if terms.channel:
            desk = self.staff.desk_in(terms.channel)
            if terms.channel not in self.staff.channels or not desk.theirs <= at.theirs:
                return search_cards.not_understood([f"<#{terms.channel}> is none of your desks."])
            at = desk
        after = place.behind[-1] if place.behind else None
        async with self.database.reading() as tx:
            found = await search_cases(tx, terms.query, limit=PAGE, at=at, after=after)
            cards = await case_lists.cards(tx, found.cases)
        previous = place.previous()
        return search_cards.page(
            found,
            typed=place.text,
            number=len(place.behind) + 1,
            most=MAX_PAGES,
            chooses=chooses,
            links=links_to(cards, self.me),
            following="" if found.then is None else str(place.next(found.then)),
            previous="" if previous is None else str(previous),
        )


def _is_id(value: object) -> bool:
    return type(value) is int and 0 < value < 1 << 31
