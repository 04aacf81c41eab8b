"""Turns and their costs, as text for the operator's terminal.

turn_text   One turn in full: who asked, what each agent called and got back, how the turn ended, and its cost.
turn_line   One turn in a line.
letter_line One dead letter in a line.
costs_text  A table of totals.

Words of people and models can contain anything. Secrets are masked once more, and control characters, which could
redraw a terminal, are shown as marks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import reduce
from operator import add
from textwrap import indent

from bot.agent.agent import HANDOVER
from bot.agent.messages import (
    AgentMessage,
    CustomerMessage,
    Message,
    StaffMessage,
    SystemNote,
    ToolCall,
    ToolResult,
    from_json,
)
from bot.agent.model import Usage
from bot.guard.guardrails import mask
from bot.store.bodies import InteractionBody
from bot.store.dead_letters import DeadLetter
from bot.store.spending import By, Spending, Total
from bot.store.traces import StoredTurn
from bot.telemetry import SECRET_LENGTH

ENDINGS = {
    "refused": "the desk file refuses its topic, and the customer read the shop's sentence",
    "no_answer": "the pages held no answer, and the customer was told so",
    "escalated": "a person was called",
    "failed": "there was no answer, and a person was called",
    "stopped": "the customer stopped it",
}
"""How a turn ended, where its word does not say all."""
WORDS_SHOWN = 60
"""Characters of the question in a list."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str, *, secrets: Iterable[str] = ()) -> str:
    """The text without secrets and without terminal control characters."""
    for secret in secrets:
        if len(secret) >= SECRET_LENGTH:
            text = text.replace(secret, "[secret]")
    return _CONTROL.sub("\ufffd", mask(text))


def turn_text(turn: StoredTurn, spent: Sequence[Spending], *, clean: Callable[[str], str] = harmless) -> str:
    """One turn in full, as it was in one thread."""
    messages = [from_json(message) for message in (turn.trace or turn.messages)]
    parts = ["\n".join(_heading(turn, spent)), *_told(messages)]
    if turn.trace is not None:
        remembered = [from_json(message) for message in turn.messages]
        texts = [message.text for message in remembered if isinstance(message, AgentMessage)]
        parts.append("In its place the thread remembers:\n" + _indented("\n\n".join(texts)))
    return clean("\n\n".join(parts))


def turn_line(turn: StoredTurn, spent: Sequence[Spending], *, clean: Callable[[str], str] = harmless) -> str:
    """One turn in a line: id, time, customer, ending, reason, agent, tokens, cost, the question's first words."""
    usage = _usage(spent)
    asked = next((m["text"] for m in turn.messages if m["type"] == "customer"), "")
    words = _first_words(asked)
    return clean(
        f"{turn.id:>6}  {_minute(turn.received_at)}  {turn.customer:12}  {turn.ended:9}  {turn.reason or '-':14}  "
        f"{turn.agent:12}  {usage.input_tokens + usage.output_tokens:>8,}  {dollars(usage.cost):>10}  {words}"
    )


def letter_line(letter: DeadLetter, *, clean: Callable[[str], str] = harmless) -> str:
    """One dead letter in a line: id, time, kind, thread, author, reason, tries, the button or the first words."""
    body = letter.body
    words = body.action if isinstance(body, InteractionBody) else _first_words(body.words)
    return clean(
        f"{letter.id:>6}  {_minute(letter.received_at)}  {letter.kind:7}  {letter.thread}  {letter.author:12}  "
        f"{letter.reason:10}  {letter.failures:>3}  {words}"
    )


