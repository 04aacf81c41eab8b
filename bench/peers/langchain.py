"""langchain's create_agent, which runs on langgraph. Run by bench.loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from bench.desk import QUESTION, SYSTEM, TOOLS
from bench.measuring import Turn, measure


@asynccontextmanager
async def open_langchain(url: str, model: str) -> AsyncIterator[Turn]:
    """One agent for all turns."""
    chat = ChatOpenAI(model=model, base_url=url, api_key="none", streaming=True, stream_usage=True)
    agent = create_agent(chat, tools=[tool(function) for function in TOOLS.values()], system_prompt=SYSTEM)

    async def turn() -> str:
        shown: list[str] = []
        asked = {"messages": [{"role": "user", "content": QUESTION}]}
        async for message, _ in agent.astream(asked, stream_mode="messages"):
            if isinstance(message, AIMessageChunk) and isinstance(message.content, str):
                shown.append(message.content)
        return "".join(shown)

    yield turn


if __name__ == "__main__":
    measure(open_langchain)
