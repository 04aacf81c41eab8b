"""What reads words from outside takes time in proportion to their length, whatever the words are.

All of it runs on the event loop, or holds the interpreter's lock in a thread: one message that takes seconds is an
outage for everybody. So each function that sees text of customers, staff, models, pages or shops reads a table of
texts on which patterns go quadratic, at the length of the longest message that is kept. It may take so many times as
long as a plain scan of the same text on the same machine, or must grow no faster than its text.
"""

import ast
import logging
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, cast

import pytest
from pydantic import Field

from bot.actions.patterns import TEXT_LIMIT as PATTERN_LIMIT
from bot.actions.patterns import Pattern
from bot.agent.messages import CustomerMessage, StaffMessage, ToolResult
from bot.agent.passages import fit_passages
from bot.agent.patterns import _unmarked, _version
from bot.agent.replies import _new_part
from bot.agent.tools import Context, ToolOutput, tool
from bot.agent.wording import sound_arguments, tidy_name, without_tags, words_of
from bot.cases.messages import copy_for_staff
from bot.cases.titles import title_in
from bot.desk import addressing, courtesies, intents, policy
from bot.desk.answers import Evidence, known_from, passages_text
from bot.desk.danger.asking import danger_in, framed
from bot.desk.danger.classifier import find_danger
from bot.desk.own_words import OwnWords, OwnWordsGate, instructions
from bot.desk.summing_up import as_summary, transcript
from bot.desk.topics import build_topics, marked_topic, without_marks
from bot.desk_file.model import DeskFile
from bot.drafts.drafts import presentable
from bot.guard.claim_patterns import load_wordings
from bot.guard.claimed_actions import words_in
from bot.guard.claims import Claim, ClaimGate, Grounds, find_claims, folded
from bot.guard.grounding import EpisodeEvidence, Grounding
from bot.guard.guardrails import OutputGate, clean, mask
from bot.guard.letters import plain_letters
from bot.guard.personal_data import names_in, without_personal
from bot.guard.tool_results import read_records
from bot.guard.values import durations, read_values
from bot.guard.values import plain as plain_values
from bot.help_center.articles import names_of
from bot.help_center.gaps import impersonal
from bot.help_center.status_texts import plain
from bot.language import rhetoric
from bot.language.matching import PATTERNS, matcher, unquoted
from bot.language.sentences import language_of
from bot.learning.suggestions import read_article
from bot.models.compat.markup import Markup
from bot.models.compat.markup_calls import calls_in, is_whole_json
from bot.models.dialect import named_fields
from bot.models.failures import lost_connection, provider_failure
from bot.models.images import refuses_images
from bot.models.sse import SseReader
from bot.privacy.quotations import Quotations
from bot.reporting.traces import harmless
from bot.slack import mrkdwn
from bot.slack.blocks import one_line
from bot.store.bodies import without_files
from bot.store.cases import Case
from bot.telemetry import _JsonLines
from bot.turns.message_body import said
from handlers import commands, frontdesk
from knowledge.build.secrets import find_secrets
from knowledge.chunking import chunk
from knowledge.documents import Document, read_page
from knowledge.documents import clean as clean_page
from knowledge.embedding.windows import windows
from knowledge.knowledge_base import Findings
from knowledge.markdown import headings
from knowledge.search.passages import Hit
from knowledge.search.questions import facets, without_identifiers
from knowledge.site_markup import plain_markdown
from knowledge.sources.asciidoc import read_asciidoc
from knowledge.sources.faq import read_faq, read_faq_lines
from knowledge.sources.files import Unfit
from knowledge.sources.html import read_html
from knowledge.sources.org import read_org
from knowledge.sources.reader import decode_html
from knowledge.sources.robots import forbids_indexing, read_robots
from knowledge.text import count_hidden, visible
from tests.turns.arrivals import ME

