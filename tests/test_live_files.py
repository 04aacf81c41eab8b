"""A file in force while it changes, at the example of the desk file."""

from pathlib import Path

import pytest

from bot.desk_file.model import DeskFile
from bot.desk_file.reading import read_desk_file
from bot.errors import ConfigurationError
from bot.live_files import LiveFile

pytestmark = pytest.mark.asyncio


def live_desk(path: Path | None) -> LiveFile[DeskFile]:
    return LiveFile(path, read_desk_file, without=DeskFile(), name="the desk file")


def loud(desk: DeskFile) -> str:
    if desk.shop == "Forbidden":
        raise ConfigurationError(["no such shop"])
    return desk.shop.upper()


async def test_a_good_file_replaces_what_was_built_from_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "desk.yml"
    file.write_text("shop: One\n")
    live = live_desk(file)
    shop = live.follow(loud)
    file.write_text("shop: Two\n")
    assert (live.current().shop, shop()) == ("One", "ONE")
    await live.reload()
    assert (live.current().shop, shop(), live.fault) == ("Two", "TWO", None)


@pytest.mark.parametrize("text", ["shop: [\n", "shops: Two\n", "shop: Forbidden\n", None])
async def test_a_file_with_a_fault_changes_nothing_until_it_is_mended(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "desk.yml"
    file.write_text("shop: One\n")
    live = live_desk(file)
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
    live = live_desk(None)
    await live.reload()
    assert (live.current(), live.fault) == (DeskFile(), None)


async def test_a_faulty_file_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        live_desk(tmp_path / "none.yml")
