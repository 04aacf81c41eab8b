"""XML from outside. No more of it is built in memory than a caller needs.

Two things are refused before any element is used: the document's own declarations, which let entities grow, and
elements that are nested deeper than in any real document.
"""

import io
from collections.abc import Iterator
from xml.etree import ElementTree as ET
from xml.parsers import expat

from knowledge.sources.files import Unfit

DEPTH = 200
"""Elements nested in each other, at most. Word nests at most some fifty."""


def check_xml(content: bytes) -> str:
    """The root's name without its prefix. Raises Unfit for declarations and deep nesting, ET.ParseError for other text.

    The parser checks this, and no search in the bytes, which may be in any of the parser's encodings.
    """
    parser = expat.ParserCreate()
    depth = 0
    root = ""

    def open_element(name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth, root
        root = root or name
        depth += 1
        if depth > DEPTH:
            raise Unfit(f"elements nested deeper than {DEPTH}")

    def close_element(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = _refuse_declarations
    parser.StartElementHandler = open_element
    parser.EndElementHandler = close_element
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ET.ParseError(str(error)) from error
    return root.rpartition(":")[2]


def parse_xml(content: bytes) -> ET.Element:
    """The root of a small document. Raises Unfit or ET.ParseError."""
    check_xml(content)
    return ET.fromstring(content)  # noqa: S314 - checked above


def children(content: bytes, parent: str = "") -> Iterator[ET.Element]:
    """The elements inside the first element called `parent`, or inside the root.

    Each element is freed when the next is requested. Raises Unfit or ET.ParseError.
    """
    check_xml(content)
    open_elements: list[ET.Element] = []
    inside = 0
    for event, element in ET.iterparse(io.BytesIO(content), events=("start", "end")):  # noqa: S314 - checked above
        if event == "start":
            open_elements.append(element)
            if not inside and parent in ("", element.tag):
                inside = len(open_elements)
            continue
        open_elements.pop()
        if inside and len(open_elements) == inside:
            yield element
            open_elements[-1].clear()
        elif inside and len(open_elements) < inside:
            return


def _refuse_declarations(*_declared: object) -> None:
    raise Unfit("declares entities of its own")
