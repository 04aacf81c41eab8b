"""openai-agents over Chat Completions, its tracing off. Run by bench.loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import agents
import openai

from bench.desk import QUESTION, SYSTEM, TOOLS
from bench.measuring import Turn, measure


@asynccontextmanager
async def open_openai_agents(url: str, model: str) -> AsyncIterator[Turn]:
    """One agent for all turns."""
    agents.set_tracing_disabled(True)
    async with openai.AsyncOpenAI(api_key="none", base_url=url) as client:
        agent = agents.Agent(
            name="desk",
            instructions=SYSTEM,
            model=agents.OpenAIChatCompletionsModel(model=model, openai_client=client),
            model_settings=agents.ModelSettings(include_usage=True),
            tools=[agents.function_tool(function) for function in TOOLS.values()],
        )

        async def turn() -> str:
            events = agents.Runner.run_streamed(agent, QUESTION).stream_events()
            return "".join([event.data.delta async for event in events if _is_text(event)])

        yield turn


def _is_text(event: agents.StreamEvent) -> bool:
    return bool(event.type == "raw_response_event" and event.data.type == "response.output_text.delta")


if __name__ == "__main__":
    measure(open_openai_agents)
