"""The warehouse as a program that speaks over standard input and output: `python -m demo.mcp [FILE]`.

The file's text is the fault of the next call.
"""

import sys
from pathlib import Path

from demo.mcp.warehouse import build_warehouse


def main() -> None:
    """Serve until the input ends."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print("the warehouse opens", file=sys.stderr, flush=True)
    build_warehouse(lambda: file.read_text().strip() if file and file.exists() else "", []).run("stdio")


if __name__ == "__main__":
    main()
