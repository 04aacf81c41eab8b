"""Which events are somebody changing what they said, and which are Slack's own doing."""

from typing import Any

import pytest

from bot.store.bodies import DeleteBody, StopBody, body_as
from bot.store.inbox import Arrival
from handlers.messages import read_event
from tests.turns.arrivals import ME

WROTE = {"type": "message", "user": "U0CUSTOMERA", "ts": "1.1", "text": "Where is ORD-1?"}
EDITED = {"user": "U0CUSTOMERA", "ts": "2.5"}


def read(**event: Any) -> Arrival | None:
    shape = {"type": "message", "channel": "D0CUSTOMERA", "ts": "3.0", "event_ts": "3.0"}
    body = {"type": "event_callback", "event_id": "Ev1", "team_id": "T0FRONTDESK", "event": {**shape, **event}}
    return read_event(body, ME, team_channels={"C0AGENTS"})


def changed(after: dict[str, Any], before: dict[str, Any] | None = None, **event: Any) -> Arrival | None:
    previous = WROTE if before is None else before
    return read(subtype="message_changed", message={**WROTE, **after}, previous_message=previous, **event)


def test_an_edit_is_of_the_message_and_bears_the_time_of_the_edit() -> None:
    edit = changed({"text": "Where is ORD-2?", "edited": EDITED})
    assert edit is not None
    assert (edit.kind, edit.ts, edit.author, edit.thread.ts) == ("edit", "2.5", "U0CUSTOMERA", "1.1")
    assert (edit.edit.of, edit.edit.text, edit.edit.speaks_anew) == ("1.1", "Where is ORD-2?", False)


def test_an_edit_of_a_reply_is_in_its_thread() -> None:
    reply = {**WROTE, "thread_ts": "1.0"}
    edit = changed({**reply, "text": "Where is ORD-2?", "edited": EDITED}, reply)
    assert edit is not None
    assert edit.thread.ts == "1.0"


def test_what_changes_no_word_of_a_persons_is_nothing() -> None:
    table: list[dict[str, Any]] = [
        {"attachments": [{"from_url": "https://example.com"}]},
        {"attachments": [{"title": "x"}], "edited": EDITED},
        {"reply_count": 3, "latest_reply": "2.0", "thread_ts": "1.1"},
        {"text": "Where is ORD-2?"},
        {"text": "Hi", "edited": EDITED, "bot_id": "B0OTHER"},
        {"text": "Hi", "edited": EDITED, "user": "U0FRONTDESK"},
        {"text": "Hi", "edited": EDITED, "subtype": "channel_topic"},
        {"text": "Where is ORD-1?", "edited": EDITED, "blocks": []},
    ]
    misses = [(after, got) for after in table if (got := changed(after)) is not None]
    assert misses == []


def test_our_own_streams_change_nothing() -> None:
    own = {"type": "message", "bot_id": "B0FRONTDESK", "user": "U0FRONTDESK", "ts": "1.2", "text": "Hello"}
    edited = {"edited": {"user": "B0FRONTDESK", "ts": "2.0"}}
    assert read(subtype="message_changed", message={**own, "text": "Hello you", **edited}, previous_message=own) is None
    assert read(subtype="message_deleted", deleted_ts="1.2", previous_message=own) is None


def test_an_edit_that_brings_our_name_speaks_to_us_anew() -> None:
    edit = changed({"text": "<@U0FRONTDESK> Where is ORD-1?", "edited": EDITED}, channel="C0SUPPORT")
    assert edit is not None
    assert (edit.addressed, edit.edit.speaks_anew) == (True, True)
    again = changed(
        {"text": "<@U0FRONTDESK> Where?", "edited": EDITED},
        {**WROTE, "text": "<@U0FRONTDESK> Where is ORD-1?"},
        channel="C0SUPPORT",
    )
    assert again is not None
    assert (again.addressed, again.edit.speaks_anew) == (True, False)


def test_a_card_number_in_an_edit_is_hidden_before_it_is_stored() -> None:
    edit = changed({"text": "my card is 4111 1111 1111 1111", "edited": EDITED})
    assert edit is not None
    assert "1111 1111" not in edit.edit.text


