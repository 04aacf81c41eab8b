"""`frontdesk kb check-links`: whether the addresses that answers link to lead anywhere."""

import argparse
import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from bot.errors import ConfigurationError
from bot.settings import Settings
from knowledge.config import Config, read_config
from knowledge.errors import KnowledgeError
from knowledge.generations import Generations
from knowledge.links import CheckedLink, addresses_of, check_links
from knowledge.search.catalog import CatalogReader

PAGES_SHOWN = 3
"""Pages that a line names."""


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the addresses that lead nowhere or elsewhere. The exit status is 1 if one is broken."""
    root = given.index or settings.data_dir / "kb"
    try:
        config = await asyncio.to_thread(_config, settings.kb_path)
        pages = await asyncio.to_thread(_pages, root, given.source)
    except KnowledgeError as error:
        raise ConfigurationError([f"kb check-links: {error}"]) from None
    if not pages:
        print("No page has an address.")
        return 0
    checked = await check_links(pages, limit=given.limit, private=_private_hosts(config))
    for link in checked:
        if link.outcome != "fine":
            print(_line(link))
    counts = Counter(link.outcome for link in checked)
    print(
        f"{len(checked):,} addresses: " + ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    )
    return 1 if counts["broken"] else 0


def _config(path: Path | None) -> Config:
    return read_config(path) if path else Config(())


def _private_hosts(config: Config) -> frozenset[str]:
    """The hosts in a private network that the sources name as meant."""
    private = [source for source in config.sources if source.private]
    own = {urlsplit(source.url).hostname or "" for source in private}
    return frozenset(own.union(*(source.hosts for source in private)) - {""})


def _pages(root: Path, source: str) -> dict[str, list[str]]:
    """The addresses of the pages that serve, with the pages' names. Raises KnowledgeError."""
    current = Generations(root).current()
    if current is None:
        raise KnowledgeError("No knowledge base has been built yet.")
    with closing(CatalogReader(current.database)) as reader:
        documents = reader.documents_by_name()
    return addresses_of((name, each.url) for name, each in documents.items() if source in ("", each.origin))


def _line(link: CheckedLink) -> str:
    more = len(link.pages) - PAGES_SHOWN
    pages = ", ".join(link.pages[:PAGES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return f"{link.outcome:<9}  {link.address}  {link.detail}  ({pages})"
