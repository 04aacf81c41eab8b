"""Generations on disk: whole or not there, whatever is interrupted."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowledge.errors import BuildRefused, IndexBroken
from knowledge.generations import CURRENT, DATABASE, MANIFEST, Generations, Hold, IndexedSource, Manifest
from knowledge.thresholds import Thresholds


def manifest(number: int) -> Manifest:
    return Manifest(
        number=number,
        fingerprint="f",
        embedder="e",
        documents=1,
        chunks=2,
        sources=(IndexedSource("/kb", 1),),
        built_at="2026-01-01T00:00:00+00:00",
        thresholds=Thresholds(0.8, 0.6),
        words_thresholds=Thresholds(0.4, 0.2),
        calibrated_chunks=2,
    )


def publish(generations: Generations, number: int) -> None:
    folder = generations.begin(number)
    (folder / DATABASE).write_bytes(b"db")
    generations.publish(folder, manifest(number))


@pytest.fixture
def generations(tmp_path: Path) -> Generations:
    return Generations(tmp_path)


def test_before_the_first_build_there_is_none(tmp_path: Path) -> None:
    empty = Generations(tmp_path / "missing")

    assert (empty.current(), empty.named(), empty.whole(), empty.next_number()) == (None, None, [], 1)


def test_a_manifest_survives_its_journey_through_json() -> None:
    assert Manifest.from_json(manifest(7).to_json()) == manifest(7)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"schema": 99}', '{"schema": 1, "sources": [], "number": 1}', "\x00"]
)
def test_a_damaged_manifest_is_told(text: str) -> None:
    with pytest.raises(IndexBroken):
        Manifest.from_json(text)


def test_publishing_makes_a_generation_current(generations: Generations, tmp_path: Path) -> None:
    publish(generations, 1)

    current = generations.current()
    assert current is not None
    assert current.manifest == manifest(1)
    assert (tmp_path / CURRENT).read_text() == "gen-000001\n"
    assert generations.next_number() == 2


def test_a_build_that_was_killed_leaves_nothing_that_is_served_or_kept(
    generations: Generations, tmp_path: Path
) -> None:
    publish(generations, 1)
    abandoned = generations.begin(2)
    (abandoned / DATABASE).write_bytes(b"half")

    assert [generation.number for generation in generations.whole()] == [1]
    generations.begin(3)
    assert not abandoned.exists()
    assert (tmp_path / "gen-000003.tmp").is_dir()


def test_a_generation_that_was_renamed_but_not_named_is_not_served(generations: Generations) -> None:
    publish(generations, 1)
    publish(generations, 2)
    generations.point(1)

    current = generations.current()
    assert current is not None
    assert current.number == 1
    assert generations.next_number() == 3


@pytest.mark.parametrize("damage", [MANIFEST, DATABASE])
def test_when_the_current_one_is_damaged_the_newest_whole_one_serves(
    generations: Generations, tmp_path: Path, damage: str
) -> None:
    publish(generations, 1)
    publish(generations, 2)
    (tmp_path / "gen-000002" / damage).unlink()

    current = generations.current()
    assert current is not None
    assert current.number == 1


@pytest.mark.parametrize("content", [b"", b"gen-000009\n", b"../../etc", b"\xff\xfe"])
def test_a_pointer_that_points_nowhere_is_no_end(generations: Generations, tmp_path: Path, content: bytes) -> None:
    publish(generations, 1)
    (tmp_path / CURRENT).write_bytes(content)

    current = generations.current()
    assert current is not None
    assert current.number == 1


def test_tidying_keeps_the_current_the_kept_and_those_in_use(generations: Generations) -> None:
    for number in range(1, 6):
        publish(generations, number)
    held = Hold(generations.root / "gen-000002")

    generations.tidy(keep=4)
    assert [generation.number for generation in generations.whole()] == [5, 4, 2]

    held.release()
    generations.tidy(keep=4)
    assert [generation.number for generation in generations.whole()] == [5, 4]


def test_one_build_at_a_time(generations: Generations) -> None:
    with generations.building(), pytest.raises(BuildRefused) as refused, Generations(generations.root).building():
        pass

    assert refused.value.reason == "busy"
    with generations.building():
        pass


def test_a_folder_gets_one_name_however_many_ask_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        names = set(threads.map(lambda _: Generations(tmp_path / "kb").base(), range(40)))
    assert len(names) == 1
    assert [path.name for path in (tmp_path / "kb").iterdir()] == ["BASE"]
