"""AutoGen's AssistantAgent; it keeps its conversation, so each turn makes one. Run by bench.loop."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_ext.models.openai import OpenAIChatCompletionClient

from bench.desk import QUESTION, SYSTEM, TOOLS
from bench.measuring import Turn, measure

MODEL_INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "family": "unknown",
    "structured_output": True,
}


@asynccontextmanager
async def open_autogen(url: str, model: str) -> AsyncIterator[Turn]:
    """One client for all turns."""
    logging.disable()
    client = OpenAIChatCompletionClient(
        model=model,
        base_url=url,
        api_key="none",
        include_name_in_message=False,
        stream_options={"include_usage": True},
        model_info=MODEL_INFO,
    )

    async def turn() -> str:
        agent = AssistantAgent(
            "desk",
            client,
            tools=[*TOOLS.values()],
            system_message=SYSTEM,
            model_client_stream=True,
            max_tool_iterations=8,
            reflect_on_tool_use=False,
        )
        said = agent.run_stream(task=QUESTION)
        return "".join([part.content async for part in said if isinstance(part, ModelClientStreamingChunkEvent)])

    try:
        yield turn
    finally:
        await client.close()


if __name__ == "__main__":
    measure(open_autogen)
