"""The same texts in another form, to see that what is found does not hang on the form."""

import csv
import json
from pathlib import Path

from markdown_it import MarkdownIt

from knowledge.documents import split_front_matter

_PAGE = """<!doctype html>
<html><head><title>{title}</title></head><body>
<nav><a href="/">Home</a> <a href="/help">Help</a> <a href="/contact">Contact</a></nav>
<main>
{body}
</main>
<footer>Was this page of use to you?</footer>
</body></html>
"""


def pages_to_html(pages: Path, target: Path) -> Path:
    """Every Markdown page as an HTML page of the same name, with what sites have around their texts."""
    target.mkdir(parents=True)
    markdown = MarkdownIt("commonmark").enable("table")
    for page in sorted(pages.glob("*.md")):
        fields, text = split_front_matter(page.read_text("utf-8"))
        title = fields.get("title") or text.lstrip().partition("\n")[0].lstrip("# ")
        (target / f"{page.stem}.html").write_text(
            _PAGE.format(title=title, body=markdown.render(text)), encoding="utf-8"
        )
    return target


def table_to_lines(table: Path, target: Path) -> Path:
    """Every row of a CSV table as a line of JSON."""
    target.parent.mkdir(parents=True)
    with table.open(encoding="utf-8", newline="") as rows:
        lines = [json.dumps(row) for row in csv.DictReader(rows)]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target
