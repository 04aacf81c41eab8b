"""A help centre on the web, served on loopback: what is fetched, what is not, and what happens when it is away."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from demo.ports import listening
from knowledge import addresses, config
from knowledge.build.process import build
from knowledge.build.report import BuildReport
from knowledge.config import Source
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import SourceUnreadable
from knowledge.generations import Generations
from knowledge.sources import pace
from knowledge.sources import site as module
from knowledge.sources.files import SUFFIXES, Listing
from knowledge.sources.sitemap import read_sitemap
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
        if request.path == "/robots.txt" and request.path not in self.pages:
            return web.Response(status=404)
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
        here = {"sitemap": f"{self.url}/sitemap.xml", "hosts": ["127.0.0.1"], "private": True}
        given: dict[str, object] = {"name": "site", **here, **more}
        return Source.model_validate({key: value for key, value in given.items() if value is not None})


@asynccontextmanager
async def open_site() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", site.answer)
    async with listening(app) as site.url:
        yield site


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once."""
    monkeypatch.setattr(pace, "BACK_OFF", (0.0, 0.0))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with open_site() as opened:
        opened.pages |= {f"/help/{name}": page(name) for name in ("returns", "shipping", "warranty", "gifts")}
        opened.lists("/help/returns", "/help/shipping", "/help/warranty", "/help/gifts")
        yield opened


def page(name: str) -> str:
    return f"<html><body><main><h1>About {name}</h1><p>All there is to say about {name} stands here.</p></main></body>"


async def refresh(kb: Path, embedder: TableEmbedder, *sources: Source) -> BuildReport:
    return await build(Generations(kb), sources, embedder, tell=ignore)


def names(kb: Path) -> list[str]:
    from_disk = Generations(kb).current()
    assert from_disk is not None
    return [source.stale for source in from_disk.manifest.sources]


def reasons(report: BuildReport) -> dict[str, str]:
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
    listing = await fetch(site.source(), tmp_path)
    assert {file.url for file in listing.files} >= {f"{site.url}/help/returns"}
    assert min(file.path for file in listing.files) == "site/127.0.0.1/help/gifts"


async def fetch(source: Source, folder: Path) -> Listing:
    (spool := folder / "spool").mkdir(parents=True)
    return await module.fetch_site(source, {}, spool, read_sitemap=read_sitemap)


async def test_nothing_is_fetched_from_a_host_that_is_not_listed(site: Site, tmp_path: Path) -> None:
    async with open_site() as elsewhere:
        other = elsewhere.url.replace("127.0.0.1", "localhost")
        site.pages["/help/returns"] = web.Response(status=302, headers={"Location": f"{other}/stolen"})
        site.lists(
            "/help/returns", "/help/shipping", f"{other}/linked", "http://user:pw@127.0.0.1/x", "ftp://127.0.0.1"
        )
        listing = await fetch(site.source(), tmp_path)
        assert elsewhere.asked == []
    assert [each.reason for each in listing.quarantined] == ["leads to localhost, which is not among the hosts"]
    assert [file.path for file in listing.files] == ["site/127.0.0.1/help/shipping"]


async def test_redirects_within_the_site_are_followed_and_not_without_end(site: Site, tmp_path: Path) -> None:
    site.pages["/help/returns"] = web.Response(status=301, headers={"Location": "/help/sending-back"})
    site.pages["/help/sending-back"] = page("returns")
    site.pages["/help/gifts"] = web.Response(status=302, headers={"Location": "/help/gifts"})
    listing = await fetch(site.source(), tmp_path)
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
    listing = await fetch(site.source(), tmp_path)
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
    listing = await fetch(site.source(), tmp_path)
    assert [file.path for file in listing.files] == ["site/127.0.0.1/help/gifts"]


@pytest.mark.parametrize("sitemap", ["no xml", "<urlset></urlset>", "<!DOCTYPE x [<!ENTITY a 'b'>]><urlset/>", 500])
async def test_a_site_without_a_usable_sitemap_is_unreadable_as_a_whole(
    site: Site, tmp_path: Path, sitemap: str | int
) -> None:
    site.pages["/sitemap.xml"] = sitemap
    with pytest.raises(SourceUnreadable, match=r"sitemap\.xml"):
        await fetch(site.source(), tmp_path)


