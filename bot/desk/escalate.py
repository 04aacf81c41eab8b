"""The tool with which the agent calls a person. It opens a real case; the sentence to the customer is the case's."""

from typing import Annotated, Literal

from pydantic import Field

from bot.agent.tools import Context, Tool, tool
from bot.cases.cases import Cases

ESCALATE = "escalate_to_human"
"""The tool's name."""
Reason = Literal["asked_for_person", "upset", "no_answer", "billing", "security", "legal", "change", "other"]


def escalate_tools(cases: Cases) -> tuple[Tool, ...]:
    """`escalate_to_human`; it ends the turn."""

    @tool(title="Calling a person", terminal=True, writes=True)
    async def escalate_to_human(
        context: Context,
        reason: Annotated[Reason, Field(description="Why a person is needed.")],
        priority: Annotated[Literal["low", "medium", "high"], Field(description="high: money, safety or anger.")],
        summary: Annotated[
            str,
            Field(min_length=3, max_length=600, description="What the customer wants and what was tried."),
        ],
    ) -> str:
        """Hand the conversation over to the support team.

        Use it when the customer asks for a person, is angry or frustrated, disputes a bill, fears for the account,
        speaks of law, wants something changed, or when there is not enough context to answer.
        """
        case = await cases.open(context.thread, context.customer, reason=reason, priority=priority, summary=summary)
        return f"Case {case.ref} is open. The customer has been told; say nothing more."

    return (escalate_to_human,)
