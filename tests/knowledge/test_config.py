"""The file that lists a base's sources: what it may say, and how it is told what is wrong."""

from pathlib import Path

import pytest

from knowledge.build.plan import Known, make_plan
from knowledge.config import NOT_ARTICLES, BuildOptions, Source, read_config
from knowledge.errors import SourcesFaulty

GOOD = """
sources:
  - name: help
    folder: pages
    url: https://help.example.com/
    category: general
    language: en
  - {name: faq, file: faq.csv}
  - {name: site, sitemap: "https://help.example.com/sitemap.xml", hosts: [help.example.com], most: 50}
  - {name: runbook, folder: /srv/runbook, audience: internal}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "kb.yml"
    path.write_text(text)
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(SourcesFaulty) as caught:
        read_config(write(folder, text))
    return [fault.replace(str(folder / "kb.yml"), "kb.yml") for fault in caught.value.faults]


def test_sources_are_read_with_paths_relative_to_their_file(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, GOOD))
    help_, faq, site = config.of("public")
    assert (help_.place, faq.place) == (tmp_path / "pages", tmp_path / "faq.csv")
    assert (site.addresses, site.most, site.prefix) == (("https://help.example.com/sitemap.xml",), 50, "site/")
    (runbook,) = config.of("internal")
    assert runbook.place == Path("/srv/runbook")


def test_a_folder_or_a_single_file_is_a_base_by_itself(tmp_path: Path) -> None:
    (source,) = read_config(tmp_path).of("public")
    assert (source.place, source.prefix) == (tmp_path, "")


def test_what_is_wrong_is_said_in_a_sentence_that_names_the_source(tmp_path: Path) -> None:
    table = [
        ("- a\n- b", "kb.yml: input should be"),
        ("sources: [", "kb.yml is not YAML (line 1)."),
        ("sources: []", "kb.yml: sources: "),
        ("sources: [{name: a}]", "kb.yml: source a: needs exactly one of folder, file, sitemap, pages, slack"),
        (
            "sources:\n- name: a\n  slack: #help",
            'kb.yml: source a: slack: a # begins a comment: write the channel in quotes, as "#help"',
        ),
        (
            'sources: [{name: a, slack: "#help", audience: internal}]',
            "kb.yml: source a: articles from a channel are for",
        ),
        ("sources: [{name: a, folder: x, file: y}]", "kb.yml: source a: needs exactly one of"),
        ("sources: [{name: A b, folder: x}]", "kb.yml: source A b: name: "),
        ("sources: [{folder: x}]", "kb.yml: source 1 has no name."),
        ("sources: [{name: a, folder: x}, {name: a, folder: y}]", "kb.yml: two sources are named a."),
        ("sources: [{name: a, folder: x, colour: red}]", "kb.yml: source a: colour: "),
        ("sources: [{name: a, folder: x, audience: friends}]", "kb.yml: source a: audience: "),
        ("sources: [{name: a, sitemap: 'https://h.example.com/s'}]", "h.example.com is not among the hosts"),
        ("sources: [{name: a, pages: ['http://h.example.com/'], hosts: [h.example.com]}]", "must begin with https://"),
        ("sources: [{name: a, sitemap: 'file:///etc/passwd', hosts: [h]}]", "must begin with https://"),
    ]
    misses = []
    for text, expected in table:
        (fault, *_) = faults(tmp_path, text)
        if expected.lower() not in fault.lower():
            misses.append((text, expected))
    assert misses == []


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    assert len(faults(tmp_path, "sources: [{name: a}, {name: b, audience: x, folder: f}]")) == 2


def test_a_file_that_is_missing_is_a_fault_too(tmp_path: Path) -> None:
    with pytest.raises(SourcesFaulty, match="cannot be read"):
        read_config(tmp_path / "none.yml")


@pytest.mark.parametrize(
    ("url", "path", "own", "address"),
    [
        ("https://help.example/docs", "pay/fees.md", "", "https://help.example/docs/pay/fees"),
        ("https://help.example/docs", "pay/README.md", "", "https://help.example/docs/pay"),
        ("https://help.example/docs", "pay/index.html", "", "https://help.example/docs/pay"),
        ("https://help.example/docs", "pay/a.md", "/fees/", "https://help.example/fees/"),
        ("https://help.example/docs", "pay/a.md", "fees", "https://help.example/docs/pay/fees"),
        ("https://help.example/a/{slug}?v=1", "pay/fees.md", "", "https://help.example/a/fees?v=1"),
        ("https://help.example/a/{slug}", "pay/a.md", "/old/fees", "https://help.example/a/fees"),
        ("https://help.example/{path}.html", "pay/a b.md", "", "https://help.example/pay/a%20b.html"),
        ("https://help.example/docs", "pay/a.md", "https://other.example/x", "https://other.example/x"),
        ("", "pay/a.md", "/fees", ""),
    ],
)
async def test_a_page_has_the_address_that_its_front_matter_and_source_say(
    tmp_path: Path, url: str, path: str, own: str, address: str
) -> None:
    file = tmp_path / "pages" / path
    file.parent.mkdir(parents=True)
    front = f"---\npermalink: {own}\n---\n" if own else ""
    file.write_text(f"{front}A return is free.")
    (tmp_path / "sources.yml").write_text(f"sources:\n  - {{name: help, folder: pages, url: '{url}'}}\n")
    sources = read_config(tmp_path / "sources.yml").of("public")
    plan = await make_plan(sources, Known(), options=BuildOptions(), spool=tmp_path, tell=lambda progress: None)
    ((_, document),) = plan.documents
    assert document.url == address


@pytest.mark.parametrize(
    ("mark", "path", "address"),
    [
        ("antora.yml", "modules/pay/pages/how/fees.adoc", "https://help.example/pay/how/fees"),
        ("antora.yml", "modules/ROOT/pages/index.adoc", "https://help.example/"),
        ("antora.yml", "modules/pay/partials/note.adoc", ""),
        ("_index.md", "Pay Here/Fees.md", "https://help.example/pay-here/fees"),
        ("_category_.json", "02 - pay/1.fees.md", "https://help.example/pay/fees"),
        ("_category_.json", "7.0-news/2026-11-fees.md", "https://help.example/7.0-news/2026-11-fees"),
        ("_index.md", "_common/fees.md", ""),
        ("index.md", "02 - pay/Fees.md", "https://help.example/02%20-%20pay/Fees"),
    ],
)
async def test_a_pages_address_follows_the_generator_whose_own_files_are_in_the_folder(
    tmp_path: Path, mark: str, path: str, address: str
) -> None:
    file = tmp_path / "pages" / path
    file.parent.mkdir(parents=True)
    file.write_text("A return is free.")
    (tmp_path / "pages" / mark).write_text("name: help\n")
    (tmp_path / "sources.yml").write_text("sources:\n  - {name: help, folder: pages, url: 'https://help.example'}\n")
    sources = read_config(tmp_path / "sources.yml").of("public")
    plan = await make_plan(sources, Known(), options=BuildOptions(), spool=tmp_path, tell=lambda progress: None)
    assert [document.url for _, document in plan.documents if document.id.endswith(path)] == [address]


async def test_files_are_chosen_by_patterns_and_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    for path in ("fees.md", "SUMMARY.md", "de/fees.md", "de/changelog.md", "old/a.md", "box.png", "b.PNG", "Makefile"):
        (tmp_path / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / path).write_text("A return is free.")
    (tmp_path / "sources.yml").write_text("sources:\n  - {name: a, folder: pages}\n")
    (whole,) = read_config(tmp_path / "sources.yml").sources
    assert (whole.include, whole.exclude) == ((), NOT_ARTICLES)

    async def planned(more: str) -> tuple[set[str], dict[str, int]]:
        (tmp_path / "sources.yml").write_text(f"sources:\n  - {{name: a, folder: pages{more}}}\n")
        sources = read_config(tmp_path / "sources.yml").of("public")
        plan = await make_plan(sources, Known(), options=BuildOptions(), spool=tmp_path, tell=lambda progress: None)
        return {path for path, _ in plan.documents}, dict(plan.passed_over)

    others = {"*.png": 2, "files without a suffix": 1}
    assert await planned("") == (
        {"a/fees.md", "a/de/fees.md", "a/old/a.md"},
        {"SUMMARY.md": 1, "CHANGELOG.*": 1, **others},
    )
    assert await planned(", exclude: [/old/*, de/*]") == (
        {"a/fees.md", "a/SUMMARY.md"},
        {"/old/*": 1, "de/*": 2, **others},
    )
    assert await planned(", include: [fees.md]") == ({"a/fees.md", "a/de/fees.md"}, {"not in include": 3, **others})


async def test_what_is_not_for_customers_is_left_out_of_a_public_source_only(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nvisibility: internal\n---\nRefund at once.")
    public, internal = (Source(folder=tmp_path, audience="public"), Source(folder=tmp_path, audience="internal"))
    for source, left_out in ((public, 1), (internal, 0)):
        plan = await make_plan([source], Known(), options=BuildOptions(), spool=tmp_path, tell=lambda progress: None)
        assert (len(plan.documents), len(plan.quarantined)) == (1 - left_out, left_out)