async def test_a_list_of_pages_does_without_a_sitemap_and_the_number_is_bounded(site: Site, tmp_path: Path) -> None:
    pages = [f"{site.url}/help/{name}" for name in ("gifts", "returns", "gifts#top", "warranty")]
    listing = await fetch(site.source(sitemap=None, pages=pages, most=2), tmp_path)
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
        await fetch(site.source(), tmp_path)
    assert most <= config.AT_ONCE


def private_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell names apart by where they lead, as a name does that somebody has pointed at this machine."""
    monkeypatch.setattr(config, "is_private_host", lambda host: False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_listed_host_that_leads_to_a_private_address_is_not_connected_to(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    private_away(monkeypatch)
    address = f"{site.url.replace('127.0.0.1', host)}/help/returns"
    source = site.source(sitemap=None, pages=[address], hosts=[host], private=False)
    with pytest.raises(SourceUnreadable, match="leads to a private address, and its source does not say private: true"):
        await fetch(source, tmp_path)
    assert site.asked == []


async def test_a_redirect_to_a_private_address_is_not_followed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = site.url.replace("127.0.0.1", "localhost")
    site.pages["/help/returns"] = web.Response(status=302, headers={"Location": f"{other}/help/gifts"})
    monkeypatch.setattr(addresses, "is_private", lambda address: address == "::1" or rebound(address))
    seen: list[str] = []

    def rebound(address: str) -> bool:
        """Public at the first connection, private at the next."""
        seen.append(address)
        return len(seen) > 1

    private_away(monkeypatch)
    source = site.source(
        hosts=["127.0.0.1", "localhost"],
        sitemap=None,
        pages=[f"{site.url}/help/returns"],
        private=False,
        robots=False,
    )
    with pytest.raises(SourceUnreadable, match="leads to a private address"):
        await fetch(source, tmp_path)
    assert [path for path, _ in site.asked] == ["/help/returns"]


async def test_a_proxy_is_connected_to_and_not_asked_for_private_hosts(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private_away(monkeypatch)
    monkeypatch.setenv("http_proxy", site.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setattr(module, "LOOPBACK", frozenset({"localhost", "help.invalid"}))
    for host, expected in {"localhost": "private address", "help.invalid": ""}.items():
        source = Source.model_construct(name="site", pages=(f"http://{host}/help/gifts",), hosts=frozenset({host}))
        if expected:
            with pytest.raises(SourceUnreadable, match=expected):
                await fetch(source, tmp_path / host)
            assert site.asked == []
        else:
            assert len((await fetch(source, tmp_path / host)).files) == 1


PRIVATE = """
    127.0.0.1 127.8.9.1 0.0.0.0 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1
    100.127.255.255 192.0.0.1 198.18.0.1 203.0.113.5 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 fe80::1 fe80::1%eth0
    fc00::1 fd12:3456::1 ff02::1 fec0::1 2001:db8::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
    64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 2002:7f00:1::1 2002:a00:1::
"""
PUBLIC = "1.1.1.1 93.184.216.34 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808"


def test_addresses_that_are_not_of_the_public_internet_are_private() -> None:
    misses = [
        address
        for address in PRIVATE.split()
        if not addresses.is_private(address) or not addresses.is_private_host(address)
    ]
    assert misses == []


def test_public_addresses_are_not_private() -> None:
    misses = [address for address in PUBLIC.split() if addresses.is_private(address)]
    assert misses == []


@pytest.mark.parametrize("place", ["http://127.0.0.1/a", "https://[::1]/a", "https://10.0.0.1/a", "http://localhost/a"])
def test_a_private_address_in_the_list_of_sources_has_to_be_meant(place: str) -> None:
    given = {"name": "site", "pages": [place], "hosts": [urlsplit(place).hostname]}
    with pytest.raises(ValueError, match="private: true"):
        Source.model_validate(given)
    assert Source.model_validate({**given, "private": True}).private
