"""Addresses of pages are asked for, few and slowly, from a server on loopback."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from demo.ports import listening
from knowledge import links
from knowledge.links import addresses_of, check_links
from knowledge.sources import pace


@dataclass
class Pages:
    """Answers by path and method, and remembers what it was asked."""

    url: str = ""
    answers: dict[str, web.Response | int] = field(default_factory=dict)
    """A path, or a method and a path -> the answer. 200 unless given."""
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """The scripted answer."""
        key = f"{request.method} {request.path}"
        self.asked.append(key)
        found = self.answers.get(key, self.answers.get(request.path, 200))
        if isinstance(found, int):
            return web.Response(status=found, body=b"words" if found == 200 else b"")
        return web.Response(status=found.status, headers=found.headers)


@pytest.fixture
async def pages(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pages]:
    monkeypatch.setattr(pace.Pace, "rest", lambda *_: None)
    monkeypatch.setattr(links, "PER_SECOND", 1_000.0)
    opened = Pages()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", opened.answer)
    async with listening(app) as opened.url:
        yield opened


async def check(pages: Pages, *paths: str, limit: int = 100, private: bool = True) -> dict[str, tuple[str, str]]:
    given = {pages.url + path: [path] for path in paths}
    hosts = frozenset({"127.0.0.1"}) if private else frozenset[str]()
    checked = await check_links(given, limit=limit, private=hosts)
    return {each.address.removeprefix(pages.url): (each.outcome, each.detail) for each in checked}


async def test_each_address_is_asked_for_once_by_its_head(pages: Pages) -> None:
    pages.answers = {"/gone": 404, "/old": web.Response(status=301, headers={"Location": "/new"})}
    found = await check(pages, "/fine", "/gone", "/old")
    assert found == {"/fine": ("fine", ""), "/gone": ("broken", "404"), "/old": ("moved", f"to {pages.url}/new")}
    assert sorted(pages.asked) == ["HEAD /fine", "HEAD /gone", "HEAD /new", "HEAD /old"]


async def test_a_site_that_does_not_know_head_is_asked_by_get(pages: Pages) -> None:
    pages.answers = {"HEAD /a": 405, "HEAD /b": 403, "/b": 403}
    assert await check(pages, "/a", "/b") == {"/a": ("fine", ""), "/b": ("broken", "403")}


async def test_a_busy_site_is_no_broken_link(pages: Pages) -> None:
    pages.answers = {"/busy": web.Response(status=429, headers={"Retry-After": "5"}), "/away": 503}
    found = await check(pages, "/busy", "/away")
    assert found["/busy"] == ("not asked", "the site is busy (429)")
    assert found["/away"] == ("not asked", "the site is busy (503)")
    assert pages.asked.count("HEAD /busy") == 2


async def test_redirects_have_an_end_and_what_lies_behind_counts(pages: Pages) -> None:
    pages.answers = {
        "/loop": web.Response(status=302, headers={"Location": "/loop"}),
        "/lost": web.Response(status=302, headers={"Location": "/gone"}),
        "/gone": 410,
        "/mail": web.Response(status=302, headers={"Location": "mailto:a@example.com"}),
    }
    assert await check(pages, "/loop", "/lost", "/mail") == {
        "/loop": ("broken", "is redirected without end"),
        "/lost": ("broken", f"410 at {pages.url}/gone"),
        "/mail": ("broken", "leads to no web page"),
    }


async def test_nothing_private_is_connected_to_unless_it_is_meant(pages: Pages) -> None:
    assert await check(pages, "/a", private=False) == {"/a": ("not asked", "leads to a private address")}
    assert pages.asked == []


async def test_the_number_is_bounded_and_the_rest_is_named(pages: Pages) -> None:
    found = await check(pages, "/a", "/b", "/c", limit=2)
    assert found["/c"] == ("not asked", "over the limit")
    assert len(pages.asked) == 2


async def test_when_the_time_is_over_the_rest_is_not_asked_for(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "CHECK_SECONDS", 0.0)
    assert await check(pages, "/a") == {"/a": ("not asked", "no time was left")}


async def test_a_host_that_is_not_there_is_broken(pages: Pages) -> None:
    checked = await check_links({"http://127.0.0.1:1/a": ["a"]}, limit=1, private=frozenset({"127.0.0.1"}))
    assert checked[0].outcome == "broken"


def test_pages_with_one_address_share_it() -> None:
    documents = [("a", "https://x.example/p#one"), ("b", "https://x.example/p#two"), ("c", "")]
    assert addresses_of(documents) == {"https://x.example/p": ["a", "b"]}
