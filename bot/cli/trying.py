"""`frontdesk try`: a question answered on the terminal, with everything that an answer rests on."""

import argparse
import json
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from bot.agent.messages import AgentMessage, ToolResult
from bot.cli.terminal import as_plain
from bot.clock import SystemClock
from bot.conversation import Customer
from bot.desk.own_words import OwnWords, instructions
from bot.desk.rewriting import SecondLook, build_rewriter
from bot.desk.server_tools import server_tools
from bot.desk.topics import build_topics
from bot.desk_file.model import DeskFile
from bot.desk_file.reading import read_desk_file
from bot.errors import ConfigurationError
from bot.guard.claim_patterns import load_wordings
from bot.integrations import answer_limits, open_knowledge, open_models, open_shop
from bot.language.sentences import load_sentences
from bot.models.prices import load_prices
from bot.settings import Settings
from bot.shops.actions import Shop
from bot.shops.port import ShopUnavailable
from bot.slack.api.transport import Block
from bot.turns.agents import build_agents
from bot.turns.decide import Answer, HandOver, Refuse
from bot.turns.trial import THREAD, CalledPeople, Searches, Trial, try_question

WIDTH = 100
"""The columns of one answer, if the terminal has them."""
LEAST_WIDTH = 36
RESULT_LIMIT = 240
"""Characters of a tool's result that are shown."""
PASSAGES = 6
"""Passages of a search that are shown."""
LABEL = 10
"""The columns of a line's label."""

_LINK = re.compile(r"<([^<>|]+)\|([^<>]*)>")

