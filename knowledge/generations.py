"""Generations on disk: kb/CURRENT names one of kb/gen-000007/{chroma, kb.sqlite, MANIFEST.json}.

A generation is built next to the others under a name that ends in `.tmp`. It is flushed to disk, renamed, and only then
named in CURRENT by an atomic replacement. So at every moment CURRENT names a whole generation, whatever is killed. One
older generation is kept for a rollback.
"""

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from knowledge.documents import Notice
from knowledge.errors import BuildRefused, IndexBroken
from knowledge.thresholds import Thresholds

CURRENT = "CURRENT"
LOCK = "LOCK"
IDENTITY = "BASE"
MANIFEST = "MANIFEST.json"
DATABASE = "kb.sqlite"
CHROMA = "chroma"
SPOOL = "fetched-"
"""The first part of the names of folders that pages of sites are fetched into."""
MANIFEST_SCHEMA = 3

_NAME = re.compile(r"gen-(\d{6,})")


@dataclass(frozen=True, slots=True)
class ChromaCollection:
    """A collection on a Chroma server."""

    url: str
    """The server's address, such as http://127.0.0.1:8000."""
    collection: str


Home = Path | ChromaCollection
"""Where a generation's vectors are."""


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """What a generation was read from."""

    path: str
    """A folder, a file, or the address of a site."""
    documents: int
    name: str = ""
    """The name in the file of the sources. Empty for a base's only source."""
    stale: str = ""
    """Why it could not be read this time, so that its documents are from an earlier build. Empty if it was read."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a generation, on disk."""

    number: int
    fingerprint: str
    """A digest of the embedder, the chunker and the schema. A program with another one cannot use this generation."""
    embedder: str
    documents: int
    chunks: int
    sources: tuple[IndexedSource, ...]
    built_at: str
    """The build time as ISO 8601, in UTC."""
    thresholds: Thresholds
    """The fused scores from which a question counts as answerable."""
    words_thresholds: Thresholds
    """The same scores for words alone, while vectors cannot be searched."""
    calibrated_chunks: int
    """The number of chunks when the thresholds were measured."""
    content: str = ""
    """A digest of all documents, whatever their order. Two bases that have read the same have the same digest."""
    forced: bool = False
    """Whether the build was allowed to remove much of the base."""
    follows: bool = False
    """Whether it was built because another base had read something else. Then other bases need not follow it."""
    collection: str = ""
    """The collection on the Chroma server that holds the vectors. Empty if they are in the generation's folder."""

    notices: tuple[Notice, ...] = ()
    """What was found in documents and their authors should know, secrets first."""

    def to_json(self) -> str:
        """The manifest as it is written to disk."""
        return json.dumps({"schema": MANIFEST_SCHEMA, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """Read a manifest. Raises IndexBroken if it is not one of ours."""
        try:
            values = json.loads(text)
            if values.pop("schema") != MANIFEST_SCHEMA:
                raise IndexBroken("The generation was made by another version of the program.")
            sources = tuple(IndexedSource(**source) for source in values.pop("sources"))
            notices = tuple(Notice(**notice) for notice in values.pop("notices", ()))
            fused, words = (Thresholds(**values.pop(name)) for name in ("thresholds", "words_thresholds"))
            return cls(sources=sources, notices=notices, thresholds=fused, words_thresholds=words, **values)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise IndexBroken(f"The manifest cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Generation:
    """A whole generation on disk."""

    folder: Path
    manifest: Manifest

    @property
    def number(self) -> int:
        """The generation's number in the sequence."""
        return self.manifest.number

    @property
    def database(self) -> Path:
        """The path of its kb.sqlite."""
        return self.folder / DATABASE

    @property
    def chroma(self) -> Path:
        """The folder of its vector index, unless a server holds that."""
        return self.folder / CHROMA

    def is_whole(self) -> bool:
        """Whether its manifest and its database still exist."""
        try:
            manifest = Manifest.from_json((self.folder / MANIFEST).read_text())
        except (OSError, UnicodeDecodeError, IndexBroken):
            return False
        return manifest == self.manifest and self.database.is_file()

    def home(self, chroma_url: str) -> Home:
        """Where its vectors are. Raises IndexBroken if a server holds them and no server is set."""
        if not self.manifest.collection:
            return self.chroma
        if not chroma_url:
            raise IndexBroken("The vectors are on a Chroma server, and none is set (CHROMA_URL). Build again.")
        return ChromaCollection(chroma_url, self.manifest.collection)


class Generations:
    """The folder that holds the generations."""

    def __init__(self, root: Path) -> None:
        """Use the folder `root`, which need not exist yet."""
        self._root = root

    @property
    def root(self) -> Path:
        """The folder itself."""
        return self._root

    def current(self) -> Generation | None:
        """The generation that CURRENT names, or the newest whole one if that is damaged. None before any build."""
        named = self.named()
        whole = self.whole()
        return next((generation for generation in whole if generation.number == named), whole[0] if whole else None)

    def named(self) -> int | None:
        """The number in CURRENT, whether or not that generation is whole."""
        try:
            match = _NAME.fullmatch((self._root / CURRENT).read_text().strip())
        except (OSError, UnicodeDecodeError):
            return None
        return int(match[1]) if match else None

    def whole(self) -> list[Generation]:
        """Every generation with a readable manifest and its database, newest first."""
        found: list[Generation] = []
        for folder in self._folders():
            try:
                generation = Generation(folder, Manifest.from_json((folder / MANIFEST).read_text()))
            except (OSError, UnicodeDecodeError, IndexBroken):
                continue
            if generation.database.is_file():
                found.append(generation)
        return sorted(found, key=lambda generation: -generation.number)

    def before(self, number: int) -> Generation | None:
        """The newest generation that is older than this number."""
        return next((generation for generation in self.whole() if generation.number < number), None)

    def base(self) -> str:
        """A name that no other base has. The names of its collections on a server begin with it."""
        path = self._root / IDENTITY
        if not path.is_file():
            self._root.mkdir(parents=True, exist_ok=True)
            name = f"frontdesk-{secrets.token_hex(6)}"
            fresh = self._root / f"{IDENTITY}.{name}"
            fresh.write_text(f"{name}\n")
            try:
                # If several processes come at once, the first one names it.
                path.hardlink_to(fresh)
            except FileExistsError:
                pass
            except OSError:
                # A file system without hard links.
                fresh.replace(path)
            fresh.unlink(missing_ok=True)
        return path.read_text().strip()

    def next_number(self) -> int:
        """A number that was never used in this folder."""
        used = [int(match[1]) for folder in self._folders() if (match := _NAME.fullmatch(folder.name))]
        return max([*used, self.named() or 0]) + 1

    def begin(self, number: int) -> Path:
        """Return an empty folder for a new generation. What earlier builds left unfinished is removed."""
        for leftover in (*self._root.glob("gen-*.tmp"), *self._root.glob(f"{SPOOL}*")):
            shutil.rmtree(leftover)
        folder = self._root / f"gen-{number:06}.tmp"
        folder.mkdir()
        return folder

    def publish(self, folder: Path, manifest: Manifest) -> Generation:
        """Make a finished folder the current generation."""
        (folder / MANIFEST).write_text(manifest.to_json())
        _flush_tree(folder)
        target = self._root / f"gen-{manifest.number:06}"
        folder.rename(target)
        _flush(self._root)
        self.point(manifest.number)
        return Generation(target, manifest)

    def point(self, number: int) -> None:
        """Make CURRENT name that generation."""
        fresh = self._root / f"{CURRENT}.tmp"
        fresh.write_text(f"gen-{number:06}\n")
        _flush(fresh)
        fresh.replace(self._root / CURRENT)
        _flush(self._root)

    def roll_back(self, generation: Generation) -> None:
        """Make an older generation the current one. Raises BuildRefused("busy") while a build runs."""
        with self.building():
            self.point(generation.number)

    def tidy(self, *, keep: int | None) -> None:
        """Remove every generation but the current one and `keep`. One that a process holds stays for now."""
        kept = {self.named(), keep}
        for folder in self._folders():
            match = _NAME.fullmatch(folder.name)
            if match and int(match[1]) not in kept and not _is_held(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def is_held(self, generation: Generation) -> bool:
        """Whether a process uses this generation."""
        return _is_held(generation.folder)

    @contextmanager
    def building(self) -> Iterator[None]:
        """Hold the builders' lock. Raises BuildRefused("busy") if another process has it."""
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / LOCK).open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BuildRefused("busy", "Another build of this knowledge base is running.") from None
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield

    def _folders(self) -> list[Path]:
        if not self._root.is_dir():
            return []
        return [folder for folder in self._root.iterdir() if _NAME.fullmatch(folder.name) and folder.is_dir()]


class Hold:
    """A generation in use. While it is held, no process removes it."""

    def __init__(self, folder: Path) -> None:
        """Take the hold. Raises IndexBroken if the generation has just been removed."""
        try:
            self._file = (folder / MANIFEST).open()
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            raise IndexBroken(f"{folder} is gone or being removed.") from error

    def release(self) -> None:
        """Release the hold."""
        self._file.close()


def now() -> str:
    """The present time, in the form that a manifest has."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_held(folder: Path) -> bool:
    try:
        with (folder / MANIFEST).open() as manifest:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _flush_tree(folder: Path) -> None:
    for place, _, files in os.walk(folder):
        for name in files:
            _flush(Path(place, name))
        _flush(Path(place))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
