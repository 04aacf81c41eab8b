"""Formats other than Markdown: what of a page, a document or a table becomes text, and what does not."""

import base64
import io
import json
import time
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.chunking import chunk
from knowledge.documents import Document
from knowledge.sources import docx
from knowledge.sources.files import Quarantined
from knowledge.sources.reader import read_documents
from tests.knowledge.bombs import attributes_html, entities_docx, misnested_html, nested_docx, wide_html
from tests.patience import patience

PAGE = """<!DOCTYPE html>
<html lang="de-DE"><head><title>Versand | Shop</title>
<link rel="canonical" href="https://help.example.com/versand">
<meta property="article:modified_time" content="2026-02-03T10:00:00Z"></head>
<body><nav>Startseite</nav><main><h1>Versand</h1>
<p>Wir liefern <b>schnell</b>, mit <code>DHL</code>.<br>Auch samstags.</p>
<h2 id="kosten">Kosten</h2>
<ul><li>Bis 50&nbsp;EUR: 5 EUR</li><li>Danach frei<ul><li>nur im Inland</li></ul></li></ul>
<table><tr><th>Land</th><th>Tage</th></tr><tr><td>AT</td><td>3 | 4</td></tr></table>
<pre>nummer = 1
  zwei</pre>
<details><summary>Wie lange?</summary>Drei Tage.</details>
</main><footer>Impressum</footer></body></html>"""


def read(name: str, content: bytes) -> list[Document | Quarantined]:
    return list(read_documents(name, Path(name).suffix.lower(), content))


def document(name: str, content: bytes) -> Document:
    (found,) = read(name, content)
    assert isinstance(found, Document), found
    return found


def reason(name: str, content: bytes) -> str:
    (found,) = read(name, content)
    assert isinstance(found, Quarantined), found
    return found.reason


def test_a_web_page_becomes_the_markdown_of_what_its_visitors_read() -> None:
    page = document("versand.html", PAGE.encode())
    assert page.text == (
        "# Versand\n\nWir liefern schnell, mit `DHL`.\nAuch samstags.\n\n## Kosten {#kosten}\n\n"
        "- Bis 50 EUR: 5 EUR\n- Danach frei\n  - nur im Inland\n\n"
        "| Land | Tage |\n| --- | --- |\n| AT | 3 / 4 |\n\n```\nnummer = 1\n  zwei\n```\n\n"
        "### Wie lange?\n\nDrei Tage.\n"
    )
    assert (page.title, page.url, page.language) == ("Versand", "https://help.example.com/versand", "de-de")
    assert page.last_updated == "2026-02-03"


def test_text_that_no_visitor_sees_is_left_out() -> None:
    rows = [
        "<p hidden>SECRET</p>",
        "<p style='color:red; DISPLAY : none'>SECRET</p>",
        "<span style='visibility:hidden'>SECRET</span>",
        "<p style='font-size:0'>SECRET</p>",
        "<p style='opacity:0'>SECRET</p>",
        "<div style='position:absolute;left:-9999px'>SECRET</div>",
        "<div class='x sr-only'>SECRET</div>",
        "<div aria-hidden='true'>SECRET</div>",
        "<template>SECRET</template><script>SECRET</script><style>SECRET</style><noscript>SECRET</noscript>",
        "<!-- SECRET -->",
        "<h2>Costs<span style='display:none'>SECRET</span></h2>",
        "<table><tr><td>a<i hidden>SECRET</i></td></tr></table>",
        "<pre>x<b hidden>SECRET</b></pre>",
        "<input value='SECRET'><svg><text>SECRET</text></svg><img alt='' title='SECRET'>",
    ]
    misses = []
    for hidden in rows:
        page = document("page.html", f"<body><p>Visible.</p>{hidden}</body>".encode())
        if "SECRET" in page.text or "Visible." not in page.text:
            misses.append((hidden, page))
    assert misses == []


def test_a_page_whose_body_is_one_form_or_a_layout_of_tables_is_read_all_the_same() -> None:
    form = document("a.html", b"<body><form><h1>Help</h1><p>Words.</p><input value=x></form></body>")
    assert form.text == "# Help\n\nWords.\n"
    layout = "<table><tr><td><h1>Help</h1><table><tr><th>a</th><td>b</td></tr></table></td></tr></table>"
    assert document("a.html", layout.encode()).text == "# Help\n\n| a | b |\n| --- | --- |\n"


