"""Text as Slack stores it: mrkdwn and Markdown become rich_text, and rich_text becomes mrkdwn again."""

import html
import re
from collections.abc import Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

Json = dict[str, Any]

_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_QUOTE = re.compile(r"(?:^|(?<=\n))(?:&gt;|>) ?(.*)")
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|<(?P<angle>[^<>\n]+)>"
    r"|(?<![\w:]):(?P<emoji>[a-z0-9_+'-]+):(?!\w)"
    r"|(?<![\w*])\*(?P<bold>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|(?<![\w_])_(?P<italic>[^\s_](?:[^_\n]*[^\s_])?)_(?![\w_])"
    r"|(?<![\w~])~(?P<strike>[^\s~](?:[^~\n]*[^\s~])?)~(?![\w~])"
)
_DATE = re.compile(r"!date\^(\d+)\^([^|^]+)(?:\^\S+)?")
_MARKS = {"bold": "*", "italic": "_", "strike": "~", "code": "`"}
_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}
_OF_THEIR_OWN = {"heading_open": "header", "table_open": "table", "hr": "divider"}
_REFERENCE = re.compile(r"<(?P<angle>[@#!][^<>\n]+)>|(?<![\w:]):(?P<emoji>[a-z0-9_+'-]+):(?!\w)")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("text_join")
"""Without text_join an encoded character stays a token of its own, so `&lt;@U1&gt;` pings nobody."""


def from_mrkdwn(text: str) -> Json:
    """A rich_text block (without block_id) that shows what the mrkdwn shows."""
    elements: list[Json] = []
    position = 0
    for fence in _FENCE.finditer(text):
        elements += _paragraphs(text[position : fence.start()])
        code = {"type": "text", "text": html.unescape(fence[1])}
        elements.append({"type": "rich_text_preformatted", "elements": [code], "border": 0})
        position = fence.end()
    elements += _paragraphs(text[position:])
    return {"type": "rich_text", "elements": elements}


def from_markdown(text: str) -> Json:
    """A rich_text block (without block_id) that shows what the Markdown shows."""
    elements: list[Json] = []
    for element in _blocks(_MARKDOWN.parse(text), indent=0):
        if elements and elements[-1]["type"] == element["type"] == "rich_text_section":
            elements[-1]["elements"] += [{"type": "text", "text": "\n\n"}, *element["elements"]]
        else:
            elements.append(element)
    return {"type": "rich_text", "elements": elements}


def types_of(text: str) -> list[str]:
    """The types of the blocks that Slack makes of Markdown, each once: headings and tables (both probed) and rules
    (*believed*) become blocks of their own, whatever else there is becomes rich_text.
    """
    tokens = [token.type for token in _MARKDOWN.parse(text) if token.level == 0 and token.nesting >= 0]
    return list(dict.fromkeys(_OF_THEIR_OWN.get(each, "rich_text") for each in tokens))


def to_mrkdwn(block: Json) -> str:
    """The mrkdwn of a rich_text block: what events and histories carry as `text`."""
    return "\n".join(_element_mrkdwn(element) for element in block["elements"]).strip("\n")


def _paragraphs(text: str) -> Iterator[Json]:
    """Runs of quoted and of plain lines."""
    text = text.strip("\n")
    run: list[str] = []
    quoted = False
    for line in text.split("\n") if text else ():
        quote = _QUOTE.fullmatch(line)
        if bool(quote) != quoted and run:
            yield _run(run, quoted)
            run = []
        quoted = bool(quote)
        run.append(quote[1] if quote else line)
    if run:
        yield _run(run, quoted)


def _run(lines: list[str], quoted: bool) -> Json:
    kind = "rich_text_quote" if quoted else "rich_text_section"
    return {"type": kind, "elements": list(_inline("\n".join(lines), {}))}


def _inline(text: str, style: dict[str, bool]) -> Iterator[Json]:
    position = 0
    for found in _INLINE.finditer(text):
        yield from _plain(text[position : found.start()], style)
        position = found.end()
        kind, inner = str(found.lastgroup), found[found.lastgroup or 0]
        match kind:
            case "angle":
                yield _styled(_reference(inner), style)
            case "emoji":
                yield _styled({"type": "emoji", "name": inner}, style)
            case "code":
                yield from _plain(inner, style | {"code": True})
            case _:
                yield from _inline(inner, style | {kind: True})
    yield from _plain(text[position:], style)


def _plain(text: str, style: dict[str, bool]) -> Iterator[Json]:
    if text:
        yield _styled({"type": "text", "text": html.unescape(text)}, style)


