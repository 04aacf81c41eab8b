"""Removes what a server left in the text that is no text: reasoning, tool calls and tokens in a model's own markup.

`Markup` takes the text as it streams and returns what a customer can see. Reasoning is dropped, and tool calls are
collected. Only text that can still become markup is held back. So a text that merely contains a "<" continues to
stream. The result does not depend on how the text is cut into pieces.

In code, between backticks, markup is a sample and stays as it is: in a fence up to its end, within a line at most up
to the end of the line. A call without marks of its own, as JSON with or without a fence, is a call if it names a tool
on offer. Then nothing behind it is shown, since the model has not seen the result yet.

Some marks of reasoning are words that a text can contain, such as <thought>. They count at the beginning of a reply,
or of its text after a call. Elsewhere they count if they are closed, and the text behind such a mark is held back
until that is known.

What was cut off or cannot be read is dropped, and `lost` says so. One thing cannot be recognised in time: reasoning
without an opening mark. It counts as text until its end tag comes, which is then left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from bot.agent.messages import ToolCall
from bot.agent.tools import Tool
from bot.models.compat.markup_calls import calls_in, commands_in, is_whole_json

CODE_CHARACTERS = 200
"""How many characters ahead the end of code within a line is looked for."""
CALL_CHARACTERS = 200
"""How many characters of a reply that looks like a call without a mark are held back until it names its tool."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A kind of markup, by the mark that opens it."""

    holds: Literal["reasoning", "calls", "header", "nothing"]
    closes: re.Pattern[str] | None = None
    """What closes it. None: it goes to the end of the reply."""
    reopens: bool = False
    """True: what closes it can open the next span, and is read again."""
    doubtful: bool = False
    """True: it can turn out to be text after all."""


def _closed_by(*marks: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)), re.IGNORECASE)


_NOTHING = _Span("nothing")
_HEADER = _Span("header", _closed_by("<|message|>"))
_ANALYSIS = _Span(
    "reasoning", _closed_by("<|end|>", "<|start|>", "<|channel|>", "<|return|>", "<|call|>"), reopens=True
)
_COMMAND = _Span("calls", _closed_by("<|call|>", "<|end|>", "<|return|>", "<|start|>"), reopens=True)
_BARE_ANALYSIS = _Span("reasoning", _closed_by("assistantfinal"))
"""The reasoning of that format if the server has dropped its tokens."""
_BARE_COMMAND = _Span("calls", doubtful=True)
"""The calls of that format if the server has dropped its tokens."""
_BARE_CALL = _Span("calls")
_CALL_IN_PROSE = _Span("calls", doubtful=True)

