"""Files of a source: listed without following links, read with a limit, refused with a reason.

Nothing that people put into the folder may hang, exhaust or deceive the builder: FIFOs, devices, symbolic links out of
the folder, files of many gigabytes, names that are no text.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from knowledge.errors import SourceUnreadable
from knowledge.sources.generators import COMPONENT, Generator, generator_of, is_mark
from knowledge.text import visible

PAGE_BYTES = 5_000_000
TABLE_BYTES = 50_000_000
OFFICE_BYTES = 30_000_000
ARCHIVE_BYTES = 200_000_000
COMPONENT_BYTES = 64_000
DEPTH = 32
FILES = 200_000

SUFFIXES = {
    ".md": PAGE_BYTES,
    ".markdown": PAGE_BYTES,
    ".mdx": PAGE_BYTES,
    ".rst": PAGE_BYTES,
    ".adoc": PAGE_BYTES,
    ".asciidoc": PAGE_BYTES,
    ".org": PAGE_BYTES,
    ".txt": PAGE_BYTES,
    ".html": PAGE_BYTES,
    ".htm": PAGE_BYTES,
    ".csv": TABLE_BYTES,
    ".tsv": TABLE_BYTES,
    ".jsonl": TABLE_BYTES,
    ".json": TABLE_BYTES,
    ".docx": OFFICE_BYTES,
    ".pdf": OFFICE_BYTES,
    ".ipynb": OFFICE_BYTES,
    ".zip": ARCHIVE_BYTES,
}
"""Suffix -> the size limit in bytes. Other files are passed over, and counted: a help folder has pictures too."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file worth reading."""

    path: str
    """The path relative to the source, with forward slashes."""
    full: Path
    size: int
    mtime_ns: int
    url: str = ""
    """Where it was fetched. Empty for a file of a folder."""
    etag: str = ""
    modified: str = ""
    """The server's Last-Modified, which is sent with the next request."""
    charset: str = ""
    """The encoding that the server names."""
    generator: Generator = ""
    """What builds the site of its folder."""
    component: Path | None = None
    """The `antora.yml` whose attributes a page of AsciiDoc uses. If it changes, so does the page."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Something that was left out, and why, in words for its authors."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything that a source holds at this moment."""

    files: tuple[SourceFile, ...]
    quarantined: tuple[Quarantined, ...]
    kept: tuple[str, ...] = ()
    """Paths whose earlier content is kept: they are unchanged, or could not be fetched this time."""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """What was not looked at, as a kind of file or the pattern that excludes it -> how many files."""


class Unfit(Exception):
    """A file that cannot be used. The message is the reason."""