def costs_text(totals: Sequence[Total], *, by: By, clean: Callable[[str], str] = harmless) -> str:
    """A table of what was spent, with a line for everything together."""
    whole = Total("total", sum(total.uses for total in totals), reduce(add, (t.usage for t in totals), Usage()))
    width = max(len(total.group) for total in (*totals, whole))
    rows = [f"{by:{width}}  {'uses':>7}  {'input':>12}  {'cached':>12}  {'share':>5}  {'output':>12}  {'cost':>12}"]
    for total in (*totals, whole):
        usage = total.usage
        rows.append(
            f"{total.group:{width}}  {total.uses:>7,}  {usage.input_tokens:>12,}  {usage.cached_tokens:>12,}  "
            f"{_cached_share(usage):>5}  {usage.output_tokens:>12,}  {dollars(usage.cost):>12}"
        )
    if whole.usage.estimated:
        rows.append("Some tokens were not counted by their provider and are estimated.")
    return clean("\n".join(rows))


def _cache_of(usage: Usage) -> str:
    written = f", {usage.written_tokens:,} written to the cache" if usage.written_tokens else ""
    return f"{usage.cached_tokens:,} cached{written}"


def _cached_share(usage: Usage) -> str:
    """The share of the input that was read from a provider's cache."""
    return f"{usage.cached_tokens / usage.input_tokens:.0%}" if usage.input_tokens else "–"


def dollars(cost: float) -> str:
    """An amount that shows what single answers cost, too."""
    return f"${cost:,.2f}" if cost >= 100 else f"${cost:.5f}"


def _heading(turn: StoredTurn, spent: Sequence[Spending]) -> Iterator[str]:
    usage = _usage(spent)
    yield f"Turn {turn.id}, {_minute(turn.received_at)} UTC, {turn.finished_at - turn.received_at:.1f} s"
    yield f"customer  {turn.customer}"
    yield f"thread    {turn.thread}, episode {turn.episode}"
    yield f"ended     {turn.ended}{f': {ENDINGS[turn.ended]}' if turn.ended in ENDINGS else ''}"
    if turn.reason:
        yield f"reason    {turn.reason}"
    yield f"agent     {turn.agent}"
    if turn.attempts > 1:
        yield f"attempts  {turn.attempts}"
    for source in turn.sources:
        yield f"source    {source['title']} {source['url']}".rstrip()
    yield f"search    {turn.confidence:.2f}"
    yield f"cost      {dollars(usage.cost)}{', partly estimated' if usage.estimated else ''}"
    for failure in turn.failures:
        yield f"request   failed: {failure}"
    for use in spent:
        tokens = use.usage
        yield (
            f"model     {', '.join(use.models)}: {tokens.input_tokens:,} tokens in ({_cache_of(tokens)}), "
            f"{tokens.output_tokens:,} out, {dollars(tokens.cost)}"
        )


def _told(messages: Sequence[Message]) -> Iterator[str]:
    """What was said and done, in order; each reply of a model is a round."""
    rounds = 0
    for message in messages:
        match message:
            case CustomerMessage(text, speaker):
                yield f"{speaker or 'the customer'} asks\n{_indented(text)}"
            case StaffMessage(text, speaker):
                yield f"{speaker or 'staff'} writes\n{_indented(text)}"
            case SystemNote(text):
                yield f"note\n{_indented(text)}"
            case AgentMessage(text, calls, agent, model):
                rounds += 1
                said = [_indented(text)] if text.strip() else []
                head = " · ".join(word for word in (f"round {rounds}", agent, model) if word)
                yield "\n".join([head, *said, *(_indented(_call(call)) for call in calls)])
            case ToolResult(call_id, name, content, ok, private):
                marks = f"{'' if ok else ', in vain'}{', private' if private else ''}"
                yield f"result of {name} [{call_id}]{marks}\n{_indented(content)}"


def _call(call: ToolCall) -> str:
    arguments = call.arguments.strip() or "{}"
    if call.name.startswith(HANDOVER):
        return f"hands over to {call.name.removeprefix(HANDOVER)} {arguments} [{call.id}]"
    return f"calls {call.name} {arguments} [{call.id}]"


def _indented(text: str) -> str:
    return indent(text.strip(), "  ")


def _usage(spent: Sequence[Spending]) -> Usage:
    return reduce(add, (use.usage for use in spent), Usage())


def _minute(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def _first_words(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= WORDS_SHOWN else f"{words[: WORDS_SHOWN - 2]} …"