def test_a_deletion_keeps_none_of_the_words() -> None:
    gone = read(subtype="message_deleted", deleted_ts="1.1", previous_message=WROTE)
    assert gone is not None
    assert (gone.kind, gone.ts, gone.body) == ("delete", "3.0", DeleteBody("1.1"))


def test_the_tombstone_of_a_thread_is_a_deletion() -> None:
    stone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "ts": "1.1", "thread_ts": "1.1"}
    gone = read(subtype="message_changed", message=stone, previous_message={**WROTE, "thread_ts": "1.1"})
    assert gone is not None
    assert (gone.kind, body_as(DeleteBody, gone.body).of, gone.author) == ("delete", "1.1", "U0CUSTOMERA")


@pytest.mark.parametrize("channel", ["D0CUSTOMERA", "C0SUPPORT", "C0AGENTS"])
def test_a_deletion_without_an_author_is_left_to_the_row_that_is_known(channel: str) -> None:
    stone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "ts": "1.1", "thread_ts": "1.1"}
    for gone in (
        read(subtype="message_deleted", deleted_ts="1.1", channel=channel),
        read(subtype="message_deleted", deleted_ts="1.1", channel=channel, previous_message={"type": "message"}),
        read(subtype="message_changed", message=stone, channel=channel),
    ):
        assert gone is not None
        assert (gone.kind, gone.author, gone.addressed, body_as(DeleteBody, gone.body).of) == (
            "delete",
            "",
            False,
            "1.1",
        )
    bots = {"type": "message", "bot_id": "B0FRONTDESK", "ts": "1.1"}
    assert read(subtype="message_deleted", deleted_ts="1.1", channel=channel, previous_message=bots) is None


def test_staff_edit_and_delete_what_is_under_a_card() -> None:
    reply = {**WROTE, "user": "U0AGENTA", "thread_ts": "1.0"}
    edit = changed({**reply, "text": "On Tuesday", "edited": EDITED}, reply, channel="C0AGENTS")
    gone = read(subtype="message_deleted", deleted_ts="1.1", previous_message=reply, channel="C0AGENTS")
    assert edit is not None
    assert gone is not None
    assert edit.edit.is_staff
    assert body_as(DeleteBody, gone.body).is_staff
    root = {**WROTE, "user": "U0AGENTA"}
    assert changed({**root, "text": "x", "edited": EDITED}, root, channel="C0AGENTS") is None


def test_stop_names_the_thread_and_the_streams_it_ended() -> None:
    stop = read(
        type="agent_session_stopped", user="U0CUSTOMERA", thread_ts="1.1", streaming_message_ts=["1.2"], event_ts="2.0"
    )
    assert stop is not None
    assert (stop.kind, stop.ts, stop.thread.ts, stop.addressed) == ("stop", "2.0", "1.1", False)
    assert stop.body == StopBody(("1.2",))
    assert read(type="agent_session_stopped", user="U0CUSTOMERA") is None


def test_a_word_that_asks_for_an_end_is_told_as_such() -> None:
    said = read(user="U0CUSTOMERA", text="STOP!")
    assert said is not None
    assert said.stops
    more = read(user="U0CUSTOMERA", text="stop my order")
    assert more is not None
    assert not more.stops


def test_words_that_ask_for_a_person_are_told_as_such() -> None:
    said = read(user="U0CUSTOMERA", text="Let me talk to a human, please")
    assert said is not None
    assert said.calls
    other = read(user="U0CUSTOMERA", text="Which person packs my order?")
    assert other is not None
    assert not other.calls


def test_a_change_without_its_parts_is_nothing() -> None:
    table: list[dict[str, Any]] = [{}, {"message": None}, {"message": {}}, {"message": {"user": "U1", "edited": {}}}]
    misses = [
        event
        for event in table
        if read(subtype="message_changed", **event) is not None or read(subtype="message_deleted", **event) is not None
    ]
    assert misses == []
