"""Reasoning and tool calls in a model's own markup, taken out of the text while it streams."""

import re
from itertools import pairwise

import orjson
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.messages import ToolCall
from bot.models.compat.markup import CODE_CHARACTERS, Markup
from tests.agent.desk import Counter, desk_tools
from tests.agent.stream_files import STREAMS

TOOLS = desk_tools(Counter())
ORDER = '{"order_id": "ORD-1"}'
CALL = f'{{"name": "lookup_order", "arguments": {ORDER}}}'

Seen = tuple[str, list[ToolCall], bool]
"""What is shown, the calls, and whether anything was lost."""


def seen(*pieces: str) -> Seen:
    """What becomes of a text in these pieces."""
    markup = Markup(TOOLS)
    shown = "".join(map(markup.feed, pieces)) + markup.close()
    return shown, markup.calls, markup.lost


def called(text: str) -> list[tuple[str, object]]:
    """The calls in a text of which nothing else is to be seen."""
    shown, calls, lost = seen(text)
    assert (shown.strip(), lost) == ("", False)
    return [(call.name, orjson.loads(call.arguments)) for call in calls]


def test_text_that_is_none_of_it_stays_as_it_is() -> None:
    table = [
        "Is 3 < 4 and [1] > [0]? See <b>bold</b> and [a link](http://x).",
        "The <tool_call> tag is one word, [TOOL_CALLS and <|x y|> are none, nor is <think or a <",
        "Write `<think>` or ``[TOOL_CALLS]`` here.",
        "```xml\n<tool_call>\n{}\n</tool_call>\n```\nThat was it.",
        '```json\n{"name": "Alice", "arguments": {}}\n```',
        '{"name": "Alice", "age": 3}',
        "{curly} text",
        "[1] says so.",
        "analysis of your order",
        "analysis",
        "`",
        "``` never closed <think>",
        "a|b || c <- d",
        "Old price: <s>20 €</s>, <s>5</s> now 15 €.",
        "Use a <thought> bubble.\nChoose <reasoning> or [THINK], then <think> again.",
        "Write <think> tags, `<think>` or 3 < 4.",
        "<think>",
        " <thought>\n",
        'I check: {"name": "Alice", "arguments": {}}, {"id": 7} and {"name": "lookup',
        'It sends\n```json\n{"order_id": 1}\n```\nor\n```js\n{"type": "button", "name": "x"}\n```',
        "See [lookup](x), [lookup_order] and [lookup_orders(1)].",
        'Write `{"name": "lookup_order", "arguments": {}}` here.',
        "<tools><saw/></tools> <tool_use>hammer</tool_use> <tool",
        'A list: [{"name": "lookup_order"}, 7] <thought> it <s>was</s>.',
        "   ",
        "",
    ]
    misses = [(text, got) for text in table if (got := seen(text)) != (text, [], False)]
    assert misses == []


def test_markup_goes_and_the_text_around_it_stays() -> None:
    table = [
        ("A <think>b</think> c", "A  c"),
        ("A <THINKING>b</Thinking>c", "A c"),
        ("<thought>b\n\nb</thought>\nc", "\nc"),
        ("◁think▷b◁/think▷c", "c"),
        ("<|START_THINKING|>b<|END_THINKING|>c", "c"),
        ("<seed:think>b</seed:think>c", "c"),
        ("A stray ` and <think>b</think>c", "A stray ` and c"),
        ("A `x` and <think>b</think>c", "A `x` and c"),
        ("```\nx\n```\n<think>b</think>c", "```\nx\n```\nc"),
        ("A `" + "x" * CODE_CHARACTERS + " <think>b</think>c", "A `" + "x" * CODE_CHARACTERS + " c"),
        ("<|start|>assistant<|message|>c<|end|>", "c"),
        ("<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>c", "c"),
        ("c<|im_end|><|endoftext|></s>", "c"),
        ("b</think>c", "bc"),
        ("<tool_call></tool_call>c", "c"),
        ("a<s>b</s></s>", "a<s>b</s>"),
        ("A <thought> bubble <think>b</think>c", "A <thought> bubble c"),
        ("a [THINK]b[/THINK]c", "a c"),
    ]
    misses = [(text, got) for text, shown in table if (got := seen(text)) != (shown, [], False)]
    assert misses == []


