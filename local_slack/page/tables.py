"""Tables as HTML. The page's script sorts a data table and turns its pages; all its rows are there from the start."""

from collections.abc import Iterable

from local_slack.page.html import Html, element
from local_slack.page.icons import icon
from local_slack.page.look import Look
from local_slack.page.loose import Json, mapping, sequence, string
from local_slack.page.markup import plain, rich_text

MOST_ROWS = 101
"""With the header."""
MOST_COLUMNS = 20
PAGE_SIZE = 5
"""Rows of a data table that are seen at once, unless it says otherwise."""


def table(data: Json, look: Look) -> Html:
    """Rows as they are, the first as the header."""
    settings = [mapping(each) for each in sequence(data.get("column_settings"))]

    def cell(value: object, tag: str, column: int) -> Html:
        align = string(settings[column].get("align")) if column < len(settings) else ""
        shown = {"class": f"align-{align}" if align in {"center", "right"} else None}
        return element(tag, shown, _content(value, look))

    rows = [
        element("tr", None, (cell(each, "td" if index else "th", at) for at, each in enumerate(row)))
        for index, row in enumerate(_rows(data))
    ]
    head, body = element("thead", None, rows[:1]), element("tbody", None, rows[1:])
    return scrolled("Table", element("table", None, head, body))


def data_table(data: Json, look: Look) -> Html:
    """A table with a caption, of which one page is seen; its columns can be sorted."""
    header, *rows = _rows(data) or [[]]
    size = data.get("page_size")
    size = min(max(size, 1), 100) if isinstance(size, int) else PAGE_SIZE
    named = data.get("row_header_column_index")
    named = named if isinstance(named, int) else 0
    numeric = [_is_numeric(row[column : column + 1] for row in rows) for column in range(len(header))]

    def sorter(column: int, value: object) -> Html:
        attributes = {"type": "button", "class": "sort", "data-sort": column, "data-numeric": numeric[column]}
        return element("button", attributes, _content(value, look), icon("down"))

    def cell(column: int, value: object) -> Html:
        number = string(mapping(value).get("value")) or None
        shown = {"class": "align-right" if column < len(numeric) and numeric[column] else None, "data-number": number}
        if column == named:
            return element("th", shown | {"scope": "row"}, _content(value, look))
        return element("td", shown, _content(value, look))

    head = [element("th", {"scope": "col"}, sorter(column, value)) for column, value in enumerate(header)]
    body = [
        element("tr", {"data-row": at, "hidden": at >= size}, (cell(*each) for each in enumerate(row)))
        for at, row in enumerate(rows)
    ]
    caption = string(data.get("caption"))
    drawn = element(
        "table",
        None,
        element("caption", None, plain(caption)),
        element("thead", None, element("tr", None, head)),
        element("tbody", None, body),
    )
    pages = _pages(size, len(rows)) if len(rows) > size else None
    return element("div", {"class": "data-table", "data-page-size": size}, scrolled(caption or "Table", drawn), pages)


def scrolled(label: str, drawn: Html) -> Html:
    """Wider than its place, it scrolls by itself, also from the keyboard."""
    return element("div", {"class": "table-scroll", "tabindex": 0, "role": "region", "aria-label": label}, drawn)


def _pages(size: int, rows: int) -> Html:
    def turn(by: int, drawn: str, label: str) -> Html:
        attributes = {"type": "button", "class": "tool", "data-turn": by, "aria-label": label, "disabled": by < 0}
        return element("button", attributes, icon(drawn))

    shown = element("span", {"class": "muted", "role": "status"}, f"1–{size} of {rows}")
    return element("div", {"class": "pages"}, turn(-1, "back", "Previous rows"), shown, turn(1, "next", "Next rows"))


def _rows(data: Json) -> list[list[object]]:
    return [sequence(row)[:MOST_COLUMNS] for row in sequence(data.get("rows"))[:MOST_ROWS]]


def _is_numeric(cells: Iterable[list[object]]) -> bool:
    """Whether every row has a number there, given as lists of one cell or none."""
    kinds = [mapping(cell[0]).get("type") if cell else None for cell in cells]
    return bool(kinds) and set(map(string, kinds)) == {"raw_number"}


def _content(cell: object, look: Look) -> Html:
    data = mapping(cell)
    if data.get("type") == "rich_text":
        return rich_text(data, look.names)
    said = string(data.get("text"))
    return plain(said or string(data.get("value")) if data.get("type") == "raw_number" else said)