def _styled(part: Json, style: dict[str, bool]) -> Json:
    return part | {"style": dict(style)} if style else part


def _reference(inner: str) -> Json:
    """What stands between angle brackets: a mention, a channel, a broadcast, a date or a link."""
    target, _, label = inner.partition("|")
    if target.startswith("@"):
        return {"type": "user", "user_id": target[1:]}
    if target.startswith("#"):
        return {"type": "channel", "channel_id": target[1:]}
    if target.startswith("!subteam^"):
        return {"type": "usergroup", "usergroup_id": target.removeprefix("!subteam^")}
    if target in ("!here", "!channel", "!everyone"):
        return {"type": "broadcast", "range": target[1:]}
    if date := _DATE.fullmatch(target):
        return {"type": "date", "timestamp": int(date[1]), "format": date[2], "fallback": html.unescape(label)}
    if target.startswith("!"):
        return {"type": "text", "text": html.unescape(label or target)}
    link = {"type": "link", "url": html.unescape(target)}
    return link | {"text": html.unescape(label)} if label else link


def _blocks(tokens: list[Token], *, indent: int) -> Iterator[Json]:
    """The rich_text elements of a run of Markdown block tokens."""
    position = 0
    while position < len(tokens):
        token = tokens[position]
        end = _closing(tokens, position)
        inside = tokens[position + 1 : end]
        match token.type:
            case "paragraph_open":
                yield {"type": "rich_text_section", "elements": _parts(inside[0], {})}
            case "heading_open":
                yield {"type": "rich_text_section", "elements": _parts(inside[0], {"bold": True})}
            case "bullet_list_open" | "ordered_list_open":
                yield from _list(token, inside, indent=indent)
            case "blockquote_open":
                yield {"type": "rich_text_quote", "elements": _joined(_blocks(inside, indent=0))}
            case "fence" | "code_block":
                code = {"type": "text", "text": token.content.rstrip("\n")}
                yield {"type": "rich_text_preformatted", "elements": [code], "border": 0}
            case "table_open":
                yield {"type": "rich_text_section", "elements": _table(inside)}
            case "hr":
                yield {"type": "rich_text_section", "elements": [{"type": "text", "text": "———"}]}
        position = end + 1


def _closing(tokens: list[Token], opening: int) -> int:
    """The index of the token that closes the one at `opening`, or `opening` itself."""
    if tokens[opening].nesting != 1:
        return opening
    depth = 0
    for index in range(opening, len(tokens)):
        depth += tokens[index].nesting
        if depth == 0:
            return index
    return len(tokens) - 1


def _list(opening: Token, tokens: list[Token], *, indent: int) -> Iterator[Json]:
    """A list as Slack keeps it: nested lists are lists of their own with a larger indent."""
    style = "bullet" if opening.type == "bullet_list_open" else "ordered"
    offset = int(opening.attrs.get("start", 1)) - 1
    items: list[Json] = []
    position = 0
    done = 0
    while position < len(tokens):
        end = _closing(tokens, position)
        inner = list(_blocks(tokens[position + 1 : end], indent=indent + 1))
        nested = [each for each in inner if each["type"] == "rich_text_list"]
        own = [each for each in inner if each["type"] != "rich_text_list"]
        items.append({"type": "rich_text_section", "elements": _joined(iter(own))})
        if nested or end + 1 >= len(tokens):
            listed = {"type": "rich_text_list", "style": style, "indent": indent, "elements": items}
            yield listed | ({"offset": offset + done} if offset + done and style == "ordered" else {})
            yield from nested
            done += len(items)
            items = []
        position = end + 1


def _joined(elements: Iterator[Json]) -> list[Json]:
    """The parts of several elements as one run, a line break between them."""
    parts: list[Json] = []
    for element in elements:
        if parts:
            parts.append({"type": "text", "text": "\n"})
        parts += _listed(element) if element["type"] == "rich_text_list" else element["elements"]
    return parts


def _listed(listing: Json) -> list[Json]:
    """A list as lines of text, for places that hold no list, as a quote."""
    parts: list[Json] = []
    for number, item in enumerate(listing["elements"], start=1 + listing.get("offset", 0)):
        mark = f"{number}. " if listing["style"] == "ordered" else "• "
        parts.append({"type": "text", "text": f"\n{mark}" if parts else mark})
        parts += item["elements"]
    return parts


