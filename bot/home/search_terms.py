"""What people type to search for cases, understood: words, and terms such as `state:open` or `owner:@agent`.

read_terms   the query, or NotUnderstood with a sentence for each fault
typed_as     what was chosen in the dialog, as people type it
TERMS        the terms, for the documents and the help
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from bot.cases.hours import Hours
from bot.errors import FrontdeskError
from bot.slack.mrkdwn import escape
from bot.store.case_search import CaseQuery
from bot.store.cases import OPEN_STATES, WAITING

TERMS = ("state", "tag", "from", "owner", "desk", "since", "until")
STATES: Mapping[str, tuple[str, ...]] = {
    "open": OPEN_STATES,
    "unassigned": WAITING,
    "claimed": ("human",),
    "solved": ("resolved", "closed"),
    "merged": ("merged",),
    "assistant": ("bot",),
}
"""What people write for a state -> the states of cases that it stands for."""
MOST_CHARACTERS = 300
MOST_WORDS = 8

_PART = re.compile(r'(?P<name>[A-Za-z]{2,12}):(?!//)(?P<value><[^<>]*>|"[^"]*"|\S*)|"(?P<phrase>[^"]*)"|(?P<word>\S+)')
_PERSON = re.compile(r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_QUOTES = str.maketrans("“”„", '"""')


class NotUnderstood(FrontdeskError):
    """A part of a search is not understood. `faults` says which, in sentences for the person who wrote it."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__(f"{len(faults)} faults")


@dataclass(frozen=True, slots=True)
class Terms:
    """What is searched for, and where."""

    query: CaseQuery
    channel: str = ""
    """The channel of the desk whose cases are wanted. Empty for all that the person may see."""


def read_terms(text: str, *, user: str, tags: Collection[str], hours: Hours) -> Terms:
    """The query that the user has written. `tags` are the desk's. Days are those of the desk's time zone."""
    if len(text) > MOST_CHARACTERS:
        raise NotUnderstood([f"The search is too long: at most {MOST_CHARACTERS} characters."])
    terms, words, faults = _parts(text.translate(_QUOTES))
    if len(words) > MOST_WORDS:
        faults.append(f"At most {MOST_WORDS} words can be searched for.")
    if not (terms or words or faults):
        faults.append("Write what to search for.")
    reader = _Reader(terms, user, tags, hours, faults)
    query = CaseQuery(
        words=tuple(words),
        customer=reader.customer(),
        owner=reader.owner(),
        states=reader.states(),
        tag=reader.tag(),
        since=reader.midnight("since") or 0.0,
        before=reader.midnight("until", days=1),
    )
    if query.before is not None and query.since >= query.before:
        faults.append("`since:` is later than `until:`, so nothing can be found.")
    channel = reader.desk()
    if faults:
        raise NotUnderstood(faults)
    return Terms(query, channel)


def _parts(text: str) -> tuple[dict[str, str], list[str], list[str]]:
    """The terms, the words, and what is wrong with how they are written."""
    terms, words, faults = dict[str, str](), list[str](), list[str]()
    for part in _PART.finditer(text):
        if part["name"] is None:
            words.append((part["phrase"] if part["word"] is None else part["word"]).strip())
            continue
        name, value = part["name"].lower(), part["value"].strip('"')
        if name not in TERMS:
            known = ", ".join(f"`{each}:`" for each in TERMS)
            faults.append(f"`{name}:` is unknown. There are {known}. Put words with a colon in quotes.")
        elif name in terms:
            faults.append(f"`{name}:` is there twice.")
        elif not value:
            faults.append(f"`{name}:` needs a value, without a blank before it.")
        else:
            terms[name] = value
    return terms, [word for word in words if word], faults


def typed_as(fields: Mapping[str, str | list[str]]) -> str:
    """What was filled in in the dialog, as people type it."""
    chosen = {name: str(fields.get(name) or "") for name in TERMS}
    people = {name: f"<@{chosen[name]}>" if chosen[name] else "" for name in ("from", "owner")}
    terms = [f"{name}:{value}" for name, value in {**chosen, **people}.items() if value]
    return " ".join([*terms, str(fields.get("words") or "").strip()]).strip()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the values of terms, and collects what is wrong with them. A term that is not there is empty."""

    terms: Mapping[str, str]
    user: str
    tags: Collection[str]
    hours: Hours
    faults: list[str]

    def customer(self) -> str:
        return self._person("from") if "from" in self.terms else ""

    def owner(self) -> str | None:
        match self.terms.get("owner"):
            case None:
                return None
            case "me":
                return self.user
            case "none":
                return ""
        # Whatever else it is, it is no case without an owner.
        return self._person("owner") or None

    def states(self) -> tuple[str, ...]:
        return STATES.get(self._one_of("state", STATES), ())

    def tag(self) -> str:
        return self._one_of("tag", self.tags)

    def desk(self) -> str:
        value = self.terms.get("desk", "")
        if not value:
            return ""
        if channel := _CHANNEL.fullmatch(value):
            return channel[1]
        self.faults.append("`desk:` needs a channel: type # and choose it from Slack's list.")
        return ""

    def midnight(self, name: str, *, days: int = 0) -> float | None:
        """When the day began that the term names, or so many days later."""
        value = self.terms.get(name, "")
        if not value:
            return None
        try:
            return self.hours.start_of(date.fromisoformat(value) + timedelta(days))
        except (ValueError, OverflowError):
            self.faults.append(f"`{name}:{escape(value)}` is no date such as `{name}:2026-11-01`.")
            return None

    def _person(self, name: str) -> str:
        if person := _PERSON.fullmatch(self.terms[name]):
            return person[1]
        more = ", or write `owner:me` or `owner:none`" if name == "owner" else ""
        self.faults.append(f"`{name}:` needs a person: type @ and choose them from Slack's list{more}.")
        return ""

    def _one_of(self, name: str, known: Collection[str]) -> str:
        value = self.terms.get(name, "").lower()
        if value and value not in known:
            listed = ", ".join(f"`{each}`" for each in known)
            self.faults.append(f"`{name}:{escape(value)}` is unknown. There is {listed or 'none'}.")
        return value
