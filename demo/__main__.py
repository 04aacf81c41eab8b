"""`python -m demo`: try Frontdesk in a Slack of your own, without an account anywhere."""

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from demo.model.server import Pace
from demo.opening import play_opening
from demo.program import NotReady
from demo.world import COMMAND, DESK_FILE, MANIFEST, PAGES, POLICY_FILE, PROCEDURES, SHOPS, PortTaken, World, open_world

DEFAULT_PORT = 8765
TO_TRY = """  Try as Customer A:
  - Where is my order?  then: the first one  then: can you cancel it?
  - How do I return a tent, and how long does the refund take?
  - This is the third time I write, I want to talk to a person!  then answer it as an agent
  - press "Tour" on the page, or kill the bot in the middle of an answer"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until interrupted; the exit status: 0 in good order, 1 when something is in the way."""
    options = _parser().parse_args(arguments)
    try:
        with _data_folder(options.data) as data:
            return asyncio.run(_run(options, data))
    except (PortTaken, NotReady, OSError) as fault:
        print(f"demo: {fault}", file=sys.stderr)
        return 1


async def _run(options: argparse.Namespace, data: Path) -> int:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with open_world(
        data,
        port=options.port,
        kb=options.kb,
        desk=options.desk,
        policy=options.policy,
        procedures=options.procedures,
        extra=dict(options.env),
        command=(*COMMAND, "--ingress-only") if options.ingress_only else COMMAND,
        pace=Pace(first=0.35 * options.pace, chunk=0.022 * options.pace),
        tour_pace=options.pace,
        rate_limits=not options.no_rate_limits,
        manifest=options.manifest,
        shop_kind=options.shop,
    ) as world:
        if not await _became_ready(world, stopped):
            return 0
        _announce(world, options)
        world.program.on_crash = _report_crash
        # A real model is not asked anything that no visitor has asked.
        is_opened = world.stand_in is not None and not options.empty
        opening = asyncio.create_task(play_opening(world.workspace)) if is_opened else None
        await stopped.wait()
        if opening is not None:
            opening.cancel()
            await asyncio.wait([opening])
    return 0


async def _became_ready(world: World, stopped: asyncio.Event) -> bool:
    """False: interrupted before. Raises NotReady, with the end of the log."""
    ready = asyncio.create_task(world.program.wait_ready())
    stop = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({ready, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            return False
        ready.result()
    except NotReady as fault:
        lines = "\n".join(f"  {line}" for line in world.program.last_lines())
        raise NotReady(f"Frontdesk did not start: {fault}. The end of {world.program.log}:\n{lines}") from None
    finally:
        for task in (ready, stop):
            task.cancel()
    return True


def _announce(world: World, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(world.describe()), flush=True)
        return
    print(f"Frontdesk is ready for {world.shop_name}: {world.page}", flush=True)
    print(f"  {world.notice}.\n  Log: {world.program.log}\n  Ctrl-C ends everything.\n{TO_TRY}", flush=True)
    if _may_open_browser(options):
        webbrowser.open(world.page)


def _report_crash(pid: int, status: int) -> None:
    """The page's "Restart the bot", among its faults, starts it again."""
    print(f"demo: Frontdesk (process {pid}) ended by itself with status {status}", file=sys.stderr, flush=True)


@contextmanager
def _data_folder(given: Path | None) -> Iterator[Path]:
    """The folder that was asked for, or one that is gone afterwards, unless its log is still of use."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
        return
    made = Path(tempfile.mkdtemp(prefix="frontdesk-"))
    try:
        yield made
    except NotReady:
        raise  # the message names the log in there
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    shutil.rmtree(made, ignore_errors=True)


def _may_open_browser(options: argparse.Namespace) -> bool:
    display = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(display) and sys.stdout.isatty() and not options.no_browser


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument(
        "--port",
        type=_port,
        default=os.environ.get("DEMO_PORT") or str(DEFAULT_PORT),
        help=f"the page's port, 0 takes a free one (default: DEMO_PORT or {DEFAULT_PORT})",
    )
    parser.add_argument("--kb", type=_existing, default=os.environ.get("KB_PATH") or str(PAGES), help="help pages")
    parser.add_argument(
        "--desk", type=_existing, default=os.environ.get("DESK_FILE") or str(DESK_FILE), help="the shop's desk file"
    )
    parser.add_argument("--shop", choices=SHOPS, default=SHOPS[0], help="which order system stands behind the desk")
    parser.add_argument(
        "--policy",
        type=_existing,
        default=os.environ.get("POLICY_PATH") or str(POLICY_FILE),
        help="what the assistant may change for customers",
    )
    parser.add_argument(
        "--procedures",
        type=_existing,
        default=os.environ.get("PROCEDURES_PATH") or str(PROCEDURES),
        help="the playbooks of the support team",
    )
    parser.add_argument("--data", type=Path, help="keep database, index and log here (default: a temporary folder)")
    parser.add_argument("--env", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="a setting")
    parser.add_argument(
        "--empty", action="store_true", help="begin without the conversations that stand there at first"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON line with every address instead")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.add_argument(
        "--pace", type=float, default=1.0, help="the pauses of the offline model and the tour, 0 for none"
    )
    parser.add_argument(
        "--ingress-only", action="store_true", help="start the front of a fleet; its workers are started elsewhere"
    )
    parser.add_argument("--no-rate-limits", action="store_true", help="a Slack that never says 429")
    parser.add_argument(
        "--manifest", type=Path, default=MANIFEST, help="what the app is installed with (default: %(default)s)"
    )
    return parser


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65_535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port")


def _existing(text: str) -> Path:
    path = Path(text).resolve()
    if path.exists():
        return path
    raise argparse.ArgumentTypeError(f"{text} does not exist")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


if __name__ == "__main__":
    sys.exit(main())
