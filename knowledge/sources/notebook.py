"""A Jupyter notebook: its text and code, not what the code printed."""

import json
from collections.abc import Iterator
from typing import Any

from knowledge.documents import Document, read_page
from knowledge.sources.files import Unfit


def read_notebook(text: str, *, path: str) -> Document:
    """The cells as one page of Markdown. Raises Unfit."""
    try:
        cells = list(_cells(json.loads(text)))
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise Unfit(f"not a readable notebook ({type(error).__name__})") from error
    if not cells:
        raise Unfit("no text")
    return read_page("\n\n".join(cells), path=path, markup="markdown")


def _cells(notebook: Any) -> Iterator[str]:
    for cell in notebook["cells"] if isinstance(notebook, dict) and isinstance(notebook.get("cells"), list) else ():
        source = cell.get("source", "")
        words = source if isinstance(source, str) else "".join(source)
        if not words.strip():
            continue
        yield f"```\n{words.strip()}\n```" if cell.get("cell_type") == "code" else words.strip()
