"""Messages and their form as JSON."""

import json

import pytest

from bot.agent.messages import (
    AgentMessage,
    CustomerMessage,
    Message,
    StaffMessage,
    SystemNote,
    ToolCall,
    ToolResult,
    from_json,
    to_json,
)

CALL = ToolCall("c1", "lookup_order", '{"order_id": "ORD-1"', {"extra_content": {"google": {"thought": "x"}}})


def test_a_message_survives_the_way_through_json() -> None:
    table: list[Message] = [
        CustomerMessage("Où est ma commande ? 🙏", "U0CUSTOMERA", "1700000000.000100"),
        StaffMessage("I look into it.", "U0AGENTA"),
        SystemNote("A person handled 14:03-14:20."),
        AgentMessage("Let me see.", (CALL, ToolCall("c2", "list_my_orders", "")), "desk"),
        ToolResult("c1", "lookup_order", '{"status":"shipped"}', ok=False, private=True),
    ]
    misses = [
        (message, got) for message in table if (got := from_json(json.loads(json.dumps(to_json(message))))) != message
    ]
    assert misses == []


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="'song'"):
        from_json({"type": "song"})
