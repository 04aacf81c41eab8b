"""Block Kit and messages as HTML."""

import re

import pytest

from local_slack.block_tables import BLOCKS
from local_slack.page.look import Look
from local_slack.page.loose import Json
from local_slack.page.markup import Names
from local_slack.page.message import Author, Footer, Setting, avatar, content, entry, ephemeral, message, system
from local_slack.page.render import DEEPEST, block, blocks
from local_slack.page.stream import stream
from local_slack.tests.page import scene
from local_slack.tests.page.reading import Reading

NAMES = Names({"U1": "Agent A", "U2": "Customer A"}, {"C1": "support"}, viewer="U1", now=1_795_200_000)
LOOK = Look(NAMES)
CARET = '<span class="caret" aria-hidden="true"></span>'
CUSTOMER = Author("U2", "Customer A")


def option(value: str) -> Json:
    return {"text": {"type": "plain_text", "text": value.title()}, "value": value}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "block_id": "b1", "elements": list(elements)}


def test_every_block_that_the_workspace_accepts_is_drawn() -> None:
    placeholders = {kind for kind in BLOCKS if "Unsupported block" in block({"type": kind}, LOOK)}
    assert placeholders == set()


def test_one_of_each_block_is_drawn_in_order() -> None:
    drawn = Reading(blocks(scene.every_block(), LOOK))
    assert drawn.words.startswith("Every block")
    assert "Unsupported block hologram" in drawn.words
    assert drawn.having("data-status") == ["complete", "error", "pending"]


def test_an_unknown_element_is_named_in_its_place() -> None:
    drawn = Reading(block(actions({"type": "crystal_ball"}), LOOK))
    assert drawn.words == "Unsupported element crystal_ball"


def test_a_button_carries_what_the_app_calls_it() -> None:
    drawn = block(actions(scene.button("case.claim", "Claim :wave:", "FD-1", style="primary")), LOOK)
    said = Reading(drawn)
    assert said.having("data-action-id") == ["case.claim"]
    assert said.having("data-value") == ["FD-1"]
    assert said.having("data-block-id") == ["b1", "b1"]
    assert "button-primary" in drawn
    assert said.words == "Claim 👋"


def test_a_button_with_an_address_is_a_link_and_a_button() -> None:
    drawn = Reading(block(actions(scene.button("open", "Open", url="https://a.example")), LOOK))
    assert drawn.links == ["https://a.example"]
    assert drawn.having("data-do") == ["click"]
    assert Reading(block(actions(scene.button("open", "Open", url="javascript:x")), LOOK)).links == []


def test_a_confirmation_travels_with_its_button() -> None:
    words = {part: {"type": "plain_text", "text": part} for part in ("title", "text", "confirm", "deny")}
    (written,) = Reading(block(actions(scene.button("x", "X", confirm=words)), LOOK)).having("data-confirm")
    assert '"deny": "deny"' in written


def test_feedback_shows_which_half_was_pressed() -> None:
    footer = scene.footer(7)[1]
    look = Look(NAMES, pressed=frozenset({("fb", "FD-1042/7/down")}))
    assert Reading(block(footer, look)).having("aria-pressed") == ["false", "true"]
    assert Reading(block(footer, LOOK)).having("aria-pressed") == ["false", "false"]


def test_an_icon_button_is_shown_to_those_it_is_for() -> None:
    trash = {"type": "icon_button", "icon": "trash", "text": {"type": "plain_text", "text": "Delete"}, "action_id": "x"}
    assert "Delete" in block(actions(trash | {"visible_to_user_ids": ["U1"]}), LOOK)
    assert "Delete" not in block(actions(trash | {"visible_to_user_ids": ["U2"]}), LOOK)


def test_a_select_offers_its_choices() -> None:
    table = [
        ("static_select", ["", "a", "b"]),
        ("multi_static_select", ["a", "b"]),
        ("users_select", ["", "U1", "U2"]),
        ("multi_users_select", ["U1", "U2"]),
        ("channels_select", ["", "C1"]),
        ("conversations_select", ["", "C1"]),
    ]
    misses = []
    for kind, offered in table:
        menu = {"type": kind, "action_id": "s", "options": [option("a"), option("b")]}
        drawn = Reading(block(actions(menu), LOOK))
        if (
            drawn.having("value") != offered
            or drawn.having("data-input") != [kind]
            or "data-dispatch" not in dict(drawn.attributes)
        ):
            misses.append((kind, drawn.attributes))
    assert misses == []


def test_options_in_groups_are_offered_too() -> None:
    menu = {"type": "static_select", "option_groups": [{"options": [option("a")]}, {"options": [option("b")]}]}
    assert Reading(block(actions(menu), LOOK)).having("value") == ["", "a", "b"]


