"""Slack's two text formats, and where a long text can be cut.

Slack's own format is mrkdwn (`*bold*`, `<url|label>`, `&amp;`). Streams and markdown blocks take Markdown.

escape      plain text for a mrkdwn field
mention     a person or a user group, who is notified
from_slack  what a person wrote, as plain text
to_mrkdwn   Markdown for a mrkdwn field
best_cut    the best end of a part of a long text that still fits
last_cut    the last place where the text so far can end
seam        what closes an open code fence before a cut and opens it again after it
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from enum import IntEnum

MESSAGE_BYTES = 9_000
"""UTF-8 bytes of text that one message always takes. The limits that were measured are between 10,600 and 12,000."""

_ENTITY = re.compile(r"&(amp|lt|gt);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">"}
_REFERENCE = re.compile(r"<([^<>\n]+)>")

_FENCE = re.compile(r" {0,3}(`{3,20}(?!`)|~{3,20}(?!~))([^\n]*)")
_TABLE_ROW = re.compile(r"\s*\|")
_SENTENCE_END = re.compile(r"(?:(?<!\d)\.|[!?…:;])[\"'»”)\]*_]*\s+|[。！？；][」』”）\]]*\s*")
_WORD_END = re.compile(r"(?<=\S)\s+")
_SPAN = re.compile(
    r"!?\[[^\]\n]*\](?:\([^)\n]*(?:\)|$))?|!?\[[^\]\n]*$"  # links and images, finished or not
    r"|<[^<>\s][^<>\n]*(?:>|$)"
    r"|(`+)[^`\n]*(?:\1|$)"
    r"|\*\*[^\n]+?(?:\*\*|$)|__[^\n]+?(?:__|$)|~~[^\n]+?(?:~~|$)"
    r"|(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://\S*"
    r"|:[a-z0-9_+-]+:"
)

_REGIONAL = "".join(chr(code) for code in range(0x1F1E6, 0x1F200))
"""The letters that make a flag in pairs."""


def escape(text: str) -> str:
    """Escape text for a mrkdwn field. Nothing in it becomes a mention or a link with a label of its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mention(who: str) -> str:
    """The mention of a person (`U…`, `W…`) or a user group (`S…`) by its id."""
    return f"<!subteam^{who}>" if who.startswith("S") else f"<@{who}>"


def from_slack(text: str, *, bot_user: str) -> str:
    """What a person wrote, as plain text: entities decoded, links and names readable, our mention removed."""
    own = re.compile(rf"(?<![ \t])[ \t]*<@{re.escape(bot_user)}(?:\|[^<>]*)?>[ \t]*[,:]?[ \t]*")
    words: list[str] = []
    position = 0
    text = own.sub(" ", text)
    for reference in _REFERENCE.finditer(text):
        words += _decode(text[position : reference.start()]), _readable(reference[1])
        position = reference.end()
    words.append(_decode(text[position:]))
    return "".join(words).strip()


def mentioned_in(text: str) -> list[str]:
    """The ids of the people whom a message mentions."""
    targets = (reference[1].partition("|")[0] for reference in _REFERENCE.finditer(text))
    return [target[1:] for target in targets if target.startswith("@")]


def _readable(reference: str) -> str:
    target, _, label = (_decode(part) for part in reference.partition("|"))
    match target[:1]:
        case "@" | "#":
            return target[0] + (label.removeprefix(target[0]) or target[1:])
        case "!":
            kind, _, rest = target[1:].partition("^")
            return label if kind == "date" and label else "@" + (label.removeprefix("@") or rest or kind)
    address = re.sub(r"^(?:mailto|tel):", "", target)
    if not label or label == address or re.sub(r"^https?://", "", target).rstrip("/") == label.rstrip("/"):
        return address
    return f"{label} ({address})"


def _decode(text: str) -> str:
    return _ENTITY.sub(lambda entity: _ENTITIES[entity[1]], text)


_INLINE = re.compile(
    r"(?<!`)(?P<tick>`{1,20})(?!`)(?P<code>[^`\n]+)(?P=tick)(?!`)"
    r"|!?\[(?P<label>[^\[\]\n]*)\]\((?P<url>[^()\s<>]+)(?:\s+\"[^\"\n]*\")?\)"
    r"|<(?P<auto>https?://[^<>|\s]+)>"
    r"|\*\*(?P<bold>\S(?:[^\n]{0,500}?\S)?)\*\*|__(?P<strong>\S(?:[^\n]{0,500}?\S)?)__"
    r"|(?<![\w*])\*(?P<italic>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|~~(?P<struck>\S(?:[^\n]{0,500}?\S)?)~~"
)
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"(\s*)[-*+]\s+(.*)")


def to_mrkdwn(markdown: str) -> str:
    """Markdown as mrkdwn, for the text beside blocks and where Slack does not take Markdown. Tables stay."""
    lines: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        after = _fence_after(line, fence)
        if after or fence:
            lines.append(escape(line) if after == fence else "```")
        elif heading := _HEADING.fullmatch(line):
            lines.append(f"*{_inline(heading[1].replace('**', ''))}*")
        elif bullet := _BULLET.fullmatch(line):
            lines.append(f"{bullet[1]}• {_inline(bullet[2])}")
        else:
            lines.append(_inline(line))
        fence = after
    return "\n".join([*lines, "```"] if fence else lines)


def _inline(text: str) -> str:
    done: list[str] = []
    position = 0
    for found in _INLINE.finditer(text):
        done += escape(text[position : found.start()]), _span(found)
        position = found.end()
    return "".join([*done, escape(text[position:])])