def list_files(source: Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Listing:
    """List a folder or a single file. Raises SourceUnreadable if there is nothing to list at all.

    Of a folder, only paths that match one of the patterns `include` are listed, if there are any, and none that matches
    one of `exclude`. In a pattern, `*` stands for any characters, slashes too. Letters may be large or small.
    """
    chosen = _Chosen(include, exclude)
    try:
        root = source.resolve(strict=True)
        if root.is_dir():
            entries = sorted(
                _walk(root, root, DEPTH, chosen),
                key=lambda entry: entry.path if isinstance(entry, SourceFile) else "",
            )
        else:
            entries = [_look(root, root.name)]
    except OSError as error:
        raise SourceUnreadable(f"{source} cannot be read: {error.strerror or error}") from error
    if len(entries) > FILES:
        raise SourceUnreadable(f"{source} holds more than {FILES:,} files.")
    if not root.is_dir() and root.suffix.lower() not in SUFFIXES:
        raise SourceUnreadable(f"{source} is neither a folder nor one of {', '.join(sorted(SUFFIXES))}.")
    files = (entry for entry in entries if isinstance(entry, SourceFile))
    generator = generator_of(chosen.marks)
    return Listing(
        tuple(replace(file, generator=generator) for file in files) if generator else tuple(files),
        tuple(entry for entry in entries if isinstance(entry, Quarantined)),
        passed_over=chosen.passed_over,
    )


def why_passed_over(path: str, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> str:
    """The kind or the pattern by which a file of a folder is passed over. Empty if it is read."""
    chosen = _Chosen(include, exclude)
    chosen.takes(path)
    return next(iter(chosen.passed_over), "")


def read_bytes(file: SourceFile) -> bytes:
    """The file's content. Raises Unfit if it has been replaced since it was listed, or cannot be read."""
    return _read(file.full, SUFFIXES[file.full.suffix.lower()])


def read_component(file: SourceFile) -> str:
    """The text of the `antora.yml` that the file belongs to. Empty if there is none. Raises Unfit like `read_bytes`."""
    return _read(file.component, COMPONENT_BYTES).decode("utf-8", "replace") if file.component else ""


def _read(full: Path, limit: int) -> bytes:
    try:
        # Never block on a FIFO, and never follow a link that was put here since the listing.
        descriptor = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise Unfit("not a regular file")
            content = opened.read(limit + 1)
    except OSError as error:
        raise Unfit(f"cannot be read: {error.strerror or error}") from error
    if len(content) > limit:
        raise Unfit(_too_large(limit))
    return content


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Which files of a folder are wanted, and what was passed over so far."""

    include: Sequence[str]
    exclude: Sequence[str]
    passed_over: Counter[str] = field(default_factory=Counter)
    marks: set[str] = field(default_factory=set)
    """Names of files that show which generator builds the site."""

    def takes(self, path: str) -> bool:
        """Whether a file is wanted. If not, it is counted."""
        if is_mark(name := path.rpartition("/")[2]):
            self.marks.add(name)
        suffix = PurePosixPath(path).suffix.lower()
        if suffix not in SUFFIXES:
            self.passed_over[f"*{visible(suffix[:12])}" if suffix else "files without a suffix"] += 1
            return False
        found = f"/{path}".lower()
        if self.include and not any(fnmatch(found, _anywhere(pattern)) for pattern in self.include):
            self.passed_over["not in include"] += 1
            return False
        unwanted = next((pattern for pattern in self.exclude if fnmatch(found, _anywhere(pattern))), "")
        self.passed_over.update([unwanted] if unwanted else [])
        return not unwanted


def _anywhere(pattern: str) -> str:
    """A pattern for a path that begins with a slash. Without a slash at its beginning, it may match in any folder."""
    return pattern.lower() if pattern.startswith("/") else f"*/{pattern.lower()}"


def _walk(
    folder: Path, root: Path, depth: int, chosen: _Chosen, component: SourceFile | None = None
) -> Iterator[SourceFile | Quarantined]:
    """Look at all files below a folder. `component` is the `antora.yml` that it belongs to."""
    with os.scandir(folder) as found:
        entries = list(found)
    if any(entry.name == COMPONENT for entry in entries):
        own = _look(folder / COMPONENT, COMPONENT)
        component = own if isinstance(own, SourceFile) else component
    for entry in entries:
        full = Path(entry.path)
        if entry.name.startswith("."):
            continue
        path = full.relative_to(root).as_posix()
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_below(full, root, depth - 1, chosen, component)
        elif (entry.is_symlink() and entry.is_dir()) or chosen.takes(path):
            yield _in_component(_look(full, path), component)


def _walk_below(
    folder: Path, root: Path, depth: int, chosen: _Chosen, component: SourceFile | None
) -> Iterator[SourceFile | Quarantined]:
    name = _readable(folder.relative_to(root).as_posix())
    if depth <= 0:
        yield Quarantined(name, f"folders nested deeper than {DEPTH}")
        return
    try:
        yield from _walk(folder, root, depth, chosen, component)
    except OSError as error:
        yield Quarantined(name, f"cannot be read: {error.strerror or error}")


def _in_component(found: SourceFile | Quarantined, component: SourceFile | None) -> SourceFile | Quarantined:
    if component is None or isinstance(found, Quarantined) or found.full.suffix.lower() not in (".adoc", ".asciidoc"):
        return found
    return replace(found, component=component.full, mtime_ns=max(found.mtime_ns, component.mtime_ns))


def _look(full: Path, path: str) -> SourceFile | Quarantined:
    try:
        found = full.lstat()
    except OSError as error:
        return Quarantined(_readable(path), f"cannot be read: {error.strerror or error}")
    limit = COMPONENT_BYTES if full.name == COMPONENT else SUFFIXES.get(full.suffix.lower(), 0)
    if stat.S_ISLNK(found.st_mode):
        return Quarantined(_readable(path), "a symbolic link")
    if not stat.S_ISREG(found.st_mode):
        return Quarantined(_readable(path), "not a regular file")
    if found.st_size > limit:
        return Quarantined(_readable(path), _too_large(limit))
    if _readable(path) != path:
        return Quarantined(_readable(path), "a name that is not UTF-8")
    if visible(path) != path:
        return Quarantined(visible(path), "a name with characters that nobody sees")
    return SourceFile(path, full, found.st_size, found.st_mtime_ns)


def _readable(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")


def _too_large(limit: int) -> str:
    return f"larger than {limit // 1_000_000} MB"