Fact = tuple[str, str]
"""A label, and what is known under it."""


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Answer the question with one desk file, or with two side by side."""
    if settings.openai_api_key is None:
        raise ConfigurationError(["OPENAI_API_KEY is missing: frontdesk try asks a model"])
    files = [settings.desk_file, *([given.desk] if given.desk else [])]
    desks = [(_name(path), read_desk_file(path) if path else DeskFile()) for path in files]
    async with AsyncExitStack() as stack:
        shop = await stack.enter_async_context(open_shop(settings)) if settings.has_shop else None
        bases = await stack.enter_async_context(open_knowledge(settings, mends=False))
        models = await stack.enter_async_context(open_models(settings, load_prices(settings.model_prices)))
        customer = await _customer(given, shop)
        columns: list[list[Fact]] = []
        answers: list[list[str]] = []
        for name, desk in desks:
            searches, called = Searches(bases.public), CalledPeople()
            knowledge = cast(Any, searches)
            agents = build_agents(
                desk,
                knowledge=knowledge,
                second_look=SecondLook(knowledge, models.only_cheap, build_rewriter(shop_name=desk.shop)),
                sentences=load_sentences(settings.sentences_path),
                clock=SystemClock(),
                cases=called,
                shop=shop,
                models=models,
                wordings=load_wordings(),
                link_hosts=settings.link_hosts,
                own_words=OwnWords(settings.secrets, instructions()),
                layout=settings.agents,
                takes_apart=settings.compound_answers == "split",
                checks=settings.check_answers == "on",
                more_tools=server_tools(shop.tool_servers if shop else ()),
            )
            trial = await try_question(
                " ".join(given.question),
                customer=customer,
                desk=desk,
                topics=build_topics(desk),
                agents=agents,
                called=called,
                sentences=load_sentences(settings.sentences_path),
                limits=answer_limits(settings),
            )
            columns.append([("desk", name), *_facts(trial, searches)])
            answers.append([*_answer(trial)])
    width = _width(len(columns))
    facts = [[part for line in column for part in _labelled(*line, width=width)] for column in columns]
    words = [[part for line in answer for part in textwrap.wrap(line, width) or [""]] for answer in answers]
    for line in (*_beside(facts, width), "", *_beside(words, width)):
        print(line)
    return 0


def _name(path: Path | None) -> str:
    return str(path) if path else "no desk file"


async def _customer(given: argparse.Namespace, shop: Shop | None) -> Customer:
    """Who asks. Raises ConfigurationError if the shop does not know the address."""
    customer = Customer(THREAD.team, "U0TRY", "You", given.locale, "member", country=given.country.upper())
    if given.customer is None:
        return customer
    if shop is None:
        raise ConfigurationError(["try: --customer needs SHOP_URL or SHOP_FILE"])
    try:
        known = await shop.find_customer(given.customer)
    except ShopUnavailable as error:
        raise ConfigurationError([f"try: the shop does not answer ({error})"]) from None
    if known is None:
        raise ConfigurationError(["try: the shop knows no customer with this address"])
    return Customer(THREAD.team, "U0TRY", known.name, given.locale, "member", shop=known, country=customer.country)


def _facts(trial: Trial, searches: Searches) -> Iterator[Fact]:
    yield "decided", _decided(trial)
    for query, findings in searches.found:
        yield "searched", f"{query!r}: {findings.certainty} ({findings.confidence:.2f})"
        for hit in findings.hits[:PASSAGES]:
            yield "", f"{hit.score:.2f} {hit.heading or hit.title}{f' · {hit.url}' if hit.url else ''}"
    yield from _work(trial)
    for case in trial.cases:
        yield "case", f"{case.reason}, {case.priority} priority{f': {case.summary}' if case.summary else ''}"
    yield "ended", f"{trial.ended}, {trial.seconds:.1f} s"


def _answer(trial: Trial) -> Iterator[str]:
    """The answer as the customer reads it, with what is under it."""
    yield from (as_plain(trial.said.strip()) or "(nothing)").splitlines()
    if under := list(_under(trial.under)):
        yield ""
        yield from under


def _decided(trial: Trial) -> str:
    match trial.decision:
        case Answer():
            return f"the agents answer, in {trial.language}"
        case HandOver(reason, topic):
            return f"in code: a person is called ({reason}{f': {topic.topic}' if topic else ''})"
        case Refuse(topics):
            return f"in code: refused ({', '.join(topic.topic for topic in topics)})"
        case other:
            return f"in code: {type(other).__name__.lower()}"


def _work(trial: Trial) -> Iterator[Fact]:
    """The agents' calls, the tokens and money, and the checks."""
    asked = trial.asked
    if asked is None:
        return
    messages = asked.did or asked.outcome.messages
    results = {message.call_id: message for message in messages if isinstance(message, ToolResult)}
    for message in messages:
        for call in message.calls if isinstance(message, AgentMessage) else ():
            result = results.get(call.id)
            found = " ".join(result.content.split())[:RESULT_LIMIT] if result else "no result"
            failed = "" if result and result.ok else "failed: "
            yield "tool", f"{call.name} {_short(call.arguments)} -> {failed}{found}"
    outcome, usage = asked.outcome, asked.outcome.usage
    rounds = sum(isinstance(message, AgentMessage) for message in messages)
    models = ", ".join(outcome.models) or "none"
    tokens = f"{usage.input_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"
    yield "model", f"{models}: {rounds} round{'' if rounds == 1 else 's'}, {tokens}, ${usage.cost:.4f}"
    if trial.tasks:
        yield "shown", "; ".join(trial.tasks)
    reply = asked.reply
    claim = f", withheld from: {reply.claim}" if reply.claim else ""
    leak = f", held the desk's {reply.leak}" if reply.leak else ""
    pages = ", ".join(hit.title for hit in asked.sources)
    yield "checks", f"{asked.verdict}{claim}{leak}, {f'rests on: {pages}' if pages else 'no page as source'}"


def _short(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)[:RESULT_LIMIT]
    except ValueError:
        return arguments[:RESULT_LIMIT]


def _under(blocks: Sequence[Block]) -> Iterator[str]:
    """What is under an answer: a line for each source, and the buttons on one."""
    for block in blocks:
        texts = [as_plain(_LINK.sub(r"\2 (\1)", text)) for text in _texts(block) if text.strip()]
        if block.get("type") in ("actions", "context_actions"):
            yield " ".join(f"[{text}]" for text in texts)
        else:
            yield from texts


def _texts(value: Any) -> Iterator[str]:
    match value:
        case {"text": str(text)}:
            yield text
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list() | tuple():
            for each in value:
                yield from _texts(each)


def _width(columns: int) -> int:
    """The width of a column."""
    whole = shutil.get_terminal_size((WIDTH * columns, 24)).columns
    return max(LEAST_WIDTH, min(WIDTH, (whole - 3 * (columns - 1)) // columns))


def _labelled(label: str, words: str, *, width: int) -> list[str]:
    first = f"{label:<{LABEL}}"
    return textwrap.wrap(words, width, initial_indent=first, subsequent_indent=" " * LABEL) or [first]


def _beside(columns: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """The columns side by side."""
    for parts in zip_longest(*columns, fillvalue=""):
        yield " │ ".join(part.ljust(width) for part in parts).rstrip()