def test_a_call_in_any_dialect_is_a_call() -> None:
    table = [
        f"<tool_call>{CALL}",
        f"<tool_calls>[{CALL}]</tool_calls>",
        '<function_call>{"name": "lookup_order", "arguments": "{\\"order_id\\": \\"ORD-1\\"}"}</function_call>',
        f'<tool_call>{{"type": "function", "function": {{"name": "lookup_order", "parameters": {ORDER}}}}}</tool_call>',
        f'<tool_call>{{"tool_calls": [{CALL}]}}</tool_call>',
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "lookup_order", "parameters": {ORDER}}}]<|END_ACTION|>',
        f"<functioncall> {CALL} <|endoftext|>",
        f"<|tool_call|>[{CALL}]",
        f"<function=functions.lookup_order>{ORDER}",
        '<invoke name="lookup_order"><parameter name="order_id">ORD-1</parameter></invoke>',
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="lookup_order">\n'
        '<｜DSML｜parameter name="order_id" string="true">ORD-1</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        f"[TOOL_CALLS]lookup_order[CALL_ID]abcdef123[ARGS]{ORDER}</s>",
        f"<|start|>assistant to=functions.lookup_order<|channel|>commentary json<|message|>{ORDER}",
        f"<think>I look.</think>\n{CALL}",
        f"<tool_use>\n{CALL}\n</tool_use>",
        f"<tools>{CALL}</tools>",
        f"<tool_use><name>lookup_order</name><arguments>{ORDER}</arguments></tool_use>",
        '[lookup_order(order_id="ORD-1")]',
        f"<think>Hm. {CALL}</think>\n```json\n[{CALL}]\n```",
    ]
    misses = [(text, got) for text in table if (got := called(text)) != [("lookup_order", {"order_id": "ORD-1"})]]
    assert misses == []


def test_a_call_without_marks_counts_behind_words_too_and_nothing_is_shown_behind_it() -> None:
    table = [
        CALL,
        f"[{CALL}]",
        f"```json\n{CALL}\n```",
        f"````\n{CALL}",
        f"<tools>{CALL}</tools>",
        f"<tool_use> {CALL}",
        "[lookup_order(order_id='ORD-1')]",
    ]
    misses = []
    for behind in ["", "\nOne moment."]:
        for call in table:
            shown, calls, lost = seen(f"I check:\n{call}{behind}")
            asked = [(each.name, orjson.loads(each.arguments)) for each in calls]
            if (shown, asked, lost) != ("I check:\n", [("lookup_order", {"order_id": "ORD-1"})], False):
                misses.append((call, behind, shown, asked, lost))
    assert misses == []


def test_calls_in_the_words_of_python_have_plain_arguments() -> None:
    parameters = "tracking_number='a]\\'(', days=-2"
    assert called(f"[check_shipping({parameters}), lookup_order(order_id=null)] and so on") == [
        ("check_shipping", {"tracking_number": "a]'(", "days": -2}),
        ("lookup_order", {"order_id": None}),
    ]


def test_markup_that_nobody_offered_is_text() -> None:
    markup = Markup()
    assert markup.feed(f"I check: {CALL}") + markup.close() == f"I check: {CALL}"


def test_reasoning_begins_again_behind_a_call() -> None:
    assert seen(f"A <tool_call>{CALL}</tool_call>\n<think>b")[0] == "A \n"


def test_what_may_be_reasoning_is_not_shown_when_the_reply_was_cut() -> None:
    markup = Markup(TOOLS)
    assert markup.feed("Use <thought> it") + markup.close(whole=False) == "Use "
    assert markup.lost


def test_arguments_in_tags_are_what_the_schema_wants() -> None:
    parameters = "<parameter=tracking_number>\n0042\n</parameter><parameter=days>2</parameter>"
    (call,) = called(f"<function=check_shipping>{parameters}</function>")
    assert call == ("check_shipping", {"tracking_number": "0042", "days": 2})


def test_a_tool_without_arguments_may_be_called_by_its_name_alone() -> None:
    assert called("<tool_call>lookup_order</tool_call>") == [("lookup_order", {})]


def test_what_cannot_be_read_is_nothing_and_is_told() -> None:
    table = [
        "<tool_call>",
        f"<tool_call>{CALL[:-1]}</tool_call>",
        "<tool_call>lookup_order\n",
        '<|python_tag|>lookup_order.call(order_id="ORD-1")',
        "<function=lookup_order><parameter=order_id>ORD-1</parameter>",
        "<tool_call>" + "[" * 5_000 + "</tool_call>",
        '<tool_call>[{"name": "lookup_order"}, 7]</tool_call>',
        "<think>Hm.",
        CALL[:-1],
        '[lookup_order(order_id="ORD-1"',
        '[lookup_order("ORD-1")]',
        '[lookup_order(order_id=open("x"))]',
        "[lookup_order(order_id=b'x')]",
        "[lookup_order(**{})]",
        f"<tool_use><name>lookup_order</name><arguments>{ORDER[:-1]}",
        "<|channel|>analysis",
        f"<|start|>assistant to=functions.lookup_order<|channel|>commentary json<|message|>{ORDER[:-1]}",
    ]
    misses = [(text, got) for text in table if (got := seen(text)) != ("", [], True)]
    assert misses == []


