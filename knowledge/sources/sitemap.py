"""A sitemap, or an index of sitemaps, read into the addresses that it lists."""

import gzip
import io
import zlib
from xml.etree import ElementTree as ET

from knowledge.sources.files import Unfit
from knowledge.sources.xml import check_xml, children

SITEMAP_BYTES = 50_000_000
"""Bytes after unpacking, as in the limit of the sitemap protocol."""
ADDRESSES = 100_000
"""Addresses that are read at most: twice what the protocol allows."""


def read_sitemap(content: bytes) -> tuple[bool, list[str]]:
    """Return whether the addresses are those of further sitemaps, and the addresses. Raises Unfit."""
    try:
        if content[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(SITEMAP_BYTES + 1)
        if len(content) > SITEMAP_BYTES:
            raise Unfit(f"unpacks to more than {SITEMAP_BYTES // 1_000_000} MB")
        return _addresses(content)
    except (ET.ParseError, OSError, EOFError, ValueError, zlib.error) as error:
        raise Unfit(f"is not a sitemap ({type(error).__name__})") from error


def _addresses(content: bytes) -> tuple[bool, list[str]]:
    is_index = check_xml(content) == "sitemapindex"
    found: list[str] = []
    for element in children(content):
        found += [(node.text or "").strip() for node in element.iter() if _local(node.tag) == "loc" and node.text]
        if len(found) >= ADDRESSES:
            break
    return is_index, found[:ADDRESSES]


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
