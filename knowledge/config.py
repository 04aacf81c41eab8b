"""Which documents make up a base: one folder or file, or a YAML file that lists several sources.

    sources:
      - name: help                    # letters, digits, hyphens; begins the documents' names
        folder: pages                 # or file:, relative to this YAML file
        url: https://help.example.com/ # where the pages can be read, by their path; optional
      - name: site
        sitemap: https://help.example.com/sitemap.xml    # or pages: a list of addresses
        hosts: [help.example.com]     # nothing is fetched from anywhere else
        private: false                # true where those hosts are in a private network
      - name: runbook
        folder: internal
        audience: internal            # staff only; customers' questions never reach it
      - name: questions
        slack: "#help"                # threads that the team has answered become suggested articles, never pages

`read_config` reads either form. Every fault is reported at once.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from knowledge.addresses import is_private_host
from knowledge.audience import Audience
from knowledge.errors import SourcesFaulty

Pattern = Annotated[str, Field(min_length=1, max_length=200)]

AT_ONCE = 4
PER_SECOND = 10.0
SITE_PAGES = 2_000
"""Pages that are fetched from a site by default."""
FILE_BYTES = 200_000
LEARNED = "learned"
"""The name of the source that the program itself writes: what people have added to the base in the course of work."""
QUESTIONS = "questions.jsonl"
NOT_ARTICLES = (
    "SUMMARY.md",
    "_sidebar.*",
    "_navbar.*",
    "nav.adoc",
    "sidebars*.js*",
    "CHANGELOG.*",
    "CHANGES.*",
    "RELEASE_NOTES.*",
    "RELEASE-NOTES.*",
    "CONTRIBUTING.*",
    "CODE_OF_CONDUCT.*",
    "LICENSE.*",
    "404.*",
    QUESTIONS,
    "node_modules/*",
    "package*.json",
    "tsconfig*.json",
    "docs.json",
    "mint.json",
    "_category_.json",
    "*meta.json",
)
"""Patterns of files that describe a tree of pages, and answer no customer. They are passed over by default."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """The options of a build, besides its sources."""

    force: bool = False
    """Whether the build goes ahead even if much would be removed."""
    only: str = ""
    """The only source to read; the others keep what they have. If empty, all are read."""
    anew: bool = False
    """Whether nothing is taken over from the current generation because it is damaged. It then only shows what has
    changed, if it still can."""
    follows: bool = False
    """Whether it is requested because another base has read something else."""

    def with_those_of(self, other: "BuildOptions") -> "BuildOptions":
        """The options of one build for both. It reads what either needs, and follows only if both follow."""
        return BuildOptions(
            force=self.force or other.force,
            only=self.only if self.only == other.only else "",
            anew=self.anew or other.anew,
            follows=self.follows and other.follows,
        )


class Source(BaseModel):
    """One source as the file describes it; `place` or addresses, never both."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")] = ""
    """Empty for the one source of a base that no YAML file describes."""
    folder: Path | None = None
    file: Path | None = None
    sitemap: str | None = None
    """The address of a sitemap, or of an index of sitemaps."""
    pages: tuple[str, ...] = ()
    """Addresses of pages, in place of a sitemap."""
    hosts: frozenset[str] = frozenset()
    """Hosts that may be asked. Required with addresses."""
    private: bool = False
    """Whether the hosts may be on this machine or in a private network."""
    slack: Annotated[str, Field(pattern=r"^(#[^\s#,<>]{1,80}|C[A-Z0-9]{2,20})$")] = ""
    """A public channel, as `#help` or by its id. Nothing of it is read into a base: see `Config.channels`."""
    most: Annotated[int, Field(ge=1, le=100_000)] = SITE_PAGES
    """Pages fetched at the most."""
    at_once: Annotated[int, Field(ge=1, le=32)] = AT_ONCE
    """Requests to its hosts at a time."""
    per_second: Annotated[float, Field(ge=0.01, le=1_000)] = PER_SECOND
    """Requests to its hosts in a second."""
    robots: bool = True
    """Whether robots.txt and noindex are obeyed."""
    include: tuple[Pattern, ...] = ()
    """Patterns of the files of a folder that are read. If empty, all are."""
    exclude: tuple[Pattern, ...] = NOT_ARTICLES
    """Patterns of the files of a folder that are passed over."""
    audience: Audience = "public"
    url: str = ""
    """Where a folder's pages can be read: this, and the file's path without its suffix.

    Or a pattern: `{path}` stands for that path, `{slug}` for the slug in the page's front matter, or its file's name.
    """
    category: Annotated[str, Field(max_length=100)] = ""
    """For documents that name none."""
    language: Annotated[str, Field(pattern=r"^([a-z]{2,3}(-[a-z0-9]{2,8})*)?$")] = ""
    """The same, as `en` or `pt-br`."""

    @field_validator("slack", mode="before")
    @classmethod
    def _check_quotes(cls, given: Any) -> Any:
        if given is None:
            raise ValueError('a # begins a comment: write the channel in quotes, as "#help"')
        return given

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [self.folder, self.file, self.sitemap, self.pages, self.slack]
        if sum(map(bool, given)) != 1:
            raise ValueError("needs exactly one of folder, file, sitemap, pages, slack")
        if self.slack and self.audience != "public":
            raise ValueError("articles from a channel are for customers, so its audience is public")
        for address in self.addresses:
            self._check_address(address)
        if self.url and urlsplit(self.url).scheme not in ("http", "https"):
            raise ValueError("url must begin with https://")
        if unknown := set(re.findall(r"\{[^{}]*\}?", self.url)) - {"{path}", "{slug}"}:
            raise ValueError(f"url has {', '.join(sorted(unknown))}; only {{path}} and {{slug}} are known")
        return self

    def _check_address(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise ValueError(f"{address} must begin with https://")
        if parts.hostname not in self.hosts:
            raise ValueError(f"{parts.hostname} is not among the hosts")
        if not self.private and is_private_host(parts.hostname):
            raise ValueError(f"{parts.hostname} is a private address: add private: true if it is meant")

    @property
    def addresses(self) -> tuple[str, ...]:
        """What is fetched first."""
        return (self.sitemap,) if self.sitemap else self.pages

    @property
    def place(self) -> Path:
        """The folder or file of a source that is not fetched."""
        place = self.folder or self.file
        if place is None:
            raise ValueError(f"{self.name} is not on disk")
        return place

    @property
    def prefix(self) -> str:
        """What the names of its documents begin with."""
        return f"{self.name}/" if self.name else ""

    @property
    def where(self) -> str:
        """What an operator calls it: its path or its address."""
        return self.addresses[0] if self.addresses else str(self.place)


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    sources: Annotated[tuple[Source, ...], Field(max_length=50)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.sources:
            raise ValueError("sources: lists none")
        return self


@dataclass(frozen=True, slots=True)
class Config:
    """All sources."""

    sources: tuple[Source, ...]
    """Those that documents are read from."""
    questions: Path | None = None
    """Where the operator's own questions would be, by which the answer thresholds are measured: beside the YAML file,
    or in the folder. None if the only source is a file."""
    channels: tuple[str, ...] = ()
    """The channels in Slack whose answered threads become suggested articles."""

    def of(self, audience: Audience) -> tuple[Source, ...]:
        """The sources of one audience."""
        return tuple(source for source in self.sources if source.audience == audience)


def read_config(path: Path, *, learned: Path | None = None) -> Config:
    """The sources behind `path`: those of a YAML file, or the folder or file itself.

    The folder `learned` is one more source as soon as it exists: it is public, and named LEARNED. Raises SourcesFaulty
    with a sentence for every fault of the YAML file. Whether other folders exist is checked when they are read.
    """
    config = _read(path)
    if learned is None:
        return config
    if any(source.name == LEARNED for source in config.sources):
        raise SourcesFaulty([f"{path}: the name {LEARNED} is taken: it is that of the articles which staff add."])
    added = (Source(name=LEARNED, folder=learned.resolve()),) if learned.is_dir() else ()
    return replace(config, sources=(*config.sources, *added))


def _read(path: Path) -> Config:
    if path.suffix.lower() not in (".yml", ".yaml"):
        return Config((Source(folder=path.resolve()),), path / QUESTIONS if path.is_dir() else None)
    described = _load(path)
    try:
        config = _File.model_validate(described)
    except ValidationError as error:
        raise SourcesFaulty([_sentence(path, fault, described) for fault in error.errors()]) from None
    faults = [*_name_faults(path, config.sources)]
    if faults:
        raise SourcesFaulty(faults)
    home = path.resolve().parent
    read = tuple(_resolved(source, home) for source in config.sources if not source.slack)
    return Config(read, home / QUESTIONS, tuple(source.slack for source in config.sources if source.slack))


def _load(path: Path) -> Any:
    try:
        if path.stat().st_size > FILE_BYTES:
            raise SourcesFaulty([f"{path} is larger than {FILE_BYTES // 1_000} kB."])
        return yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SourcesFaulty([f"{path} cannot be read: {error}"]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        place = getattr(error, "problem_mark", None)
        raise SourcesFaulty([f"{path} is not YAML{f' (line {place.line + 1})' if place else ''}."]) from None


def _name_faults(path: Path, sources: Sequence[Source]) -> list[str]:
    names = [source.name for source in sources]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    unnamed = [f"{path}: source {number} has no name." for number, name in enumerate(names, start=1) if not name]
    return [*unnamed, *(f"{path}: two sources are named {name}." for name in twice)]


def _resolved(source: Source, home: Path) -> Source:
    return source.model_copy(
        update={
            "folder": (home / source.folder).resolve() if source.folder else None,
            "file": (home / source.file).resolve() if source.file else None,
        }
    )


def _sentence(path: Path, fault: Mapping[str, Any], described: Any) -> str:
    message = str(fault["msg"]).removeprefix("Value error, ")
    match fault["loc"]:
        case ("sources", int(number), *rest):
            source = described["sources"][number]
            name = source.get("name") if isinstance(source, dict) else None
            return ": ".join(map(str, [path, f"source {name or number + 1}", *rest, message]))
        case where:
            return ": ".join(map(str, [path, *where, message]))
