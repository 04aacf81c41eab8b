"""What three providers publish about their prompt caches, as rules that count the tokens of requests.

A provider renders a request in the order tools, instructions, messages, and reads the longest beginning of it that its
cache has. What counts as a beginning, and what a token read or written costs, differs.

OpenAI     From GPT-5.6 on, an entry is a beginning of 1,024 tokens or more up to a breakpoint. One is set by itself at
           the latest message of the user or tool, others are in the request. A request reads the longest entry that
           ends where one of its messages does. A written token costs 1.25 times a plain one, a read one a tenth.
           developers.openai.com/api/docs/guides/prompt-caching, and the types of the package openai 3.52.0
DeepSeek   Each request leaves an entry at the end of its input. A beginning that two requests have in common becomes an
           entry with the second. A request reads the longest entry that it begins with. Writing is free, and a read
           token costs a fiftieth (deepseek-v4-flash). api-docs.deepseek.com/guides/kv_cache
Google     Implicit caching: a request reads what it has in common with an earlier one, from 4,096 tokens on (Gemini 3.8
           Flash). Writing is free, and a read token costs a tenth. ai.google.dev/gemini-api/docs/caching

All were read on 23 November 2026. Prices are those of bot/models/prices.yml.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]
"""The body of a request to Chat Completions."""

OPENAI_LEAST, GOOGLE_LEAST, DEEPSEEK_LEAST = 1_024, 4_096, 64
"""The tokens of the shortest beginning that is cached."""
OPENAI_BREAKPOINTS, OPENAI_EXPLICIT = 80, 3
"""How many of the latest places a request is compared at, and how many marked ones it writes beside its own."""
_PIECE = re.compile(r" ?[^\W\d_]{1,7}|\d{1,3}| ?[^\w\s]{1,3}|_|\s+")
"""About a token: a short word or a part of a long one, three digits, or marks. Without a provider's own tokenizer this
is an estimate. It gives 4.3 characters a token in prose and 3 in JSON."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as a cache sees it."""

    tokens: tuple[str, ...]
    ends: tuple[int, ...]
    """Where a message of the user or a tool ends."""
    breakpoints: tuple[int, ...]
    """Where the request marks the end of a beginning."""


def read_prompt(body: Body) -> Prompt:
    """Render a request as providers do: tools, instructions, messages."""
    tokens = _tokens("".join(json.dumps(tool, separators=(",", ":")) for tool in body.get("tools", ())))
    ends: list[int] = []
    breakpoints: list[int] = []
    for message in body["messages"]:
        tokens.append(f"<{message['role']}>")
        for text, is_marked in _texts(message):
            tokens += _tokens(text)
            if is_marked:
                breakpoints.append(len(tokens))
        for call in message.get("tool_calls") or ():
            tokens += _tokens(json.dumps(call["function"], separators=(",", ":")))
        if message["role"] in ("user", "tool"):
            ends.append(len(tokens))
    return Prompt(tuple(tokens), tuple(ends), tuple(breakpoints))


def _texts(message: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    match message.get("content"):
        case str(text):
            yield text, False
        case [*parts]:
            for part in parts:
                yield part.get("text", ""), "prompt_cache_breakpoint" in part


def _tokens(text: str) -> list[str]:
    return _PIECE.findall(text)


@dataclass(slots=True)
class Count:
    """Input tokens of requests, by what they cost."""

    plain: int = 0
    read: int = 0
    written: int = 0

    @property
    def tokens(self) -> int:
        """All input tokens."""
        return self.plain + self.read + self.written


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider's rules and prices, in US dollars per million tokens."""

    name: str
    model: str
    count: Callable[[Sequence[Prompt]], Count]
    input: float
    cached: float
    write: float

    def cost(self, count: Count) -> float:
        """US dollars for these tokens."""
        return (count.plain * self.input + count.read * self.cached + count.written * self.write) / 1_000_000


def _openai(prompts: Sequence[Prompt]) -> Count:
    """GPT-5.6 and later."""
    count, entries = Count(), set[int]()
    for prompt in prompts:
        places = sorted({*prompt.ends, *prompt.breakpoints}, reverse=True)[:OPENAI_BREAKPOINTS]
        read = next((place for place in places if _entry(prompt, place) in entries), 0)
        writes = [*prompt.breakpoints[-OPENAI_EXPLICIT:], prompt.ends[-1]]
        last = max((place for place in writes if place >= OPENAI_LEAST), default=0)
        entries.update(_entry(prompt, place) for place in writes if place >= OPENAI_LEAST)
        count.read += read
        count.written += max(0, last - read)
        count.plain += len(prompt.tokens) - max(last, read)
    return count


def _deepseek(prompts: Sequence[Prompt]) -> Count:
    count, entries = Count(), set[int]()
    before: list[Prompt] = []
    for prompt in prompts:
        common = {_common(prompt, each) for each in before}
        read = max((place for place in {*common, *prompt.ends} if _entry(prompt, place) in entries), default=0)
        entries.update(_entry(prompt, place) for place in {*common, len(prompt.tokens)} if place >= 64)
        before.append(prompt)
        count.read += read
        count.plain += len(prompt.tokens) - read
    return count


def _google(prompts: Sequence[Prompt]) -> Count:
    count = Count()
    before: list[Prompt] = []
    for prompt in prompts:
        common = max((_common(prompt, each) for each in before), default=0)
        read = common if common >= GOOGLE_LEAST else 0
        before.append(prompt)
        count.read += read
        count.plain += len(prompt.tokens) - read
    return count


def _entry(prompt: Prompt, place: int) -> int:
    return hash(prompt.tokens[:place])


def _common(one: Prompt, other: Prompt) -> int:
    pairs = zip(one.tokens, other.tokens, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one.tokens), len(other.tokens)))


PROVIDERS = (
    Provider("OpenAI", "gpt-6-luna", _openai, input=0.10, cached=0.01, write=0.125),
    Provider("DeepSeek", "deepseek-v4-flash", _deepseek, input=0.30, cached=0.006, write=0.30),
    Provider("Google", "gemini-3.8-flash", _google, input=1.50, cached=0.15, write=1.50),
)
