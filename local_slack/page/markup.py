"""The three ways in which text is written in Slack, as HTML: mrkdwn, Markdown and rich_text.

`mrkdwn`, `markdown` and `rich_text` are total: whatever they are given, they give HTML in which the only
links go to http, https or mailto addresses and all else is escaped.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from local_slack.page.emoji import EMOJI
from local_slack.page.html import Html, element, join, text

LONGEST_TEXT = 40_000
"""Characters of one text that are drawn; Slack cuts a message's text there too."""


@dataclass(frozen=True, slots=True)
class Names:
    """What ids are called, and when "today" is, for the one who looks."""

    users: Mapping[str, str]
    channels: Mapping[str, str]
    viewer: str = ""
    """A mention of this user stands out."""
    zone: tzinfo | None = None
    """None: the zone of this machine, which is the reader's too."""
    now: float = 0.0
    groups: Mapping[str, str] = field(default_factory=dict)
    """The handles of groups of people."""


def plain(value: str) -> Html:
    """Text in which only emoji names and line breaks mean something."""
    return join((_emoji_names(line) for line in value[:LONGEST_TEXT].split("\n")), Html("<br>"))


def web_address(url: str) -> str:
    """The address if a page may link to it, else ""."""
    return url if re.match(r"(?:https?://|mailto:)[^\s]", url, re.IGNORECASE) else ""


def link(url: str, label: str) -> Html:
    """A link that opens elsewhere and tells nothing of this page; its label alone for any other scheme."""
    if not web_address(url):
        return element("span", {"class": "dead-link", "title": "Not a web address"}, label)
    return element("a", {"href": url, "target": "_blank", "rel": "noopener noreferrer"}, label)


# --- mrkdwn ---------------------------------------------------------------------------------------------

_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_ATOM = re.compile(r"`[^`]+`|<[^<>]+>|:[a-z0-9_+'-]+:")
_HOLE = "\ue000"
_STYLES = {"*": "strong", "_": "em", "~": "del"}


def mrkdwn(value: str, names: Names) -> Html:
    """Slack's own markup: `*bold*`, `_italic_`, `~struck~`, code, quotes, `<links>` and `:emoji:`."""
    value = value[:LONGEST_TEXT].replace(_HOLE, "\ufffd")
    pieces: list[Html] = []
    for index, piece in enumerate(_FENCE.split(value)):
        if index % 2:
            pieces.append(element("pre", None, element("code", None, _unescaped(piece))))
        else:
            pieces.extend(_paragraphs(piece, names))
    return join(pieces)


def _paragraphs(value: str, names: Names) -> Iterator[Html]:
    """Quotes and paragraphs of a text without code fences."""
    lines: list[Html] = []
    quoted = to_the_end = False
    for line in [*value.strip("\n").split("\n"), None]:
        content, is_quote = ("", False) if line is None else _quote(line, to_the_end=to_the_end)
        to_the_end = to_the_end or (line or "").startswith((">>>", "&gt;&gt;&gt;"))
        if lines and (line is None or is_quote != quoted or not content.strip()):
            yield element("blockquote" if quoted else "p", None, join(lines, Html("<br>")))
            lines = []
        quoted = is_quote
        if content.strip():
            lines.append(_line(content, names))


def _quote(line: str, *, to_the_end: bool) -> tuple[str, bool]:
    """The line without its quote mark, and whether it is quoted."""
    for mark in ("&gt;&gt;&gt;", ">>>", "&gt;", ">"):
        if line.startswith(mark):
            return line.removeprefix(mark).removeprefix(" "), True
    return line, to_the_end