def _table(tokens: list[Token]) -> list[Json]:
    """A table's rows as lines; streams of text have no table block."""
    parts: list[Json] = []
    for token in tokens:
        if token.type == "tr_open" and parts:
            parts.append({"type": "text", "text": "\n"})
        elif token.type in ("th_open", "td_open") and parts and parts[-1].get("text") != "\n":
            parts.append({"type": "text", "text": " | "})
        elif token.type == "inline":
            parts += _parts(token, {})
    return parts


def _parts(inline: Token, style: dict[str, bool]) -> list[Json]:
    parts: list[Json] = []
    styles = [dict(style)]
    link = ""
    for token in inline.children or ():
        kind = token.type.removesuffix("_open").removesuffix("_close")
        match token.type:
            case "text" | "text_special" | "code_inline" if link:
                parts.append(_styled({"type": "link", "url": link, "text": token.content}, styles[-1]))
            case "text":
                parts += _references(token.content, styles[-1])
            case "text_special" | "code_inline" | "softbreak" | "hardbreak":
                text = "\n" if token.type.endswith("break") else token.content
                code = {"code": True} if token.type == "code_inline" else {}
                parts.append(_styled({"type": "text", "text": text}, styles[-1] | code))
            case "image":
                parts.append(_styled({"type": "link", "url": str(token.attrs["src"])}, styles[-1]))
            case "link_open":
                link = str(token.attrs["href"])
            case "link_close":
                link = ""
            case _ if kind in _STYLES and token.nesting == 1:
                styles.append(styles[-1] | {_STYLES[kind]: True})
            case _ if kind in _STYLES:
                styles.pop()
    return _merged(parts)


def _merged(parts: list[Json]) -> list[Json]:
    """Neighbouring texts of one style as one part."""
    merged: list[Json] = []
    for part in parts:
        last = merged[-1] if merged else {}
        alike = part["type"] == last.get("type") == "text" and part.get("style") == last.get("style")
        if alike:
            last["text"] += part["text"]
        else:
            merged.append(part)
    return merged


def _references(text: str, style: dict[str, bool]) -> Iterator[Json]:
    """Text of Markdown, in which Slack still knows mentions and emoji."""
    position = 0
    for found in _REFERENCE.finditer(text):
        if found.start() > position:
            yield _styled({"type": "text", "text": text[position : found.start()]}, style)
        position = found.end()
        emoji = {"type": "emoji", "name": found["emoji"]}
        yield _styled(emoji if found["emoji"] else _reference(found["angle"]), style)
    if text[position:]:
        yield _styled({"type": "text", "text": text[position:]}, style)


def _element_mrkdwn(element: Json) -> str:
    match element["type"]:
        case "rich_text_preformatted":
            return f"```\n{_parts_mrkdwn(element['elements'])}\n```"
        case "rich_text_quote":
            return "&gt;" + _parts_mrkdwn(element["elements"]).replace("\n", "\n&gt;")
        case "rich_text_list":
            first = element.get("offset", 0) + 1
            lines = []
            for number, item in enumerate(element["elements"], first):
                bullet = f"{number}. " if element["style"] == "ordered" else "• "
                lines.append("    " * element.get("indent", 0) + bullet + _parts_mrkdwn(item["elements"]))
            return "\n".join(lines)
        case _:
            return _parts_mrkdwn(element["elements"])


def _parts_mrkdwn(parts: list[Json]) -> str:
    return "".join(_part_mrkdwn(part) for part in parts)


def _part_mrkdwn(part: Json) -> str:
    match part["type"]:
        case "text":
            text = html.escape(part["text"], quote=False)
        case "link":
            label = html.escape(part.get("text", ""), quote=False)
            text = f"<{part['url']}|{label}>" if label not in ("", part["url"]) else f"<{part['url']}>"
        case "user":
            text = f"<@{part['user_id']}>"
        case "channel":
            text = f"<#{part['channel_id']}>"
        case "usergroup":
            text = f"<!subteam^{part['usergroup_id']}>"
        case "broadcast":
            text = f"<!{part['range']}>"
        case "emoji":
            text = f":{part['name']}:"
        case "date":
            text = f"<!date^{part['timestamp']}^{part['format']}|{html.escape(part['fallback'], quote=False)}>"
        case _:
            text = str(part.get("fallback", part.get("value", "")))
    if not text.strip():
        return text
    marks = "".join(_MARKS[name] for name in part.get("style", {}) if name in _MARKS)
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return text[:start] + marks + text[start:end] + marks[::-1] + text[end:]