def _span(found: re.Match[str]) -> str:
    if found["code"]:
        return f"`{escape(found['code'])}`"
    if found["auto"]:
        return f"<{escape(found['auto'])}>"
    if found["url"]:
        label = escape(found["label"]).replace("|", "¦")
        return f"<{escape(found['url'])}|{label}>" if label else f"<{escape(found['url'])}>"
    if bold := found["bold"] or found["strong"]:
        return f"*{_inline(bold)}*"
    if italic := found["italic"]:
        return f"_{_inline(italic)}_"
    return f"~{_inline(found['struck'])}~"


class _Rank(IntEnum):
    """How well a text can end at a place. GRAPHEME only means that no character is broken."""

    GRAPHEME = 0
    WORD = 1
    BLOCK_LINE = 2
    """Between two lines of code or two rows of a table."""
    SENTENCE = 3
    LINE = 4
    PARAGRAPH = 5


def best_cut(text: str, *, limit: int, floor: int = 0) -> int:
    """Where to end a part of at most `limit` UTF-8 bytes with its fence closed; len(text) if the whole text fits.

    The end is at or after `floor`, because the text before it has already been sent.
    """
    if size(text) <= limit:
        return len(text)
    fence_bytes = max((len(run) for run in re.findall(r"`{3,20}|~{3,20}", text[:limit])), default=0)
    fit = _fitting(text, limit - fence_bytes - 1)
    if fit <= floor:
        return floor
    places = [(place, rank) for place, rank in _places(text[:fit]) if max(floor, 1) <= place]
    late = [(rank, place) for place, rank in places if place >= fit // 2]
    if late:
        return max(late)[1]
    if places:
        return max(places)[0]
    return _whole_characters(text, max(floor, 1), fit)


def last_cut(text: str, *, floor: int = 0) -> int:
    """The last place at or after `floor` where the text can end; `floor` itself if there is none."""
    return max((place for place, _ in _places(text) if place >= floor), default=floor)


def seam(text: str) -> tuple[str, str]:
    """What closes the code fence that is open at the end, and the line that opens it again. Both are "" if none is
    open.
    """
    fence, opening = "", ""
    for line in text.split("\n"):
        after = _fence_after(line, fence)
        if after and not fence:
            opening = f"{line[:60]}\n"
        fence = after
    if not fence:
        return "", ""
    return (fence if text.endswith("\n") else f"\n{fence}"), opening


def size(text: str) -> int:
    """The text's UTF-8 bytes. Slack's limits count these."""
    return len(text.encode("utf-8", "surrogatepass"))


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line, given the one that was open before it; "" for none."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    run, rest = found[1], found[2]
    if not fence:
        return "" if run[0] == "`" and "`" in rest else run
    closes = run[0] == fence[0] and len(run) >= len(fence) and not rest.strip()
    return "" if closes else fence


def _places(text: str) -> Iterator[tuple[int, _Rank]]:
    """The places where the text can end, in order, and how well. Its very end counts only after whitespace or
    punctuation.
    """
    fence = before = ""
    start = 0
    for line in text.split("\n"):
        after = _fence_after(line, fence)
        if start:
            rank = _between(before, line, in_fence=bool(fence))
            if rank is not None and not (fence and (not after or _FENCE.match(before))):
                yield start, rank
        if not fence and not after and not _TABLE_ROW.match(line):
            yield from _within(line, start)
        fence, before = after, line
        start += len(line) + 1


def _between(before: str, line: str, *, in_fence: bool) -> _Rank | None:
    if in_fence:
        return _Rank.BLOCK_LINE
    if not before.strip():
        return _Rank.PARAGRAPH
    if _TABLE_ROW.match(before) and (not line or _TABLE_ROW.match(line)):
        return _Rank.BLOCK_LINE
    return _Rank.LINE


def _within(line: str, start: int) -> Iterator[tuple[int, _Rank]]:
    spans = [found.span() for found in _SPAN.finditer(line)]
    starts = [begin for begin, _ in spans]
    sentences = {found.end() for found in _SENTENCE_END.finditer(line)}
    words = {found.end() for found in _WORD_END.finditer(line)}
    for place in sorted(sentences | words):
        inside = bisect_right(starts, place - 1) - 1
        if inside >= 0 and starts[inside] < place < spans[inside][1]:
            continue
        yield start + place, _Rank.SENTENCE if place in sentences else _Rank.WORD


def _fitting(text: str, limit: int) -> int:
    """How many characters fit into `limit` bytes."""
    data = text[: limit + 1].encode("utf-8", "surrogatepass")[:limit]
    return len(data.decode("utf-8", "ignore"))


def _whole_characters(text: str, floor: int, fit: int) -> int:
    """The last place up to `fit` that is not inside a link or other span and does not break a character as readers
    see it.
    """
    line_start = text.rfind("\n", 0, fit) + 1
    line_end = text.find("\n", fit)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    place = fit
    for found in _SPAN.finditer(line):
        if found.start() + line_start < fit < found.end() + line_start and found.start() + line_start > floor:
            place = found.start() + line_start
    while place > floor and _joined(text, place):
        place -= 1
    return place if place > floor else fit


def _joined(text: str, place: int) -> bool:
    """Whether the characters on both sides of a place form one visible character, as flags and accents do."""
    before, after = text[place - 1], text[place : place + 1]
    if not after:
        return False
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or after in "\u200d\u200c" or before == "\u200d":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if before in _REGIONAL and after in _REGIONAL:
        run = len(text[:place]) - len(text[:place].rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))
        return run % 2 == 1
    return (before, after) == ("\r", "\n") or ("\u1160" <= after <= "\u11ff" and "\u1100" <= before <= "\u11ff")