ROOT = Path(__file__).parents[2]
LENGTH = 12_000
"""Characters of the longest message that is kept."""
SHORT, QUARTER = 1_000, 3_000
"""The shorter texts that tell whether the long one need be read."""
SURELY_FAST = 1
"""Scans. What reads the short text in less takes at most 144 for the long one, were it quadratic."""
SURELY_LINEAR = 3.8
"""How many times as long as the short text one of three times its length may take to be linear for the most part."""
FREE = 40
"""Scans that any reading of the long text may take, however it grows."""
GROWTH = 9
"""How many times as long as a quarter's the reading may take beyond that: 4 is linear, 16 quadratic."""
MOST = 300
"""Scans that no reading may take."""
MOST_OF_PARTS = 3_000
"""Scans for those that judge sentence by sentence, or cut by headings."""
BY_PARTS = frozenset(
    {
        *("claim gate", "claim gate in pieces", "claim among others", "find claims", "grounded in words"),
        *("grounded in results", "chunks"),
    }
)
"""Judging what a model writes runs on the loop, as it streams and so a piece at a time; chunks are cut beside it."""
SHARES = 16
"""Of so many seeds a reader reads one when time is short."""

SEEDS = (
    *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~aA1",
    *"“”„«»‹›‘’–—…·¿¡？！。、，；：（）「」•€§°é́ß漢かก한م",
    "\n", " ", "\t", "\r\n", "\u00a0", " \n", "\n\n", "  \n", "é", "\u200d", "👍🏽", "👨‍👩‍👧", "🇩🇪", "ab ", "a b ",
    "Ab ", "word ", "Word ", "a b c d ", "a-b-", "a-", "a_", "a.", "a. ", "A.", "a:", "a,", "a, ", "a\n", "1-",
    "1 ", "12 ", "1a", "1a ", "1.", "1,", "1, ", "+1 ", "(1)", "$1 ", "1/1/", "4111 ", "4111-", "DE12 ", "AA11",
    "a@", "a@a", "a@a.", "@a", "@a.a ", "a.a@", "mailto:", "www.", "http://", "https://a.b/", "https://a?", "//",
    "a://", "<<", "<a", "<a ", "< a", "</", "<@U", "<!", "<!--", "-->", "<!---->", "<br", "<br>", "<|", "<think>",
    "</think>", "](", "[a](", "[a]", "![", "[[", "[a](<", "![a](b", "<http:a|", "<@U1|", "&lt;", "&amp;", "&#",
    "&#60;", "&#x", "``", "```", "```\n", "`a`", "`a", "``a", "```a\n", "~~", "~~~\n", "**", "**a", "__a", "~~a",
    "*a", "_a", "*a* ", "\"a", "“a", "„a", "«a", "'a", "‘a", "(a", "[a", "{a", "\" ", "{\"a\":", "{\"", "[{", "{{",
    "\\\"", "| ", "|-", "|a", "- ", "* ", "1. ", "# ", "> ", "#a", "+ ", "\n- ", "\n# ", "\n|", "=\n", "-\n",
    "---\n", "\t- ", "a? ", "a! ", "? ", "?a", "a?\n", "。a", " .", "..", ". . ", "…a", ".\"", ".)", "?!", "a’",
    "d’a ", "don't ", "' ", "1 Elm ", "12 Elm Street ", "Am Platz ", "A ", "A a ", "10115 ", "Jl. a ", "calle A ",
    "1 rue ", "1 bis ", "-weg ", "password: ", "password is ", "xoxb-", "sk-", "eyJa", "eyJaaaaaaaa.", "bearer ",
    "-----BEGIN A ", "ghp_", "-----BEGIN PRIVATE KEY-----", "AKIA", "cvv ", "mot de ", "n. ", "nr. ", "nr. 1 ",
    "ord-1, ", "ORD-12345 and ", "hi ", "thanks ", "ok, ", "please ", "can you ", "i want ", "human ", "do you ",
    "is this ", "did you get my ", "i have ", "I have refunded you. ", "refunded ", "refund $500 ", "has been ",
    "we have ", "not ", "if ", "your ", "<parameter=a>", "<arg_key>", "<function=a>", "<name>", "{\"name\": ",
    "[a(", "<tool_call>", "[TOOL_CALLS]", "a(", "<draft>", "<t ", "< draft", "verdict ", "TITLE:", "QUESTION: a\n",
    "[customer] ", "<passage", "charset", "<p>", "<div><p>", "<li>", "--source ", "--force ", "—source a ", "<#C1|",
    "nya ", "itu ", "1 Nov ", "Nov 1, ", "1.1.2026 ", "2026-01-02 ", "5 days ", "5-7 days, ", "10 % ", "EUR 1,00 ",
    "1.299,00 ", "+49 30 123 456 ", "ORD-1 ", "SAVE10 ", "1, 2, ", "a[.]", "a [.] ", "1月", "٣", "1 ~ ",
    ":a", ":a:", ":+1:", "(a) ", " _(",
)  # fmt: skip
"""What is repeated,"""
OPENINGS = (
    *(
        "<",
        "</",
        "<a",
        "<@",
        "<!--",
        "&",
        "&#",
        "(",
        "[",
        "[a](",
        "![",
        "{",
        '"',
        "“",
        "'",
        "`",
        "```",
        "*",
        "_",
        "~",
        "|",
    ),
    *("#", ">", "-", "1", "1.", "$", "@", "a@", "http://a", "www.", "not", "password", "bearer", "sk-", "[attached:"),
    *("-----BEGIN", "<message", "<draft", "<t", "verdict", "TITLE:", "QUESTION:", "I have refunded", "your order"),
)
RUNS = (" ", "\n", "\t", "a", "A", "1", "-", ".", "/", "a ", "1 ", "\n ", "é")
OPENED = tuple((opening, run) for opening in OPENINGS for run in RUNS)
"""and what is repeated behind something that begins a match."""
Seed = str | tuple[str, str]

