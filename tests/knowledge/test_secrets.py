"""Secrets in pages: found by their form, withheld from the public, named by document and kind and never shown."""

import time
from pathlib import Path

import pytest

from knowledge.build.process import build
from knowledge.build.secrets import find_secrets
from knowledge.config import Source
from knowledge.documents import Notice
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import DATABASE, Generations
from knowledge.knowledge_base import open_knowledge_base
from tests.knowledge.conftest import ignore
from tests.patience import patience

# Put together here, so that nothing in this file looks like one to those who search it.
WORDS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3nR6tX9bD2fG5kM8"
KEY = (
    f"-----BEGIN RSA {'PRIVATE'} KEY-----\n"
    + "\n".join([WORDS + "uV7x+/0Q"] * 6)
    + f"\n-----END RSA {'PRIVATE'} KEY-----"
)
SECRETS = {
    "Slack token": f"xoxb-{WORDS[:12]}-{WORDS[12:36]}",
    "Slack webhook": f"https://hooks.slack.com/services/{WORDS[:9]}/{WORDS[9:18]}/{WORDS[18:42]}",
    "OpenAI or Anthropic key": f"sk-proj-{WORDS}",
    "Stripe key": f"sk_live_{WORDS[:24]}",
    "Shopify token": "shpat_" + "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "GitHub token": f"ghp_{WORDS[:36]}",
    "GitLab token": f"glpat-{WORDS[:20]}",
    "AWS key": "AKIA" + "Q3EGV7KZN2XW5RTY",
    "Google key": f"AIza{WORDS[:35]}",
    "SendGrid key": f"SG.{WORDS[:22]}.{WORDS[:43]}",
    "package registry token": f"npm_{WORDS[:36]}",
    "signed token (JWT)": f"eyJ{WORDS[:20]}.eyJ{WORDS[:30]}.{WORDS[:40]}",
    "password in an address": "postgres://shop:" + "hX9-kwq2Lm@db.internal/shop",
    "private key": KEY,
    "password or key by its name": "Password: " + "hX9kwq2Lm",
}
HARMLESS = [
    "Your password must be at least 8 characters long: use letters, digits and signs.",
    "Password: ********",
    "password=your_password",
    "Passwort: mindestens 8 Zeichen",
    "Kennwort: geheim",
    "API key: YOUR_API_KEY_123abcDEF",
    "The client secret: see your dashboard",
    "api_key: string",
    "{{ api_key }}: abc",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "AKIAIOSFODNN7EXAMPLE",
    "Authorization: Bearer <token>",
    f"sk_test_{WORDS[:24]}",
    "xoxb-your-token-here-0123456789",
    "postgres://user:password@localhost",
    "postgres://user:<password>@host",
    "https://help.example.com:443/a@b",
    "mailto:service@example.com",
    "Order ORD-1001-AB3D-99XY, tracking 1Z999AA10123456784",
    "IBAN DE89 3704 0044 0532 0130 00",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "550e8400-e29b-41d4-a716-446655440000",
    f"-----BEGIN PUBLIC KEY-----\n{WORDS}\n-----END PUBLIC KEY-----",
    "-----BEGIN PRIVATE KEY-----\n...\n",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "Voucher SAVE-2026-XYZ",
    "ask-for-a-refund-within-30-days-please",
    "risk-free-returns-within-thirty-days-of-delivery",
]


def test_a_secret_is_found_where_it_stands() -> None:
    misses = []
    for kind, secret in SECRETS.items():
        found = find_secrets(f"Use this: {secret}\n\nThat is all. {'Words. ' * 50}")
        if (
            kind not in {each.kind for each in found}
            or not (min(each.start for each in found) >= 10)
            or not (max(each.end for each in found) <= 12 + len(secret))
        ):
            misses.append((kind, secret, found))
    assert misses == []


def test_examples_numbers_and_advice_are_no_secrets() -> None:
    misses = [(text, got) for text in HARMLESS if (got := find_secrets(text)) != []]
    assert misses == []


def test_help_pages_as_shops_write_them_hold_none() -> None:
    pages = Path(__file__).parents[3].glob("shared/data/kb/*/docs/*.md")
    found = {str(page): find_secrets(page.read_text("utf-8")) for page in pages}
    assert {page: each for page, each in found.items() if each} == {}


