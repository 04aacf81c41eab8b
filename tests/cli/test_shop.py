"""`frontdesk shop`, as an operator runs it."""

import asyncio
import io
import json
import shutil
from pathlib import Path

import pytest

from bot.cli.main import main
from bot.cli.shop_try import keeps_to_its_key
from bot.shops.actions import KindSpec, Outcome
from bot.store import audit
from bot.store.database import open_database
from demo.house.server import House, open_house

FILE = "demo/house/store.http.yml"


def test_a_connector_without_a_fault_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shop", "check", FILE]) == 0
    told = capsys.readouterr().out
    assert "return_items: never sent twice; the quote is computed from the order" in told
    assert f"{FILE} has no fault." in told


def test_every_fault_has_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.http.yml"
    path.write_text(Path(FILE).read_text().replace("NEU: pending", "NEU: waiting"))
    assert main(["shop", "check", str(path)]) == 2
    told = capsys.readouterr().out
    assert f"wrong: {path}: line " in told


def test_what_is_not_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.http.yml"
    text = "\n".join(line for line in Path(FILE).read_text().splitlines() if "get_product:" not in line)
    path.write_text(text)
    assert main(["shop", "check", str(path)]) == 0
    assert "note: records.product is not used" in capsys.readouterr().out


def test_a_command_without_a_file_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shop", "check"]) == 2
    assert "set SHOP_FILE" in capsys.readouterr().err


async def tried(house: House, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    for name, value in house.environment().items():
        monkeypatch.setenv(name, value)
    return await asyncio.to_thread(main, ["shop", "try", FILE, "--email", "customer.a@example.com", *arguments])


async def test_a_dry_run_shows_the_request_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_house() as house:
        before = house.records.digest()
        assert await tried(house, monkeypatch) == 0
        assert "order ORD-67890: processing (IN_ARBEIT)" in capsys.readouterr().out
        arguments = json.dumps({"reason": "mistake"})
        status = await tried(
            house, monkeypatch, "--order", "ORD-67890", "--action", "cancel_order", "--arguments", arguments
        )
        assert status == 0
        told = capsys.readouterr().out
        assert "POST /orders/ORD-67890/cancellation" in told
        assert '"reason":"VERSEHEN"' in told
        assert "Nothing was sent." in told
        assert house.client_secret not in told
        assert house.records.digest() == before


async def test_what_is_not_there_is_said_plainly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_house() as house:
        assert await tried(house, monkeypatch, "--order", "ORD-54321") == 1
        assert "The customer has no order ORD-54321." in capsys.readouterr().out
        assert await tried(house, monkeypatch, "--order", "ORD-67890", "--action", "send_again") == 1
        assert "The shop has no send_again." in capsys.readouterr().out


async def test_live_every_look_up_is_asked_for_what_nobody_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wrong = tmp_path / "store.http.yml"
    written = await asyncio.to_thread(Path(FILE).read_text)
    wrong.write_text(written.replace('get_product: {get: "/articles', 'get_product: {get: "/wrong'))
    async with open_house() as house:
        for name, value in house.environment().items():
            monkeypatch.setenv(name, value)
        assert await asyncio.to_thread(main, ["shop", "check", FILE, "--live"]) == 0
        told = capsys.readouterr().out
        for name in ("find_customer", "list_orders", "get_order", "track", "get_product", "payment_methods"):
            assert f"{name}: no record, as it should be" in told
        assert await asyncio.to_thread(main, ["shop", "check", str(wrong), "--live"]) == 1
        assert "get_product: no usable answer" in capsys.readouterr().out


CANCEL = ("--order", "ORD-67890", "--action", "cancel_order", "--arguments", '{"reason": "mistake"}')


async def test_what_is_really_sent_is_typed_once_more_and_stands_in_the_audit_trail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, migrated_file: Path
) -> None:
    shutil.copyfile(migrated_file, tmp_path / "frontdesk.db")
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    async with open_house() as house:
        before = house.records.digest()
        monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
        assert await tried(house, monkeypatch, *CANCEL, "--really") == 1
        assert "Nothing was sent." in capsys.readouterr().out
        assert house.records.digest() == before
        monkeypatch.setattr("sys.stdin", io.StringIO("ORD-67890\n"))
        assert await tried(house, monkeypatch, *CANCEL, "--really", "--twice") == 0
        told = capsys.readouterr().out
        assert "The shop keeps to the key." in told
        assert "read back: done" in told
        assert len(house.records.ledger) == 1
    url = f"sqlite+aiosqlite:///{tmp_path / 'frontdesk.db'}"
    async with open_database(url) as database, database.transaction() as tx:
        kept = await audit.of_subject(tx, "order/ORD-67890")
    assert [entry.action for entry in kept] == ["shop.try.sent", "shop.try.outcome"] * 2
    assert {entry.actor for entry in kept} == {"cli"}


async def test_what_knows_no_key_is_never_sent_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, migrated_file: Path
) -> None:
    shutil.copyfile(migrated_file, tmp_path / "frontdesk.db")
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    lines = {"reason": "other", "lines": [{"line": "1", "quantity": 1}]}
    asked = ("--order", "ORD-12345", "--action", "return_items", "--arguments", json.dumps(lines))
    async with open_house() as house:
        before = house.records.digest()
        assert await tried(house, monkeypatch, *asked, "--really", "--twice") == 1
        assert "never sent twice" in capsys.readouterr().out
        assert await tried(house, monkeypatch, *asked, "--twice") == 2
        assert house.records.digest() == before


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (Outcome("done", reference="a"), Outcome("done", reference="a"), "keeps to the key"),
        (Outcome("done", reference="a"), Outcome("in_progress"), "keeps to the key"),
        (Outcome("done", reference="a"), Outcome("done", reference="b"), "did it twice"),
        (Outcome("done", reference="a"), Outcome("refused", "wrong_status"), "may not know the key"),
        (Outcome("done"), Outcome("done"), "do not say"),
        (Outcome("done", reference="a"), Outcome("unknown"), "do not say"),
        (Outcome("unknown"), Outcome("done", reference="a"), "says nothing"),
    ],
)
def test_two_answers_show_whether_the_shop_keeps_to_its_key(first: Outcome, second: Outcome, told: str) -> None:
    assert told in keeps_to_its_key(first, second, spec=KindSpec("refund", key_hours=24.0))
