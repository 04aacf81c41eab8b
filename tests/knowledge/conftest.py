"""A built base to start from: made once, copied for each test that changes something."""

import asyncio
import shutil
from pathlib import Path

import pytest

from knowledge.build.process import build
from knowledge.build.report import Progress
from knowledge.config import Source, read_config
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import MANIFEST, Generations
from tests.knowledge.pages import write_library


@pytest.fixture(scope="session")
def embedder() -> TableEmbedder:
    return TableEmbedder()


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory, embedder: TableEmbedder) -> Path:
    """A folder with `library`, the documents, and `kb`, one generation made of them."""
    folder = tmp_path_factory.mktemp("built")
    library = write_library(folder / "library")
    asyncio.run(build(Generations(folder / "kb"), sources_of(library), embedder, tell=ignore))
    return folder


@pytest.fixture
def library(built_once: Path, tmp_path: Path) -> Path:
    """The documents, for one test alone."""
    return Path(shutil.copytree(built_once / "library", tmp_path / "library"))


@pytest.fixture
def kb(built_once: Path, library: Path, tmp_path: Path) -> Path:
    """The base made of them, for one test alone, as if it had been built from `library`."""
    folder = Path(shutil.copytree(built_once / "kb", tmp_path / "kb"))
    manifest = folder / "gen-000001" / MANIFEST
    manifest.write_text(manifest.read_text().replace(str(built_once / "library"), str(library)))
    return folder


def sources_of(place: Path) -> tuple[Source, ...]:
    """What a base of this folder or file is made of."""
    return read_config(place).of("public")


def ignore(_progress: Progress) -> None:
    """Nobody listens."""