END = "¶"
"""Stands behind each and fits nothing: a pattern that got so far turns back."""


@tool(title="Looking it up")
async def look_up(context: Context, number: Annotated[str, Field(description="Which.")]) -> ToolOutput:
    """Look it up."""
    raise AssertionError(number)


TOOLS = {"look_up": look_up}
WORDINGS = load_wordings()
ALL_PATTERNS = matcher(*PATTERNS)
LOG_LINES = _JsonLines(["a-secret-of-ours"])
CLAIM = Claim("refunded", "stated", sentence="your refund of 500 usd was issued to the card that you paid with")
OWN_WORDS = OwnWords(["xoxb-1234567890-abcdefgh"], instructions())
NOBODY = cast(Case, SimpleNamespace(customer_name="", owner_name=""))


def hit(text: str) -> Hit:
    """A passage with these words."""
    return Hit(text, text, "", "a.md", "", "", text, 1.0, "a")


def found(text: str) -> Findings:
    """What a search came to that found these words."""
    return Findings((hit(text),), 1.0, certainty="clearly")


def evidence(text: str) -> Evidence:
    """What a turn rests on that found them."""
    gathered = Evidence()
    gathered.add(found(text))
    return gathered


def result(text: str) -> ToolResult:
    """What a look-up brought."""
    return ToolResult("call_1", "lookup_order", text)


def grounds(text: str = "") -> Grounds:
    """What claims may rest on."""
    return Grounds(results=lambda: [result(text)], passages=lambda: [text])


def in_pieces(feed: Callable[[str], object], close: Callable[[], object], text: str) -> None:
    """Feed a text as it streams, one to twenty characters at a time."""
    place = 0
    for size in cycle((1, 7, 3, 20, 2, 12, 1, 5)):
        if place >= len(text):
            break
        feed(text[place : place + size])
        place += size
    close()


def output(text: str, *, pieces: bool = False) -> None:
    gate = OutputGate(frozenset({"a.b"}))
    if pieces:
        in_pieces(gate.feed, gate.close, text)
    else:
        gate.feed(text)
        gate.close()


def claims(text: str, *, pieces: bool = False) -> None:
    gate = ClaimGate(WORDINGS, grounds(), OutputGate(frozenset({"a.b"})))
    if pieces:
        in_pieces(gate.feed, gate.settle, text)
    else:
        gate.feed(text)
        gate.settle()


def grounded(text: str, *, in_results: bool = False) -> None:
    """Whether an answer's values stand in the same text, as a customer's and a page's words or as a tool's result."""
    results, pages, messages = [result(text)], [text], [CustomerMessage(text)]
    kept = (
        EpisodeEvidence(lambda: results)
        if in_results
        else EpisodeEvidence(list, lambda: pages, messages, today=date(2026, 1, 2))
    )
    ClaimGate((), Grounds(list, list, kept=kept), OutputGate(frozenset())).find(text)


