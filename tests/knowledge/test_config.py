"""The file that lists a base's sources: what it may say, and how it is told what is wrong."""

from pathlib import Path

import pytest

from knowledge.config import read_config
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
        ("sources: [{name: a}]", "kb.yml: source a: needs exactly one of folder, file, sitemap, pages"),
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
