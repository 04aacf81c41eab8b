"""A help centre on the web, served on loopback: what is fetched, what is not, and what happens when it is away."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from knowledge.build import build
from knowledge.config import Source
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import SourceUnreadable
from knowledge.generations import Generations
from knowledge.report import Report
from knowledge.sources import site as module
from knowledge.sources.files import SUFFIXES
from tests.knowledge.conftest import ignore

HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass
class Site:
    """Serves pages by path and remembers what it was asked."""

    url: str = ""
    pages: dict[str, web.Response | str | int] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """(path, If-None-Match)"""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A page as HTML with its hash as ETag; a number as a status."""
        condition = request.headers.get("If-None-Match", "")
        self.asked.append((request.path, condition))
        page = self.pages.get(request.path, 404)
        if isinstance(page, web.Response):
            return web.Response(body=page.body, status=page.status, headers=page.headers)
        if isinstance(page, int):
            return web.Response(status=page)
        etag = f'"{hash(page)}"'
        if condition == etag:
            return web.Response(status=304)
        return web.Response(text=page, headers={**HTML, "ETag": etag})

    def lists(self, *paths: str) -> None:
        """Make a sitemap of these pages."""
        entries = "".join(f"<url><loc>{path if '://' in path else self.url + path}</loc></url>" for path in paths)
        self.pages["/sitemap.xml"] = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'

    def source(self, **more: object) -> Source:
        """The source that an operator would write down."""
        given = {"name": "site", "sitemap": f"{self.url}/sitemap.xml", "hosts": ["127.0.0.1"], **more}
        return Source.model_validate({key: value for key, value in given.items() if value is not None})


@asynccontextmanager
async def open_site() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        site.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield site
    finally:
        await runner.cleanup()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with open_site() as opened:
        opened.pages |= {f"/help/{name}": page(name) for name in ("returns", "shipping", "warranty", "gifts")}
        opened.lists("/help/returns", "/help/shipping", "/help/warranty", "/help/gifts")
        yield opened


def page(name: str) -> str:
    return f"<html><body><main><h1>About {name}</h1><p>All there is to say about {name} stands here.</p></main></body>"


async def refresh(kb: Path, embedder: TableEmbedder, *sources: Source) -> Report:
    return await build(Generations(kb), sources, embedder, tell=ignore)


def names(kb: Path) -> list[str]:
    from_disk = Generations(kb).current()
    assert from_disk is not None
    return [source.stale for source in from_disk.manifest.sources]


def reasons(report: Report) -> dict[str, str]:
    return {each.name.rpartition("/")[2]: each.reason for each in report.quarantined}


async def test_pages_are_fetched_once_and_afterwards_only_when_they_have_changed(
    site: Site, tmp_path: Path, embedder: TableEmbedder
) -> None:
    first = await refresh(tmp_path / "kb", embedder, site.source())
    assert (first.added, first.sources[0].documents) == (4, 4)

    site.asked.clear()
    again = await refresh(tmp_path / "kb", embedder, site.source())
    assert (again.is_new, again.unchanged) == (False, 4)
    assert all(condition for path, condition in site.asked if path != "/sitemap.xml")

    site.pages["/help/gifts"] = page("gifts and vouchers")
    changed = await refresh(tmp_path / "kb", embedder, site.source())
    assert (changed.changed, changed.unchanged, changed.removed) == (1, 3, 0)


async def test_a_page_knows_where_it_can_be_read(site: Site, tmp_path: Path, embedder: TableEmbedder) -> None:
    listing = await module.fetch_site(site.source(), {}, spool(tmp_path))
    assert {file.url for file in listing.files} >= {f"{site.url}/help/returns"}
    assert min(file.path for file in listing.files) == "site/127.0.0.1/help/gifts"


def spool(folder: Path) -> Path:
    folder = folder / "spool"
    folder.mkdir()
    return folder


async def test_nothing_is_fetched_from_a_host_that_is_not_listed(site: Site, tmp_path: Path) -> None:
    async with open_site() as elsewhere:
        other = elsewhere.url.replace("127.0.0.1", "localhost")
        site.pages["/help/returns"] = web.Response(status=302, headers={"Location": f"{other}/stolen"})
        site.lists(
            "/help/returns", "/help/shipping", f"{other}/linked", "http://user:pw@127.0.0.1/x", "ftp://127.0.0.1"
        )
        listing = await module.fetch_site(site.source(), {}, spool(tmp_path))
        assert elsewhere.asked == []
    assert [each.reason for each in listing.quarantined] == ["leads to localhost, which is not among the hosts"]
    assert [file.path for file in listing.files] == ["site/127.0.0.1/help/shipping"]