def counted(text: str) -> None:
    """Whether days follow from those of the text, and from its spans of days."""
    grounding = Grounding(date(2026, 1, 2))
    grounding.add(f"{text} {numbered('{} days, ')} {numbered('{}/1/2026, ')}", "page")
    for value in read_values("9 September 2030, 8 September 2030, +49 30 1234567, 7654321"):
        grounding.holds(value, text[:600])
        grounding.says(text[:600])


def numbered(form: str) -> str:
    """A row of different values."""
    return "".join(form.format(number) for number in range(1, 100))


def events(text: str) -> None:
    reader = SseReader()
    in_pieces(lambda piece: reader.feed(piece.encode()), reader.close, f"data: {text}\n\n")


def markup(text: str, *, pieces: bool = False) -> None:
    reader = Markup([look_up])
    if pieces:
        in_pieces(reader.feed, reader.close, text)
    else:
        reader.feed(text)
        reader.close()


def page(text: str) -> Document:
    return read_page(text, path="a/b.md", markup="markdown")


def html(text: str) -> None:
    with suppress(Unfit):  # nested too deep
        read_html(f"<html><body>{text}</body></html>", path="a.html")


DESK = DeskFile.model_validate(
    {
        "refuse": [{"topic": "Prices", "phrases": ["price match*", "günstiger bei", "a b* cd"], "say": "No."}],
        "people": [{"topic": "Leasing", "phrases": ["job bike", "leas*"]}],
    }
)
TOPICS = build_topics(DESK)
POLICY_PATTERN = Pattern(r"((a|a.|[^1])*|(\w+-?)*)+x{2,20}")

