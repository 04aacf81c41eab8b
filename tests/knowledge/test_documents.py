"""Pages: front matter, titles, clean text."""

from hypothesis import given
from hypothesis import strategies as st

from knowledge.documents import FRONT_MATTER_LIMIT, clean, page_fields, read_page, split_front_matter


def test_front_matter_gives_the_five_fields_of_a_document() -> None:
    page = read_page(
        "---\ntitle: Returns\nurl: https://example.com/r\ncategory: orders\n"
        "last_updated: 2026-03-01\nlanguage: de-DE\n---\n"
        "Send it back.\n",
        path="a/b.md",
        markup="markdown",
    )

    assert (page.title, page.url, page.category) == ("Returns", "https://example.com/r", "orders")
    assert (page.last_updated, page.language, page.text) == ("2026-03-01", "de-de", "Send it back.\n")


def test_a_page_without_front_matter_is_named_by_its_first_heading_and_its_folder() -> None:
    page = read_page("# Paying by card\n\nWe take cards.\n", path="getting-paid/cards.md", markup="markdown")

    assert (page.title, page.category, page.url) == ("Paying by card", "getting paid", "")


def test_a_page_without_a_heading_is_named_by_its_file() -> None:
    assert read_page("Nine to five.", path="opening_hours.txt", markup="plain").title == "Opening hours"


def test_yaml_that_does_not_parse_is_read_line_by_line() -> None:
    fields, body = split_front_matter("---\ntitle: Refunds: how long?\ncategory: 'money'\n---\ntext")

    assert fields == {"title": "Refunds: how long?", "category": "money"}
    assert body == "text"


def test_what_is_not_front_matter_stays_text() -> None:
    table = [
        "---\n- a\n- list\n---\ntext",
        "---\nnever closed\n\ntext",
        "----\ntitle: no fence\n---\n",
        "---\ntitle: " + "x" * FRONT_MATTER_LIMIT + "\n---\n",
    ]
    misses = [(text, got) for text in table if (got := split_front_matter(text)) != ({}, text)]
    assert misses == []


def test_nested_front_matter_ends_neither_the_stack_nor_the_reading() -> None:
    deep = "[" * 5_000 + "]" * 5_000

    fields, body = split_front_matter(f"---\ntitle: Deep\ntags: {deep}\n---\ntext")

    assert (fields["title"], body) == ("Deep", "text")


def test_fields_that_do_not_fit_their_shape_become_empty() -> None:
    fields = page_fields(
        {"url": "javascript:alert(1)", "last_updated": "next week", "language": "German!", "title": "  a \n b "}
    )

    assert fields == {"title": "a b", "url": "", "category": "", "last_updated": "", "language": ""}


def test_a_source_that_is_a_link_serves_as_the_url() -> None:
    assert page_fields({"source": "https://example.com/page"})["url"] == "https://example.com/page"


def test_comments_are_not_shown_to_customers_but_code_keeps_its_own() -> None:
    page = read_page(
        "Hello <!-- internal: ask finance -->world\n<!-- more\nsecrets -->\n\n"
        "```html\n<!-- shown -->\n```\n`<!-- x -->`\n",
        path="p.md",
        markup="markdown",
    )

    assert "internal" not in page.text
    assert "secrets" not in page.text
    assert "Hello world" in page.text
    assert "<!-- shown -->" in page.text
    assert "`<!-- x -->`" in page.text


def test_clean_text_has_one_kind_of_newline_and_no_control_characters() -> None:
    assert clean("a\r\nb\rc\x00\x07\ufeff\ud800e\u0301") == "a\nb\nc\u00e9"


@given(st.text())
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    page = read_page(text, path="strange.md", markup="markdown")

    assert page.title
    page.text.encode("utf-8")


@given(
    st.dictionaries(
        st.text("abcdefgh", min_size=1, max_size=8), st.text("abc :#'\"-[]{}|>&*!%@`,?\\", max_size=30), max_size=6
    ),
    st.text(),
)
def test_front_matter_of_any_content_leaves_the_body_whole(fields: dict[str, str], body: str) -> None:
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    body = clean(body)

    found, rest = split_front_matter(f"---\n{head}---\n{body}")

    assert rest.endswith(body)
    assert all(found.values())