def test_what_is_chosen_at_first_is_shown_as_chosen() -> None:
    boxes = {"type": "checkboxes", "options": [option("a"), option("b")], "initial_options": [option("b")]}
    assert 'value="b" checked' in block(actions(boxes), LOOK)
    menu = {"type": "users_select", "initial_user": "U2"}
    assert '<option value="U2" selected>' in block(actions(menu), LOOK)


def test_an_input_of_a_view_waits_for_the_submission() -> None:
    table = [
        ("plain_text_input", "text"),
        ("email_text_input", "email"),
        ("url_text_input", "url"),
        ("number_input", "text"),
        ("datepicker", "date"),
        ("timepicker", "time"),
        ("datetimepicker", "datetime-local"),
    ]
    misses = []
    for kind, shown in table:
        label = {"type": "plain_text", "text": "When"}
        block_ = {"type": "input", "block_id": "b", "label": label, "element": {"type": kind, "action_id": "a"}}
        drawn = Reading(block(block_, LOOK))
        if (
            drawn.having("type") != [shown]
            or "data-dispatch" in dict(drawn.attributes)
            or drawn.having("for") != [id_ for id_ in drawn.having("id") if id_.endswith("-input")]
            or "x-b-error" not in drawn.having("id")
        ):
            misses.append((kind, drawn.attributes))
    assert misses == []


def test_pictures_are_named_and_not_fetched() -> None:
    drawn = Reading(block({"type": "image", "image_url": "https://a.example/l.png", "alt_text": "A lamp"}, LOOK))
    assert "img" not in drawn.tags
    assert drawn.links == ["https://a.example/l.png"]
    assert drawn.words == "A lamp"


def test_containers_within_containers_end_somewhere() -> None:
    nested: Json = scene.section("the innermost")
    for _ in range(DEEPEST + 300):
        nested = {"type": "container", "child_blocks": [nested]}
    drawn = Reading(block(nested, LOOK))
    assert "innermost" not in drawn.words
    assert "Unsupported block container" in drawn.words


def test_tasks_show_their_state_details_and_sources() -> None:
    task = {
        "type": "task",
        "id": "kb",
        "title": "Searching",
        "status": "complete",
        "details": "*returns*",
        "sources": scene.SOURCES,
    }
    drawn = Reading(stream([task, task | {"status": "sideways"}], LOOK))
    assert drawn.having("data-status") == ["complete", "pending"]
    assert drawn.words.count("returns") == 2
    assert drawn.links == ["https://help.example.com/refunds"] * 2


def test_tasks_of_a_plan_stand_under_its_title() -> None:
    drawn = Reading(stream([{"type": "task", "title": "One", "status": "complete"}], LOOK, plan_title="The plan"))
    assert drawn.words.startswith("The plan1 of 1")


@pytest.mark.parametrize(
    ("written", "last"),
    [
        ("a word", f"<p>a word{CARET}</p>"),
        ("- one\n- two", f"<li>two{CARET}</li>"),
        ("> quoted", f"<p>quoted{CARET}</p>"),
        ("", CARET),
    ],
)
def test_the_caret_stands_behind_the_last_letter_while_a_stream_is_open(written: str, last: str) -> None:
    parts = [{"type": "markdown", "text": written}]
    drawn = stream(parts, LOOK, is_open=True)
    Reading(drawn)
    assert last in drawn
    assert drawn.count(CARET) == 1
    assert CARET not in stream(parts, LOOK)


def test_a_caret_after_task_cards_does_not_slip_into_them() -> None:
    drawn = stream([{"type": "task", "title": "One", "status": "pending"}], LOOK, is_open=True)
    assert drawn.endswith(f"</div>{CARET}")


def test_a_message_shows_who_wrote_when_and_what() -> None:
    data = {"ts": "1795200000.000100", "user": "U2", "text": "*Hello*", "edited": {"user": "U2"}}
    drawn = Reading(message(data, content(data, LOOK), Setting("m1", CUSTOMER, "C1"), NAMES))
    assert drawn.having("data-ts") == ["1795200000.000100"]
    assert drawn.having("data-author") == ["U2"]
    assert "Customer A" in drawn.words
    assert "Hello(edited)" in drawn.words


def test_only_what_a_person_edited_is_marked_as_edited() -> None:
    data = {"ts": "1.1", "text": "It left on Monday.", "bot_id": "B1", "edited": {"user": "U0APP"}}
    for author, more in ((Author("U0APP", "Frontdesk", is_app=True), {}), (CUSTOMER, {"username": "Customer A"})):
        drawn = message(data | more, content(data, LOOK), Setting("m1", author, "C1"), NAMES)
        assert "(edited)" not in drawn


def test_blocks_are_shown_instead_of_the_text() -> None:
    data = {"ts": "1.1", "text": "for notifications", "blocks": [scene.section("for people")]}
    assert Reading(content(data, LOOK)).words == "for people"