def _line(line: str, names: Names) -> Html:
    """One line. Code, angle brackets and emoji are taken out first, so that no style starts inside them."""
    atoms: list[Html] = []

    def keep(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith(":") and found[1:-1] not in EMOJI:
            return found
        atoms.append(_atom(found, names))
        return _HOLE

    rest = _ATOM.sub(keep, line)
    filled = iter(atoms)
    return join((next(filled) if piece == _HOLE else piece) for piece in _styled(rest, frozenset(_STYLES)))


def _styled(line: str, styles: frozenset[str]) -> Iterator[Html]:
    """Text, holes and the tags of styles, in order. A mark that found no end is not looked for again."""
    start = position = 0
    hopeless: set[str] = set()
    while position < len(line):
        mark = line[position]
        if mark == _HOLE:
            yield from (_unescaped(line[start:position]), Html(_HOLE))
            start = position = position + 1
            continue
        end = -1
        if mark in styles and mark not in hopeless and _opens(line, position):
            end = _closing(line, mark, position)
            if end < 0:
                hopeless.add(mark)
        if end < 0:
            position += 1
            continue
        yield _unescaped(line[start:position])
        yield Html(f"<{_STYLES[mark]}>")
        yield from _styled(line[position + 1 : end], styles - {mark})
        yield Html(f"</{_STYLES[mark]}>")
        start = position = end + 1
    yield _unescaped(line[start:])


def _opens(line: str, position: int) -> bool:
    before, mark, after = line[max(0, position - 1) : position], line[position], line[position + 1 : position + 2]
    return not before.isalnum() and mark not in (before, after) and bool(after.strip())


def _closing(line: str, mark: str, opened: int) -> int:
    position = line.find(mark, opened + 2)
    while position >= 0:
        if not line[position - 1].isspace() and not line[position + 1 : position + 2].isalnum():
            return position
        position = line.find(mark, position + 1)
    return -1


def _unescaped(value: str) -> Html:
    """The three entities of mrkdwn are read, everything is escaped again for HTML."""
    return text(_plain_entities(value))


def _atom(found: str, names: Names) -> Html:
    match found[0]:
        case "`":
            return element("code", None, _unescaped(found[1:-1]))
        case ":":
            return emoji(found[1:-1])
        case _:
            return _angle(found[1:-1], names)


def _angle(inside: str, names: Names) -> Html:
    """`<@U1>`, `<#C1|name>`, `<!here>`, `<!date^…>` or a link."""
    target, _, label = inside.partition("|")
    match target[:1]:
        case "@":
            return mention(target[1:], names)
        case "#":
            return channel_name(target[1:], names, fallback=label)
        case "!":
            return _command(target[1:], label, names)
        case _ if web_address(target):
            return link(_plain_entities(target), _unescaped(label or target.removeprefix("mailto:")))
        case _:
            return _unescaped(f"<{inside}>")


def _command(target: str, label: str, names: Names) -> Html:
    if target.startswith("date^"):
        _, moment, pattern, *_ = [*target.split("^"), "", ""]
        return element("time", {"class": "date"}, formatted_date(moment, pattern, _plain_entities(label), names))
    if target.startswith("subteam^"):
        group = target.split("^")[1]
        return element("span", {"class": "mention"}, _unescaped(label or f"@{names.groups.get(group, group)}"))
    return element("span", {"class": "mention mention-me"}, _unescaped(f"@{target}"))


def _plain_entities(value: str) -> str:
    return value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# --- names, emoji and dates -----------------------------------------------------------------------------


def mention(user: str, names: Names) -> Html:
    """A person's name as a chip."""
    mine = " mention-me" if user == names.viewer else ""
    return element("span", {"class": f"mention{mine}", "data-user": user}, f"@{names.users.get(user, user)}")


def channel_name(channel: str, names: Names, *, fallback: str = "") -> Html:
    """A channel's name as a chip."""
    shown = names.channels.get(channel) or fallback or channel
    return element("span", {"class": "mention", "data-channel-id": channel}, f"#{shown}")


def emoji(name: str) -> Html:
    """The character with the name for those who hear the page; `:name:` if it is not known."""
    character = EMOJI.get(name.split("::")[0])
    if character is None:
        return text(f":{name}:")
    readable = name.replace("_", " ").replace("-", " ")
    return element("span", {"class": "emoji", "role": "img", "aria-label": readable}, character)


def _emoji_names(value: str) -> Html:
    pieces = re.split(r":([a-z0-9_+'-]+):", value)
    return join(emoji(piece) if index % 2 else piece for index, piece in enumerate(pieces))


def local_time(moment: str | float, names: Names) -> datetime | None:
    """The moment (seconds since the epoch, perhaps as a message's ts) in the reader's zone, if it is one."""
    try:
        return datetime.fromtimestamp(float(moment), UTC).astimezone(names.zone)
    except (ValueError, OverflowError, OSError):
        return None


def clock_time(moment: str | float, names: Names) -> str:
    """As `14:03`, or "" for what is no moment."""
    local = local_time(moment, names)
    return f"{local:%H:%M}" if local else ""


def day_name(day: datetime, names: Names) -> str:
    """Today, Yesterday, or as `Saturday, 21 November`."""
    today = local_time(names.now, names) or day
    if day.date() == today.date():
        return "Today"
    if day.date() == (today - timedelta(days=1)).date():
        return "Yesterday"
    return f"{day:%A}, {day.day} {day:%B}" + ("" if day.year == today.year else f" {day.year}")


def formatted_date(moment: str | float, pattern: str, fallback: str, names: Names) -> str:
    """Slack's date pattern, as `since {time}`; the fallback for what is no moment."""
    local = local_time(moment, names)
    if local is None:
        return fallback
    named = day_name(local, names)
    pretty = named.lower() if named in {"Today", "Yesterday"} else ""
    forms = {
        "date_num": f"{local:%Y-%m-%d}",
        "date": f"{local:%B} {local.day}, {local.year}",
        "date_short": f"{local:%b} {local.day}, {local.year}",
        "date_long": f"{local:%A}, {local:%B} {local.day}, {local.year}",
        "time": f"{local:%H:%M}",
        "time_secs": f"{local:%H:%M:%S}",
        "ago": _ago(names.now - local.timestamp()),
    }
    forms |= {f"{name}_pretty": pretty or forms[name] for name in ("date", "date_short", "date_long")}
    return re.sub(r"\{(\w+)\}", lambda found: forms.get(found[1], found[0]), pattern or "{date}")


def _ago(seconds: float) -> str:
    if seconds < 60:
        return "just now"
    for length, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return ""


# --- Markdown -------------------------------------------------------------------------------------------


def markdown(value: str, names: Names) -> Html:
    """Standard Markdown without HTML; an image becomes a link, as nothing is fetched from outside."""
    return Html(_MARKDOWN.render(_printable(value), {"names": names}))


def _printable(value: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", value[:LONGEST_TEXT])


def _build_markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 30})
    parser.enable(["table", "strikethrough"])
    parser.add_render_rule("text", _text_token)
    parser.add_render_rule("link_open", _link_token)
    parser.add_render_rule("image", _image_token)
    parser.add_render_rule("heading_open", _heading_token)
    parser.add_render_rule("heading_close", _heading_token)
    # A rejected address leaves the source text standing, so a link can only be one of ours.
    parser.validateLink = lambda url: bool(web_address(url))  # type: ignore[method-assign]
    return parser