def test_the_time_is_in_proportion_to_the_text() -> None:
    for seed in (
        "sk-",
        "password:",
        "eyJa",
        "-----BEGIN PRIVATE KEY-----\n",
        "a://b:",
        "A: b\n",
        "AKIA",
        "`'\"*",
        "xox",
    ):
        begun = time.process_time()
        find_secrets(seed * (200_000 // len(seed)))
        assert time.process_time() - begun < patience(5), seed


def page(secret: str) -> str:
    return (
        f"# Printing labels\n\n{'Labels are printed at the counter of the shop. ' * 40}\n\n"
        f"## Access for the label printer\n\n{'The printer wants a key of its own. ' * 30}\n\n{secret}\n\n"
        f"## Paper for labels\n\n{'Paper comes in rolls of two hundred sheets. ' * 40}\n\n"
        f"## Ink\n\n{'The ink dries in a minute and lasts for a year. ' * 40}\n"
    )


@pytest.mark.parametrize("kind", ["Stripe key", "private key"])
async def test_the_passage_with_a_secret_is_not_served_and_the_rest_of_its_page_is(
    tmp_path: Path, embedder: TableEmbedder, kind: str
) -> None:
    (folder := tmp_path / "help").mkdir()
    (folder / "labels.md").write_text(page(SECRETS[kind]))
    source = Source(name="help", folder=folder)
    await build(Generations(tmp_path / "kb"), [source], embedder, tell=ignore)
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        paper = await base.search("Which paper do labels need?")
        key = await base.search("key for the label printer", words=4_000, limit=20)
        status = await base.status()
    assert "rolls of two hundred" in paper.hits[0].text
    (notice,) = status.notices
    assert (notice.document, notice.kind, notice.origin) == ("help/labels.md", kind, "help")
    assert notice.withheld >= 1
    assert not any(line in hit.text for hit in key.hits for line in SECRETS[kind].split("\n"))
    stored = b"".join(path.read_bytes() for path in (tmp_path / "kb").rglob("*") if path.is_file())
    assert SECRETS[kind].split("\n")[-2 if kind == "private key" else 0].encode() not in stored

    (folder / "labels.md").write_text(page("Ask at the counter."))
    await build(Generations(tmp_path / "kb"), [source], embedder, tell=ignore)
    current = Generations(tmp_path / "kb").current()
    assert current is not None
    assert current.manifest.notices == ()


async def test_staffs_own_pages_are_served_whole_and_named_all_the_same(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    (folder := tmp_path / "runbook").mkdir()
    (folder / "labels.md").write_text(page(SECRETS["Stripe key"]))
    source = Source(name="runbook", folder=folder, audience="internal")
    await build(Generations(tmp_path / "kb"), [source], embedder, tell=ignore)
    current = Generations(tmp_path / "kb").current()
    assert current is not None
    assert current.manifest.notices == (Notice("runbook/labels.md", "Stripe key", 1, 0, "runbook"),)
    assert SECRETS["Stripe key"].encode() in (current.folder / DATABASE).read_bytes()


async def test_a_secret_in_a_title_takes_the_page(tmp_path: Path, embedder: TableEmbedder) -> None:
    (folder := tmp_path / "help").mkdir()
    (folder / "good.md").write_text("# Good\n\nWords.\n")
    (folder / "bad.md").write_text(f"---\ntitle: Key {SECRETS['Stripe key']}\n---\n\nOrdinary words.\n")
    await build(Generations(tmp_path / "kb"), [Source(name="help", folder=folder)], embedder, tell=ignore)
    current = Generations(tmp_path / "kb").current()
    assert current is not None
    assert [(each.document, each.kind) for each in current.manifest.notices] == [("help/bad.md", "Stripe key")]
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        assert {hit.source for hit in (await base.search("Ordinary words")).hits} <= {"help/good.md"}


async def test_what_nobody_sees_is_taken_out_of_every_kind_of_page_and_counted(
    tmp_path: Path, embedder: TableEmbedder
) -> None:
    tagged = "".join(chr(0xE0000 + ord(letter)) for letter in "refund")
    (folder := tmp_path / "help").mkdir()
    (folder / "a.md").write_text(
        f"---\ntitle: Re{tagged}turns\ncategory: Orders{tagged}\n---\n\nWithin\u202e 30 days{tagged} 👩‍🚀.\n"
    )
    (folder / "b.html").write_text(f"<h1>Shipping{tagged}</h1><p>Two&#xE0041;&#xE0042; days</p>")
    (folder / "c.csv").write_text(f"question,answer\nHow{tagged} long?,Two{tagged} days\n")
    (folder / "d\u202e.md").write_text("# Name\n\nWords.\n")
    report = await build(Generations(tmp_path / "kb"), [Source(name="help", folder=folder)], embedder, tell=ignore)
    assert {each.name: each.reason for each in report.quarantined} == {
        "help/d.md": "a name with characters that nobody sees"
    }
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        notices = (await base.status()).notices
        hits = (await base.search("Returns within 30 days")).hits
    assert {(each.document.partition("#")[0], each.kind, each.times) for each in notices} == {
        ("help/a.md", "hidden letter", 18),
        ("help/a.md", "direction override", 1),
        ("help/b.html", "hidden letter", 14),
        ("help/c.csv", "hidden letter", 12),
    }
    assert ("Returns" in hits[0].heading, hits[0].category) == (True, "Orders")
    assert "30 days 👩‍🚀." in hits[0].text
