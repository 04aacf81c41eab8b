"""One build in a process of its own, with what it cost: the last line is JSON.

    python -m bench.kb_child ROOT SOURCE

`cpu_s` is the whole process, `beyond_imports_s` what came after every module was loaded, Chroma's included.
"""

import importlib
import sys
import time
from pathlib import Path

from bench.kb_cost import tell
from knowledge.build import process as build
from knowledge.generations import Generations


def main() -> None:
    """Build what the command line names, then tell."""
    root, source = map(Path, sys.argv[1:])
    # Loaded by the builder when it is first needed; here before the clock is read.
    importlib.import_module("chromadb.api.rust")
    imported = time.process_time()
    code = build.main(["--root", str(root), "--source", str(source)])
    current = Generations(root).current()
    tell(imported, chunks=current.manifest.chunks if current else 0)
    sys.exit(code)


if __name__ == "__main__":
    main()
