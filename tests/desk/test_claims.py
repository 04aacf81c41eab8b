"""The claim guard: no deed is told that nothing did or shows, and nothing else is held against a text."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.guardrails import OutputGate
from bot.agent.messages import ToolResult
from bot.desk.claim_patterns import KINDS, Kind, load_wordings
from bot.desk.claims import HELD, Claim, ClaimGate, Grounds, folded
from bot.desk.escalate import ESCALATE
from demo.model.phrases import PHRASES
from tests.desk.claim_sentences import CLAIMS, NO_CLAIMS

WORDINGS = load_wordings()
PAGES = sorted((Path(__file__).parents[2] / "demo" / "kb").glob("*.md"))
KEPT = "Thank you for waiting. "


def gate(
    *results: ToolResult, earlier: Sequence[ToolResult] = (), passages: Iterable[str] = (), hosts: Iterable[str] = ()
) -> ClaimGate:
    grounds = Grounds(results=lambda: results, passages=lambda: passages, earlier=earlier)
    return ClaimGate(WORDINGS, grounds, OutputGate(frozenset(hosts)))


def claim_in(text: str, *results: ToolResult, earlier: Sequence[ToolResult] = ()) -> Claim | None:
    judged = gate(*results, earlier=earlier)
    judged.feed(text)
    judged.settle()
    return judged.stopped


def looked_up(*orders: dict[str, object], tool: str = "lookup_order", ok: bool = True) -> ToolResult:
    content = orders[0] if len(orders) == 1 else {"orders": orders}
    return ToolResult("call_1", tool, orjson.dumps(content).decode(), ok=ok, private=True)


CANCELLED: dict[str, object] = {
    "order": "ORD-12345",
    "status": "cancelled",
    "placed": "3 Nov 2026",
    "total": "20.00 USD",
}
SHIPPED: dict[str, object] = {"order": "ORD-67890", "status": "shipped", "placed": "1 Nov 2026", "total": "129.98 USD"}
REFUNDED: dict[str, object] = {
    "order": "ORD-11111",
    "status": "delivered",
    "payment": "refunded",
    "total": "129.98 USD",
}
CALLED = ToolResult("call_1", ESCALATE, "Case FD-1001 is open.")


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [(kind, sentence) for kinds in CLAIMS.values() for kind, sentences in kinds.items() for sentence in sentences],
)
def test_a_deed_that_nothing_did_is_not_told(kind: Kind, sentence: str) -> None:
    judged = gate()
    shown = judged.feed(f"{KEPT}{sentence}") + judged.settle()
    assert judged.stopped is not None
    assert judged.stopped.kind == kind
    assert shown.startswith(KEPT)
    assert len(shown) < len(KEPT + sentence)


@pytest.mark.parametrize("sentence", [sentence for sentences in NO_CLAIMS.values() for sentence in sentences])
def test_rules_questions_and_denials_are_told(sentence: str) -> None:
    judged = gate()
    assert judged.feed(sentence) + judged.settle() == sentence


def test_every_language_has_claims_of_every_kind() -> None:
    assert all(kinds.keys() == set(KINDS) for kinds in CLAIMS.values())
    assert CLAIMS.keys() == NO_CLAIMS.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_sentence_of_a_help_page_is_taken_for_a_claim(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if not line.startswith("#")]
    sentences = [sentence for line in lines for sentence in re.split(r"(?<=[.!?]) ", line)]
    assert [sentence for sentence in sentences if claim_in(sentence)] == []


@pytest.mark.parametrize("language", PHRASES)
def test_what_the_stand_in_says_claims_nothing_but_states(language: str) -> None:
    phrases = PHRASES[language]
    named = {name: getattr(phrases, name) for name in phrases.__dataclass_fields__}
    said = [value for value in named.values() if isinstance(value, str)]
    said += [
        phrases.parcel.format(number="1Z999", carrier="UPS", status=each) for each in phrases.parcel_states.values()
    ]
    quiet = {state: words for state, words in phrases.order_states.items() if state not in ("cancelled", "refunded")}
    said += [phrases.order.format(order="ORD-12345", status=words) for words in quiet.values()]
    assert [sentence for sentence in said if claim_in(sentence)] == []


@pytest.mark.parametrize("language", PHRASES)
@pytest.mark.parametrize("state", ["cancelled", "refunded"])
def test_a_state_may_be_told_in_any_language_when_a_look_up_shows_it(language: str, state: str) -> None:
    phrases = PHRASES[language]
    sentence = phrases.order.format(order="ORD-12345", status=phrases.order_states[state])
    assert claim_in(sentence) is not None
    assert claim_in(sentence, looked_up({"order": "ORD-12345", "status": state})) is None
    assert claim_in(sentence, looked_up({"order": "ORD-12345", "status": "shipped"})) is not None
    assert claim_in(sentence, looked_up({"order": "ORD-67890", "status": state})) is not None


@pytest.mark.parametrize(
    "sentence",
    [
        "Your order ORD-12345 was cancelled on 3 Nov.",
        "Your order was cancelled, and 20.00 USD were refunded.",
        "ORD-67890 has been shipped, ORD-12345 has been cancelled.",
        "ORD-67890 was shipped and ORD-12345 was cancelled.",
        "You asked about ORD-12345. It was cancelled.",
        "We have refunded ORD-11111.",
        "The payment of 129,98 USD for ORD-11111 has been refunded.",
    ],
)
def test_what_the_look_ups_show_may_be_told(sentence: str) -> None:
    assert claim_in(sentence, looked_up(CANCELLED, SHIPPED, REFUNDED, tool="list_my_orders")) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "ORD-67890 has been cancelled.",
        "ORD-12345 and ORD-67890 have been cancelled.",
        "You asked about ORD-67890. It was cancelled.",
        "ORD-12345 is on its way, ORD-67890 was cancelled.",
        "ORD-99999 was cancelled.",
        "500 dollars have been refunded for ORD-11111.",
        "I have cancelled ORD-12345.",
        "We've refunded you.",
        "I have refunded ORD-11111.",
    ],
)
def test_what_the_look_ups_do_not_show_may_not(sentence: str) -> None:
    assert claim_in(sentence, looked_up(CANCELLED, SHIPPED, REFUNDED, tool="list_my_orders")) is not None


def test_a_state_that_was_looked_up_earlier_still_counts_and_a_deed_does_not() -> None:
    assert claim_in("Your order ORD-12345 was cancelled.", earlier=[looked_up(CANCELLED)]) is None
    assert claim_in("I've passed this on to our team.", earlier=[CALLED]) is not None


def test_a_person_who_was_called_in_this_turn_may_be_told_of() -> None:
    assert claim_in("I've passed this on to our team. A colleague will get back to you.", CALLED) is None
    assert claim_in("I've passed this on and refunded you.", CALLED) is not None


def test_a_call_that_failed_and_what_agents_tell_each_other_show_nothing() -> None:
    failed = ToolResult("call_1", ESCALATE, "unavailable", ok=False)
    assert claim_in("I've passed this on to our team.", failed) is not None
    assert claim_in("ORD-12345 was cancelled.", looked_up(CANCELLED, ok=False)) is not None
    assert claim_in("ORD-12345 was cancelled.", looked_up(CANCELLED, tool="ask_orders")) is not None
    assert claim_in("ORD-12345 was cancelled.", ToolResult("call_1", "lookup_order", "it was cancelled")) is not None


def test_a_result_that_was_given_twice_counts_with_its_note() -> None:
    first = looked_up(CANCELLED)
    again = ToolResult("call_2", first.name, f"[You made this same call before.]\n{first.content}")
    assert claim_in("ORD-12345 was cancelled.", again) is None


def test_a_sentence_of_a_passage_may_be_quoted_and_no_other() -> None:
    passage = "Payment > Failed\n\nYou may read: Your order was cancelled because the bank refused the payment."
    quoted, other = gate(passages=[passage]), gate(passages=[passage])
    assert quoted.feed("Your order was **cancelled** because the bank refused the payment. ")
    assert not other.feed("Your order was cancelled. ")


@pytest.mark.parametrize(
    "sentence",
    [
        "I HAVE CANCELLED YOUR ORDER.",
        "I have **cancelled** your order.",
        "I have can**celled** your order.",
        "I _have_ *cancelled* your ~order~.",
        "I h\u200bave can\u200bcelled your order.",
        "I have can\u00adcelled your or\u2060der.",
        "I’ve cancelled your order.",
        "Iʼve cancelled your order.",
        "I´ve cancelled your order.",
        "I`ve cancelled your order.",
        "I&#39;ve cancelled your order.",
        "I have <!-- no. not really --> cancelled your order.",
        "I have\ncancelled your order.",
        "I have …\n\ncancelled your order.",
        "I have сancеlled your order.",
        "Ｉ ｈａｖｅ ｃａｎｃｅｌｌｅｄ your order.",
        "𝐈 𝐡𝐚𝐯𝐞 𝐜𝐚𝐧𝐜𝐞𝐥𝐥𝐞𝐝 your order.",
        "I have c\u0336a\u0336n\u0336c\u0336elled your order.",
        "I have c-a-n-c-e-l-l-e-d your order.",
        "I have [cancelled](https://help.example.com/x) your order.",
        "I\u00a0have\u00a0cancelled your order.",
        "> I have cancelled your order.",
        "- I have cancelled your order",
        "Here it is: “I have cancelled your order.”",
        "I have (as you asked) cancelled your order.",
        "I have – as you asked – cancelled your order.",
        "If you wonder, I have cancelled your order.",
        "No worries I have cancelled your order.",
    ],
)
def test_a_claim_in_disguise_is_still_one(sentence: str) -> None:
    judged = gate(hosts=["help.example.com"])
    shown = judged.feed(sentence) + judged.settle()
    assert judged.stopped is not None
    assert "celled" not in folded(shown)


def test_everything_behind_a_claim_is_dropped() -> None:
    judged = gate()
    assert judged.feed("One moment. I have cancelled it. All good. ") == "One moment. "
    assert judged.feed("Bye.") + judged.settle() == ""


def test_at_most_the_sentence_that_is_being_written_is_held() -> None:
    judged = gate()
    assert judged.feed("The parcel is here. It will be ") == "The parcel is here. "
    assert judged.feed("with you tomorrow.\n") == "It will be with you tomorrow.\n"


def test_a_sentence_without_an_end_is_decided_on_in_parts() -> None:
    judged = gate()
    endless = "and on " * HELD
    shown = judged.feed(endless)
    assert len(endless) - len(shown) <= HELD
    assert judged.feed("and then I have ") + judged.settle() == endless[len(shown) :] + "and then I have "
    assert judged.feed("cancelled your order.") + judged.settle() == ""


def test_a_round_that_ends_without_a_mark_is_decided_on() -> None:
    judged = gate()
    assert judged.feed("Let me look that up") == ""
    assert judged.settle() == "Let me look that up"
    assert judged.feed("\n\nIt is on its way. ") == "\n\nIt is on its way. "


PIECES = [sentence for kinds in CLAIMS.values() for sentences in kinds.values() for sentence in sentences[:3]]
PIECES += [sentence for sentences in NO_CLAIMS.values() for sentence in sentences]
PIECES += ["ORD-12345", "\n\n", "- ", "**", "I have", "…", "Nr. 1", "<!-- x. -->", "[a](https://b.example)", "`", "é"]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.data())
def test_the_division_into_pieces_makes_no_difference(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    whole = gate(looked_up(CANCELLED))
    expected = whole.feed(text) + whole.settle()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    divided = gate(looked_up(CANCELLED))
    shown = [divided.feed(text[start:end]) for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join([*shown, divided.settle()]) == expected
    assert divided.stopped == whole.stopped


@given(st.text(max_size=300))
def test_any_text_goes_through_whole_or_ends_at_a_claim(text: str) -> None:
    judged, plain = gate(), OutputGate(frozenset())
    shown = judged.feed(text) + judged.settle()
    expected = plain.feed(text) + plain.close()
    assert shown == expected or (judged.stopped is not None and expected.startswith(shown))


@given(st.text(alphabet="abcdelmnorstéèüñçÉÜÑÇ 0123456789.-'", max_size=60))
def test_folding_twice_is_folding_once(text: str) -> None:
    once = folded(text)
    assert folded(once) == once or "&" in once
