"""What is said when a case changes."""

import re
from dataclasses import replace
from typing import Literal

import pytest

from bot.cases.case import State
from bot.cases.messages import CaseMessages
from bot.cases.transcripts import ATTACHED, PAGES, pages
from bot.conversation import ThreadRef
from bot.language.languages import Language
from bot.language.sentences import load_sentences
from bot.store.transcripts import TranscriptLine
from bot.views.announcements import ANNOUNCEMENTS, SAID_FIRST
from tests.store.rows import a_case

MESSAGES = CaseMessages(load_sentences(), "C0AGENTS")


def transcript(*lines: TranscriptLine) -> list[str]:
    rows = MESSAGES.opened(a_case(summary="A summary"), lines)
    return [str(row.payload["text"]) for row in rows if "/transcript" in row.key]


def test_a_transcript_pings_nobody_and_carries_no_link_of_the_models() -> None:
    hostile = "Look: [click here](https://evil.example/?d=1) <!channel> <@U0AGENTA>"
    (told,) = transcript(TranscriptLine("1.1", "assistant", hostile))
    for dangerous in ("<https://evil", "<!channel>", "<@U0AGENTA>"):
        assert dangerous not in told


def test_a_transcript_says_whose_words_they_are() -> None:
    (told,) = transcript(
        TranscriptLine("1.1", "U0CUSTOMERA", "mine"),
        TranscriptLine("1.2", "U0OTHER", "theirs"),
        TranscriptLine("1.3", "assistant", "ours"),
    )
    assert [line.split("*")[1] for line in told.splitlines() if line.startswith("*")] == [
        "Customer A",
        "Someone else",
        "Assistant",
    ]


def test_a_long_transcript_loses_its_oldest_lines_of_which_the_pages_before_hold_the_latest() -> None:
    case = a_case(summary="A summary")
    spoken = [TranscriptLine(f"{number}.1", "U0CUSTOMERA", f"line {number} " + "x" * 500) for number in range(1, 41)]
    for length, oldest in ((19, 1), (40, 21)):
        found = ["\n".join(page) for page in pages(case, spoken[:length], most=PAGES)]
        told = [int(number) for page in found for number in re.findall(r"line (\d+) ", page)]
        assert told == list(range(oldest, length + 1))
        assert max(len(page) for page in found) <= 3_000
        shown, attached = transcript(*spoken[:length])
        assert (shown, attached) == (found[-1], ATTACHED)


def test_every_row_of_every_step_has_a_key_of_its_own() -> None:
    case = a_case(summary="A summary")
    steps = [
        MESSAGES.opened(case, [TranscriptLine("1.1", "U0CUSTOMERA", "hello")]),
        *(MESSAGES.announce(step, case, into="FD-1041", by="U0AGENTB") for step in ANNOUNCEMENTS),
        MESSAGES.announce("taken_over", case, before=a_case(owner="U0AGENTB", owner_name="Agent B")),
        MESSAGES.resolved(case, by="U0AGENTA", name="Agent A"),
        MESSAGES.reopened(case),
        MESSAGES.transferred(replace(case, desk="C0BILLING"), [], before=case, by="U0AGENTA", is_known=False),
        MESSAGES.transferred(case, [], before=replace(case, desk="C0BILLING"), by="U0AGENTA", is_known=True),
        MESSAGES.merged(replace(case, state="merged", merged_into=41), [], into=replace(case, id=41), by="U0AGENTA"),
    ]
    for rows in steps:
        assert len({row.key for row in rows}) == len(rows)


@pytest.mark.parametrize(("channel", "is_linked"), [("C0SUPPORT", True), ("D0CUSTOMERA", False)])
def test_a_card_links_the_customers_thread_where_staff_can_read_it(channel: str, is_linked: bool) -> None:
    case = a_case(thread=ThreadRef("T0HOME", channel, "1.1"), link="https://home.example/archives/p11")
    gone = MESSAGES.transferred(replace(case, desk="C0BILLING"), [], before=case, by="U0AGENTA", is_known=False)
    cards = [row for row in [*MESSAGES.opened(case, []), *gone] if "p11" in str(row.payload)]
    assert bool(cards) is is_linked


def test_the_owner_who_solves_is_named_also_when_slack_does_not_say_who_they_are() -> None:
    case = a_case(state="resolved", outcome="solved", owner="U0AGENTA", owner_name="Agent A")
    to_customer, _ = MESSAGES.resolved(case, by="U0AGENTA", name="A colleague")
    assert "Agent A marked your case" in str(to_customer.payload["text"])


TEAM: dict[Language, str] = {"en": "team", "de": "Team", "es": "equipo", "fr": "équipe", "id": "tim"}
"""How a sentence in a language speaks of those to whom something is passed on."""


@pytest.mark.parametrize("language", TEAM)
def test_a_customer_reads_why_and_then_once_that_it_was_passed_on(language: Language) -> None:
    misses = []
    for reason in SAID_FIRST:
        case, sentences = replace(a_case(summary=""), language=language, reason=reason), load_sentences()
        why, cut_short = (sentences.say(language, key) for key in (SAID_FIRST[reason], "cut_short"))
        told = str(MESSAGES.opened(case, [])[0].payload["text"])
        joined = MESSAGES.thread_joined(
            case, ThreadRef("T", "D", "1.0"), language, TranscriptLine("1.1", "U", "Hi"), reason=reason
        )
        further = str(joined[0].payload["text"])
        if not all(text.startswith(f"{why}\n") for text in (told, further)) or [
            text.count(TEAM[language]) for text in (why, cut_short, told)
        ] != [0, 0, 1]:
            misses.append((reason, told, further))
    assert misses == []


@pytest.mark.parametrize("notice", ["thread", "ephemeral"])
@pytest.mark.parametrize("state", ["waiting", "out_of_hours"])
def test_who_was_escalated_by_a_colleague_reads_who_did_it_and_no_button(
    notice: Literal["thread", "ephemeral"], state: State
) -> None:
    case = a_case(state=state, thread=ThreadRef("T0FRONTDESK", "C0SUPPORT", "1.1"))
    messages = replace(MESSAGES, escalate_notice=notice)
    told = messages.opened(case, [TranscriptLine("1.1", "U0CUSTOMERA", "hello")], called_by="Agent A")[0]
    assert "Agent A" in told.payload["text"]
    assert "blocks" not in told.payload
    assert told.method == ("post" if notice == "thread" else "ephemeral")
    assert told.payload.get("user") == (None if notice == "thread" else case.customer)
    direct = replace(case, thread=ThreadRef("T0FRONTDESK", "D0CUSTOMERA", "1.1"))
    assert messages.opened(direct, [], called_by="Agent A")[0].method == "post"
