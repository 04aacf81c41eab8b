"""The process that reads files for the builder (isolation.py), within the limits that it sets itself at start.

It ends when the builder does, whose end of the socket is closed then, and has nothing to clean up.
"""

import argparse
import json
import logging
import math
import os
import resource
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, BinaryIO

from knowledge.documents import Document
from knowledge.sources.files import Quarantined, Unfit
from knowledge.sources.isolation import EXHAUSTED
from knowledge.sources.reader import read_documents
from knowledge.sources.sitemap import read_sitemap

logger = logging.getLogger(__name__)


def main() -> None:
    """Answer requests until there are no more."""
    parser = argparse.ArgumentParser(
        prog="python -m knowledge.sources.reading", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--socket", type=int, required=True, help="the descriptor that requests come from")
    options = parser.parse_args()
    # A core dump of a parser that fails would be as large as its memory.
    _limit(resource.RLIMIT_CORE, 0)
    with socket.socket(fileno=options.socket) as connection:
        requests, answers = connection.makefile("rb"), connection.makefile("wb")
        # If there is no one to answer, the builder is gone.
        with suppress(ConnectionError):
            while line := requests.readline():
                request = json.loads(line)
                _limit(resource.RLIMIT_AS, request["memory_bytes"])
                _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + request["cpu_seconds"])
                try:
                    for answer in _answers(request, requests.read(request["size"])):
                        _say(answers, answer)
                    _say(answers, None)
                    answers.flush()
                except MemoryError:
                    # Nothing here can be relied on any more, not even cleaning up.
                    os._exit(EXHAUSTED)
    # End at once: no one needs what is left.
    os._exit(0)


def _answers(request: Mapping[str, Any], content: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        if request["task"] == "sitemap":
            is_index, addresses = read_sitemap(content)
            yield {"is_index": is_index, "addresses": addresses}
            return
        around = {name: request.get(name, "") for name in ("url", "charset", "component")}
        for found in read_documents(request["path"], request["suffix"], content, **around):
            yield asdict(found) if isinstance(found, Document) else {"left_out": asdict(found)}
    except MemoryError:
        raise
    except Unfit as unfit:
        yield _left_out(request, str(unfit))
    except Exception as error:
        logger.exception("a file could not be read", extra={"path": request.get("path", "")})
        yield _left_out(request, f"cannot be read ({type(error).__name__})")


def _left_out(request: Mapping[str, Any], reason: str) -> Mapping[str, Any]:
    return {"left_out": asdict(Quarantined(request.get("path", ""), reason))}


def _say(answers: BinaryIO, answer: Mapping[str, Any] | None) -> None:
    answers.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")


def _limit(kind: int, bound: int) -> None:
    """Lower a limit of this process. Not every system has each limit, and none lets it be raised."""
    _, most = resource.getrlimit(kind)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (bound if most == resource.RLIM_INFINITY else min(bound, most), most))


if __name__ == "__main__":
    main()
