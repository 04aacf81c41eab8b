"""Reads HTML as strictly as a test should, and tells what is in it."""

from html.parser import HTMLParser

from local_slack.page.html import VOID

TAGS = (
    "a article b blockquote br button caption circle code dd del details div em fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr input label legend li nav ol optgroup option p path pre rect s section select "
    "small span strong summary svg table tbody td text textarea th thead time tr u ul"
)
HARMLESS = frozenset(TAGS.split())


class Reading(HTMLParser):
    """The elements, links and words of a piece of HTML. Raises AssertionError unless it is well formed and harmless."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.words = ""
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {self._open}"
        html.encode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in HARMLESS, f"<{tag}> has no place in a message"
        for name, value in attrs:
            assert not name.startswith("on"), f"{name} is a script"
            assert name != "style", "the page's policy forbids inline styles"
            assert name != "src", "nothing is fetched from outside"
            self.attributes.append((name, value or ""))
            if name == "href":
                assert (value or "").lower().startswith(("http://", "https://", "mailto:")), value
                self.links.append(value or "")
        self.tags.append(tag)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def having(self, name: str) -> list[str]:
        """The values of an attribute, in order."""
        return [value for each, value in self.attributes if each == name]
