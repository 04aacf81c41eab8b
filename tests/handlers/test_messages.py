"""Which events are somebody speaking to us."""

from dataclasses import replace
from typing import Any

from bot.store.bodies import AttachedFile
from handlers.messages import read_event
from tests.turns.arrivals import ME


def payload(**event: Any) -> dict[str, Any]:
    shape = {"type": "message", "user": "U0CUSTOMERA", "channel": "D0CUSTOMERA", "ts": "1.1", "text": "Hello?"}
    return {"type": "event_callback", "event_id": "Ev1", "team_id": "T0FRONTDESK", "event": {**shape, **event}}


def test_a_direct_message_starts_a_conversation_of_its_own() -> None:
    arrival = read_event(payload(), ME, team_channels={"C0AGENTS"})
    assert arrival is not None
    assert arrival.addressed
    assert arrival.thread.key == "T0FRONTDESK/D0CUSTOMERA/1.1"
    assert arrival.message.text == "Hello?"


def test_a_mention_is_addressed_and_loses_our_name() -> None:
    arrival = read_event(
        payload(channel="C0SUPPORT", text="<@U0FRONTDESK> Hello &amp; hi"), ME, team_channels={"C0AGENTS"}
    )
    assert arrival is not None
    assert arrival.addressed
    assert arrival.message.text == "Hello & hi"


def test_a_reply_in_a_channel_is_not_addressed_by_itself() -> None:
    arrival = read_event(payload(channel="C0SUPPORT", thread_ts="1.0"), ME, team_channels={"C0AGENTS"})
    assert arrival is not None
    assert not arrival.addressed
    assert arrival.thread.ts == "1.0"


def test_a_reply_under_a_card_is_staffs() -> None:
    arrival = read_event(payload(channel="C0AGENTS", thread_ts="1.0"), ME, team_channels={"C0AGENTS"})
    assert arrival is not None
    assert arrival.kind == "staff"


def test_a_connected_workspaces_author_keeps_their_own_team() -> None:
    arrival = read_event(payload(user_team="T0PARTNER"), ME, team_channels={"C0AGENTS"})
    assert arrival is not None
    assert (arrival.thread.team, arrival.author_team) == ("T0FRONTDESK", "T0PARTNER")


def test_a_card_number_is_hidden_before_it_is_stored() -> None:
    arrival = read_event(payload(text="my card is 4111 1111 1111 1111"), ME, team_channels={"C0AGENTS"})
    assert arrival is not None
    assert "1111 1111" not in arrival.message.text


def test_everything_else_starts_nothing() -> None:
    table: list[dict[str, Any]] = [
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"subtype": "bot_message", "bot_id": "B1"},
        {"subtype": "something_new"},
        {"bot_id": "B0FRONTDESK", "user": "U0FRONTDESK"},
        {"bot_id": "B0OTHER"},
        {"user": "U0FRONTDESK"},
        {"user": "USLACKBOT"},
        {"user": None},
        {"type": "reaction_added"},
        {"channel": "C0AGENTS"},
        {"text": "", "streaming_state": "in_progress", "bot_id": "B0OTHER"},
    ]
    misses = [
        (event, got)
        for event in table
        if (got := read_event(payload(**event), ME, team_channels={"C0AGENTS"})) is not None
    ]
    assert misses == []


def test_a_lone_surrogate_does_not_reach_the_store() -> None:
    arrival = read_event(payload(text="broken \ud83d text"), ME, team_channels={"C0AGENTS"})
    assert arrival is not None
    arrival.message.text.encode("utf-8")


def test_of_files_is_kept_what_they_are_and_nothing_of_what_they_hold() -> None:
    files = [
        {"id": "F1", "name": "lamp\n.png", "mimetype": "image/png", "size": 7, "preview": "words", "url_private": "x"},
        {"id": "F2", "mode": "file_access", "file_access": "check_file_info", "created": 0},
        {"id": "F3", "mode": "tombstone"},
        {"id": 4, "name": ["?"], "size": -1},
        None,
    ]
    arrival = read_event(payload(subtype="file_share", text="", files=files), ME, team_channels={"C0AGENTS"})
    assert arrival is not None
    lamp, unnamed, odd = arrival.message.files
    assert replace(lamp, name="") == AttachedFile("F1", "", "image/png", 7)
    assert unnamed == AttachedFile("F2", "file", "", 0)
    assert odd == AttachedFile("", "file", "", 0)
