"""What the two adapters share: the client, and reading a response's bytes into the loop's events.

The openai client does authentication, addresses, connections, and errors by status. The bytes of the stream are read
here and by the adapters' readers, because the client's typed chunks cost twenty times as much.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from typing import Any, Protocol

import httpx2
import openai

from bot.agent.messages import JsonObject
from bot.agent.model import ModelEvent, ModelFailure
from bot.models.dialect import Dialect
from bot.models.failures import lost_connection, provider_failure, retry_after
from bot.models.frames import BODY_LIMIT
from bot.models.images import has_images, without_images

logger = logging.getLogger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
MODEL_CONNECT_TIMEOUT = 3.0
KEY_SECONDS = 5.0
RESPONSE_END_TIMEOUT = 0.1
"""How long the end of a response may take after its last event. A connection that was read to its end is used again."""
ENDING_SECONDS = 1.0
"""How long the last event may take after the finish. Only the usage comes in between."""
HEALED = (400, 422, 500)
"""The statuses of a refusal that can be about one field. llama.cpp and Ollama answer some with 500."""
HEALED_WITH_IMAGES = (400, 404, 415, 422, 500)
"""Those of a refusal of all images: gateways answer 404, and llama.cpp and Ollama 500."""
ABOUT_IMAGES = (400, 413, 415, 422)
"""Those of a refusal that can be about one image."""
Response = openai.AsyncAPIResponse[Any]


class Reader(Protocol):
    """Joins one reply. All methods that read raise ModelFailure if it is no reply."""

    done: bool
    """True: nothing important can follow."""

    @property
    def finished(self) -> bool:
        """True: the reply has its finish, and at most its usage follows."""
        ...

    def feed(self, block: bytes) -> list[ModelEvent]:
        """The events in these bytes of an event stream."""
        ...

    def feed_whole(self, body: bytes) -> list[ModelEvent]:
        """Like `feed`, for a whole body that is declared as JSON."""
        ...

    def close(self) -> Iterator[ModelEvent]:
        """The remaining events after the last bytes. Finished comes last."""
        ...


@asynccontextmanager
async def open_client(
    *, api_key: str, base_url: str | None, azure_version: str | None = None
) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client with connections of its own that makes one attempt per request.

    `base_url` None is OpenAI's. With `azure_version` it is the address of an Azure resource. Requests then have
    deployments in the path and the key in the header api-key.
    """
    # The loop detects silence. One more timer for each packet costs 15 %.
    timeout = openai.Timeout(None, connect=MODEL_CONNECT_TIMEOUT)
    http = openai.DefaultAioHttpClient(timeout=timeout, follow_redirects=False, verify=load_certificates())
    client: openai.AsyncOpenAI
    if azure_version is None:
        client = openai.AsyncOpenAI(
            api_key=api_key, base_url=base_url or OPENAI_URL, http_client=http, timeout=timeout, max_retries=0
        )
    else:
        client = openai.AsyncAzureOpenAI(
            api_key=api_key,
            azure_endpoint=(base_url or "").removesuffix("/").removesuffix("/openai"),
            api_version=azure_version,
            http_client=http,
            timeout=timeout,
            max_retries=0,
        )
    async with client:
        yield client


@cache
def load_certificates() -> ssl.SSLContext:
    """What servers are known by. All clients share it: to read the certificates takes 20 ms of CPU."""
    return httpx2.create_ssl_context()


async def refuses_key(client: openai.AsyncOpenAI) -> bool:
    """Whether the server says that it does not know the key. It is asked for its models, which costs nothing.

    Only 401 counts. A key may be allowed to ask for answers only, and a server may have no such list.
    """
    try:
        async with asyncio.timeout(KEY_SECONDS):
            await client.models.with_raw_response.list()
    except openai.AuthenticationError:
        return True
    except (openai.OpenAIError, TimeoutError):
        return False
    return False


