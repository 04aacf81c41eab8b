"""Web help centres are read politely: at their pace, after a rest where they ask for one, and only what they allow."""

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web

from demo.ports import listening
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import SourceUnreadable
from knowledge.sources import pace
from knowledge.sources import site as module
from tests.knowledge.test_site import HTML, Site, fetch, open_site, page, reasons, refresh
from tests.patience import patience


@pytest.fixture(autouse=True)
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The rests that were taken, which take no time."""
    taken: list[float] = []
    monkeypatch.setattr(pace, "BACK_OFF", (0.0, 0.0))
    monkeypatch.setattr(pace.Pace, "rest", lambda _, seconds: taken.append(seconds))
    return taken


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with open_site() as opened:
        opened.pages |= {f"/help/{name}": page(name) for name in ("gifts", "returns")}
        opened.lists("/help/gifts", "/help/returns")
        yield opened


def answers(site: Site, path: str, *given: Callable[[], web.Response]) -> None:
    """Answer requests for this path in turn; after the last, as before."""
    before = site.answer
    waiting = list(given)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == path and waiting:
            site.asked.append((path, ""))
            return waiting.pop(0)()
        return await before(request)

    site.answer = answer  # type: ignore[method-assign]


def asked(site: Site, path: str) -> int:
    return sum(1 for each, _ in site.asked if each == path)


@pytest.fixture
async def busy() -> AsyncIterator[Site]:
    """A site whose answers can be scripted before it starts to listen."""
    site = Site()
    app = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        return await site.answer(request)

    app.router.add_get("/{path:.*}", handle)
    async with listening(app) as site.url:
        site.pages |= {f"/help/{name}": page(name) for name in ("gifts", "returns")}
        site.lists("/help/gifts", "/help/returns")
        yield site


async def test_a_busy_site_is_asked_again_after_the_rest_that_it_wants(
    busy: Site, tmp_path: Path, rests: list[float]
) -> None:
    answers(
        busy,
        "/help/gifts",
        lambda: web.Response(status=429, headers={"Retry-After": "30"}),
        lambda: web.Response(status=503, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    )
    listing = await fetch(busy.source(), tmp_path)
    assert len(listing.files) == 2
    assert not listing.quarantined
    assert rests == [30.0], "a moment that is past asks for no rest"
    assert asked(busy, "/help/gifts") == 3


async def test_a_site_that_wants_a_long_rest_is_left_alone(busy: Site, tmp_path: Path, rests: list[float]) -> None:
    answers(busy, "/help/gifts", lambda: web.Response(status=429, headers={"Retry-After": "3600"}))
    listing = await fetch(busy.source(), tmp_path)
    assert [each.reason for each in listing.quarantined] == ["the site answers 429, and asks to wait 60 minutes"]
    assert (rests, asked(busy, "/help/gifts")) == ([], 1)


async def test_a_connection_that_breaks_is_tried_again(busy: Site, tmp_path: Path) -> None:
    before = busy.answer
    broken: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/help/gifts" and len(broken) < 2 and request.transport:
            broken.append(request.path)
            request.transport.abort()
        return await before(request)

    busy.answer = answer  # type: ignore[method-assign]
    listing = await fetch(busy.source(), tmp_path)
    assert (len(listing.files), len(broken)) == (2, 2)


async def test_a_page_that_is_gone_is_asked_for_once(site: Site, tmp_path: Path) -> None:
    site.pages["/help/gifts"] = 404
    await fetch(site.source(), tmp_path)
    assert asked(site, "/help/gifts") == 1


async def test_a_site_whose_pages_all_fail_is_left_alone(site: Site, tmp_path: Path) -> None:
    paths = [f"/p/{number:03}" for number in range(60)]
    site.lists("/help/gifts", *paths)
    site.pages |= dict.fromkeys(paths, 500)
    listing = await fetch(site.source(at_once=1), tmp_path)
    assert [file.path for file in listing.files] == ["site/127.0.0.1/help/gifts"]
    failed = [each for each in listing.quarantined if each.reason == "the site answers 500"]
    spared = [each for each in listing.quarantined if each.reason.startswith("not asked for, since 10 pages failed")]
    assert (len(failed), len(spared)) == (10, 50)
    assert sum(1 for path, _ in site.asked if path in paths) == 30


async def test_requests_are_spaced_out() -> None:
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    keeper = pace.Pace(per_second=10, clock=lambda: now, sleep=sleep)
    moments: list[float] = []
    for _ in range(4):
        await keeper.wait()
        moments.append(now)
    keeper.slow_down(500.0)
    for _ in range(2):
        await keeper.wait()
        moments.append(now)
    gaps = [round(after - before, 3) for before, after in pairwise(moments)]
    assert gaps == [0.1, 0.1, 0.1, 0.1, 10.0], "a delay that robots.txt asks for has its limit"


async def test_what_robots_txt_forbids_is_not_asked_for(site: Site, tmp_path: Path, embedder: TableEmbedder) -> None:
    kb = tmp_path / "kb"
    site.pages |= {f"/help/{name}": page(name) for name in ("fees", "hours", "size")}
    site.lists(*(f"/help/{name}" for name in ("gifts", "returns", "fees", "hours", "size")))
    assert (await refresh(kb, embedder, site.source())).added == 5
    site.pages["/robots.txt"] = web.Response(text="User-agent: *\nDisallow: /help/gifts\n")
    site.asked.clear()
    report = await refresh(kb, embedder, site.source())
    assert (report.removed, reasons(report)) == (1, {"gifts": "robots.txt does not allow it"})
    assert asked(site, "/help/gifts") == 0
    assert asked(site, "/robots.txt") == 1

    own = await refresh(kb, embedder, site.source(robots=False))
    assert (own.added, reasons(own)) == (1, {})


async def test_a_redirect_does_not_lead_around_robots_txt(site: Site, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = web.Response(text="User-agent: *\nDisallow: /drafts/\n")
    site.pages["/help/gifts"] = web.Response(status=302, headers={"Location": "/drafts/gifts"})
    listing = await fetch(site.source(), tmp_path)
    assert [each.reason for each in listing.quarantined] == ["robots.txt does not allow it"]
    assert asked(site, "/drafts/gifts") == 0


async def test_a_site_whose_robots_txt_fails_keeps_its_pages(
    site: Site, tmp_path: Path, embedder: TableEmbedder
) -> None:
    site.pages["/robots.txt"] = 503
    with pytest.raises(SourceUnreadable, match=r"robots\.txt cannot be read: the site answers 503"):
        await fetch(site.source(), tmp_path)
    del site.pages["/robots.txt"]
    await refresh(tmp_path / "kb", embedder, site.source())
    site.pages["/robots.txt"] = 503
    report = await refresh(tmp_path / "kb", embedder, site.source())
    assert (report.removed, report.unchanged) == (0, 2)


@pytest.mark.parametrize("where", ["header", "meta"])
async def test_a_page_that_asks_not_to_be_indexed_is_left_out(
    site: Site, tmp_path: Path, embedder: TableEmbedder, where: str
) -> None:
    if where == "header":
        site.pages["/help/gifts"] = web.Response(text=page("gifts"), headers={**HTML, "X-Robots-Tag": "noindex"})
    else:
        site.pages["/help/gifts"] = f'<head><meta name="Robots" content="nofollow, NOINDEX"></head>{page("gifts")}'
    report = await refresh(tmp_path / "kb", embedder, site.source())
    assert report.documents == 1
    assert "not to" in reasons(report)["gifts"]
    assert (await refresh(tmp_path / "kb", embedder, site.source(robots=False))).documents == 2


async def test_a_sitemap_and_rules_that_ask_not_to_be_indexed_are_read(
    site: Site, tmp_path: Path, embedder: TableEmbedder
) -> None:
    listed = site.pages["/sitemap.xml"]
    assert isinstance(listed, str)
    unindexed = {"X-Robots-Tag": "noindex, follow"}
    site.pages["/sitemap.xml"] = web.Response(text=listed, headers=unindexed)
    site.pages["/robots.txt"] = web.Response(text="User-agent: *\nDisallow: /help/gifts", headers=unindexed)
    report = await refresh(tmp_path / "kb", embedder, site.source())
    assert report.documents == 1
    assert "robots.txt" in reasons(report)["gifts"]


async def test_a_site_whose_missing_rules_ask_not_to_be_indexed_allows_all(
    site: Site, tmp_path: Path, embedder: TableEmbedder
) -> None:
    site.pages["/robots.txt"] = web.Response(status=404, headers={"X-Robots-Tag": "noindex"})
    assert (await refresh(tmp_path / "kb", embedder, site.source())).documents == 2


async def test_a_page_with_several_addresses_is_read_once(site: Site, tmp_path: Path, embedder: TableEmbedder) -> None:
    def variant(name: str) -> str:
        return f'<head><link rel="canonical" href="/help/{name}"></head>{page(name)}'

    site.pages |= {"/help/gifts": variant("gifts"), "/en/gifts": variant("gifts"), "/fr/returns": variant("returns")}
    site.lists("/en/gifts", "/fr/returns", "/help/gifts")
    for _ in range(3):
        report = await refresh(tmp_path / "kb", embedder, site.source())
        assert report.documents == 2
        assert report.passed_over == {"the same page under another address (canonical link)": 1}
        assert not report.quarantined


async def test_a_template_that_names_the_first_page_everywhere_loses_no_page(
    site: Site, tmp_path: Path, embedder: TableEmbedder
) -> None:
    for name in ("gifts", "returns"):
        site.pages[f"/help/{name}"] = f'<head><link rel="canonical" href="{site.url}/"></head>{page(name)}'
    assert (await refresh(tmp_path / "kb", embedder, site.source())).documents == 2


async def test_the_encoding_that_the_server_names_counts(site: Site, tmp_path: Path, embedder: TableEmbedder) -> None:
    body = "<body><main><h1>Año</h1><p>Año nuevo.</p></main></body>".encode("cp1252")
    site.pages["/help/gifts"] = web.Response(body=body, headers={"Content-Type": "text/html; charset=ISO-8859-1"})
    report = await refresh(tmp_path / "kb", embedder, site.source())
    assert (report.documents, reasons(report)) == (2, {})


async def test_pages_for_which_the_time_does_not_suffice_keep_their_content(
    busy: Site, tmp_path: Path, embedder: TableEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refresh(tmp_path / "kb", embedder, busy.source())
    busy.pages["/help/new"] = page("new things")
    busy.lists("/help/gifts", "/help/returns", "/help/new")
    before, held = busy.answer, asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/help/returns":
            await held.wait()
        return await before(request)

    busy.answer = answer  # type: ignore[method-assign]
    monkeypatch.setattr(module, "SITE_SECONDS", patience(4.0))
    report = await refresh(tmp_path / "kb", embedder, busy.source(at_once=1))
    held.set()
    assert (report.added, report.removed, report.unchanged) == (1, 0, 2)
    assert reasons(report) == {"returns": "not reached within 0 minutes"}
