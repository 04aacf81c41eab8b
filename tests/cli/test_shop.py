"""`frontdesk shop`, as an operator runs it."""

import asyncio
import json
from pathlib import Path

import pytest

from bot.cli.main import main
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