def test_a_pages_own_ids_are_what_a_link_to_a_section_uses() -> None:
    chunks = chunk(document("versand.html", PAGE.replace("Kosten</h2>", f"Kosten</h2>{'<p>Wort. </p>' * 80}").encode()))
    assert "kosten" in {each.anchor for each in chunks}
    text = f"# Shipping\n\n## Costs {{#fees-2026}}\n\n{'One more word. ' * 60}\n\n## Days\n\n{'And another. ' * 60}\n"
    assert [each.anchor for each in chunk(document("a.md", text.encode()))] == ["fees-2026", "days"]


def test_a_page_in_an_older_encoding_is_read_as_it_declares() -> None:
    page = '<html><head><meta charset="windows-1252"></head><body><p>Größe: 5 €</p></body></html>'
    assert "Größe: 5 €" in document("a.html", page.encode("windows-1252")).text
    assert "Größe: 5 €" in document("a.html", page.replace("windows-1252", "zlib").encode("windows-1252")).text


def test_pages_that_are_made_to_hang_a_parser_are_refused_at_once() -> None:
    begun = time.monotonic()
    assert reason("a.html", b"<div>" * 200_000) == "elements nested deeper than 150"
    assert reason("a.html", b"<nav>only a menu</nav>") == "no text that a visitor can see"
    assert "x" in document("a.html", b"<p>" * 50_000 + b"x").text
    assert reason("a.html", misnested_html()) == "elements nested deeper than 150"
    assert reason("a.html", attributes_html()) == "a tag with more than 500 attributes"
    assert time.monotonic() - begun < patience(20)


def test_many_words_in_an_attribute_or_between_tags_are_no_bomb() -> None:
    drawing = f"<p title='{'x > y ' * 2_000}' class=\"{'a ' * 900}\">Words.</p>{'<br/>' * 2_000}"
    assert "Words." in document("a.html", drawing.encode()).text


@given(st.text(alphabet="<>/abhpiultdr ='\"\n-!&;1", max_size=300))
def test_any_markup_is_read_or_refused_and_never_raises(text: str) -> None:
    assert len(read("a.html", text.encode())) == 1


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = f"""<w:styles {W}><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>"""
CORE = """<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Warranty</dc:title>
<dcterms:modified>2026-01-05T08:00:00Z</dcterms:modified></cp:coreProperties>"""
BODY = """<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>How long</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Two </w:t></w:r><w:r><w:t>years.</w:t></w:r></w:p>
<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>SECRET</w:t></w:r><w:del><w:r><w:delText>GONE</w:delText></w:r></w:del></w:p>
<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>frame</w:t></w:r></w:p><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>chain</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Part</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Years</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>frame</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>5</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"""


