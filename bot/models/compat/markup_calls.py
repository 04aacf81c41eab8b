"""Reads tool calls in a model's own markup, which is left in the text if the server did not read it.

The dialects, each seen with several families of models:

    {"name": "look_up", "arguments": {…}}                Hermes, Qwen, Granite, Llama ("parameters"); or a list of these
    look_up{…}   look_up[ARGS]{…}                        Mistral; with other tokens between, DeepSeek and Kimi
    <function=look_up>{…}</function>                     Llama
    <function=look_up><parameter=id>7</parameter></function>                   Qwen-Coder
    <invoke name="look_up"><parameter name="id">7</parameter></invoke>         MiniMax, DeepSeek, Claude
    look_up<arg_key>id</arg_key><arg_value>7</arg_value>                       GLM
    <name>look_up</name><arguments>{…}</arguments>       prompts that describe their own protocol
    [look_up(id="7")]                                    Llama, if all the names are on offer
    commentary to=functions.look_up json{…}              gpt-oss, its tokens dropped by the server (commands_in)

Nothing is repaired or guessed: a call counts only if it is complete from its first character to its last.
"""

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from bot.agent.messages import ToolCall
from bot.agent.surrogates import sound
from bot.agent.tools import Tool
from bot.models.call_fragments import repaired_name

_JSON = json.JSONDecoder(strict=False)
_BETWEEN = re.compile(
    r"(?:\s|[;,]|<[|｜][^<>\s]{1,40}[|｜]>|`{3,}\w*|\[(?:TOOL_CALLS|ARGS)\]|\[CALL_ID\]\w*"
    r"|</?(?:[a-z]+:)?(?:tool|function)_?calls?>|</?tool(?:s|_use)>)*"
)
"""What can be before, between and after calls without a meaning."""
_NAME = re.compile(r"(?:function<｜tool▁sep｜>)?(?P<name>[A-Za-z_][\w.-]{0,99})(?::\d{1,3})?(?=[\s\[{<]|$)")
_TAG = re.compile(r"<(?:function=|(?:invoke|function)\s+name=)[\"']?(?P<name>[^\s\"'<>]{1,100})[\"']?\s*>")
_TAG_END = re.compile(r"\s*</(?:function|invoke)>")
_PARAMETER = re.compile(
    r"\s*<parameter(?:=|\s+name=)[\"']?(?P<name>[^\"'<>\s]{1,100})[\"']?(?P<hints>[^<>]{0,80})>(?P<value>.*?)</parameter>",
    re.DOTALL,
)
_ARGUMENT = re.compile(
    r"\s*<arg_key>(?P<name>[^<>]{1,100})</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.DOTALL
)
_CLOSED = re.compile(r"\s*</")
_NAMED_TAG = re.compile(r"<name>\s*(?P<name>[\w.-]{1,100})\s*</name>\s*<(?:arguments|parameters|input)>\s*")
_NAMED_TAG_END = re.compile(r"\s*</(?:arguments|parameters|input)>")
_BRACKETS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?P<open>[\[({])|(?P<close>[\])}])", re.DOTALL)
_COMMAND = re.compile(
    r"\s{0,8}(?:assistant)?\s{0,8}(?:analysis|commentary)?\s{0,8}to=functions\.(?P<name>[\w.-]{1,100}?)\s{0,8}"
    r"(?:analysis|commentary)?\s{0,8}(?:<\|constrain\|>)?\s{0,8}(?:json|code)?\s{0,8}(?:<\|message\|>)?\s{0,8}(?={)"
)
_COMMAND_END = re.compile(r"(?:\s|<\|[^<>\s]{1,40}\|>)*")
_CONSTANTS = {"true": True, "false": False, "null": None}
_ARGUMENTS = ("arguments", "parameters", "args", "input")


def calls_in(markup: str, tools: Mapping[str, Tool]) -> list[ToolCall]:
    """The whole calls at the beginning of the markup, without ids. Empty if it cannot be read.

    `tools` are the tools on offer. Their schemas say what type an argument without quotes has.
    """
    markup = markup.replace("｜DSML｜", "")
    calls: list[ToolCall] = []
    place = _after(_BETWEEN, markup, 0)
    while found := _found(markup, place, tools):
        for name, arguments in found[0]:
            calls.append(ToolCall("", repaired_name(name, tools), sound(arguments)))
        place = _after(_BETWEEN, markup, found[1])
    return calls


def commands_in(markup: str, tools: Mapping[str, Tool]) -> list[ToolCall]:
    """The whole calls of tools on offer at the beginning of the markup, in the format of gpt-oss without its tokens."""
    calls: list[ToolCall] = []
    place = 0
    while (header := _COMMAND.match(markup, place)) and header["name"] in tools:
        value = _value(markup, header.end())
        if value is None or not isinstance(value[0], dict):
            break
        calls.append(ToolCall("", header["name"], _text(value[0])))
        place = _after(_COMMAND_END, markup, value[1])
    return calls


def is_whole_json(markup: str) -> bool:
    """Whether the markup begins with complete JSON, so that nothing was cut."""
    return _value(markup, _after(_BETWEEN, markup, 0)) is not None


_Found = tuple[list[tuple[str, str]], int]
"""Calls as pairs of name and arguments, and the position where they end."""