@asynccontextmanager
async def open_response(
    create: Callable[..., AbstractAsyncContextManager[Response]], body: JsonObject, *, model: str, dialect: Dialect
) -> AsyncIterator[Response]:
    """Make a streaming request, and once more for each field that the server refuses."""
    async with AsyncExitStack() as stack:
        while True:
            sent = dialect.adjusted(body)
            try:
                # extra_body is sent as it is. The client would rebuild plain arguments message by message.
                response = await stack.enter_async_context(create(model=model, stream=True, extra_body=sent))
            except openai.APIStatusError as error:
                shows = has_images(sent)
                heals = error.status_code in (HEALED_WITH_IMAGES if shows else HEALED)
                if heals and dialect.learn(_error_of(error), _failure_of(error), sent, model=model):
                    continue
                # A full context is for the loop to shorten, unless the body as a whole is too large.
                is_full = error.status_code != 413 and _failure_of(error).kind == "context_length"
                if not shows or is_full or error.status_code not in ABOUT_IMAGES:
                    raise
                # Whatever is wrong, perhaps with one of the images: the words are answered without them.
                logger.warning("a request with images is refused and made without them", extra={"model": model})
                body = without_images(body)
            else:
                break
        yield response


async def read_reply(
    request: Callable[[], AbstractAsyncContextManager[Response]], reader: Reader
) -> AsyncGenerator[ModelEvent, None]:
    """Make the request, and yield the events that the reader finds in the response. Raises only ModelFailure."""
    try:
        async with request() as response:
            blocks = response.iter_bytes()
            if "json" in response.headers.get("content-type", ""):
                for event in reader.feed_whole(await _whole(blocks)):
                    yield event
            async for block in blocks:
                for event in reader.feed(block):
                    yield event
                if reader.finished:
                    break
            for event in await _ending(reader, blocks):
                yield event
        for event in reader.close():
            yield event
    except ModelFailure:
        raise
    except openai.APIStatusError as error:
        raise _failure_of(error) from None
    except openai.APIConnectionError as error:
        raise ModelFailure("model_unreachable", lost_connection(error), retryable=True) from None
    except UnicodeEncodeError:  # cannot happen, since incoming texts are checked; another try would not help
        raise ModelFailure("refused_request", "half a character in the request") from None
    except Exception as error:  # anything that a connection can raise while it is read
        logger.debug("a stream broke off", exc_info=error)
        raise ModelFailure("cut", type(error).__name__, retryable=True) from None


async def model_card(client: openai.AsyncOpenAI, name: str) -> Mapping[str, Any] | None:
    """What the server tells about a model. Empty if it tells nothing; None if it says that there is no such model."""
    try:
        async with asyncio.timeout(KEY_SECONDS):
            response = await client.models.with_raw_response.retrieve(name)
            card = response.http_response.json()
    except openai.NotFoundError as error:
        body = error.body if isinstance(error.body, Mapping) else {}
        return None if "model_not_found" in str(body.get("code")) else {}
    except (openai.OpenAIError, TimeoutError, ValueError):
        return {}
    return card if isinstance(card, Mapping) else {}


def _failure_of(error: openai.APIStatusError) -> ModelFailure:
    """The failure behind a response with an error's status."""
    wait = retry_after(error.response.headers)
    return provider_failure(_error_of(error), status=error.status_code, wait=wait)


def _error_of(error: openai.APIStatusError) -> object:
    """The error in a refusal's body. The client reduces `{"error": "words"}` to the words, as if it were no JSON."""
    if isinstance(error.body, str):
        with suppress(ValueError):
            if isinstance(error.response.json(), Mapping):
                return {"message": error.body}
    return error.body


async def _whole(blocks: AsyncIterator[bytes]) -> bytes:
    body = b""
    async for block in blocks:
        body += block
        if len(body) > BODY_LIMIT:
            raise ModelFailure("malformed", f"a reply of more than {BODY_LIMIT} bytes")
    return body


async def _ending(reader: Reader, blocks: AsyncIterator[bytes]) -> list[ModelEvent]:
    """What comes after the finish. A reply that has its finish is whole, whatever happens after it."""
    events: list[ModelEvent] = []
    now = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(RESPONSE_END_TIMEOUT if reader.done else ENDING_SECONDS) as patience:
            async for block in blocks:
                drained = reader.done
                events += [] if drained else reader.feed(block)
                if reader.done and not drained:
                    patience.reschedule(now() + RESPONSE_END_TIMEOUT)
    except TimeoutError:
        logger.debug("a response was not ended in time")
    except Exception as error:  # anything that a connection can raise while it is read
        logger.debug("a stream broke off after its finish", exc_info=error)
    return events