async def test_redirects_within_the_site_are_followed_and_not_without_end(site: Site, tmp_path: Path) -> None:
    site.pages["/help/returns"] = web.Response(status=301, headers={"Location": "/help/sending-back"})
    site.pages["/help/sending-back"] = page("returns")
    site.pages["/help/gifts"] = web.Response(status=302, headers={"Location": "/help/gifts"})
    listing = await module.fetch_site(site.source(), {}, spool(tmp_path))
    assert f"{site.url}/help/sending-back" in {file.url for file in listing.files}
    assert [each.reason for each in listing.quarantined] == ["is redirected without end"]


async def test_a_page_that_fails_today_keeps_what_it_held_and_one_that_is_gone_goes(
    site: Site, tmp_path: Path, embedder: TableEmbedder
) -> None:
    await refresh(tmp_path / "kb", embedder, site.source())
    site.pages["/help/returns"], site.pages["/help/gifts"] = 503, 410
    report = await refresh(tmp_path / "kb", embedder, site.source())
    assert (report.removed, report.unchanged) == (1, 3)
    assert reasons(report) == {"returns": "the site answers 503", "gifts": "the site answers 410"}


async def test_giants_slow_pages_and_foreign_kinds_are_left_out_with_a_reason(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for suffix in SUFFIXES:
        monkeypatch.setitem(SUFFIXES, suffix, 1_000_000)
    site.pages["/help/returns"] = web.Response(body=gzip.compress(b"x" * 5_000_000), headers={**HTML, **GZIP})
    site.pages["/help/shipping"] = web.Response(body=b"\x89PNG", headers={"Content-Type": "image/png"})
    listing = await module.fetch_site(site.source(), {}, spool(tmp_path))
    assert {each.name.rpartition("/")[2]: each.reason for each in listing.quarantined} == {
        "returns": "larger than 1 MB",
        "shipping": "of a kind that is not read (image/png)",
    }


GZIP = {"Content-Encoding": "gzip"}


async def test_an_index_of_sitemaps_and_a_packed_one_are_read(site: Site, tmp_path: Path) -> None:
    inner = f"<urlset><url><loc>{site.url}/help/gifts</loc></url></urlset>"
    site.pages["/part.xml.gz"] = web.Response(
        body=gzip.compress(inner.encode()), headers={"Content-Type": "application/gzip"}
    )
    site.pages["/sitemap.xml"] = f"<sitemapindex><sitemap><loc>{site.url}/part.xml.gz</loc></sitemap></sitemapindex>"
    listing = await module.fetch_site(site.source(), {}, spool(tmp_path))
    assert [file.path for file in listing.files] == ["site/127.0.0.1/help/gifts"]


@pytest.mark.parametrize("sitemap", ["no xml", "<urlset></urlset>", "<!DOCTYPE x [<!ENTITY a 'b'>]><urlset/>", 500])
async def test_a_site_without_a_usable_sitemap_is_unreadable_as_a_whole(
    site: Site, tmp_path: Path, sitemap: str | int
) -> None:
    site.pages["/sitemap.xml"] = sitemap
    with pytest.raises(SourceUnreadable, match=r"sitemap\.xml"):
        await module.fetch_site(site.source(), {}, spool(tmp_path))


async def test_a_list_of_pages_does_without_a_sitemap_and_the_number_is_bounded(site: Site, tmp_path: Path) -> None:
    pages = [f"{site.url}/help/{name}" for name in ("gifts", "returns", "gifts#top", "warranty")]
    listing = await module.fetch_site(site.source(sitemap=None, pages=pages, most=2), {}, spool(tmp_path))
    assert len(listing.files) == 2
    assert "/sitemap.xml" not in {path for path, _ in site.asked}


async def test_few_pages_are_asked_for_at_the_same_time(site: Site, tmp_path: Path) -> None:
    running = most = 0
    answer = site.answer

    async def counted(request: web.Request) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        try:
            return await answer(request)
        finally:
            running -= 1

    site.answer = counted  # type: ignore[method-assign]
    async with open_site() as slow:
        slow.answer = counted  # type: ignore[method-assign]
        site.pages |= {f"/p/{number}": page(str(number)) for number in range(20)}
        site.lists(*(f"/p/{number}" for number in range(20)))
        await module.fetch_site(site.source(), {}, spool(tmp_path))
    assert most <= module.AT_ONCE