READERS: dict[str, Callable[[str], object]] = {
    # What comes in
    "clean": lambda text: clean(text, limit=LENGTH),
    "mask": mask,
    "from_slack": lambda text: mrkdwn.from_slack(text, bot_user="U0APP"),
    "said": lambda text: said({"text": text}, ME),
    "name of a file": lambda text: said({"files": [{"id": "F1", "name": text, "mimetype": text}]}, ME),
    "kb command": commands.read_command,
    "frontdesk command": frontdesk.read_command,
    "language": lambda text: language_of(text, "en-US"),
    # What code decides by a customer's words
    "asks for a person": policy.asks_for_person,
    "a case's title": lambda text: title_in([text]),
    "needs a person": policy.needs_person,
    "topics": TOPICS.find,
    "marked topic": lambda text: marked_topic(text, DESK.refuse),
    "without marks": without_marks,
    "small talk": courtesies.is_small_talk,
    "questions": policy.questions_in,
    "questions apart": policy.questions_apart,
    "lead up to": lambda text: policy.lead_up_to(f"{text} What is that thing?", "What is that thing?"),
    "compound": policy.is_compound,
    "is grounded": lambda text: policy.is_grounded(text, text, evidence=False),
    "matcher": lambda text: (ALL_PATTERNS.is_in(text), ALL_PATTERNS.begins(text), ALL_PATTERNS.is_all(text)),
    "unquoted": unquoted,
    "rhetorical": rhetoric.is_rhetorical,
    "about something": rhetoric.is_about_something,
    "only asks": rhetoric.only_asks,
    "affirms": courtesies.affirms,
    "asks nothing": courtesies.asks_nothing,
    "last word": courtesies.is_last_word,
    "says stop": intents.says_stop,
    "says settled": intents.says_settled,
    "may say settled": intents.may_say_settled,
    "asks how long": intents.asks_how_long,
    "upset": policy.is_upset,
    "changes meaning": lambda text: intents.changes_meaning(text, f"{text[:-2]}a{END}"),
    "quotations": lambda text: Quotations([text], [text[:50]]).are_in_any({"text": [text, f'{{"a": "{text}"}}']}),
    "without personal": lambda text: without_personal(text, names=["Ada Lovelace"]),
    "names": lambda text: names_in([text]),
    "impersonal": impersonal,
    "for whom": lambda text: (addressing.concerns_us(text, matter=[text]), addressing.says_unsettled(text)),
    "without files": without_files,
    "danger": find_danger,
    "danger by a model": lambda text: (framed(text), danger_in(text)),
    # What the models write
    "output gate": output,
    "output gate in pieces": partial(output, pieces=True),
    "folded": folded,
    "plain letters": plain_letters,
    "words of a sentence": words_in,
    "find claims": lambda text: list(find_claims(folded(text), WORDINGS)),
    "claim gate": claims,
    "claim gate in pieces": partial(claims, pieces=True),
    "claim among others": lambda text: ClaimGate(WORDINGS, grounds(text), OutputGate(frozenset())).find(text),
    "values": lambda text: read_values(plain_values(text)),
    "spans of time": lambda text: durations(plain_values(text)),
    "grounded in words": grounded,
    "grounded in results": partial(grounded, in_results=True),
    "counted days": counted,
    "events of a stream": events,
    "own words": lambda text: OwnWordsGate(OWN_WORDS).feed(text),
    "markup": markup,
    "markup in pieces": partial(markup, pieces=True),
    "calls": lambda text: calls_in(text, TOOLS),
    "calls behind a mark": lambda text: calls_in(f"<function=look_up>{text}", TOOLS),
    "whole JSON": is_whole_json,
    "arguments": sound_arguments,
    "name of a tool": tidy_name,
    "continuation": lambda text: _new_part(f"Hello. {text}", f"{text} and more"),
    "checked draft": lambda text: _version(f"verdict\n{text}", text[:-5]),
    "sheet": _unmarked,
    "article": read_article,
    "article in parts": lambda text: read_article(f"TITLE: {text}\nQUESTION: {text}\nANSWER: {text}"),
    "summary": as_summary,
    "image refusal": refuses_images,
    "failure": lambda text: provider_failure({"message": text, "code": text}, status=400),
    "refused fields": lambda text: list(named_fields({"message": text, "param": text})),
    "lost connection": lambda text: lost_connection(OSError(text)),
    "log line": lambda text: LOG_LINES.format(logging.makeLogRecord({"msg": text})),
    # How words are shown
    "mrkdwn": mrkdwn.to_mrkdwn,
    "best cut": lambda text: mrkdwn.best_cut(text, limit=mrkdwn.MESSAGE_BYTES),
    "last cut": mrkdwn.last_cut,
    "seam": mrkdwn.seam,
    "draft for staff": lambda text: presentable(text, frozenset()),
    "copy for staff": lambda text: copy_for_staff(text, text),
    "one line": lambda text: one_line(text, 200),
    "plain words": plain,
    "names of people": lambda text: names_of(NOBODY, [StaffMessage(f"*{text}*\n{text}", speaker="U1")]),
    "trace": harmless,
    "tags": lambda text: without_tags(text, "draft", "message"),
    "words for a model": lambda text: words_of(CustomerMessage(text, speaker="U1"), tagged=True),
    "transcript": lambda text: transcript([CustomerMessage(text), result(text)]),
    "passages of a conversation": lambda text: fit_passages(
        [CustomerMessage("", passages=f'<passage title="{text}">\n{text}\n</passage>{text}')], characters=1_000
    ),
    # What the pages and the shop say
    "visible": lambda text: (visible(text), count_hidden(text)),
    "secrets of a page": find_secrets,
    "facets": facets,
    "without identifiers": without_identifiers,
    "windows": lambda text: windows(text, text, words=100),
    "page cleaned": clean_page,
    "page": page,
    "page with fields": lambda text: page(f"---\ntitle: {text}\n{text}\n---\n{text}"),
    "headings": lambda text: list(headings(text)),
    "page with components": lambda text: plain_markdown(text, jsx=True),
    "AsciiDoc": lambda text: read_asciidoc(text, path="a.adoc"),
    "Org": lambda text: read_org(text, path="a.org"),
    "chunks": lambda text: chunk(page(text)),
    "HTML": html,
    "robots.txt": lambda text: read_robots(f"User-agent: *\nDisallow: {text}\n{text}").allows(
        f"https://a.example/{text}"
    ),
    "rule with wildcards": lambda text: read_robots("User-agent: *\nDisallow: /*a*a*$").allows(
        f"https://a.example/{text}"
    ),
    "noindex": lambda text: forbids_indexing([text, f"a: {text}"]),
    "HTML charset": lambda text: decode_html(f"<meta {text}".encode()),
    "FAQ": lambda text: list(read_faq_lines(text, path="a.jsonl")),
    "FAQ table": lambda text: list(read_faq(f"question,answer\n{text},{text}\n", path="a.csv")),
    "passages": lambda text: passages_text(found(text), today=date(2026, 1, 2)),
    "sources": lambda text: evidence(text).sources(text),
    "supports": lambda text: evidence(text).supports(text),
    "records": lambda text: read_records([result(text), result(f'{{"order":"1","total":"{text}"}}')]),
    "known": lambda text: known_from([result(text)]),
    "grounds": lambda text: grounds(text).bear(CLAIM),
    "pattern of a policy": lambda text: [POLICY_PATTERN.matches(text[:size]) for size in (100, PATTERN_LIMIT, LENGTH)],
}