def word(body: str = BODY, *, head: str = "", **parts: str) -> bytes:
    """A Word document of these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"{head}<w:document {W}><w:body>{body}</w:body></w:document>")
        archive.writestr("word/styles.xml", parts.get("styles", STYLES))
        archive.writestr("docProps/core.xml", parts.get("core", CORE))
    return file.getvalue()


def test_a_word_document_keeps_headings_lists_and_tables_and_loses_what_is_hidden_or_deleted() -> None:
    found = document("warranty.docx", word())
    assert found.text == (
        "# How long\n\nTwo years.\n\n- frame\n- chain\n\n| Part | Years |\n| --- | --- |\n| frame | 5 |\n"
    )
    assert (found.title, found.last_updated) == ("Warranty", "2026-01-05")


def test_a_broken_or_hostile_word_document_says_why() -> None:
    rows = [
        (b"PK\x03\x04 no", "not a readable Word document (BadZipFile)"),
        (word(body=""), "no text"),
        (word(body="<w:p>"), "not a readable Word document (ParseError)"),
        (word(head='<!DOCTYPE x [<!ENTITY a "b">]>'), "declares entities of its own"),
        (entities_docx(), "declares entities of its own"),
        (nested_docx(), "elements nested deeper than 200"),
    ]
    misses = [(content, got) for content, expected in rows if (got := reason("a.docx", content)) != expected]
    assert misses == []


def test_a_long_word_document_keeps_every_paragraph_and_those_inside_content_controls() -> None:
    paragraphs = "".join(f"<w:p><w:r><w:t>Line {number}.</w:t></w:r></w:p>" for number in range(3_000))
    framed = f"<w:sdt><w:sdtContent>{paragraphs}</w:sdtContent></w:sdt>"
    expected = [f"Line {number}." for number in range(3_000)]
    assert document("a.docx", word(paragraphs)).text.split("\n\n") == [*expected[:-1], f"{expected[-1]}\n"]
    assert document("a.docx", word(framed)).text.split() == " ".join(expected).split()


def test_a_word_document_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "PART_BYTES", 100_000)
    assert reason("a.docx", word(body="x" * 1_000_000)) == "unpacks to more than 0 MB"


def test_a_table_with_one_long_row_does_not_make_the_others_as_long() -> None:
    page = document("a.html", wide_html(width=2_000))
    assert len(page.text) < 50_000
    assert page.text.count("b") == 2_000


LOCKED_PDF = (
    "c-oCo%Wm5+5WMp%_TpnhE+0z@Fnnkd14UcJaME6a94K<>x-g_bmVu-{*+c)J{gKj6n;3Bq6+l3mof)oXCX0*t8$2^&^7GgC9|A!^"
    "-+mR-sgR4I&%49}Or1`ci_Xc+#B3(G%X^MK;@&*oGss0;@m9$5e%FnFLcU+;E!={w#3kGvNzIA$JdSbGuf&rF?7f#q0{hRqgk18r"
    "-wmlM>ZH=;N6zc`wtuMCsxx&ssGiQ<-hAM?+G}@r<o+3SwFM*O2kutm7eF1V5Ug%&LtZy^JYR3dnv1+1W0&KQg}kaEwYv4XrPvl1"
    "8pqCSLy<{EOEFPG<2gpBi*kXzNl_OH#d*(di$tj|{|Tn#+pIWI6HP|S4O%vsopofiw@&NO7R!z;dl#ZbvP#u&Dy2k)DjXN|FmMqH"
    "NT}xr$T{Pnz%z#R=MR(a1#`^_h8RvU@+X)ke8I*ct~Wd!a=l)E<GPAm_WcOvP=I{bl^*cV`$es6T0F*J6K9iZD#4@kO<OQf;*e};"
    "X8%K}MPGJlc)TCM{cU<X#$h}JVm*n;<nn4Regl!&!|M"
)
"""An empty page that needs a password, packed."""


def pdf_of(*lines: str) -> bytes:
    """A PDF of one page with these lines in its text layer."""
    shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
    stream = f"BT /F1 12 Tf 72 720 Td {shown} ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Title (Care guide) /ModDate (D:20260304120000Z) >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF"
        % (count, table, count, len(out))
    )


def test_a_pdf_gives_its_text_with_divided_words_made_whole() -> None:
    found = document("care.pdf", pdf_of("Clean the chain every 300 kilo-", "metres with warm water."))
    assert "every 300 kilometres with warm water." in found.text
    assert (found.title, found.last_updated) == ("Care guide", "2026-03-04")


def test_scans_and_locked_and_broken_pdfs_say_why() -> None:
    assert reason("a.pdf", pdf_of()) == "no text layer: a scan?"
    assert reason("a.pdf", b"%PDF-1.4 nothing").startswith("not a readable PDF")
    assert reason("a.pdf", zlib.decompress(base64.b85decode(LOCKED_PDF))) == "protected by a password"


def test_a_notebook_gives_its_text_and_code_and_not_what_the_code_printed() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Export\n", "\n", "Use the button."]},
        {"cell_type": "code", "source": "export()", "outputs": [{"text": "SECRET"}]},
        {"cell_type": "markdown", "source": ""},
    ]
    found = document("export.ipynb", json.dumps({"cells": cells}).encode())
    assert found.text == "# Export\n\nUse the button.\n\n```\nexport()\n```"
    assert found.title == "Export"
    assert reason("a.ipynb", b'{"cells": [{"source": 5}]}') == "not a readable notebook (TypeError)"
    assert reason("a.ipynb", b"[]") == "no text"


def test_a_faq_of_one_object_a_line_is_read_like_a_table() -> None:
    entry = '{"id": 7, "Question": "How long?", "answer": "Two days.", "category": "shipping"}'
    lines = f'{entry}\n\nnot json\n{{"question": "A?"}}'
    first, *left_out = read("faq.jsonl", lines.encode())
    assert isinstance(first, Document)
    assert (first.id, first.title, first.text, first.category) == ("faq.jsonl#7", "How long?", "Two days.", "shipping")
    assert left_out == [
        Quarantined("faq.jsonl line 3", "not a JSON object"),
        Quarantined("faq.jsonl line 4", "no answer"),
    ]


def test_a_faq_may_be_divided_by_tabs() -> None:
    found = document("faq.tsv", b"question\tanswer\nHow long?\tTwo days, or three.\n")
    assert (found.title, found.text) == ("How long?", "Two days, or three.")


RST = b"""
Returns
=======