def test_a_streamed_message_is_busy_until_it_is_completed() -> None:
    data = {"ts": "1.1", "streaming_state": "in_progress"}
    setting = Setting("m1", CUSTOMER, "C1")
    assert 'aria-busy="true"' in message(data, content(data, LOOK), setting, NAMES)
    data |= {"streaming_state": "completed"}
    assert "aria-busy" not in message(data, content(data, LOOK), setting, NAMES)


def test_only_own_messages_can_be_edited_and_deleted() -> None:
    data = {"ts": "1.1", "text": "x"}
    mine = Reading(message(data, content(data, LOOK), Setting("m", CUSTOMER, "C1", is_mine=True), NAMES))
    others = Reading(message(data, content(data, LOOK), Setting("m", CUSTOMER, "C1"), NAMES))
    assert {"edit_here", "delete"} <= set(mine.having("data-do"))
    assert not {"edit_here", "delete"} & set(others.having("data-do"))


def test_reactions_tell_whether_the_viewer_is_among_them() -> None:
    reactions = [{"name": "+1", "users": ["U1", "U2"], "count": 2}, {"name": "eyes", "users": ["U2"], "count": 1}]
    data = {"ts": "1.1", "text": "x", "reactions": reactions}
    drawn = Reading(message(data, content(data, LOOK), Setting("m", CUSTOMER, "C1"), NAMES))
    assert drawn.having("aria-pressed") == ["true", "false"]
    assert "Agent A, Customer A reacted with :+1:" in drawn.having("title")


def test_the_footer_of_a_thread_counts_replies_or_tells_what_is_being_done() -> None:
    data = {"ts": "1.1", "text": "x"}

    def words(footer: Footer) -> str:
        setting = Setting("m", CUSTOMER, "C1", footer=footer)
        return Reading(message(data, content(data, LOOK), setting, NAMES)).words

    assert "1 reply" in words(Footer(1, "1795200000.1"))
    assert "2 replies" in words(Footer(2, "1795200000.1"))
    assert "is writing…" in words(Footer(2, "1795200000.1", status="is writing…"))


def test_an_ephemeral_message_says_that_nobody_else_sees_it() -> None:
    data = {"ts": "1.1", "text": "psst"}
    drawn = Reading(ephemeral(data, content(data, LOOK), Setting("m", CUSTOMER, "C1"), NAMES))
    assert "Only visible to you" in drawn.words
    assert drawn.words.endswith("psst")


def test_joining_is_a_line_of_the_channel() -> None:
    data = {"ts": "1.1", "subtype": "channel_join", "text": "<@U2> has joined the channel"}
    assert "@Customer A has joined" in Reading(system(data, Setting("m", CUSTOMER, "C1"), NAMES)).words


def test_files_are_shown_with_name_and_size() -> None:
    data = {"ts": "1.1", "files": [{"name": "lamp.png", "size": 20_480, "mimetype": "image/png"}]}
    assert Reading(content(data, LOOK)).words == "lamp.png20 kB"


def test_a_deleted_file_says_so() -> None:
    drawn = content({"text": "Look", "files": [{"id": "F1", "mode": "tombstone"}]}, LOOK)
    assert Reading(drawn).words == "LookThis file was deleted."


def test_a_person_keeps_their_colour_and_initials() -> None:
    assert avatar(CUSTOMER) == avatar(Author("U2", "Customer A"))
    assert Reading(avatar(CUSTOMER)).words == "CA"
    assert Reading(avatar(Author("", ""))).words == "?"


def test_the_inspector_says_where_by_whom_and_in_what_words() -> None:
    def about(detail: Json) -> str:
        line = {"id": 3, "time": 1_795_200_000.0, "kind": "call", "name": "x", "ok": True, "detail": detail}
        return re.sub("<.*?>", "", entry(line, NAMES).split('"entry-about">')[1].split("</span>")[0])

    assert about({"args": {"text": "a\n b", "channel": "C1", "token": "xoxb-1"}, "answer": {}}) == "C1 · a b"
    event = {"type": "message", "channel": "D1", "user": "U1", "text": "x" * 300}
    assert about({"payload": {"event": event}, "envelope_id": "1"}).startswith("D1 · U1 · xxx")
    assert about({"user": "U1", "line": "/kb status"}) == "U1 · /kb status"
    assert about({}) == ""


def test_the_inspector_tells_the_error_and_shows_the_payload() -> None:
    line = {"id": 3, "time": 1_795_200_000.0, "kind": "call", "name": "chat.update", "ok": False}
    line |= {"detail": {"answer": {"ok": False, "error": "ratelimited"}, "raw": b"<b>"}}
    drawn = Reading(entry(line, NAMES))
    assert drawn.having("data-ok") == ["no"]
    assert "ratelimited" in drawn.words
    assert "b'<b>'" in drawn.words