def _text_token(_: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]) -> str:
    names: Names = env["names"]
    pieces = re.split(r"(<[@#!][^<>]+>)", tokens[index].content)
    return join(_angle(piece[1:-1], names) if at % 2 else _emoji_names(piece) for at, piece in enumerate(pieces))


def _link_token(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    tokens[index].attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
    return renderer.renderToken(tokens, index, options, env)


def _image_token(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    return link(str(tokens[index].attrs.get("src", "")), tokens[index].content or "image")


def _heading_token(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: dict[str, Any]
) -> str:
    """Headings of a message stand below those of the page."""
    tokens[index].tag = f"h{min(6, int(tokens[index].tag[1]) + 3)}"
    return renderer.renderToken(tokens, index, options, env)


_MARKDOWN = _build_markdown()


# --- rich_text ------------------------------------------------------------------------------------------


def rich_text(block: Mapping[str, Any], names: Names) -> Html:
    """A rich_text block, or any part of one; what has the wrong shape is left out."""
    return join(_rich_part(part, names) for part in _dicts(block.get("elements")))


def _rich_part(part: Mapping[str, Any], names: Names) -> Html:
    kind = part.get("type")
    if kind == "rich_text_list":
        return _rich_list(part, names)
    inside = join(_rich_element(each, names) for each in _dicts(part.get("elements")))
    match kind:
        case "rich_text_section":
            return element("div", {"class": "section-text"}, inside)
        case "rich_text_preformatted":
            return element("pre", None, element("code", None, inside))
        case "rich_text_quote":
            return element("blockquote", None, inside)
        case _:
            return element("span", {"class": "unknown-inline"}, f"[{kind}]")


def _rich_list(part: Mapping[str, Any], names: Names) -> Html:
    ordered = part.get("style") == "ordered"
    indent, offset = part.get("indent"), part.get("offset")
    attributes = {
        "class": f"indent-{min(indent, 8)}" if isinstance(indent, int) and indent > 0 else None,
        "start": offset + 1 if ordered and isinstance(offset, int) and offset > 0 else None,
    }
    items = [
        element("li", None, join(_rich_element(each, names) for each in _dicts(item.get("elements"))))
        for item in _dicts(part.get("elements"))
    ]
    return element("ol" if ordered else "ul", attributes, items)


def _rich_element(part: Mapping[str, Any], names: Names) -> Html:
    content = _rich_content(part, names)
    style = part.get("style")
    if isinstance(style, dict):
        for name, tag in (
            ("code", "code"),
            ("bold", "strong"),
            ("italic", "em"),
            ("strike", "del"),
            ("underline", "u"),
        ):
            if style.get(name):
                content = element(tag, None, content)
    return content


def _rich_content(part: Mapping[str, Any], names: Names) -> Html:
    def said(key: str) -> str:
        value = part.get(key)
        return value[:LONGEST_TEXT] if isinstance(value, str) else ""

    match part.get("type"):
        case "text":
            return join((text(line) for line in said("text").split("\n")), Html("<br>"))
        case "link":
            return link(said("url"), said("text") or said("url"))
        case "user":
            return mention(said("user_id"), names)
        case "channel":
            return channel_name(said("channel_id"), names)
        case "emoji":
            return emoji(said("name"))
        case "usergroup":
            group = said("usergroup_id")
            return element("span", {"class": "mention"}, f"@{names.groups.get(group, group)}")
        case "broadcast":
            return element("span", {"class": "mention mention-me"}, f"@{said('range')}")
        case "date":
            moment = part.get("timestamp")
            known = moment if isinstance(moment, (int, float, str)) else ""
            return text(formatted_date(known, said("format"), said("fallback"), names))
        case "color":
            return element("code", None, said("value"))
        case kind:
            return element("span", {"class": "unknown-inline"}, f"[{kind}]")


def _dicts(value: object) -> list[dict[str, Any]]:
    """The mappings of a list, whatever else it holds; at most a thousand."""
    return [each for each in value[:1_000] if isinstance(each, dict)] if isinstance(value, list) else []
