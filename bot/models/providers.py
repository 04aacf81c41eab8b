"""Which of the two adapters is used for a model, and with which settings. All rules about hosts and names are here.

Every server supports Chat Completions, and few support all of Responses. But OpenAI's models that reason call tools
well only in Responses, and from GPT-5.4 on they call them nowhere else.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from bot.models.chat_completions import ChatCompletions
from bot.models.dialect import Dialect
from bot.models.families import (
    accepted_effort,
    bare_name,
    default_effort,
    least_effort,
    refused_fields,
    taken_fields,
    takes_images,
    thinks_unasked,
)
from bot.models.http_stream import OPENAI_URL, model_card, open_client, refuses_key
from bot.models.profile import Effort, Manner
from bot.models.responses import Responses

Api = Literal["auto", "chat", "responses"]

_OPENAI_HOST = ".api.openai.com"
"""OpenAI itself and its regions."""
_AZURE_HOSTS = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com", ".openai.azure.us")
_O_SERIES = re.compile(r"o[1-9](?:-|$)")
_GPT = re.compile(r"gpt-(\d+)")
_FIRST_GPT_THAT_REASONS = 5
_TALKERS = ("gpt-5-chat", "gpt-35")
"""Models with such a number that do not reason. The second is Azure's spelling of 3.5."""


@dataclass(frozen=True, slots=True)
class Server:
    """The server that models are requested from."""

    key: str
    url: str | None = None
    """The URL of the API. None: OpenAI's."""
    azure_version: str | None = None
    """The api-version of Azure's classic form, with deployments in the path. None: any other form."""
    api: Api = "auto"

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI itself, whose limits and fields are newer than those of compatible servers."""
        return _host(self.url).endswith(_OPENAI_HOST)

    @property
    def is_azure(self) -> bool:
        """Whether it is an Azure resource, with any models deployed."""
        return self.azure_version is not None or _host(self.url).endswith(_AZURE_HOSTS)


@asynccontextmanager
async def open_model(
    name: str,
    server: Server,
    *,
    effort: Effort | None = None,
    temperature: float | None = None,
    images: bool | None = None,
    customers_key: bytes = b"",
) -> AsyncIterator[ChatCompletions | Responses]:
    """The model with this name at this server, with connections of its own.

    `effort` goes to models that reason, `temperature` to those that do not. See Manner for the values. `images` is
    whether it gets images; None: if it is known to take them.
    """
    is_reasoning = reasons(name, effort=effort)
    own = accepted_effort(name, default_effort(name, effort)) if is_reasoning else None
    manner = Manner(
        reasons=is_reasoning,
        effort=own,
        least_effort=least_effort(name),
        temperature=temperature,
        takes=taken_fields(name),
        customers_key=customers_key,
    )
    sees = takes_images(name) if images is None else images
    dialect = Dialect(refused_fields(name), takes_images=sees)
    async with open_client(api_key=server.key, base_url=server.url, azure_version=server.azure_version) as client:
        # Servers are not known to have all of Responses for models of other providers.
        if chosen_api(server, reasons=is_reasoning and not thinks_unasked(name)) == "responses":
            yield Responses(client, manner=manner, dialect=dialect)
        else:
            limit = output_limit(server, reasons=is_reasoning)
            yield ChatCompletions(client, output_limit=limit, manner=manner, dialect=dialect)


async def key_is_refused(server: Server) -> bool:
    """Whether the server says that it does not know the key."""
    async with open_client(api_key=server.key, base_url=server.url, azure_version=server.azure_version) as client:
        return await refuses_key(client)


async def find_card(server: Server, name: str) -> Mapping[str, Any] | None:
    """What the server tells about a model. Empty if it tells nothing; None if it says that there is no such model."""
    async with open_client(api_key=server.key, base_url=server.url, azure_version=server.azure_version) as client:
        return await model_card(client, name)


def reasons(name: str, *, effort: Effort | None = None) -> bool:
    """Whether a model thinks before it writes.

    OpenAI's o series does, and GPT from 5 on, and so do some families of others. If the name does not show it, such as
    for a deployment on Azure, a model with an effort setting does. The prefix of fine-tuned models and of models at
    gateways (`ft:o4-mini:shop`, `openai/gpt-5`) is ignored.
    """
    bare = bare_name(name)
    if _O_SERIES.match(bare):
        return True
    if bare.startswith(_TALKERS):
        return False
    if version := _GPT.match(bare):
        return int(version[1]) >= _FIRST_GPT_THAT_REASONS
    return effort is not None or thinks_unasked(name)


def thinks(name: str, *, effort: Effort | None = None) -> bool:
    """Whether a model, asked with this effort, is silent while it thinks."""
    return reasons(name, effort=effort) and accepted_effort(name, default_effort(name, effort)) != "none"


def chosen_api(server: Server, *, reasons: bool) -> Literal["chat", "responses"]:
    """The API to use.

    It is the server's setting. With "auto" it is Responses for models that reason, if the server is known to support
    all of it: OpenAI and Azure's v1 form do. Otherwise it is Chat Completions.
    """
    if server.api != "auto":
        return server.api
    whole = server.is_openai or (server.is_azure and server.azure_version is None)
    return "responses" if reasons and whole else "chat"


def output_limit(server: Server, *, reasons: bool) -> str:
    """The name of the field in Chat Completions that limits a reply's tokens.

    OpenAI renamed it, others did not, and Azure knows both names for models that do not reason.
    """
    return "max_completion_tokens" if server.is_openai or (server.is_azure and reasons) else "max_tokens"


def address_faults(server: Server) -> list[str]:
    """What is wrong with the form of the server's URL, as clauses that follow the name of the setting."""
    path = urlsplit(server.url or OPENAI_URL).path.rstrip("/")
    if path.endswith(("/chat/completions", "/responses", "/completions")):
        return ["is the address of one request: leave out what comes after /v1"]
    if server.azure_version is None:
        incomplete = server.is_azure and not path.endswith("/v1")
        return ["must end in /openai/v1, or AZURE_API_VERSION must be set"] if incomplete else []
    if path.endswith("/v1"):
        return ["is Azure's v1 API, which takes no AZURE_API_VERSION"]
    return ["must end before /deployments: the model's name is the deployment"] if "/deployments" in path else []


def _host(url: str | None) -> str:
    """The host with a dot before it, so that the end of a domain matches only whole names."""
    return f".{urlsplit(url or OPENAI_URL).hostname}"
