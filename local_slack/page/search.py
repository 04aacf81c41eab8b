"""Search of one half: the app's shortcuts, and the channels, people and messages that this person may see."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local_slack.page.half import Half, app, author, is_root, may_see, names, person, shortcuts
from local_slack.page.html import Html, element, join
from local_slack.page.icons import icon
from local_slack.page.loose import Json, string
from local_slack.page.markup import Names, clock_time, day_name, local_time
from local_slack.page.message import Author, avatar
from local_slack.workspace import Channel, Workspace

MOST_PLACES = 5
MOST_MESSAGES = 12
AROUND = 90
"""Characters of a message that are shown, beginning a little before the word that was found."""


_ANGLES = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_BOLD = re.compile(r"\*([^*\n]+)\*")


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found, and where it leads."""

    kind: str
    """Shortcuts, Channels, People or Messages."""
    drawn: Html
    name: str
    about: str
    channel: str = ""
    ts: str = ""
    thread: str = ""
    """The thread to open, for a message that is in one or begins one."""
    user: str = ""
    """Whom to act as, for a person."""
    shortcut: str = ""
    """The callback_id of a shortcut to run."""


def find(workspace: Workspace, half: Half, words: str) -> list[Hit]:
    """What has all the words, whatever their case; nothing for no words. The newest messages come first."""
    wanted = words.lower().split()
    if not wanted:
        return []
    actions = [each for each in _shortcuts(workspace) if _has(each.name, wanted)]
    places = [each for each in _places(workspace, half) if _has(f"{each.name} {each.about}", wanted)]
    people = [each for each in _people(workspace) if _has(each.name, wanted)]
    messages = [hit for _, hit in sorted(_messages(workspace, half, wanted), key=lambda found: found[0], reverse=True)]
    return [*actions[:MOST_PLACES], *places[:MOST_PLACES], *people[:MOST_PLACES], *messages[:MOST_MESSAGES]]


def box(workspace: Workspace, half: Half) -> Html:
    """The search while it is open, else nothing."""
    if half.searched is None:
        return Html("")
    hits = find(workspace, half, half.searched)
    id_ = f"{half.side}-search"
    field = {
        "id": f"{id_}-field",
        "type": "text",
        "role": "combobox",
        "placeholder": "Channels, people, messages",
        "aria-label": "Search channels, people and messages",
        "aria-controls": f"{id_}-hits",
        "aria-expanded": "true" if hits else "false",
        "autocomplete": "off",
        "maxlength": 200,
    }
    close = {"type": "button", "class": "tool", "data-do": "search_close", "aria-label": "Close the search"}
    found = element("ul", {"id": f"{id_}-hits", "role": "listbox", "aria-label": "Found"}, _listed(hits, id_))
    said = (
        "Type a word." if not half.searched.strip() else "" if hits else f"Nothing here has “{half.searched.strip()}”."
    )
    return element(
        "div",
        {"class": "search-box", "role": "dialog", "aria-label": "Search"},
        element(
            "div",
            {"class": "search-field"},
            icon("search"),
            element("input", field),
            element("button", close, icon("close")),
        ),
        found,
        element("p", {"class": "muted", "role": "status"}, said) if said else None,
    )


def _listed(hits: Sequence[Hit], id_: str) -> Html:
    drawn, kind = [], ""
    for number, hit in enumerate(hits):
        if hit.kind != kind:
            kind = hit.kind
            drawn.append(element("li", {"role": "presentation", "class": "hit-kind"}, kind))
        attributes = {
            "id": f"{id_}-{number}",
            "role": "option",
            "class": "hit",
            "data-do": "global_shortcut" if hit.shortcut else "found",
            "data-name": hit.shortcut or None,
            "data-channel": hit.channel or None,
            "data-ts": hit.ts or None,
            "data-thread": hit.thread or None,
            "data-value": hit.user or None,
        }
        words = [element("b", None, hit.name), element("span", None, hit.about)]
        drawn.append(element("li", attributes, hit.drawn, element("span", {"class": "hit-words"}, words)))
    return join(drawn)


def _shortcuts(workspace: Workspace) -> Iterator[Hit]:
    for callback_id, name in shortcuts(workspace, "global"):
        yield Hit("Shortcuts", icon("bolt"), name, workspace.app.name, shortcut=callback_id)


def _places(workspace: Workspace, half: Half) -> Iterator[Hit]:
    for channel in workspace.channels.values():
        if not may_see(workspace, half.user, channel):
            continue
        if channel.is_im:
            yield Hit("Channels", avatar(app(workspace)), workspace.app.name, "Direct message", channel.id)
        else:
            yield Hit(
                "Channels", icon("lock" if channel.is_private else "hash"), channel.name, channel.topic, channel.id
            )


def _people(workspace: Workspace) -> Iterator[Hit]:
    for user in workspace.users.values():
        if not user.is_bot and not user.deleted:
            yield Hit("People", avatar(person(user)), user.real_name, "Act as this person", user=user.id)


def _messages(workspace: Workspace, half: Half, wanted: list[str]) -> Iterator[tuple[str, Hit]]:
    """With the ts of each."""
    known = names(workspace, half.user)
    for channel in workspace.channels.values():
        if not may_see(workspace, half.user, channel):
            continue
        for message in workspace.messages.get(channel.id, {}).values():
            said = _plain(string(message.get("text")), known)
            by = author(workspace, message)
            if _has(f"{said} {by.name}", wanted):
                yield message["ts"], _message(channel, message, by, said, known, wanted[0])


def _message(channel: Channel, message: Json, by: Author, said: str, known: Names, first: str) -> Hit:
    start = said.lower().find(first)
    start = said.find(" ", start - 24) + 1 if start > 24 else 0
    shown = f"{'…' if start else ''}{said[start : start + AROUND]}{'…' if len(said) > start + AROUND else ''}"
    moment = local_time(message["ts"], known)
    day = day_name(moment, known) if moment else ""
    where = "" if channel.is_im else f" in #{channel.name}"
    name = f"{by.name}{where}, {day} {clock_time(message['ts'], known)}"
    root = message["ts"] if is_root(message) else string(message.get("thread_ts"))
    has_thread = not is_root(message) or bool(message.get("reply_count"))
    return Hit("Messages", avatar(by), name, shown, channel.id, message["ts"], root if has_thread else "")


def _plain(text: str, known: Names) -> str:
    """A message in one line, without its markup."""

    def shown(found: re.Match[str]) -> str:
        mark, target, label = found.groups()
        if label:
            return str(label)
        named = {"@": known.users, "#": known.channels}.get(mark, {}).get(target, target)
        return f"{mark.replace('!', '@')}{named}"

    bare = _BOLD.sub(r"\1", _ANGLES.sub(shown, text))
    for entity, character in (("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&")):
        bare = bare.replace(entity, character)
    return " ".join(bare.split())


def _has(text: str, wanted: list[str]) -> bool:
    lowered = text.lower()
    return all(word in lowered for word in wanted)
