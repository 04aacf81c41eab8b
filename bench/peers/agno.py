"""agno's Agent, its telemetry off. Run by bench.loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agno.agent import Agent, RunContentEvent
from agno.models.openai import OpenAIChat

from bench.desk import QUESTION, SYSTEM, TOOLS
from bench.measuring import Turn, measure


@asynccontextmanager
async def open_agno(url: str, model: str) -> AsyncIterator[Turn]:
    """One agent for all turns."""
    chat = OpenAIChat(id=model, base_url=url, api_key="none")
    agent = Agent(model=chat, tools=[*TOOLS.values()], instructions=SYSTEM, telemetry=False)

    async def turn() -> str:
        events = agent.arun(QUESTION, stream=True)
        return "".join(
            [event.content async for event in events if isinstance(event, RunContentEvent) and event.content]
        )

    yield turn


if __name__ == "__main__":
    measure(open_agno)