def _found(markup: str, place: int, tools: Mapping[str, Tool]) -> _Found | None:
    return (
        _tagged(markup, place, tools)
        or _json(markup, place)
        or _named(markup, place, tools)
        or _named_in_tag(markup, place)
        or _in_python(markup, place, tools)
    )


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    matched = pattern.match(text, place)
    return matched.end() if matched else place


def _tagged(markup: str, place: int, tools: Mapping[str, Tool]) -> _Found | None:
    """A call in a tag that contains its name."""
    tag = _TAG.match(markup, place)
    if not tag:
        return None
    name, inside = tag["name"], _after(_BETWEEN, markup, tag.end())
    if value := _value(markup, inside):
        arguments, end = value
        return ([(name, _text(arguments))], _after(_TAG_END, markup, end)) if isinstance(arguments, dict) else None
    given, end = _pairs(_PARAMETER, markup, tag.end(), tools.get(name))
    closed = _TAG_END.match(markup, end)
    return ([(name, _text(given))], closed.end()) if closed else None


def _json(markup: str, place: int) -> _Found | None:
    """One or several calls in JSON."""
    value = _value(markup, place)
    if not value:
        return None
    calls = _calls_of(value[0])
    return (calls, value[1]) if calls else None


def _named(markup: str, place: int, tools: Mapping[str, Tool]) -> _Found | None:
    """A call that begins with its bare name."""
    named = _NAME.match(markup, place)
    if not named:
        return None
    name, inside = named["name"], _after(_BETWEEN, markup, named.end())
    if value := _value(markup, inside):
        return ([(name, _text(value[0]))], value[1]) if isinstance(value[0], dict) else None
    given, end = _pairs(_ARGUMENT, markup, named.end(), tools.get(name))
    closed = _CLOSED.match(markup, end)  # otherwise one more argument may have been cut
    return ([(name, _text(given))], end) if closed and (given or name in tools) else None


def _named_in_tag(markup: str, place: int) -> _Found | None:
    """A call with its name and its arguments in separate tags."""
    named = _NAMED_TAG.match(markup, place)
    value = _value(markup, named.end()) if named else None
    closed = _NAMED_TAG_END.match(markup, value[1]) if value else None
    if not (named and value and closed and isinstance(value[0], dict)):
        return None
    return [(named["name"], _text(value[0]))], closed.end()


def _in_python(markup: str, place: int, tools: Mapping[str, Tool]) -> _Found | None:
    """A list of calls in Python's syntax. All their arguments are named and plain."""
    end = _end_of_list(markup, place) if markup[place : place + 1] == "[" else None
    if end is None:
        return None
    try:
        tree = ast.parse(markup[place:end], mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else []
        calls = [_call_in_python(node) for node in nodes]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return (calls, end) if calls and all(name in tools for name, _ in calls) else None


def _end_of_list(markup: str, place: int) -> int | None:
    depth = 0
    for bracket in _BRACKETS.finditer(markup, place):
        depth += bool(bracket["open"]) - bool(bracket["close"])
        if depth == 0:
            return bracket.end()
    return None


def _call_in_python(node: ast.expr) -> tuple[str, str]:
    """The name and the arguments. Raises ValueError for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise ValueError("no call with named arguments")
    given = {keyword.arg: _plain(keyword.value) for keyword in node.keywords}
    if None in given:
        raise ValueError("arguments without a name")
    return node.func.id, _text(given)


def _plain(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    value = ast.literal_eval(node)
    json.dumps(value)  # raises TypeError for bytes, sets and the like
    return value


def _value(markup: str, place: int) -> tuple[Any, int] | None:
    """The object or list that begins here, and where it ends."""
    if markup[place : place + 1] not in ("{", "["):
        return None
    try:
        return _JSON.raw_decode(markup, place)
    except (ValueError, RecursionError):
        return None


def _calls_of(value: Any) -> list[tuple[str, str]]:
    """The calls in a JSON value. Empty unless all of it is calls."""
    if isinstance(value, dict):
        value = value["tool_calls"] if isinstance(value.get("tool_calls"), list) else [value]
    calls = [_call_of(item) for item in value]
    whole = [call for call in calls if call]
    return whole if len(whole) == len(calls) else []


def _call_of(item: Any) -> tuple[str, str] | None:
    if not isinstance(item, dict):
        return None
    call = item["function"] if isinstance(item.get("function"), dict) else item
    name = call.get("name") or call.get("tool_name") or call.get("function")
    arguments: Any = next((call[key] for key in _ARGUMENTS if call.get(key) is not None), {})
    if not isinstance(name, str) or not isinstance(arguments, str | dict):
        return None
    return name, arguments if isinstance(arguments, str) else _text(arguments)


def _pairs(pattern: re.Pattern[str], markup: str, place: int, tool: Tool | None) -> tuple[dict[str, Any], int]:
    """Arguments in separate tags, and where the last one ends."""
    given: dict[str, Any] = {}
    while pair := pattern.match(markup, place):
        given[pair["name"]] = _typed(pair["value"], tool, pair["name"])
        place = pair.end()
    return given, place


def _typed(value: str, tool: Tool | None, name: str) -> Any:
    """The text of a tag, as the type that the tool's schema asks for."""
    value = value.removeprefix("\n").removesuffix("\n")
    schema = tool.schema.get("properties", {}).get(name, {}) if tool else {}
    kinds = {kind.get("type") for kind in (schema, *schema.get("anyOf", ()))}
    if "string" in kinds and (value != "null" or "null" not in kinds):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _text(arguments: Any) -> str:
    return sound(json.dumps(arguments, ensure_ascii=False))