_REASONING_TAGS = ("think", "thinking", "thought", "reasoning")
_CALL_TAGS = ("tool_call", "tool_calls", "toolcall", "function_call", "function_calls", "minimax:tool_call")
_SPANS = {
    **{f"<{tag}>": _Span("reasoning", _closed_by(f"</{tag}>"), doubtful=True) for tag in _REASONING_TAGS},
    "[think]": _Span("reasoning", _closed_by("[/THINK]"), doubtful=True),
    "<seed:think>": _Span("reasoning", _closed_by("</seed:think>")),
    "◁think▷": _Span("reasoning", _closed_by("◁/think▷")),
    "<|start_thinking|>": _Span("reasoning", _closed_by("<|END_THINKING|>")),
    "<|begin_of_thought|>": _Span("reasoning", _closed_by("<|end_of_thought|>")),
    "<|channel|>": _HEADER,
    "<|start|>": _HEADER,
    **{f"<{tag}>": _Span("calls", _closed_by(f"</{tag}>")) for tag in _CALL_TAGS},
    "<functioncall>": _Span("calls", _closed_by("</functioncall>", "<|endoftext|>")),
    "<function=": _Span("calls", _closed_by("</function>")),
    "<invoke name=": _Span("calls", _closed_by("</invoke>")),
    "[tool_calls]": _Span("calls", _closed_by("[/TOOL_CALLS]", "</s>")),
    "<|python_tag|>": _Span("calls", _closed_by("<|eom_id|>", "<|eot_id|>")),
    "<|tool_call|>": _Span("calls", _closed_by("<|/tool_call|>", "</tool_call>", "<|end|>")),
    "<|tool▁calls▁begin|>": _Span("calls", _closed_by("<|tool▁calls▁end|>")),
    "<｜tool▁calls▁begin｜>": _Span("calls", _closed_by("<｜tool▁calls▁end｜>")),
    "<｜dsml｜function_calls>": _Span("calls", _closed_by("</｜DSML｜function_calls>")),
    "<|tool_calls_section_begin|>": _Span("calls", _closed_by("<|tool_calls_section_end|>")),
    "<|start_action|>": _Span("calls", _closed_by("<|END_ACTION|>")),
    **{f"</{tag}>": _NOTHING for tag in (*_REASONING_TAGS, "seed:think", *_CALL_TAGS, "function", "invoke", "s")},
    "<s>": _NOTHING,
    "[/think]": _NOTHING,
    "◁/think▷": _NOTHING,
    "[/tool_calls]": _NOTHING,
}
"""The spans by the mark that opens them, in lower case. No mark is the beginning of another."""
_CALL_MARK = re.compile(
    "|".join(re.escape(mark) for mark, span in _SPANS.items() if span.holds == "calls"), re.IGNORECASE
)
_MARK = re.compile("|".join(map(re.escape, _SPANS)) + r"|<[|｜][^<>\s]{1,40}[|｜]>", re.IGNORECASE)
"""What opens markup, and any other token of a model's format. Other tokens are left out."""
_BEGINNINGS = frozenset(mark[:end] for mark in _SPANS for end in range(1, len(mark)))
_TOKEN_BEGINNING = re.compile(r"<[|｜][^<>\s]{0,41}")
_LONGEST_MARK = 45
_LONGEST_CLOSE = 30

_PROSE_MARK = re.compile(r"[`<\[◁{]")
_LINE_CODE_MARK = re.compile(r"[`<\[◁\n]")
_LINE_CODE_END = re.compile(r"[`\n]")
_TICKS = re.compile(r"`+")
_TAG = re.compile(r"<[a-z]", re.IGNORECASE)
"""Those marks of calls that can occur in a text."""
_CALL_BEGINS = re.compile(r"\s{0,8}(?:[{\[<\"']|[\w.:-]{1,64}\s{0,8}[<{\[>\"'])")
_CALL_MAY_BEGIN = re.compile(r"\s{0,8}(?:[\w.:-]{1,64}\s{0,8})?")
_BARE_CALL_BEGINS = re.compile(r"(?:`{1,3}\w*\s*)?[\[\s]*(?:\{|$)")
_BARE_CALL_NAME = re.compile(r"\"(?:name|function|tool_name)\"\s*:\s*\"([^\"]+)\"")
_WRAPPING = re.compile(r"(?:`{3,}\w{0,20}\s{1,8}|<tool(?:s|_use)>\s{0,8})?")
"""What a call can be wrapped in."""
_WRAPPING_SO_FAR = re.compile(r"`{3,}\w{0,20}|<(?:t|to|too|tool|tools|tool_|tool_u|tool_us|tool_use)?")
_OBJECT = re.compile(r"\[?\s{0,8}\{\s{0,8}\"(?:name|function|tool_name|tool_calls|tool_call_id|type|id)\"\s{0,8}:")
"""A call in JSON begins with one of these members."""
_OBJECT_SO_FAR = re.compile(r"\[?\s{0,8}(?:\{\s{0,8}(?:\"(?:\w{0,14}(?:\"\s{0,8})?)?)?)?")
_PYTHON = re.compile(r"\[\s{0,8}(?P<name>[A-Za-z_]\w{0,63})(?P<whole>\()?")
_NAME_TAG = re.compile(r"<name>\s{0,8}(?P<name>[\w.-]{1,64})\s{0,8}</name>")
_NAME_TAG_SO_FAR = re.compile(r"<(?:n|na|nam|name|name>[\s\w.-]{0,80}(?:<[/name]{0,5})?)?")
_COMMANDS = tuple(
    f"{role}{channel}to=functions." for role in ("", "assistant") for channel in ("", "analysis", "commentary")
)
"""The beginnings of calls of gpt-oss without their tokens and white space."""
_COMMAND_INSIDE = re.compile(r"(?:assistant|commentary)\s{0,8}to=functions\.")
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([\w.-]+)")


