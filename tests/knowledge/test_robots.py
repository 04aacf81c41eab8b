"""What robots.txt and X-Robots-Tag say, read as RFC 9309 has it."""

import pytest

from knowledge.sources.robots import forbids_indexing, read_robots

SITE = "https://help.example.com"


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /private/", "/private/a", False),
        ("User-agent: *\nDisallow: /private/", "/privates", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /\nAllow: /help/", "/help/a", True),
        ("User-agent: *\nAllow: /\nDisallow: /help/draft", "/help/drafts", False),
        ("User-agent: *\nDisallow: /help\nAllow: /help", "/help/a", True),
        ("User-agent: *\nDisallow: /*?print=", "/a?print=1", False),
        ("User-agent: *\nDisallow: /*?print=", "/a?page=1", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/a.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/a.pdf?x", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a*b*c", "/a-c-b", True),
        ("User-agent: *\nDisallow: /%7Eold/", "/~old/a", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Frontdesk-Knowledge\nDisallow: /x", "/a", True),
        ("User-agent: frontdesk-knowledge\nUser-agent: other\nDisallow: /a", "/a", False),
        ("User-agent: a\nDisallow: /\nUser-agent: *\nDisallow: /b", "/a", True),
        ("\ufeffuser-AGENT : * # all\r\nDISALLOW : /a # not this\r\n", "/a", False),
        ("<html>Not found</html>", "/a", True),
        ("Disallow: /", "/a", True),
    ],
)
def test_the_longest_rule_of_the_closest_group_decides(rules: str, path: str, allowed: bool) -> None:
    assert read_robots(rules).allows(SITE + path) is allowed


def test_a_delay_is_read_and_nonsense_is_not() -> None:
    assert read_robots("User-agent: *\nCrawl-delay: 2.5\nDisallow: /a").delay == 2.5
    assert read_robots("User-agent: *\nCrawl-delay: for ever").delay == 0.0


@pytest.mark.parametrize(
    ("values", "forbidden"),
    [
        (["noindex"], True),
        (["NOINDEX, nofollow"], True),
        (["none"], True),
        (["otherbot: noindex"], False),
        (["frontdesk-knowledge: noindex"], True),
        (["otherbot: noindex", "nofollow, noindex"], True),
        (["unavailable_after: 25 Jun 2031 15:00:00 GMT, noindex"], True),
        (["nofollow", "max-snippet: 20"], False),
        ([], False),
    ],
)
def test_noindex_counts_if_it_is_meant_for_all_or_for_frontdesk(values: list[str], forbidden: bool) -> None:
    assert forbids_indexing(values) is forbidden
