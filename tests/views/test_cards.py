"""Cards are what Slack accepts, whatever people wrote, and carry only buttons that are handled."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cases.buttons import BUTTONS
from bot.cases.case import State
from bot.language.sentences import LANGUAGES, Language, load_sentences
from bot.slack import blocks
from bot.slack.blocks import Card, plainer
from bot.slack.mrkdwn import escape
from bot.views import article_cards as learning_cards
from bot.views import cards, staff_cards
from bot.views.article_cards import Close
from bot.views.cards import Source
from bot.views.staff_cards import Choice
from local_slack.blocks import message_faults

SENTENCES = load_sentences()
HANDLED = {button.action_id for button in BUTTONS.values()}
NASTY = "*bold* <!channel> <@U1> & `x` [a](https://evil.example) |\n" + "long " * 900


def customer_cards(language: Language, words: str) -> Iterator[Card]:
    sources = [Source(words, f"https://help.example.com/{number}", "12 Nov 2026") for number in range(6)]
    yield cards.answer_footer(SENTENCES, language, ref="7", sources=sources)
    yield cards.answer_footer(SENTENCES, language, ref="7")
    yield cards.no_answer(SENTENCES, language, ref="7")
    yield cards.escalated(SENTENCES, language, case="FD-1042")
    yield cards.escalated(SENTENCES, language, case="FD-1042", usual=cards.usual_reply_time(SENTENCES, language, 6.4))
    back = blocks.moment(1_795_200_000.0, "{date_short_pretty} {time}")
    yield cards.out_of_hours(SENTENCES, language, case="FD-1042", back=back)
    for is_paged in (False, True):
        yield cards.urgent(SENTENCES, language, case="FD-1042", back=back, is_paged=is_paged)
    yield cards.can_wait(SENTENCES, language, case="FD-1042", back=back)
    yield cards.still_looking(SENTENCES, language, case="FD-1042")
    yield cards.nobody_yet(SENTENCES, language, case="FD-1042")
    yield cards.helping(SENTENCES, language, case="FD-1042")
    yield cards.settled(SENTENCES, language, case="FD-1042")
    yield cards.claimed(SENTENCES, language, case="FD-1042", staff=words)
    yield cards.taken_over(SENTENCES, language, case="FD-1042", staff=words, before=words)
    yield cards.transferred(SENTENCES, language, case="FD-1042")
    yield cards.merged(SENTENCES, language, case="FD-1042", into="<https://example.slack.com/archives/D1/p1|FD-1041>")
    yield cards.handed_back(SENTENCES, language, case="FD-1042")
    yield cards.reopened(SENTENCES, language, case="FD-1042")
    yield cards.resolved(SENTENCES, language, case="FD-1042", staff=words)


def every_learning_card(words: str) -> Iterator[Card]:
    about: dict[str, Any] = {"title": words, "question": words, "answer": words}
    page = Close(words, words, 0.91, contradicts=True, excerpt=words)
    for close in (None, page, replace(page, article=3)):
        yield learning_cards.suggestion(
            number=7, origin="FD-1042", by="U0AGENTA", **about, close=close, has_gaps=close is None
        )
    outcome = learning_cards.discarded(by="U0AGENTA", reason="wrong")
    yield learning_cards.decided(origin="FD-1042", **about, outcome=outcome)
    yield learning_cards.added(number=7, by="U0AGENTA", at=1_795_200_000.0, **about)


def every_staff_card(words: str) -> Iterator[Card]:
    about: dict[str, Any] = {"case": "FD-1042", "title": words, "customer": "U0CUST"}
    more: dict[str, str] = {"customer_note": words, "priority": "high", "why": words, "summary": words, "facts": words}
    link = "https://example.slack.com/archives/C1/p1"
    for opens in (None, 1_795_200_000.0):
        yield staff_cards.case_card(**about, **more, since=1_795_200_000.0, opens=opens, permalink=link)
    for due in (None, 1_795_200_900.0):
        who = {"staff": "U0AGENTA", "staff_name": words, "permalink": link}
        yield staff_cards.claimed_card(**about, **more, **who, at=1_795_200_000.0, due=due, helpers=["U0AGENTB"])
    ended: dict[str, Any] = {"by": "U0AGENTA", "at": 1_795_200_000.0, "permalink": link}
    yield staff_cards.transferred_card(**about, to="C0BILLING", link=link, **ended)
    yield staff_cards.transferred_card(**about, to="C0BILLING", **ended)
    yield staff_cards.merged_card(**about, into="FD-1041", link=link, facts=words, **ended)
    yield staff_cards.helper_prompt(case="FD-1042", ts="1795200123.000100")
    yield staff_cards.helps(case="FD-1042", staff="U0AGENTB", owner="U0AGENTA")
    yield staff_cards.owner_left(case="FD-1042", staff="U0AGENTA", staff_name=words)
    yield staff_cards.came_from(case="FD-1042", channel="C0AGENTS", staff="U0AGENTA", link=link)
    yield staff_cards.is_back(case="FD-1042", link=link)
    yield staff_cards.elsewhere(case="FD-1042", channel="C0BILLING", link=link)
    yield staff_cards.closed_card(
        **about, outcome=words, by="U0AGENTA", at=1_795_200_000.0, summary=words, permalink=link, teaches=True
    )
    yield from every_learning_card(words)
    yield staff_cards.closed_card(**about, outcome="Cancelled by the customer", by=None, at=1_795_200_000.0)
    yield staff_cards.thread_opener(case="FD-1042", messages=6, is_whole=False)
    yield staff_cards.take_over_prompt(case="FD-1042", ts="1795200123.000100")
    yield staff_cards.taken_from(case="FD-1042", staff="U0AGENTA", before="U0AGENTB")
    yield staff_cards.unread(case="FD-1042", staff="U0AGENTA", staff_name=words)
    for with_assistant in (True, False):
        yield staff_cards.over(case="FD-1042", with_assistant=with_assistant)
    yield staff_cards.lost_race(case="FD-1042", staff="U0AGENTA", staff_name=words)
    yield staff_cards.moved_on(case="FD-1042", state="human", staff="U0AGENTA", reader="U0AGENTB", is_helper=True)
    overdue = staff_cards.overdue(case="FD-1042", waited=5.2, target=5.0, spoke=1_795_200_000.0, is_last=True)
    for snooze in ("", "FD-1042/7"):
        yield staff_cards.unclaimed(case="FD-1042", words=overdue, mention="<!subteam^S0ONCALL>", snooze=snooze)
    yield staff_cards.for_lead(words=overdue, link=link)
    for state in get_args(State):
        yield staff_cards.moved_on(case="FD-1042", state=state, staff="U0AGENTA", reader="U0AGENTB")
    yield staff_cards.moved_on(case="FD-1042", state="human", staff="U0AGENTA", reader="U0AGENTA")
    texts = [(words, escape(words)[:2_400]) for _ in range(3)]
    yield staff_cards.drafts(case="FD-1042", asked=7, texts=texts, doubtful=[1, 2, 3], others_read=True)
    for failed in (False, True):
        choice = Choice(2, "U0AGENTA", 1_795_200_000.0, failed=failed)
        yield staff_cards.drafts(case="FD-1042", asked=7, texts=texts, choice=choice)


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


@pytest.mark.parametrize("language", LANGUAGES)
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
    card = staff_cards.case_card(
        case="FD-1", title="x", customer="U1", customer_note="", priority="low", why="asked", since=0.0, summary=fake
    )
    holders = [block for block in card.blocks if fake in str(block.get("text", {}).get("text", ""))]
    assert [block["text"]["type"] for block in holders] == ["plain_text"]
    before = card.blocks[card.blocks.index(holders[0]) - 1]
    assert before["elements"][0]["text"] == "Summary, written by the assistant"


def test_values_name_the_case_or_the_answer() -> None:
    def values(card: Card) -> list[str]:
        return [button["value"] for button in buttons(list(card.blocks)) if "value" in button]

    assert values(cards.escalated(SENTENCES, "en", case="FD-1042")) == ["FD-1042"]
    scores = values(cards.resolved(SENTENCES, "en", case="FD-1042", staff="Agent A"))
    assert scores == [*(f"FD-1042/{score}" for score in range(1, 6)), "FD-1042"]
    drafts = staff_cards.drafts(case="FD-1042", asked=7, texts=[("Short", "Yes."), ("Warm", "Yes!")])
    assert values(drafts) == [*["FD-1042/7/1"] * 2, *["FD-1042/7/2"] * 2]
    assert values(staff_cards.take_over_prompt(case="FD-1042", ts="1.2")) == ["FD-1042/1.2", "FD-1042/1.2"]
    (feedback,) = cards.answer_footer(SENTENCES, "en", ref="7", offer_person=False).blocks[0]["elements"]
    assert (feedback["positive_button"]["value"], feedback["negative_button"]["value"]) == ("7/up", "7/down")


def test_sources_are_links_with_their_age_and_bad_addresses_are_only_named() -> None:
    sources = [
        Source("Returns | FAQ", "https://help.example.com/r?a=1&b=2", "12 Nov 2026"),
        Source("Notes", "file:///x"),
    ]
    footer = cards.answer_footer(SENTENCES, "en", ref="7", sources=sources)
    (line,) = mrkdwn(footer.blocks[0])
    assert line == ":books: <https://help.example.com/r?a=1&amp;b=2|Returns ¦ FAQ> · Notes  ·  updated 12 Nov 2026"


@pytest.mark.parametrize(
    ("card", "language", "words"),
    [
        (lambda language: cards.no_answer(SENTENCES, language, ref="7"), "de", "raten möchte ich nicht"),
        (lambda language: cards.escalated(SENTENCES, language, case="FD-1042"), "id", "Tiket FD-1042"),
        (lambda language: cards.claimed(SENTENCES, language, case="F", staff="Agent A"), "fr", "Agent A vous rejoint"),
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
    card = staff_cards.drafts(case="FD-1042", asked=7, texts=texts, choice=Choice(2, "U0AGENTA", 0.0))
    assert list(buttons(list(card.blocks))) == []
    told = list(mrkdwn(list(card.blocks)))
    assert "*Sent* by <@U0AGENTA>" in told[told.index("*2 · Warm*\n>Yes!") + 1]