UNREAD = {
    "what operators and we ourselves wrote": (
        *(
            "bot.cli.main",
            "bot.cli.terminal",
            "bot.cli.trying",
            "bot.settings",
            "bot.privacy.retention",
            "bot.actions.clauses",
            "bot.actions.policy_file",
            "bot.procedures.file",
            "bot.cases.hours",
            "bot.help_center.recurrence",
            "bot.desk.prompts",
            "bot.shops.declared.draft",
            "bot.shops.declared.openapi",
            "knowledge.config",
        ),
        *(
            "bot.agent.agent",
            "bot.models.families",
            "bot.models.prices",
            "bot.models.providers",
            "bot.turns.answers.journal",
            "knowledge.generations",
        ),
        *("bot.language.scripts", "bot.store.moving", "handlers.actions", "handlers.messages"),
        "knowledge.sources.generators",
    ),
    "whole values of a bounded length": (
        *(
            "bot.agent.loop",
            "bot.cases.bulk",
            "bot.home.search_terms",
            "bot.reporting.groups",
            "bot.views.search_cards",
            "bot.shops.order_numbers",
            "bot.desk.shipping",
            "bot.shops.lookups",
            "bot.shops.router",
            "bot.shops.easypost.parcels",
            "bot.shops.declared.expressions",
            "bot.shops.declared.templates",
            "bot.slack.api.errors",
        ),
        *("handlers.feedback", "handlers.hook_senders", "handlers.http", "handlers.payloads", "knowledge.sources.docx"),
        "knowledge.sources.exports",
    ),
    "files, by many encodings or by docutils, in a process with a deadline": (
        *("knowledge.sources.encodings", "knowledge.sources.rst"),
    ),
    "one kind of characters, or a few of them between two that are fixed": (
        *("bot.models.call_fragments", "bot.models.chat_stream", "bot.models.responses", "bot.reporting.outcomes"),
        *(
            "bot.help_center.texts",
            "bot.reporting.why",
            "bot.store.drafts",
            "knowledge.build.calibration",
            "knowledge.embedding.table",
        ),
        *("bot.shops.shopify.reading", "knowledge.search.keywords", "knowledge.sources.pdf"),
    ),
}
"""Modules with patterns that are not in the table, by what their patterns see."""


def test_every_module_with_a_pattern_is_in_the_table_or_says_why_not() -> None:
    calls = {
        f"re.{name}" for name in ("compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub")
    }
    with_patterns = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for folder in ("bot", "handlers", "knowledge")
        for path in (ROOT / folder).rglob("*.py")
        if any(isinstance(each, ast.Call) and ast.unparse(each.func) in calls for each in ast.walk(parsed(path)))
    }
    imported = [each for each in parsed(Path(__file__)).body if isinstance(each, ast.ImportFrom)]
    read = {str(each.module) for each in imported}
    read |= {f"{each.module}.{alias.name}" for each in imported for alias in each.names}
    unread = {name for names in UNREAD.values() for name in names}
    assert sorted(with_patterns - read - unread) == []
    assert sorted(unread - with_patterns) == []
    assert sorted(unread & read) == []


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def test_no_text_takes_longer_than_its_length_allows() -> None:
    """Each reader reads a share of the seeds, each seed is read by a share of the readers."""
    misses = [
        (name, slow)
        for place, (name, read) in enumerate(READERS.items())
        for slow in slow_seeds(read, (SEEDS + OPENED)[place % SHARES :: SHARES], most=most_of(name))
    ]
    assert misses == []


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_no_text_of_all_takes_longer_than_its_length_allows(name: str) -> None:
    assert slow_seeds(READERS[name], SEEDS + OPENED, most=most_of(name)) == []


