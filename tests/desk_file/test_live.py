"""The desk file in force while it changes."""

from pathlib import Path

import pytest

from bot.desk_file.live import LiveDesk
from bot.desk_file.model import DeskFile
from bot.errors import ConfigurationError

pytestmark = pytest.mark.asyncio


def loud(desk: DeskFile) -> str:
    if desk.shop == "Forbidden":
        raise ConfigurationError(["no such shop"])
    return desk.shop.upper()


async def test_a_good_file_replaces_what_was_built_from_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "desk.yml"
    file.write_text("shop: One\n")
    live = LiveDesk(file)
    shop = live.follow(loud)
    file.write_text("shop: Two\n")
    assert (live.current().shop, shop()) == ("One", "ONE")
    await live.reload()
    assert (live.current().shop, shop(), live.fault) == ("Two", "TWO", None)


@pytest.mark.parametrize("text", ["shop: [\n", "shops: Two\n", "shop: Forbidden\n", None])
async def test_a_file_with_a_fault_changes_nothing_until_it_is_mended(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "desk.yml"
    file.write_text("shop: One\n")
    live = LiveDesk(file)
    names, shop = live.follow(lambda desk: desk.shop), live.follow(loud)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    await live.reload()
    assert (live.current().shop, names(), shop()) == ("One", "One", "ONE")
    assert live.fault
    file.write_text("shop: Three\n")
    await live.reload()
    assert (live.current().shop, names(), shop()) == ("Three", "Three", "THREE")
    assert not live.fault


async def test_without_a_file_every_default_is_in_force_and_nothing_is_read_again() -> None:
    live = LiveDesk(None)
    await live.reload()
    assert (live.current(), live.fault) == (DeskFile(), None)


async def test_a_faulty_file_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        LiveDesk(tmp_path / "none.yml")