class Markup:
    """The state of one reply's text."""

    def __init__(self, tools: Sequence[Tool] = (), *, inside_reasoning: bool = False) -> None:
        self.calls: list[ToolCall] = []
        """The whole calls found so far, without ids."""
        self.lost = False
        """True: a call or an answer was begun and could not be read."""
        self._tools = {tool.name: tool for tool in tools}
        self._inside_reasoning = inside_reasoning
        self._span: _Span | None = None
        self._opened = ""
        """The mark that opened the span, or the name of the tool that it calls."""
        self._body: list[str] = []
        """The span so far."""
        self._late = False
        """True: there was visible text before the span began."""
        self._sure = True
        """False: the text behind the mark must show whether it opened anything."""
        self._code = 0
        """The number of backticks that opened the code in which the text is; 0 outside of code."""
        self._spoke = False
        """True: there was visible text since the reply began, or since its last call."""
        self._plain: set[_Span] = set()
        """The kinds of markup that count as text in the rest of this reply."""
        self._struck = 0
        """The number of <s> without their </s>. These mark text that is struck out, while a lone </s> is a token."""
        self._held = ""

    def feed(self, text: str) -> str:
        """The part of the new text, and of what was held back, that can be shown."""
        special = "<" in text or "[" in text or "`" in text or "{" in text or "◁" in text
        if not special and self._spoke and not (self._held or self._span or self._code):
            return text
        return self._read(text, last=False)

    def close(self, *, whole: bool = True) -> str:
        """The rest that can be shown after the end of the text. `whole` means that the text is complete."""
        shown = self._read("", last=True)
        while span := self._span:
            self._span = None
            body = "".join(self._body)
            if whole and self._is_text(span, body):
                self._plain.add(span)
                self._spoke = True
                shown += self._opened + self._read(body, last=True)
            elif span.holds == "reasoning":
                self._look_inside(body)
            else:
                self._end(span, body, "")
        return shown

    def _is_text(self, span: _Span, body: str) -> bool:
        """Whether an unclosed span at the end of a reply was no markup."""
        if not span.doubtful:
            return False
        if span is _BARE_COMMAND:
            return "{" not in body
        if span.holds == "calls":
            return is_whole_json(body) and not calls_in(body, self._tools)
        return not body.strip() or (self._late and not self._calls_inside(body))

    def calls_beside(self, known: Sequence[ToolCall]) -> list[ToolCall]:
        """The calls in the markup that the server has not also returned itself."""
        told = {(call.name, _canonical(call.arguments)) for call in known}
        return [call for call in self.calls if (call.name, _canonical(call.arguments)) not in told]

    def _read(self, text: str, *, last: bool) -> str:
        text = self._held + text
        place: int | None = 0
        held = 0
        shown: list[str] = []
        while place is not None and place < len(text):
            held = place
            step = self._in_span if self._span else self._in_code if self._code else self._in_prose
            place = step(text, place, shown, last=last)
        self._held = "" if place is not None else text[held:]
        return "".join(shown)

    # Each step reads on from a place. It returns the next place, or None if it needs more text.

    def _in_prose(self, text: str, place: int, shown: list[str], *, last: bool) -> int | None:
        if not self._spoke:
            begun = self._beginning(text, place, last=last)
            if begun is None or self._span:
                return begun
        mark = _PROSE_MARK.search(text, place)
        if mark is None or mark.start() > place:
            return self._show(text, place, mark.start() if mark else len(text), shown)
        if (is_call := self._is_call(text[place : place + CALL_CHARACTERS])) is None and not last:
            return None
        if is_call:
            self._open(_CALL_IN_PROSE, "")
            return place
        if mark[0] == "`":
            return self._enter_code(text, place, shown, last=last)
        opening = _MARK.match(text, place)
        if opening and self._is_word(opening[0].lower()):
            return self._show(text, place, opening.end(), shown)
        if opening:
            self._open(_SPANS.get(opening[0].lower(), _NOTHING), opening[0])
            return opening.end()
        if _may_become_mark(text, place) and not last:
            return None
        return self._show(text, place, place + 1, shown)

    def _beginning(self, text: str, place: int, *, last: bool) -> int | None:
        """Check whether a reply begins as a call without a mark, or as reasoning whose marks were dropped."""
        begin = text[place:].lstrip()
        start, begin = len(text) - len(begin), begin[:CALL_CHARACTERS]
        if not begin and start - place > CALL_CHARACTERS:
            return place  # This much white space is not held back.
        if begin.startswith("analysis") and begin[8:9].isupper():
            self._open(_BARE_ANALYSIS, "")
            return start + 8
        undecided = "analysis".startswith(begin)
        if self._tools and begin[:1] in "act":
            is_command = self._is_command("".join(begin.split()))
            if is_command:
                self._open(_BARE_COMMAND, "")
                return start
            undecided = undecided or is_command is None
        if self._tools and _BARE_CALL_BEGINS.match(begin):
            named = _BARE_CALL_NAME.search(begin)
            if named and named[1] in self._tools:
                self._open(_BARE_CALL, "")
                return start
            undecided = undecided or len(begin) < CALL_CHARACTERS
        return None if undecided and not last else place

    def _is_command(self, begin: str) -> bool | None:
        """Whether a reply with this beginning, without its white space, calls a tool on offer. None if it still can."""
        head = next((head for head in _COMMANDS if begin.startswith(head)), None)
        if head is None:
            return None if any(known.startswith(begin) for known in _COMMANDS) else False
        name = begin[len(head) :]
        if any(name.startswith(known) for known in self._tools):
            return True
        return None if any(known.startswith(name) for known in self._tools) else False

    def _is_call(self, begin: str) -> bool | None:
        """Whether this begins a call of a tool on offer, without marks or with common ones such as a fence.

        None if more text is needed.
        """
        if not self._tools or _CALL_IN_PROSE in self._plain:
            return False
        undecided = None if len(begin) < CALL_CHARACTERS else False
        if _WRAPPING_SO_FAR.fullmatch(begin):
            return undecided
        wrapping = _WRAPPING.match(begin)
        call = begin[wrapping.end() :] if wrapping else begin
        if _OBJECT.match(call):
            named = _BARE_CALL_NAME.search(call)
            return named[1] in self._tools if named else undecided
        if named := _NAME_TAG.match(call) if begin[0] == "<" else None:
            return named["name"] in self._tools
        if named := _PYTHON.match(call):
            may_be = named.end() == len(call) and any(name.startswith(named["name"]) for name in self._tools)
            return named["name"] in self._tools if named["whole"] else undecided if may_be else False
        in_tag = call != begin and begin[0] == "<" and _NAME_TAG_SO_FAR.fullmatch(call)
        return undecided if in_tag or _OBJECT_SO_FAR.fullmatch(call) else False

    def _is_word(self, mark: str) -> bool:
        """Whether a mark is part of the text."""
        if mark == "<s>":
            self._struck += 1
            return True
        if mark == "</s>" and self._struck:
            self._struck -= 1
            return True
        return _SPANS.get(mark) in self._plain

    def _enter_code(self, text: str, place: int, shown: list[str], *, last: bool) -> int | None:
        ticks = _end_of_ticks(text, place)
        if ticks == len(text) and not last:
            return None
        self._code = ticks - place
        return self._show(text, place, ticks, shown)

    def _in_code(self, text: str, place: int, shown: list[str], *, last: bool) -> int | None:
        fenced = self._code >= 3
        mark = (_TICKS if fenced else _LINE_CODE_MARK).search(text, place)
        if mark is None or mark.start() > place:
            return self._show(text, place, mark.start() if mark else len(text), shown)
        if mark[0][0] == "`":
            ticks = _end_of_ticks(text, place)
            if ticks == len(text) and not last:
                return None
            if ticks - place == self._code or (fenced and ticks - place > self._code):
                self._code = 0
            return self._show(text, place, ticks, shown)
        if mark[0] == "\n":
            self._code = 0
            return self._show(text, place, place + 1, shown)
        return self._mark_in_code(text, place, shown, last=last)

    def _mark_in_code(self, text: str, place: int, shown: list[str], *, last: bool) -> int | None:
        """Treat what looks like markup as a sample if the code ends behind it on the same line."""
        if _MARK.match(text, place):
            end = _LINE_CODE_END.search(text, place, place + CODE_CHARACTERS)
            if end is None and len(text) - place < CODE_CHARACTERS and not last:
                return None
            if end is None or end[0] == "\n":
                self._code = 0
                return place
        elif _may_become_mark(text, place) and not last:
            return None
        return self._show(text, place, place + 1, shown)

    def _in_span(self, text: str, place: int, shown: list[str], *, last: bool) -> int | None:
        span = self._span or _NOTHING
        if not self._sure and not _CALL_BEGINS.match(text, place):
            if not _CALL_MAY_BEGIN.fullmatch(text, place):
                self._span = None
                shown.append(self._opened)
                self._spoke = True
                return place
            if not last:
                return None
        self._sure = True
        closed = span.closes.search(text, place) if span.closes else None
        if closed:
            self._span = None
            self._end(span, "".join(self._body) + text[place : closed.start()], closed[0])
            return closed.start() if span.reopens and closed[0].lower() in _SPANS else closed.end()
        kept = len(text) if last or not span.closes else max(place, len(text) - _LONGEST_CLOSE)
        self._body.append(text[place:kept])
        return kept if kept > place else None

    def _open(self, span: _Span, opened: str) -> None:
        if span.holds != "nothing":
            self._span, self._opened, self._body, self._late = span, opened, [], self._spoke
            self._sure = span.holds != "calls" or not _TAG.match(opened)

    def _end(self, span: _Span, body: str, closed: str) -> None:
        """End a span. `closed` is the mark that ended it, if there is one."""
        match span.holds:
            case "calls":
                markup = self._opened + body + closed
                found = commands_in(markup, self._tools) if span is _BARE_COMMAND else calls_in(markup, self._tools)
                self.calls += found
                self._spoke = False
                self.lost = self.lost or (not found and bool(body.strip() or not closed))
            case "header" if not closed:
                self.lost = True
            case "header":
                self._enter_message(body)

    def _enter_message(self, header: str) -> None:
        """Begin what follows a header in the format of gpt-oss: a call, reasoning, or the answer."""
        if recipient := _RECIPIENT.search(header):
            self._open(_COMMAND, recipient[1])
            self._sure = True
        elif "analysis" in header or "commentary" in header:
            self._open(_ANALYSIS, "")

    def _look_inside(self, body: str) -> None:
        """Look for calls in reasoning that never ended. If there is one, it is what the model wanted."""
        self.calls += self._calls_inside(body)
        self.lost = self.lost or not self.calls

    def _calls_inside(self, body: str) -> list[ToolCall]:
        if self._inside_reasoning:
            return []
        if command := _COMMAND_INSIDE.search(body):
            return commands_in(body[command.start() :], self._tools)
        mark = _CALL_MARK.search(body)
        if not mark:
            return []
        inner = Markup([*self._tools.values()], inside_reasoning=True)
        inner.feed(body[mark.start() :])
        inner.close()
        return inner.calls

    def _show(self, text: str, start: int, end: int, shown: list[str]) -> int:
        shown.append(text[start:end])
        self._spoke = self._spoke or not text[start:end].isspace()
        return end


def _canonical(arguments: str) -> str:
    """The same text for arguments with the same meaning."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except ValueError:
        return arguments.strip()


def _may_become_mark(text: str, place: int) -> bool:
    """Whether the text ends in a possible beginning of a mark."""
    if len(text) - place >= _LONGEST_MARK:
        return False
    tail = text[place:]
    return tail.lower() in _BEGINNINGS or bool(_TOKEN_BEGINNING.fullmatch(tail))


def _end_of_ticks(text: str, place: int) -> int:
    ticks = _TICKS.match(text, place)
    return ticks.end() if ticks else place
