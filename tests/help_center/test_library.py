"""What staff are told of the knowledge base, and what a refresh says on its way."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import select

from bot.agent.endpoints import Price
from bot.agent.model import Usage
from bot.desk.rewriting import Seen, look_for_staff
from bot.help_center import status_texts
from bot.help_center.library import Bases, Library, Refresh
from bot.help_center.status_texts import Watch
from bot.store import audit, inbox, schedule, schema, turns
from bot.store.database import Database
from bot.telemetry import Metrics
from knowledge.build.report import BuildReport, LeftOut, Progress
from knowledge.documents import Notice
from knowledge.errors import BuildFailed, BuildRefused, BuildStopped, EmbedderFailed, KnowledgeError
from knowledge.generations import IndexedSource
from knowledge.knowledge_base import Findings
from knowledge.search.passages import Hit
from knowledge.sources.files import Quarantined
from knowledge.status import Status
from tests.doubles.clock import ManualClock
from tests.store.rows import a_turn
from tests.turns.arrivals import arrival

SOURCES = "sources:\n  - {name: help, folder: help}\n"
INTERNAL = "  - {name: notes, folder: notes, audience: internal}\n"
STATUS = Status(
    embedder="table",
    fingerprint="f",
    degraded=False,
    error=None,
    building=False,
    generation=7,
    documents=1_200,
    chunks=25_000,
    built_at="2026-11-21T03:00:00+00:00",
    sources=(
        IndexedSource("/srv/help", 1_150, "help"),
        IndexedSource("https://help.example.com/map.xml", 50, "site", "It is away."),
    ),
    threshold=0.71,
    previous=6,
)
REPORT = BuildReport(
    added=3,
    changed=2,
    removed=1,
    unchanged=1_194,
    quarantined=(Quarantined("help/bomb.docx", "unpacks to more than 50 MB"),),
    seconds=4.21,
    generation=8,
    documents=1_199,
    chunks=25_010,
    embedded=80,
    threshold=0.7,
    sources=STATUS.sources,
    embedded_tokens=20_000,
)
HIT = Hit("Returns", "Returns > How long", "", "help/returns.md", "", "", "You have *30 days*.", 1.2, "k", words=0.5)
FOUND = Findings((HIT,), 1.2, certainty="clearly")


@dataclass
class FakeBase:
    """Does what it is told to."""

    told: Status = STATUS
    findings: Findings = FOUND
    outcome: BuildReport | KnowledgeError = REPORT
    is_building: bool = False
    is_damaged: bool = False
    progress: Progress | None = None
    until: asyncio.Event | None = None
    """A refresh ends then."""
    listener: Callable[[Progress], None] = lambda progress: None
    """Who hears of the refresh under way."""
    asked: list[tuple[str, bool]] = field(default_factory=list)
    alike_fails: bool = False

    async def status(self) -> Status:
        return self.told

    async def search(self, query: str, **_options: Any) -> Findings:
        return self.findings

    async def refresh(
        self, source: Path, *, only: str, force: bool, on_progress: Callable[[Progress], None]
    ) -> BuildReport:
        self.asked.append((only, force))
        self.listener = on_progress
        if self.progress:
            on_progress(self.progress)
        if self.until:
            await self.until.wait()
        if isinstance(self.outcome, KnowledgeError):
            raise self.outcome
        return self.outcome

    async def rollback(self) -> Status:
        return replace(self.told, generation=6)

    async def alike(self, texts: Sequence[str]) -> list[list[int]]:
        if self.alike_fails:
            raise EmbedderFailed("out_of_hours")
        return [list(range(len(texts)))] if texts else []


@dataclass
class Received:
    """What was told on the way."""

    texts: list[str] = field(default_factory=list)

    async def __call__(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """A YAML file of sources."""
    return write(tmp_path / "kb.yml", SOURCES)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def library(
    public: FakeBase,
    internal: FakeBase | None = None,
    *,
    source: Path | None = None,
    database: Database | None = None,
    price: Price | None = None,
) -> Library:
    bases = Bases(cast(Any, public), cast(Any, internal))
    return Library(bases, source, ManualClock(), price, database)


# Refreshing


async def test_a_refresh_tells_that_it_begins_and_what_changed_and_knows_how_far_it_is(listed: Path) -> None:
    received, watch = Received(), status_texts.Watch()
    base = FakeBase(progress=Progress("embed", 30, 120))
    report = await library(base, source=listed).refresh(Refresh("help", force=True), begins=received, watch=watch)

    assert received.texts == [status_texts.BEGINS]
    assert "embedding, 30 of 120" in watch.text()
    assert "███░░░░░░░░░" in watch.text()
    assert base.asked == [("help", True)]
    assert "3 added, 2 changed, 1 removed, 1,194 unchanged" in report


async def test_a_request_during_a_refresh_is_told_that_it_shares_the_next(listed: Path) -> None:
    received = Received()
    await library(FakeBase(is_building=True), source=listed).refresh(Refresh(), begins=received, watch=Watch())
    assert received.texts == [status_texts.JOINS]


async def test_each_base_is_refreshed_from_its_own_sources(listed: Path) -> None:
    write(listed, SOURCES + INTERNAL)
    public, internal = FakeBase(), FakeBase()
    both = library(public, internal, source=listed)
    told = await both.refresh(Refresh(), begins=Received(), watch=Watch())
    assert told.count("refreshed*") == 2
    assert "Internal" in await both.refresh(Refresh("notes"), begins=Received(), watch=Watch())
    assert (public.asked, internal.asked) == ([("", False)], [("", False), ("notes", False)])


@pytest.mark.parametrize(
    ("text", "only", "told"),
    [
        (SOURCES, "docs", "There is no source docs. There are: help."),
        ("sources: []", "", "lists none"),
        ("sources: [", "", "is not YAML"),
        (SOURCES + INTERNAL, "notes", "restart Frontdesk"),
    ],
)
async def test_what_cannot_be_refreshed_is_told_at_once(listed: Path, text: str, only: str, told: str) -> None:
    write(listed, text)
    received = Received()
    assert told in await library(FakeBase(), source=listed).refresh(Refresh(only), begins=received, watch=Watch())
    assert received.texts == []


async def test_without_kb_path_there_is_nothing_to_refresh() -> None:
    alone = library(FakeBase())
    assert "KB_PATH is not set" in await alone.refresh(Refresh(), begins=Received(), watch=Watch())
    assert "KB_PATH is not set" in await alone.refresh_all()


async def test_internal_sources_that_come_or_go_while_it_runs_want_a_restart(listed: Path) -> None:
    public = library(FakeBase(), source=listed)
    write(listed, SOURCES + INTERNAL)
    told = await public.refresh(Refresh(), begins=Received(), watch=Watch())
    assert "3 added" in told
    assert "restart Frontdesk" in told
    assert "restart Frontdesk" in await public.status()

    write(listed, SOURCES)
    both = library(FakeBase(), FakeBase(), source=listed)
    await both.refresh_all()
    assert "no such source any more" in await both.status()


@pytest.mark.parametrize("error", [BuildRefused("vanishing", "27 of 30 would vanish."), BuildFailed("It <died>.")])
async def test_a_refresh_that_failed_is_told_until_one_succeeds(listed: Path, error: KnowledgeError) -> None:
    base = FakeBase(outcome=error)
    told = library(base, source=listed)
    assert "keeps serving" in await told.refresh(Refresh(), begins=Received(), watch=Watch())
    assert "The last refresh failed." in await told.status()
    assert "<died>" not in await told.status()
    base.outcome = REPORT
    await told.refresh_all()
    assert "failed" not in await told.status()


async def test_who_refreshed_and_rolled_back_is_written_down(listed: Path, database: Database) -> None:
    desk = library(FakeBase(), source=listed, database=database)
    await desk.refresh(Refresh(force=True), begins=Received(), watch=Watch(), by="U0AGENTA")
    await desk.roll_back(by="U0AGENTB")
    async with database.transaction() as tx:
        rows = (await tx.execute(select(schema.audit))).all()
    assert [(row.actor, row.action, row.subject, row.detail) for row in rows] == [
        ("U0AGENTA", "kb_refresh", "all", {"force": True}),
        ("U0AGENTB", "kb_rollback", "public", {"generation": 6}),
    ]


# What is told


def test_a_report_tells_everything_that_an_operator_wants_to_know() -> None:
    told = status_texts.report(REPORT, audience="public", cost=0.0004)
    assert "in 4.2 s" in told
    assert "80 passages embedded, about 20,000 tokens, $0.0004." in told
    assert "`site` is stale: It is away." in told
    assert "left out `help/bomb.docx`: unpacks to more than 50 MB" in told
    assert "$" not in status_texts.report(replace(REPORT, embedded_tokens=0), audience="public")


def test_what_was_left_out_is_named_in_part_in_slack_and_in_full_on_request(tmp_path: Path) -> None:
    files = tuple(Quarantined(f"help/{number}.docx", "encrypted") for number in range(40))
    LeftOut(files, {"*.png": 7, "*.css": 90}).save(tmp_path)
    kept = LeftOut.load(tmp_path)
    told = status_texts.report(replace(REPORT, quarantined=files, passed_over=kept.passed_over), audience="public")
    assert "more left out. `frontdesk kb status --problems` lists them all." in told
    assert "Not read, 97 files: `*.css` (90), `*.png` (7)" in told
    every = status_texts.problems(kept, audience="public").splitlines()
    assert len(every) == 1 + 40 + 2
    assert every[1] == "`help/0.docx`: encrypted"
    assert LeftOut.load(tmp_path / "nowhere") == LeftOut()


@pytest.mark.parametrize(
    ("error", "is_told"),
    [(BuildRefused("empty", "/srv/help holds no document that could be used."), True), (BuildStopped("Ended."), False)],
)
async def test_a_first_build_that_failed_is_an_error_in_words(
    listed: Path, caplog: pytest.LogCaptureFixture, error: KnowledgeError, *, is_told: bool
) -> None:
    nothing = FakeBase(Status("table", "f", degraded=True, error=str(error), building=False), outcome=error)
    told = await library(nothing, source=listed).refresh_all()
    assert "keeps serving" not in told
    assert "nothing can be looked up" in told
    errors = [vars(record) for record in caplog.records if record.levelname == "ERROR"]
    assert [record["reason"] for record in errors] == [str(error)] * is_told


def test_an_index_that_was_damaged_and_is_made_anew_is_told_so() -> None:
    mended = replace(REPORT, added=0, changed=0, removed=0, embedded=0, quarantined=(), sources=(), mended=True)
    told = status_texts.report(mended, audience="public")
    assert "was damaged and was rebuilt" in told
    assert "Generation 8 serves now" in told


def test_an_idle_refresh_is_one_line() -> None:
    idle = replace(REPORT, added=0, changed=0, removed=0, embedded=0, quarantined=(), sources=())
    assert status_texts.report(idle, audience="public").count("\n") == 0
    assert "nothing has changed" in status_texts.report(idle, audience="public")


def test_the_status_counts_invisible_characters_and_names_secrets_by_document_and_kind() -> None:
    many = tuple(Notice(f"help/<{number}>.md", "AWS key", 1, 2, "help") for number in range(7))
    hidden = (
        Notice("help/a.md", "hidden letter", 1_200, origin="help"),
        Notice("help/a.md", "direction override", 2, origin="help"),
        Notice("help/b.md", "hidden letter", 1, origin="help"),
    )
    text = status_texts.status(replace(STATUS, notices=(*many, *hidden)), audience="public", now=0.0)
    source, counted = text[text.index("• `help`") :].split("\n")[:2]
    assert "1,150 documents" in source
    assert counted.strip() == (
        "1,201 hidden letters, 2 direction overrides removed from 2 documents: `help/a.md` (1,202), `help/b.md` (1)"
    )
    assert "`help/&lt;0&gt;.md` contains a secret (AWS key): 2 passages not served." in text
    assert "… and 2 more secrets." in text
    assert "only staff can find it" in status_texts.status(replace(STATUS, notices=many), audience="internal", now=0.0)
    assert "removed from" not in status_texts.status(STATUS, audience="public", now=0.0)


async def test_the_status_tells_everything_and_when_the_next_refresh_is(listed: Path, database: Database) -> None:
    async with database.transaction() as tx:
        await schedule.plan(tx, "kb-refresh", rule="1d", due=1_795_100_000.0)
    server = replace(STATUS, server="http://10.0.0.7:8000", building=True)
    told = await library(FakeBase(server), source=listed, database=database).status()
    for expected in (
        "generation 7",
        "1,200 documents, 25,000 passages",
        "<!date^1795230000^",
        "`help`: 1,150 documents",
        "stale: It is away.",
        "goes back to generation 6",
        "A refresh is running.",
        "Next refresh <!date^1795100000^",
    ):
        assert expected in told
    assert not any(words in told for words in ("Embedder", "0.71", "10.0.0.7", "/srv"))
    in_full = status_texts.status(server, audience="public", now=0.0, in_full=True)
    assert all(words in in_full for words in ("Embedder `table`", "0.71", "10.0.0.7", "from /srv/help"))


async def test_a_search_tells_why(listed: Path) -> None:
    internal = FakeBase(findings=Findings(confidence=0.2))
    told = await library(FakeBase(), internal, source=listed).search("how <long>?")
    public, staff = told.split("\n\n")
    assert "“how &lt;long&gt;?” would be answered: confidence 1.20 (clearly from 0.71, perhaps from 0.00)" in public
    assert "`1.20` (meaning 0.70 + words 0.50) *Returns › How long*, `help/returns.md`" in public
    assert "You have 30 days." in public
    assert "has *no* answer here" in staff
    assert "Nothing found." in staff


async def test_a_search_tells_that_the_pages_answer_only_perhaps(listed: Path) -> None:
    unsure = Findings((HIT,), 0.6, certainty="perhaps")
    told = await library(FakeBase(findings=unsure), FakeBase(findings=unsure), source=listed).search("how long?")
    public, staff = told.split("\n\n")
    assert "would be answered *perhaps*" in public
    assert "has an answer here *perhaps*" in staff


class Rewriting:
    """Rewrites every question into one that is clearly answered."""

    async def look(self, _question: str, _found: Findings) -> Seen:
        return Seen(FOUND, "How long can I return an item?", ("cheap",), Usage(40, 8))


async def test_a_search_shows_what_the_question_was_rewritten_to_and_its_cost_is_counted(listed: Path) -> None:
    searching = library(FakeBase(findings=Findings((HIT,), 0.2)), FakeBase(findings=Findings()), source=listed)
    metrics = Metrics()
    searching.look_again = look_for_staff(cast(Any, Rewriting()), metrics)
    public, staff = (await searching.search("Wie lange?")).split("\n\n")
    assert "would be answered" in public
    assert "Looked for “How long can I return an item?” too" in public
    assert "has *no* answer here" in staff
    assert 'purpose="search"' in metrics.text().decode()


async def test_a_search_that_could_not_be_made_is_not_told_as_one_that_found_nothing() -> None:
    broken = replace(STATUS, error="The texts are damaged.", degraded=True)
    told = await library(FakeBase(broken, Findings(degraded=True))).search("returns")
    assert "couldn't be looked up. The texts are damaged." in told
    lame = await library(FakeBase(broken, Findings((HIT,), 0.6, certainty="clearly", degraded=True))).search("returns")
    assert "by words only" in lame
    none = Status("table", "f", degraded=False, error=None, building=True)
    assert "It is being built." in await library(FakeBase(none)).search("returns")


async def test_rolling_back_tells_what_serves_and_for_how_long() -> None:
    told = await library(FakeBase()).roll_back()
    assert "generation 6 serves again" in told
    assert "next refresh" in told
    assert "no internal" in await library(FakeBase()).roll_back("internal")


def test_whatever_happens_it_fits_into_one_message() -> None:
    many = tuple(Quarantined(f"{'x' * 200}{n}.md", "<" * 2_000) for n in range(300))
    sources = tuple(IndexedSource("/srv/" + "s" * 300, 1, f"s{n}", "why " * 500) for n in range(60))
    text = status_texts.report(replace(REPORT, quarantined=many, sources=sources), audience="public")
    assert len(status_texts.fitting(text)) <= status_texts.MESSAGE_CHARACTERS
    assert len(status_texts.fitting("x" * 50_000)) <= status_texts.MESSAGE_CHARACTERS
    assert status_texts.fitting("short") == "short"


# What was not answered


async def ask(database: Database, question: str, number: int, *, days_ago: int = 1, ended: str = "no_answer") -> None:
    """A turn of its own customer that ended so."""
    async with database.transaction() as tx:
        await inbox.add(tx, arrival(f"{number}.1", text=question), now=0.0)
        item = await inbox.start(tx, number)
        assert item is not None
        message = {"type": "customer", "text": question, "speaker": ""}
        record = a_turn(
            id=item.id, thread=item.thread, ts=item.ts, customer=f"U{number}", ended=ended, messages=[message]
        )
        await turns.save(tx, record, now=ManualClock().now() - days_ago * 86_400)


async def test_gaps_are_told_with_counts_and_without_anybodys_data(database: Database) -> None:
    await ask(database, "Is ORD-1001 for Iceland?", 1, days_ago=20)
    await ask(database, "Ship to Iceland?", 2, days_ago=40)
    await ask(database, "Too long ago?", 3, days_ago=60)
    await ask(database, "Answered?", 4, days_ago=10, ended="answered")
    told = await library(FakeBase(), database=database).gaps(45)
    assert "2 questions about 1 topic" in told
    assert "*2x*, 2 people" in told
    assert "Is [number] for Iceland?" in told
    assert "1001" not in told
    assert "Nearest page: " in told
    assert "every question was answered" in await library(FakeBase(), database=database).gaps(5)


async def test_answers_that_did_not_help_are_gaps_with_their_reasons(database: Database) -> None:
    questions = ["Ship to Iceland?", "Iceland?", "To Iceland, too?", "Helpful?", "Others?", "Long ago?"]
    for number, question in enumerate(questions, start=1):
        await ask(database, question, number, days_ago=3, ended="answered")
    now = ManualClock().now()
    async with database.transaction() as tx:
        for subject, person, rating, days in (
            ("turn/1", "U1", "off_topic", 1),
            ("turn/2", "U2", "wrong", 1),
            ("turn/3", "U3", "wrong", 1),
            ("turn/4", "U4", "up", 1),
            ("turn/5", "U1", "wrong", 1),
            ("turn/6", "U6", "wrong", 40),
            ("case/FD-1001", "U1", "1", 1),
        ):
            await audit.rate(tx, subject, person, rating, now=now - days * 86_400)
    told = await library(FakeBase(), database=database).gaps(30)
    assert "*Not answered, or not helpfully, in the last 30 days*: 3 questions about 1 topic" in told
    assert "Answered, but not helpful: wrong 2, not the question 1" in told
    assert not any(words in told for words in ("Helpful?", "Others?", "Long ago?"))


async def test_without_vectors_only_the_same_words_count_together(database: Database) -> None:
    for number, question in enumerate(["Iceland?", "iceland?", "Crypto?"], start=1):
        await ask(database, question, number)
    told = await library(FakeBase(alike_fails=True), database=database).gaps(30)
    assert "3 questions about 2 topics" in told
    assert "Only identical questions" in told


async def test_without_a_database_no_gaps_are_known() -> None:
    assert "Without a database" in await library(FakeBase()).gaps(30)


def test_the_status_says_how_old_the_index_is_and_what_was_left_out_by_reason() -> None:
    files = [Quarantined(f"a/{number}.md", "empty") for number in range(5)]
    files += [Quarantined("b.docx", "protected by a password"), Quarantined("c.pdf", "no text layer: a scan?")]
    files += [Quarantined("d.md", "larger than 5 MB"), Quarantined("e.md", "binary, not text")]
    built = datetime.fromisoformat(STATUS.built_at).timestamp()
    left_out = replace(STATUS, left_out=LeftOut(tuple(files), {"*.png": 3}))
    text = status_texts.status(left_out, audience="public", now=built + 3 * 86_400 + 5)
    assert "(3 days ago)" in text
    assert "9 left out; `frontdesk kb status --problems` lists them all:" in text
    assert "5x empty, for example `a/0.md`" in text
    assert "2x for 2 other reasons" in text
    assert "Not read, 3 files: `*.png` (3)" in text
    assert "just now" in status_texts.status(STATUS, audience="public", now=built)