def test_a_pattern_that_is_tried_from_each_mark_is_found() -> None:
    """Both patterns take many times what is allowed, so no busy machine hides them."""
    marks = "([{<*_`~#$"
    from_each_mark = re.compile("|".join(rf"{re.escape(mark)}\s*[{re.escape(marks)}]+a" for mark in marks)).search
    behind_one = re.compile("|".join([r"<\s*/?\s*a"] * len(marks))).search
    assert slow_seeds(from_each_mark, ["("])
    assert slow_seeds(from_each_mark, ["word "]) == []
    assert slow_seeds(behind_one, [("<", " ")])
    assert slow_seeds(behind_one, ["< "]) == []


@pytest.mark.parametrize(("power", "is_slow"), [(1, False), (2, True)])
def test_time_that_grows_faster_than_its_text_is_slow(
    monkeypatch: pytest.MonkeyPatch, power: int, *, is_slow: bool
) -> None:
    """With the times of an even clock: a whole text of 280 scans is too slow only where a quarter takes less than a
    ninth of it."""
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "scan_time", lambda: 1.0)
    monkeypatch.setattr(module, "reading_time", lambda read, text: 280.0 * (len(text) / LENGTH) ** power)
    assert bool(slow_seeds(len, ["("])) is is_slow


def most_of(name: str) -> int:
    return MOST_OF_PARTS if name in BY_PARTS else MOST


def slow_seeds(read: Callable[[str], object], seeds: Sequence[Seed], *, most: int = MOST) -> list[str]:
    """The repeated seeds that are read too slowly three times in a row."""
    read(f"a{END}")  # what is made once is not counted
    told = ((seed, slowness(read, seed, most)) for seed in seeds)
    return [slow for seed, slow in told if slow and all(slowness(read, seed, most) for _ in range(2))]


def slowness(read: Callable[[str], object], seed: Seed, most: int) -> str:
    """How a repeated seed is read too slowly; empty when it is not."""
    scan = scan_time()
    short = reading_time(read, repeated(seed, SHORT))
    if short < SURELY_FAST * scan:
        return ""
    quarter = reading_time(read, repeated(seed, QUARTER))
    if quarter > most * scan:
        return f"{seed!r}: a quarter takes {quarter / scan:.0f} scans"
    if quarter * 16 < FREE * scan or quarter < SURELY_LINEAR * short:
        return ""
    whole = reading_time(read, repeated(seed, LENGTH))
    # What holds back a piece of the text, as a gate does, pays for it from the second piece on.
    free = FREE * most // MOST
    if whole > most * scan or (whole > free * scan and whole > GROWTH * quarter):
        return f"{seed!r}: {whole / scan:.0f} scans, {whole / quarter:.0f} times a quarter's"
    return ""


def repeated(seed: Seed, length: int) -> str:
    """The seed so often as that length takes, behind its opening if it has one, and an end that fits nothing."""
    opening, run = ("", seed) if isinstance(seed, str) else seed
    return (opening + run * (length // len(run) + 1))[: length - len(END)] + END


def reading_time(read: Callable[[str], object], text: str) -> float:
    """Seconds of this thread's own time."""
    begun = time.thread_time()
    read(text)
    return time.thread_time() - begun


def scan_time() -> float:
    """Seconds in which every character of the longest text is looked at once, in Python."""
    text = "a" * LENGTH
    begun = time.thread_time()
    sum(character.isalnum() for character in text)
    return time.thread_time() - begun
