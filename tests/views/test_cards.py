"""Cards are what Slack accepts, whatever people wrote, and carry only buttons that are handled."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cases.buttons import BUTTONS
from bot.cases.case import State
from bot.conversation import ThreadRef
from bot.language.languages import Language, languages
from bot.language.sentences import load_sentences
from bot.slack.blocks import Card, plainer
from bot.slack.mrkdwn import escape
from bot.store.cases import Helper
from bot.views import announcements, article_cards, cards, staff_cards
from bot.views.announcements import ANNOUNCEMENTS
from bot.views.article_cards import Close
from bot.views.cards import AnswerSource
from bot.views.staff_cards import Choice
from local_slack.blocks import message_faults
from tests.store.rows import a_case

SENTENCES = load_sentences()
CASE = a_case(id=42, thread=ThreadRef("T0HOME", "C0SUPPORT", "1.1"), link="https://example.slack.com/archives/C1/p2")
HELPERS = (Helper("U0AGENTB", "Agent B", 1.0),)
HANDLED = {button.action_id for button in BUTTONS.values()}
NASTY = "*bold* <!channel> <@U1> & `x` [a](https://evil.example) |\n" + "long " * 900


def customer_cards(language: Language, words: str) -> Iterator[Card]:
    sources = [AnswerSource(words, f"https://help.example.com/{number}", "12 Nov 2026") for number in range(6)]
    yield cards.answer_footer(SENTENCES, language, ref="7", sources=sources)
    yield cards.answer_footer(SENTENCES, language, ref="7")
    yield cards.no_answer(SENTENCES, language, ref="7")
    yield cards.no_answer(SENTENCES, language, ref="7", perhaps=sources[0])
    case = replace(CASE, language=language, title=words, customer_name=words, owner_name=words)
    for usual in (None, 6.4):
        yield announcements.escalated(SENTENCES, case, usual=usual)
    values = {
        "staff": announcements.short_name(words),
        "before": announcements.short_name(words),
        "back": announcements.reader_time(1_795_200_000.0),
        "usual": SENTENCES.say(language, "usual_minutes", minutes="5"),
        "into": "<https://example.slack.com/archives/D1/p1|FD-1041>",
    }
    for step, row in ANNOUNCEMENTS.items():
        if row.customer:
            yield announcements.to_customer(SENTENCES, case, step, **values)


def every_learning_card(words: str) -> Iterator[Card]:
    about: dict[str, Any] = {"title": words, "question": words, "answer": words}
    page = Close(words, words, 0.91, contradicts=True, excerpt=words)
    for close in (None, page, replace(page, article=3)):
        yield article_cards.suggestion(
            number=7, origin="FD-1042", by="U0AGENTA", **about, close=close, has_gaps=close is None
        )
    outcome = article_cards.discarded(by="U0AGENTA", reason="wrong")
    yield article_cards.decided(origin="FD-1042", **about, outcome=outcome)
    yield article_cards.added(number=7, by="U0AGENTA", at=1_795_200_000.0, **about)


def every_staff_card(words: str) -> Iterator[Card]:
    case = replace(
        CASE, title=words, summary=words, reason=words, customer_name=words, owner="U0AGENTA", owner_name=words,
        priority="high", member_type="guest", follows=41, reopened=1, last_owner="U0AGENTB", merged_into=41,
        claimed_at=1_795_200_000.0, ended_at=1_795_200_000.0, replied_at=1_795_200_000.0,
    )  # fmt: skip
    link = "https://example.slack.com/archives/C1/p1"
    for state in get_args(State):
        here = replace(case, state=state, due=1_795_200_000.0, helpers=HELPERS if state == "human" else ())
        for by in ("", "U0AGENTA"):
            yield staff_cards.case_card(here, by=by)
        yield staff_cards.case_card(replace(here, reply_due=1_795_200_900.0, reply_missed=True))
        yield staff_cards.case_card(replace(here, snoozed_until=1_795_200_900.0))
        yield staff_cards.reply_missed(here, mention="<@U0AGENTA>")
        for reader in ("U0AGENTA", "U0AGENTB", "U0AGENTC"):
            yield staff_cards.moved_on(here, reader=reader)
        yield staff_cards.over(here)
    for to in ("", link):
        yield staff_cards.transferred_card(case, to="C0BILLING", by="U0AGENTA", link=to)
    for row in ANNOUNCEMENTS.values():
        if row.staff is not None:
            yield row.staff(case, case, "U0AGENTA")
    yield staff_cards.helper_prompt(case, ts="1795200123.000100")
    yield staff_cards.owner_left(case)
    yield staff_cards.came_from(case, channel="C0AGENTS", by="U0AGENTA")
    yield staff_cards.is_back(case)
    yield staff_cards.elsewhere(case, channel="C0BILLING", link=link)
    yield from every_learning_card(words)
    yield staff_cards.thread_opener(case, messages=6, is_whole=False)
    yield staff_cards.take_over_prompt(case, ts="1795200123.000100")
    yield staff_cards.unread(case)
    yield staff_cards.lost_race(case)
    overdue = staff_cards.overdue(case, waited=5.2, target=5.0, spoke=1_795_200_000.0, is_last=True)
    for snooze in ("", "FD-1042/7"):
        yield staff_cards.unclaimed(case, overdue, mention="<!subteam^S0ONCALL>", snooze=snooze)
    yield staff_cards.for_lead(overdue)
    yield staff_cards.urgent(case, mention="<!subteam^S0ONCALL>")
    yield staff_cards.desk_opened(case)
    yield staff_cards.snoozed(case, by="U0AGENTA")
    texts = [(words, escape(words)[:2_400]) for _ in range(3)]
    yield staff_cards.drafts(case, asked=7, texts=texts, doubtful=[1, 2, 3])
    for failed in (False, True):
        choice = Choice(2, "U0AGENTA", 1_795_200_000.0, failed=failed)
        yield staff_cards.drafts(case, asked=7, texts=texts, choice=choice)


def sound(card: Card) -> None:
    blocks = list(card.blocks)
    assert message_faults(blocks) == []
    assert message_faults(plainer(blocks)) == []
    assert card.text.strip()
    assert len(card.text) <= 3_000
    assert {button["action_id"] for button in buttons(blocks)} <= HANDLED


def buttons(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "action_id" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from buttons(each)


def mrkdwn(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if value.get("type") == "mrkdwn":
            yield value["text"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from mrkdwn(each)


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("words", ["Agent A", NASTY])
def test_customers_cards_are_what_slack_accepts(language: Language, words: str) -> None:
    for card in customer_cards(language, words):
        sound(card)


@pytest.mark.parametrize("words", ["Refund refused by policy", NASTY])
def test_staff_cards_are_what_slack_accepts(words: str) -> None:
    for card in every_staff_card(words):
        sound(card)


@given(st.text(max_size=200))
def test_any_words_make_a_valid_card(words: str) -> None:
    for card in [*customer_cards("en", words or "x"), *every_staff_card(words or "x")]:
        assert message_faults(list(card.blocks)) == []


def test_what_people_wrote_pings_nobody_and_links_nowhere() -> None:
    for card in [*customer_cards("en", NASTY), *every_staff_card(NASTY)]:
        for text in [card.text, *mrkdwn(list(card.blocks))]:
            assert "<!channel>" not in text
            assert "<@U1>" not in text


def test_the_summary_stands_alone_in_plain_text_and_says_who_wrote_it() -> None:
    fake = "*Priority*\n:red_circle: High <!channel>"
    card = staff_cards.case_card(replace(CASE, summary=fake))
    holders = [block for block in card.blocks if fake in str(block.get("text", {}).get("text", ""))]
    assert [block["text"]["type"] for block in holders] == ["plain_text"]
    before = card.blocks[card.blocks.index(holders[0]) - 1]
    assert before["elements"][0]["text"] == "Summary, written by the assistant"


def test_values_name_the_case_or_the_answer() -> None:
    def values(card: Card) -> list[str]:
        return [button["value"] for button in buttons(list(card.blocks)) if "value" in button]

    assert values(announcements.escalated(SENTENCES, CASE)) == ["FD-1042"]
    scores = values(announcements.to_customer(SENTENCES, CASE, "resolved", staff="Agent A"))
    assert scores == [*(f"FD-1042/{score}" for score in range(1, 6)), "FD-1042"]
    drafts = staff_cards.drafts(CASE, asked=7, texts=[("Short", "Yes."), ("Warm", "Yes!")])
    assert values(drafts) == [*["FD-1042/7/1"] * 2, *["FD-1042/7/2"] * 2]
    assert values(staff_cards.take_over_prompt(CASE, ts="1.2")) == ["FD-1042/1.2", "FD-1042/1.2"]
    (feedback,) = cards.answer_footer(SENTENCES, "en", ref="7", offer_person=False).blocks[0]["elements"]
    assert (feedback["positive_button"]["value"], feedback["negative_button"]["value"]) == ("7/up", "7/down")


def test_sources_are_links_with_their_age_and_bad_addresses_are_only_named() -> None:
    sources = [
        AnswerSource("Returns | FAQ", "https://help.example.com/r?a=1&b=2", "12 Nov 2026"),
        AnswerSource("Notes", "file:///x"),
    ]
    footer = cards.answer_footer(SENTENCES, "en", ref="7", sources=sources)
    (line,) = mrkdwn(footer.blocks[0])
    assert line == ":books: <https://help.example.com/r?a=1&amp;b=2|Returns ¦ FAQ> · Notes  ·  updated 12 Nov 2026"


def test_the_page_that_perhaps_has_the_answer_is_linked_above_the_offer_of_a_person() -> None:
    page = AnswerSource("Returns", "https://help.example.com/returns")
    card = cards.no_answer(SENTENCES, "en", ref="7", perhaps=page)
    assert list(mrkdwn(card.blocks[0])) == [":books: <https://help.example.com/returns|Returns>"]
    assert card.blocks[1]["type"] == "actions"


@pytest.mark.parametrize(
    ("card", "language", "words"),
    [
        (lambda language: cards.no_answer(SENTENCES, language, ref="7"), "de", "raten möchte ich nicht"),
        (lambda language: announcements.escalated(SENTENCES, replace(CASE, language=language)), "id", "Tiket FD-1042"),
        (
            lambda language: announcements.to_customer(
                SENTENCES, replace(CASE, language=language), "claimed", staff="Agent A"
            ),
            "fr",
            "Agent A vous rejoint",
        ),
    ],
)
def test_customers_are_spoken_to_in_their_language(card: Callable[[str], Card], language: str, words: str) -> None:
    assert words in card(language).text


def test_plainer_keeps_what_older_workspaces_know() -> None:
    blocks = [
        {"type": "alert", "level": "warning", "text": {"type": "mrkdwn", "text": "Look"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "Same"}},
    ]
    assert plainer(blocks) == [{"type": "section", "text": {"type": "mrkdwn", "text": "Look"}}, blocks[1]]


def test_a_chosen_draft_is_named_and_none_can_be_chosen_any_more() -> None:
    texts = [("Short", "Yes."), ("Warm", "Yes!")]
    card = staff_cards.drafts(CASE, asked=7, texts=texts, choice=Choice(2, "U0AGENTA", 0.0))
    assert list(buttons(list(card.blocks))) == []
    told = list(mrkdwn(list(card.blocks)))
    assert "*Sent* by <@U0AGENTA>" in told[told.index("*2 · Warm*\n>Yes!") + 1]
