"""A model for several runs at once: what it says depends on what it is asked, not on who comes first."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from bot.agent.messages import AgentMessage, CustomerMessage, ToolResult
from bot.agent.model import ModelEvent, ModelRequest
from tests.doubles.scripted_model import ScriptedModel, Step


class RoutedModel:
    """Plays a reply of the first route whose words stand in the request: that of the round, told by the conversation.

    So a request that is made again, after a failure or after a restart, gets the same reply again.
    """

    def __init__(self, routes: Mapping[str, Sequence[Sequence[Step]]]) -> None:
        self.requests: list[ModelRequest] = []
        self.routes = dict(routes)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        self.requests.append(request)
        replies = self.routes[self._route_of(request)]
        async for event in ScriptedModel(replies[min(_round(request), len(replies) - 1)]).stream(request):
            yield event

    def asked(self, words: str) -> list[ModelRequest]:
        """The requests of one route."""
        return [request for request in self.requests if self._route_of(request) == words]

    def _route_of(self, request: ModelRequest) -> str:
        text = words_of(request)
        route = next((words for words in self.routes if words in text), None)
        assert route is not None, f"nothing to say to: {text}"
        return route


def words_of(request: ModelRequest) -> str:
    """Everything that stands in a request, save what agents and tools said."""
    said = [message for message in request.messages if not isinstance(message, AgentMessage | ToolResult)]
    retrieved = [message.passages for message in said if isinstance(message, CustomerMessage)]
    return "\n".join((request.instructions, *retrieved, *(message.text for message in said)))


def _round(request: ModelRequest) -> int:
    """How often the model has replied to the customer's last message, the first time being 0."""
    rounds = 0
    for message in request.messages:
        if isinstance(message, CustomerMessage):
            rounds = 0
        rounds += isinstance(message, AgentMessage)
    return rounds
