"""What a shop file can say about a server of the Model Context Protocol.

McpConnector  The entry: where the server is, and which of its tools are offered.
faults_of     What is wrong with an entry, without asking anybody.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from bot.checked_files import KeyPath, Part
from bot.shops.declared.file import BearerAuth, Query, Secret
from bot.shops.declared.reading import address_fault

ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
ArgumentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
Identity = Literal["customer.id", "customer.email"]


class OfferedTool(Part):
    """One tool that the assistant may call. A tool without an entry does not exist for it."""

    as_: Annotated[Literal["look_up"], Field(alias="as")]
    title: Annotated[str, Field(min_length=1, max_length=60)]
    """What the customer sees while the tool runs."""
    description: Annotated[str, Field(max_length=1_000)] = ""
    """What the model reads instead of the server's own description."""
    private: bool = True
    """Whether results are one customer's data. False for what anybody may know, such as stock."""
    inject: Mapping[ArgumentName, Identity] = Field(default_factory=dict)
    """Argument -> whose identity code puts there. The model does not see these arguments."""
    owner: Query | None = None
    """Where a result names the customer's id. Another one's result is as if there were none."""
    result: Annotated[Mapping[ArgumentName, Query], Field(max_length=30)] = Field(default_factory=dict)
    """Field -> where it is in the result. Without it, the model reads the result's text."""


class McpConnector(Part):
    """A server of the Model Context Protocol (docs/guides/mcp.md)."""

    kind: Literal["mcp"]
    url: Annotated[str, Field(max_length=500)] | None = None
    """Where it is, for a server over HTTP."""
    auth: BearerAuth | None = None
    insecure: bool = False
    command: Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(min_length=1, max_length=50)] | None = (
        None
    )
    """What starts it, for a server that is a program on this machine. No shell reads it."""
    env: Mapping[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")], str] = Field(default_factory=dict)
    """Its variables. Beside them it gets `PATH` alone. A value can be `env:NAME` or `file:/path`."""
    cwd: Annotated[str, Field(max_length=500)] | None = None
    memory_mb: Annotated[int, Field(ge=32, le=16_384)] = 512
    """The most memory that the program can ask for. On Linux only."""
    seconds: Annotated[float, Field(gt=0, le=9.5)] = 8.0
    """For one call."""
    bytes: Annotated[int, Field(ge=1_024, le=4_194_304)] = 262_144
    """Of one answer."""
    pins: Annotated[str, Field(min_length=1, max_length=500)]
    """The file with the definitions that you have accepted, from where the shop file is."""
    tools: Annotated[Mapping[ToolName, OfferedTool], Field(min_length=1, max_length=50)]

    @property
    def secrets(self) -> dict[str, Secret]:
        """Where the references to secrets are, and what they are."""
        found = {"auth.token": self.auth.token} if self.auth else {}
        return found | {f"env.{name}": value for name, value in self.env.items() if is_reference(value)}


def faults_of(connector: McpConnector) -> Iterator[tuple[KeyPath, str]]:
    """Where in the entry a fault is, and what."""
    if (connector.url is None) == (connector.command is None):
        yield (), "needs url or command, and not both"
    elif connector.url is not None:
        if fault := address_fault(connector.url, is_insecure=connector.insecure):
            yield ("url",), fault
        for name in ("env", "cwd"):
            if getattr(connector, name):
                yield (name,), "is for a program: a server at a url has its own"
    elif connector.auth is not None:
        yield ("auth",), "is for a server at a url: give a program its secrets in env"
    for name, tool in connector.tools.items():
        if tool.private and not tool.inject:
            yield ("tools", name), "is private, and inject does not say whose data it is"
        if tool.inject and not tool.private:
            yield ("tools", name, "private"), "is false, and inject asks for a customer's data"
        if tool.owner and "customer.id" not in tool.inject.values():
            yield ("tools", name, "owner"), "is compared with customer.id, which inject does not have"


def is_reference(text: str) -> bool:
    """Whether the text says where a secret is."""
    return text.startswith(("env:", "file:/"))