def test_text_streams_on_while_nothing_can_be_markup() -> None:
    markup = Markup(TOOLS)
    assert [markup.feed(piece) for piece in ("He", "llo <", "b> 3 [", "1] a ", "` b")] == [
        "He",
        "llo ",
        "<b> 3 ",
        "[1] a ",
        "` b",
    ]


PIECES = st.sampled_from(
    [
        *("<think>", "</think>", "<tool_call>", "</tool_call>", CALL, ORDER, "[TOOL_CALLS]", "lookup_order", "[ARGS]"),
        *("<function=", "lookup_order>", "</function>", "<parameter=order_id>", "ORD-1", "</parameter>", "<arg_key>"),
        *("<|channel|>", "analysis", "final", " to=functions.lookup_order ", "<|message|>", "<|end|>", "<|start|>"),
        *(
            "<s>",
            "</s>",
            "<thought>",
            "</thought>",
            "[THINK]",
            "[/THINK]",
            "<tools>",
            "</tools>",
            "<tool_use>",
            "<name>",
        ),
        *("[lookup_order(", 'order_id="ORD-1"', ")]", "```json\n", '{"name":', '"Alice"', "}", "</name><arguments>"),
        *("<|python_tag|>", "<|eom_id|>", "<|x|>", "<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "◁think▷", "◁/think▷"),
        *(
            "`",
            "```",
            "\n",
            " ",
            "Hello.",
            "a",
            "<",
            "[",
            "{",
            '"name": "lookup_order"',
            "assistantfinal",
            "analysisWe",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=14).map("".join)


@given(TEXTS, st.lists(st.integers(0, 300)))
def test_however_a_text_is_cut_into_pieces_it_comes_to_the_same(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    assert seen(*(text[start:end] for start, end in pairwise(places))) == seen(text) == seen(*text)


@given(TEXTS)
def test_no_token_is_ever_shown_outside_of_code(text: str) -> None:
    shown, _, _ = seen(text.replace("`", ""))
    assert not re.search(r"\[TOOL_CALLS\]|<[|｜][a-z_▁]{1,40}[|｜]>", shown)


@given(st.text(alphabet="ab {<[.\n", max_size=20), st.sampled_from(("think", "thinking", "thought", "reasoning")))
def test_reasoning_that_is_closed_is_never_shown(before: str, tag: str) -> None:
    assert seen(f"{before}<{tag}>Hm.</{tag}>Hello.") == (f"{before}Hello.", [], False)


def test_no_text_makes_it_slow() -> None:
    table = ["<think> ", "<thought> [THINK] <reasoning> ", '{"name": "x"} ', "<s>", "[lookup_"]
    misses = []
    for piece in table:
        text = "A " + piece * (24_000 // len(piece))
        if seen(*(text[place : place + 7] for place in range(0, len(text), 7))) != (text, [], False):
            misses.append(piece)
    assert misses == []


@given(st.text(alphabet="abt <>[]/\n`◁{_", max_size=80), st.text(alphabet="xyz <[`{", min_size=1, max_size=20))
def test_what_is_held_back_is_short(before: str, after: str) -> None:
    markup = Markup(TOOLS)
    text = f"Hello. {before}{after}"
    shown = ""
    for position, character in enumerate(text):
        shown += markup.feed(character)
        assert position + 1 - len(shown) <= CODE_CHARACTERS
    assert shown + markup.close() == text


def _spoken(body: bytes) -> str:
    """The text in a stream's chunks."""
    chunks = [orjson.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data: {")]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)


DIALECTS = {
    stream.name: _spoken(stream.body)
    for stream in STREAMS
    if stream.name.startswith("tool-markup.") and "calls" in stream.reply
}


def test_a_call_that_is_cut_anywhere_is_whole_or_nothing() -> None:
    misses = []
    for text in DIALECTS.values():
        _, whole, _ = seen(text)
        for end in range(len(text)):
            _, calls, _ = seen(text[:end])
            if calls != whole[: len(calls)]:
                misses.append((text[:end], calls))
    assert misses == []
