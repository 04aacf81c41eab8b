"""`python -m local_slack`: the local workspace alone, for any Slack app that is given its addresses and tokens."""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

from local_slack.manifest import read_manifest
from local_slack.server import addresses, open_workspace

DEFAULT_PORT = 4000


def main() -> int:
    """Print one JSON line with addresses and tokens, then serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m local_slack", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one (default: %(default)s)")
    parser.add_argument(
        "--config",
        type=Path,
        help="YAML file with the settings of docs/reference/local-slack.md",
    )
    parser.add_argument(
        "--manifest",
        type=Path,
        help="an app's manifest: what it is, hears, offers and may do; --config changes what it says",
    )
    parser.add_argument("--events-url", help="deliver signed HTTP events there instead of by Socket Mode")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="SQLite file that keeps the workspace over a restart")
    parser.add_argument("--bot-token", help="a new one unless given")
    parser.add_argument("--app-token", help="a new one unless given")
    parser.add_argument("--signing-secret", help="a new one unless given")
    parser.add_argument("--no-rate-limits", action="store_true", help="answer every call, however many")
    options = parser.parse_args()
    try:
        asyncio.run(serve(options))
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError) as fault:
        print(f"local_slack: {fault}", file=sys.stderr)
        return 1
    return 0


async def serve(options: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with open_workspace(
        host=options.host,
        port=options.port,
        bot_token=options.bot_token,
        app_token=options.app_token,
        signing_secret=options.signing_secret,
        events_url=options.events_url,
        rate_limits=not options.no_rate_limits,
        config=(read_manifest(options.manifest) if options.manifest else {}) | read_config(options.config),
        keep=options.keep,
    ) as workspace:
        print(json.dumps(addresses(workspace)), flush=True)
        await stopped.wait()


def read_config(path: Path | None) -> dict[str, Any]:
    """The YAML file as a mapping. Raises TypeError when it holds something else."""
    if path is None:
        return {}
    config = yaml.safe_load(path.read_text())
    if not isinstance(config, dict):
        raise TypeError(f"{path} does not hold a mapping")
    return config


if __name__ == "__main__":
    sys.exit(main())
