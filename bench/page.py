"""How soon after `make demo` its page can be used, everything being installed.

    python -m bench.page               a row for each run, then one JSON object as the last line

Each run starts the demo anew, with an empty folder: the local Slack, the stand-in model, the shop, and Frontdesk,
which reads its help pages. The floor is a process that imports the same web server and serves one page; it is started
right before each run, so that the ratio says what the desk costs and not how busy the machine is.

usable_s        from the command until the page is drawn, its socket is open and it says that the app is online
answered_s      from the same moment until the first question, asked at once, has its whole answer
floor_s         until the floor's page is there
ratio           the median of usable_s / floor_s over the runs; the others are medians too
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp

RUNS = 5
QUESTION = "How long does standard shipping take?"
FLOOR = """
import asyncio
from aiohttp import web

async def main():
    app = web.Application()
    app.router.add_get("/", lambda request: asyncio.sleep(0, web.Response(text="ok")))
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="(default: %(default)s)")
    print(json.dumps(asyncio.run(_measured(parser.parse_args(arguments).runs))))
    return 0


async def _measured(runs: int) -> dict[str, float]:
    rows = []
    async with aiohttp.ClientSession() as http:
        for _ in range(runs):
            floor = await _floor(http)
            usable, answered = await _demo(http)
            print(f"usable {usable:5.2f} s   answered {answered:5.2f} s   floor {floor:5.2f} s", flush=True)
            rows.append((usable, answered, floor, usable / floor))
    names = ("usable_s", "answered_s", "floor_s", "ratio")
    return {
        name: round(statistics.median(column), 2) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


async def _floor(http: aiohttp.ClientSession) -> float:
    began = time.monotonic()
    async with running("-c", FLOOR) as port, http.get(f"http://127.0.0.1:{int(port)}/") as answer:
        await answer.read()
        return time.monotonic() - began


async def _demo(http: aiohttp.ClientSession) -> tuple[float, float]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        async with running("-m", "demo", "--json", "--no-browser", "--port", "0", "--data", folder) as told:
            return await _visit(http, json.loads(told)["page"], began)


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[bytes]:
    """A Python process until the block ends; the first line that it prints."""
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    if process.stdout is None:
        raise RuntimeError("the process has no output")
    try:
        yield await process.stdout.readline()
    finally:
        process.terminate()
        await process.wait()


async def _visit(http: aiohttp.ClientSession, page: str, began: float) -> tuple[float, float]:
    """What a browser does, but for the drawing: the document and its files, then patches until there is an answer."""
    base, _, query = page.partition("/?")
    async with http.get(page) as answer:
        document = await answer.text()
    for name in ("page.css", "blocks.css", "panels.css", "page.js", "tables.js", "panels.js"):
        async with http.get(f"{base}/static/{name}") as answer:
            await answer.read()
    async with http.ws_connect(f"{base}/page/ws?{query}", headers={"Origin": base}) as socket:
        while 'data-bot="online"' not in document and '"online"' not in document:
            document = await socket.receive_str(timeout=60)
        usable = time.monotonic() - began
        await socket.send_str(json.dumps({"do": "send", "half": "left", "n": 1, "text": QUESTION}))
        # Only a whole answer has feedback buttons.
        while "feedback-pair" not in document:
            document = await socket.receive_str(timeout=60)
        return usable, time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
