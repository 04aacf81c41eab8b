"""What Frontdesk keeps is for nobody else on the machine."""

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bot.private_files import make_private
from bot.settings import load_settings


def modes(folder: Path) -> dict[str, str]:
    """Each file and folder, by its name, with its rights."""
    found = [folder, *folder.rglob("*")]
    return {path.name: f"{stat.S_IMODE(path.lstat().st_mode):o}" for path in found if not path.is_symlink()}


def open_to_all(folder: Path) -> Path:
    """A folder as an earlier release has left it."""
    (folder / "kb" / "gen-000001").mkdir(parents=True)
    for name in ("frontdesk.db", "frontdesk.db-wal", "frontdesk.db.before-0009", "kb/gen-000001/chunks.db"):
        (folder / name).touch()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def test_what_an_earlier_release_left_open_is_closed(tmp_path: Path) -> None:
    data = open_to_all(tmp_path / "data")
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.touch()
    elsewhere.chmod(0o644)
    (data / "link").symlink_to(elsewhere)
    make_private([data])
    assert set(modes(data).values()) == {"700", "600"}
    assert modes(data)["frontdesk.db-wal"] == "600"
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644


def test_a_database_elsewhere_is_closed_with_what_is_beside_it_and_nothing_else(tmp_path: Path) -> None:
    there = open_to_all(tmp_path / "there")
    url = f"sqlite+aiosqlite:///{there / 'frontdesk.db'}"
    settings = load_settings({"DATA_DIR": str(tmp_path / "none"), "DATABASE_URL": url})
    make_private(settings.private_places)
    closed = {name for name, mode in modes(there).items() if mode == "600"}
    assert closed == {"frontdesk.db", "frontdesk.db-wal", "frontdesk.db.before-0009"}
    assert modes(there)["there"] == "755"


def test_where_the_file_system_refuses_one_warning_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    data = open_to_all(tmp_path / "data")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    monkeypatch.setattr(Path, "chmod", refuse)
    make_private([data])
    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert vars(warning)["files"] == len(modes(data))


def test_what_a_command_makes_is_private_from_the_start(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "bot", "migrate"]
    subprocess.run(command, env=environment, check=True, capture_output=True, umask=0o022, timeout=100)
    assert modes(tmp_path / "data").keys() >= {"data", "frontdesk.db"}
    assert set(modes(tmp_path / "data").values()) == {"700", "600"}
