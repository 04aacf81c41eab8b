"""pydantic-ai over Chat Completions. Run by bench.loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
from pydantic_ai import Agent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.desk import QUESTION, SYSTEM, TOOLS
from bench.measuring import Turn, measure


@asynccontextmanager
async def open_pydantic_ai(url: str, model: str) -> AsyncIterator[Turn]:
    """One agent for all turns."""
    async with openai.AsyncOpenAI(api_key="none", base_url=url) as client:
        chat = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
        agent = Agent(chat, instructions=SYSTEM, tools=[*TOOLS.values()])

        async def turn() -> str:
            shown: list[str] = []
            async with agent.run_stream_events(QUESTION) as events:
                async for event in events:
                    match event:
                        case PartStartEvent(part=TextPart(content=content)):
                            shown.append(content)
                        case PartDeltaEvent(delta=TextPartDelta(content_delta=content)):
                            shown.append(content)
            return "".join(shown)

        yield turn


if __name__ == "__main__":
    measure(open_pydantic_ai)
