"""Chat requests as an agent would send them."""

import json
from typing import Any

from demo.model.conversation import Call, Json

ORDER, PARCEL, LIST, SEARCH, PERSON = "find_purchase", "locate", "orders_of_mine", "look_in_pages", "escalate"
"""Names that no rule can know beforehand."""

TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
    for name, description, properties, required in (
        (ORDER, "Look up an order.", {"order_number": {"type": "string"}}, ["order_number"]),
        (PARCEL, "Find a parcel.", {"tracking_code": {"type": "string"}}, ["tracking_code"]),
        (LIST, "List the customer's orders.", {}, []),
        (SEARCH, "Search the help pages.", {"query": {"type": "string"}}, ["query"]),
        (
            PERSON,
            "Call a human being.",
            {
                "reason": {
                    "type": "string",
                    "enum": ["asked_for_person", "upset", "billing", "legal", "change", "other"],
                },
                "priority": {"type": "string", "enum": ["low", "medium", "high"]},
                "summary": {"type": "string", "maxLength": 80},
            },
            ["reason", "priority", "summary"],
        ),
    )
]


def named_tool(name: str, description: str, argument: str = "reason", *, required: bool = False) -> Json:
    """A tool with one text argument."""
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument] * required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


HANDOVERS: list[Json] = [
    named_tool("hand_over_to_orders", "Hand the conversation over to orders. What is in an order, what it cost."),
    named_tool("hand_over_to_shipping", "Hand the conversation over to shipping. Where an order or a parcel is."),
    named_tool("hand_over_to_answers", "Hand the conversation over to answers. Everything the help pages tell."),
]
PERSON_TOOL = TOOLS[-1]
TRIAGE: list[Json] = [PERSON_TOOL, *HANDOVERS]
QUESTIONS: list[Json] = [
    named_tool("ask_orders", "Ask orders. What is in an order, what it cost.", "question", required=True),
    named_tool("ask_shipping", "Ask shipping. Where an order or a parcel is.", "question", required=True),
    named_tool("ask_answers", "Ask answers. Everything the help pages tell.", "question", required=True),
]
LEAD: list[Json] = [PERSON_TOOL, *QUESTIONS]
ANSWERS: list[Json] = [TOOLS[3], PERSON_TOOL, *HANDOVERS[:2]]
ORDERS: list[Json] = [TOOLS[0], TOOLS[2], TOOLS[3], PERSON_TOOL, *HANDOVERS[1:]]
SHIPPING: list[Json] = [*TOOLS, HANDOVERS[0], HANDOVERS[2]]
CHECK = "You check a draft before a customer reads it. If all of it holds, reply with the single word STANDS."
DRAFT = "You write replies that a person of the team may send. Use the summary.\n\nVoice: {voice}. Be so."
SUMMARY = "You summarise the older part of a conversation in at most 300 characters."

PASSAGES = """Passages from the help pages, best first.

<passage number="1" title="Returns › How to send it back" updated="2026-10-01">
You have 30 days to return an article. Unused articles only.

How to send it back
1. Open My orders and press Return.
2. Print the label.
</passage>

<passage number="2" title="Shipping">
We ship on working days.

| Method | Time | Price |
| --- | --- | --- |
| Standard | 3 to 5 days | 4.90 USD |
| Express | 1 day | 14.90 USD |
</passage>"""


def request(
    said: str,
    *rounds: list[tuple[Call, Any]],
    tools: list[Json] | None = None,
    passages: str = PASSAGES,
    before: list[Json] | None = None,
    after: list[Json] | None = None,
    instructions: str = "You are the shop's assistant.",
    **more: Any,
) -> Json:
    """A request for the turn that begins with `said`; each round holds calls with what they brought."""
    messages: list[Json] = [
        {"role": "system", "content": instructions},
        *(before or []),
        *([note(passages, name="passages")] if passages else []),
        {"role": "user", "content": said},
    ]
    for number, answers in enumerate(rounds):
        ids = [f"call_{number}_{n}" for n in range(len(answers))]
        calls = [
            {"id": id_, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
            for id_, (call, _) in zip(ids, answers, strict=True)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for id_, (_, result) in zip(ids, answers, strict=True):
            text = result if isinstance(result, str) else json.dumps(result)
            messages.append({"role": "tool", "tool_call_id": id_, "content": text})
    messages += after or []
    return {"model": "any", "messages": folded(messages), "tools": TOOLS if tools is None else tools, **more}


def note(text: str, *, name: str = "note") -> Json:
    """A marked block, to be folded into a message next to it."""
    return {"role": name, "content": text}


def folded(messages: list[Json]) -> list[Json]:
    """The messages with each block in the next message of a user, or at the end of the message before; and one message
    of what users say in a row."""
    lines: list[Json] = []
    blocks: list[str] = []
    for message in messages:
        last = lines[-1] if lines else {"role": ""}
        if message["role"] in ("note", "passages"):
            blocks.append(f"<{message['role']}>\n{message['content']}\n</{message['role']}>")
            continue
        if message["role"] == "user":
            words = message["content"] if last["role"] != "user" else f"[customer]\n{message['content']}"
            message, blocks = {"role": "user", "content": "\n\n".join([*blocks, words])}, []
        if last["role"] == message["role"] == "user":
            last["content"] += f"\n\n{message['content']}"
        else:
            lines.append({**message})
    if blocks and lines[-1]["role"] in ("user", "tool"):
        lines[-1]["content"] += "\n\n" + "\n\n".join(blocks)
    elif blocks:
        lines.append({"role": "user", "content": "\n\n".join(blocks)})
    return lines
