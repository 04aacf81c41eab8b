"""The floor of `bench.ingress`: a server that checks a request's signature and says ok.

python -m bench.door               prints its port, then serves until its standard input ends
"""

import asyncio
import time

from aiohttp import web

from bench.children import serve
from bench.serving import SECRET
from handlers.http import is_signed

DOOR = "bench.door"


def build_app() -> web.Application:
    """The server's one route."""
    app = web.Application()
    app.router.add_post("/slack/events", _take)
    return app


async def _take(request: web.Request) -> web.Response:
    body, headers = await request.read(), request.headers
    stamp, signature = headers["X-Slack-Request-Timestamp"], headers["X-Slack-Signature"]
    return web.Response(status=200 if is_signed(stamp, signature, body, SECRET, now=time.time()) else 401)


if __name__ == "__main__":
    asyncio.run(serve(build_app()))