.. meta::
   :keywords: hidden

Read :doc:`the rules </rules/all>` or :ref:`how-to-pay`. Press :guilabel:`Send`. |unknown| stays.

.. note::

   Keep the **box**.

.. tabs::

   .. tab:: By post

      Use the label from `our site <https://help.example/label>`_.

.. code-block:: console

   $ kept --code

.. include:: /etc/passwd
.. raw:: html

   <b>hidden</b>
.. toctree::

   hidden
"""


def test_restructured_text_is_read_with_what_sphinx_adds() -> None:
    page = document("returns.rst", RST)
    assert page.title == "Returns"
    assert " ".join(page.text.split()) == (
        "# Returns Read the rules or how to pay. Press Send. unknown stays. Keep the box. By post Use the label from "
        "[our site](https://help.example/label). ``` $ kept --code ```"
    )


ASCIIDOC = b"""= Returns
:days: 14
:url-site: https://help.example

== How long [[x]]
.Good to know
NOTE: You have {days} days. See link:{url-site}/fees[the fees] or xref:pay.adoc[how to pay].

* One
** Two
. Three

|===
|To |Days
|AT
|3
|===

----
kept = "<<code>>"
----
include::other.adoc[]
//hidden
"""


def test_restructured_text_that_is_nested_without_end_is_refused() -> None:
    assert reason("a.rst", b"1. " * 500) == "nested too deep"


def test_asciidoc_is_read_as_its_visitors_see_it() -> None:
    page = document("returns.adoc", ASCIIDOC)
    assert page.title == "Returns"
    assert " ".join(page.text.split()) == (
        "# Returns ## How long **Good to know** You have 14 days. See [the fees](https://help.example/fees) or how to "
        'pay. - One - Two 1. Three | To | Days | | --- | --- | | AT | 3 | ``` kept = "<<code>>" ```'
    )


ORG = b"""#+TITLE: Returns
#+LANGUAGE: en
* TODO How long :tag:
:PROPERTIES:
:ID: hidden
:END:
You have =14= days. See [[https://help.example/fees][the fees]] and [[file:pay.org][how to pay]].
| To | Days |
|----+------|
| AT | 3    |
#+begin_src sh
kept
#+end_src
# hidden
"""


ANTORA = b"""= Fees
:keep: no

The {product-name} costs {price}{nbsp}EUR. See xref:{latest}@pay:page.adoc[how
to pay], {no-such}/pay[here] and [align=center]*now*.
Then xref:ways:by-post.adoc#how[].

[tabs]
====
By post::
+
--
[source,sh,subs="attributes+"]
----
include::example$pay.sh[tag=pay]
pay --to {product-name} # <1>
----
<1> Your parcel, {literal}.
--
====

[%header,cols="1,a"]
.Prices
|======
|To
|Days

|AT
|[.list]
* 3 by air
* 9 by sea
include::partial$more.adoc[]
|CH
|icon:check[role=green]
|======
swagger_ui::https://api.example/[]
Write \\{id}.
"""
COMPONENT = "asciidoc:\n  attributes:\n    product-name: Parcel\n    price: 5@\n    off: false\n    latest: 1.0\n"


def test_asciidoc_of_antora_has_the_attributes_of_its_component_and_no_marks_of_blocks() -> None:
    (page,) = read_documents("fees.adoc", ".adoc", ANTORA, component=COMPONENT)
    assert isinstance(page, Document)
    assert " ".join(page.text.split()) == (
        "# Fees The Parcel costs 5 EUR. See how to pay, here and *now*. Then by post. By post: "
        "``` pay --to Parcel # (1) ``` 1. Your parcel, {literal}. **Prices** "
        "| To | Days | | --- | --- | | AT | 3 by air; 9 by sea | | CH | ✓ | Write {id}."
    )


@pytest.mark.parametrize("component", ["- a", "a: [", "asciidoc: 3", "asciidoc: {attributes: [x]}", "a: &a [*a]"])
def test_a_damaged_description_of_a_component_leaves_attributes_as_they_are(component: str) -> None:
    (page,) = read_documents("a.adoc", ".adoc", b"= A\n\nIt costs {price}.\n", component=component)
    assert isinstance(page, Document)
    assert "{price}" in page.text


def test_org_mode_is_read_as_its_visitors_see_it() -> None:
    page = document("returns.org", ORG)
    assert (page.title, page.language) == ("Returns", "en")
    assert " ".join(page.text.split()) == (
        "## How long You have `14` days. See [the fees](https://help.example/fees) and how to pay. "
        "| To | Days | | --- | --- | | AT | 3 | ``` kept ```"
    )


def test_exports_of_help_centres_give_their_articles_and_not_their_drafts() -> None:
    zendesk = {
        "articles": [
            {
                "id": 7,
                "title": "Returns",
                "body": "<h2>How long</h2><p>14 days.</p>",
                "html_url": "https://help.example/hc/7",
                "locale": "en-us",
                "edited_at": "2026-05-01T08:00:00Z",
                "draft": False,
            },
            {"id": 8, "title": "Later", "body": "<p>Soon.</p>", "draft": True},
            {"id": 9, "title": "For agents", "body": "<p>Refund at once.</p>", "user_segment_id": 3},
            {"id": 10, "title": "For gold", "body": "<p>Ask.</p>", "user_segment_id": None, "user_segment_ids": [3, 4]},
        ]
    }
    returns, later, *restricted = read("zendesk.json", json.dumps(zendesk).encode())
    assert isinstance(returns, Document)
    assert (returns.id, returns.title, returns.url) == ("zendesk.json#7", "Returns", "https://help.example/hc/7")
    assert (returns.language, returns.last_updated) == ("en-us", "2026-05-01")
    assert returns.text == "## How long\n\n14 days.\n"
    assert later == Quarantined("zendesk.json#8", "a draft")
    assert [isinstance(each, Document) and bool(each.withheld) for each in restricted] == [True, True]
    assert document("zendesk.md", b"---\ntitle: Agents\nuser_segment_ids: [3]\n---\nRefund.\n").withheld
    assert not document("zendesk.md", b"---\ntitle: All\nuser_segment_ids: []\n---\nRefund.\n").withheld
    intercom = {
        "type": "list",
        "data": [
            {"id": "1", "title": "Fees", "description": "What it costs", "body": "<p>5 EUR.</p>", "state": "published"},
            {"id": "2", "title": "Later", "body": "<p>Soon.</p>", "state": "draft"},
        ],
    }
    fees, draft = read("intercom.json", json.dumps(intercom).encode())
    assert isinstance(fees, Document)
    assert fees.text == "What it costs\n\n5 EUR.\n"
    assert draft == Quarantined("intercom.json#2", "a draft")
    assert reason("package.json", b'{"name": "site"}') == "JSON without articles of Zendesk or Intercom"


def test_an_exported_space_gives_its_pages() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(
            "Help 0123456789abcdef0123456789abcdef/Fees 0123456789abcdef0123456789abcdee.md", "It is free."
        )
        archive.writestr("space/returns.html", "<main><h1>Returns</h1><p>14 days.</p></main>")
        archive.writestr("__MACOSX/._x.md", "hidden")
        archive.writestr("picture.png", "hidden")
    fees, returns = read("space.zip", packed.getvalue())
    assert isinstance(fees, Document)
    assert isinstance(returns, Document)
    assert (fees.title, fees.text) == ("Fees", "It is free.")
    assert (returns.id, returns.title) == ("space.zip/space/returns.html", "Returns")
    assert reason("space.zip", b"PK\x03\x04 nothing") == "not a readable ZIP file"


def test_front_matter_says_more_than_a_title() -> None:
    page = document(
        "a.md",
        b"---\ntitle: Fees\ndescription: What a return costs.\naliases: [/old/fees, Return fees, Postage]\n"
        b"categories: [Money, Other]\n---\n# Fees\n\nIt is free.\n",
    )
    assert page.category == "Money"
    assert (
        page.text
        == "# Fees\n\nWhat a return costs.\n\nReturn fees \xc2\xb7 Postage\n\n\nIt is free.\n".encode(
            "latin-1"
        ).decode()
    )
    for line in ("visibility: internal", "visibility: everyone", "draft: true", "published: false"):
        assert document("b.md", f"---\n{line}\n---\nText.".encode()).withheld, line
    assert not document("b.md", b"---\nvisibility: public\n---\nText.").withheld
