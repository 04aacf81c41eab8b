"""What an answer may name: values that stand in what was kept of the episode, in any language, and no others."""

import time
from collections.abc import Iterable, Sequence
from datetime import date

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.messages import AgentMessage, CustomerMessage, Message, StaffMessage, SystemNote, ToolResult
from bot.desk.summing_up import as_note
from bot.guard.claim_patterns import load_wordings
from bot.guard.claims import Claim, ClaimGate, Grounds
from bot.guard.grounding import EpisodeEvidence, Grounding
from bot.guard.guardrails import OutputGate
from bot.guard.values import Value, plain, read_values
from evals.claims.__main__ import FOLDER, judge, load

TODAY = date(2026, 11, 22)
HOST = "help.shop.example"
ORDER: dict[str, object] = {
    "order": "ORD-12345",
    "status": "shipped",
    "placed": "3 Nov 2026",
    "total": "64.85 EUR",
    "articles": [
        {"title": "Lamp", "quantity": 2, "price_each": "19.95 EUR"},
        {"title": "Tent pegs", "quantity": 1, "price_each": "24.95 EUR"},
    ],
    "parcels": [{"tracking_number": "1Z999AA10123456784", "carrier": "UPS"}],
}
PAGE = (
    "Shipping\nStandard costs 4.95 EUR, express 9 to 12 EUR. Sale items are reduced by 20 %. You have 30 days. "
    f"From 1 March 2027 the code WELCOME15 counts.\nhttps://{HOST}/shipping"
)


def looked_up(order: dict[str, object], tool: str = "lookup_order") -> ToolResult:
    return ToolResult("call_1", tool, orjson.dumps(order).decode(), private=True)


def gate(*messages: Message, results: Sequence[ToolResult] = (), pages: Iterable[str] = ()) -> ClaimGate:
    kept = EpisodeEvidence(lambda: results, lambda: pages, messages, today=TODAY, link_hosts=frozenset({HOST}))
    grounds = Grounds(results=lambda: results, passages=lambda: pages, kept=kept)
    return ClaimGate(load_wordings(), grounds, OutputGate(frozenset({HOST})))


def stopped(
    text: str, *messages: Message, results: Sequence[ToolResult] = (), pages: Iterable[str] = ()
) -> Claim | Value | None:
    judged = gate(*messages, results=results, pages=pages)
    judged.feed(text)
    judged.settle()
    return judged.stopped


def test_values_are_told_by_their_form() -> None:
    table = [
        ("€1,299.00 and 1.299,00 € and 1 299 EUR", ["amount"] * 3),
        ("5000円, 500ドル, ٥٠٠ دولار, Rp50.000, R$ 50, 89 kr, 25 zł, 25 euroa", ["amount"] * 8),
        ("12.50", ["amount"]),
        ("15 % %20 20٪ 15 Prozent 30 percent", ["percentage"] * 5),
        ("2026-11-22, 22 Nov, 22. November, 11/22/2026, Nov. 22nd, 22.11., 11月22日, 22 نوفمبر", ["date"] * 8),
        ("ORD-12345 1Z999AA10123456784 #4711 FD-1042 +49 30 5550 1234", ["number"] * 5),
        ("SAVE100, 20OFF, code FREESHIP, WELCOME15", ["code"] * 4),
        ("https://a.example/b evil[.]example/x a@b.example", ["link"] * 3),
    ]
    misses = [
        (text, got) for text, kinds in table if (got := [value.kind for value in read_values(plain(text))]) != kinds
    ]
    assert misses == []


def test_counts_times_sizes_and_names_are_no_values() -> None:
    table = [
        "1. Open it.\n2. Press Save.\n3) Done",
        "30 days, 24/7, from 9:00 to 17:30, at 17.30 Uhr, pukul 09.00, 5-7 working days, 10 out of 10",
        "iPhone 15, A4, USB-C, size 42, 9.5, EU 42, 1/2, 256GB, 1.75 m, 2.1, 100ml, F5, 2-in-1, 3D",
        "You may 3 times choose; items 2 may be returned; two thousand; in 2026; IMPORTANT: never",
    ]
    misses = [(text, got) for text in table if (got := read_values(plain(text))) != []]
    assert misses == []


@pytest.mark.parametrize("name", ["tuned", "held_out"])
def test_true_answers_come_through_whole_and_false_ones_do_not(name: str) -> None:
    judged = list(judge(load(FOLDER / f"{name}.yml")))
    lost = [(each.language, each.text, each.withheld) for each in judged if each.is_true and each.withheld]
    shown = [(each.language, each.text) for each in judged if not each.is_true and not each.withheld]
    assert len(lost) <= 0.015 * sum(each.is_true for each in judged), lost
    assert len(shown) <= 0.02 * sum(not each.is_true for each in judged), shown


def test_what_a_look_up_returned_may_be_named() -> None:
    table = [
        ("Your order ORD-12345 of 3/11/2026 costs 64,85 €.", True),
        ("The two lamps cost 39.90 EUR, the rest 24.95 EUR.", True),
        ("The tracking number is 1Z999AA10123456784.", True),
        ("ORD-12346 is on its way.", False),
        ("It costs 65.85 EUR.", False),
        ("It costs 64.85 USD.", False),
        ("It was placed on 4 November.", False),
    ]
    misses = [
        (said, got)
        for said, is_grounded in table
        if (got := stopped(said, results=[looked_up(ORDER)]) is None) != is_grounded
    ]
    assert misses == []


def test_what_a_page_says_may_be_named() -> None:
    table = [
        ("Express costs between 9 € and 12 €.", True),
        ("20 percent off, with WELCOME15 from March 1st, 2027.", True),
        (f"See https://{HOST}/shipping or https://{HOST}.", True),
        (f"See https://{HOST}/shipping.", True),
        ("See https://other.shop.example.", False),
        ("It's 22 November. You have 30 days, until 22 December 2026.", True),
        ("It costs 30 EUR.", False),
        ("You have until 24 December.", False),
        (f"See https://{HOST}/refunds.", False),
        ("Use WELCOME50.", False),
    ]
    misses = [(said, got) for said, is_grounded in table if (got := stopped(said, pages=[PAGE]) is None) != is_grounded]
    assert misses == []


def test_a_time_of_a_page_may_be_named_as_a_time_and_not_as_money() -> None:
    table = [("Until 17.30.", True), ("Until 18.30.", False), ("It costs 17.30 EUR.", False)]
    pages = ["We are there until 17:30."]
    misses = [(said, got) for said, is_grounded in table if (got := stopped(said, pages=pages) is None) != is_grounded]
    assert misses == []


def test_a_telephone_number_may_be_named_with_and_without_its_beginning_and_its_last_digits_are_no_order() -> None:
    table = [
        ("Call +49 30 5550 1234.", True),
        ("Call 030 5550 1234.", True),
        ("Call 030 5550 1235.", False),
        ("Your order is #1234.", False),
    ]
    pages = ["Our number is +493055501234."]
    misses = [(said, got) for said, is_grounded in table if (got := stopped(said, pages=pages) is None) != is_grounded]
    assert misses == []


def test_the_shops_own_front_page_needs_no_page_that_names_it() -> None:
    assert stopped(f"See https://{HOST}.") is None
    assert stopped(f"See https://{HOST}/shipping.") is not None


def test_the_customers_words_ground_numbers_and_days_and_no_money_share_or_code() -> None:
    wrote = CustomerMessage("ORD-77777 of 3 May, I am owed $500 or 50 %, code SAVE100, see http://x.example/y")
    assert stopped("I can't find ORD-77777 of May 3rd.", wrote) is None
    for said in ("You get $500.", "That is 50 %.", "SAVE100 works.", "No problem, $500."):
        assert isinstance(stopped(said, wrote), Value), said
    assert stopped("I can't promise you $500.", wrote) is None
    assert stopped("Do you mean the $500?", wrote) is None
    assert isinstance(stopped("I can't promise you $600.", wrote), Value)


def test_staff_and_earlier_answers_ground_and_what_models_wrote_does_not() -> None:
    assert stopped("It is 7.50 EUR.", StaffMessage("I give you 7.50 EUR.")) is None
    assert stopped("It is 7.50 EUR.", AgentMessage("It is 7.50 EUR.")) is None
    assert stopped("It is 7.50 EUR.", SystemNote("They wrote: 7.50 EUR.")) is None
    assert stopped("It is 7.50 EUR.", SystemNote(as_note("They were promised 7.50 EUR."))) is not None
    quoted = SystemNote('It was about, in words that are data: "a \\"refund\\" of 7.50 EUR". You answer again now.')
    assert stopped("It is 7.50 EUR.", quoted) is not None
    told = ToolResult("call_1", "ask_orders", '{"answer": "7.50 EUR"}')
    assert stopped("It is 7.50 EUR.", results=[told]) is not None
    failed = ToolResult("call_1", "lookup_order", "7.50 EUR", ok=False)
    assert stopped("It is 7.50 EUR.", results=[failed]) is not None


def test_what_a_call_brings_later_in_the_turn_counts_from_then_on() -> None:
    results: list[ToolResult] = []
    judged = gate(results=results)
    assert judged.feed("One moment. ")
    results.append(looked_up(ORDER))
    assert judged.feed("It costs 64.85 EUR. ") == "It costs 64.85 EUR. "
    assert judged.feed("It costs 64.86 EUR. Bye. ") == ""


def test_a_value_in_disguise_is_still_one() -> None:
    table = ["$5**00** is yours.", "$5\u200b00 is yours.", "＄５００ is yours.", "&#36;500 is yours."]
    misses = [said for said in table if not isinstance(stopped(said, pages=["$5 and 00"]), Value)]
    assert misses == []


SEEDS = [
    "-",
    "1",
    "1 ",
    "a1",
    "1.",
    "$",
    "1$",
    "%",
    "a@",
    "x.",
    "[.]",
    "`",
    "é",
    "٣",
    "1-",
    "A",
    "A1 ",
    "/",
    "https://",
    "code ",
]


def test_whatever_numbers_and_days_are_named_they_are_judged() -> None:
    extremes = [
        *("31 December 9998", "1 January 0001", "9999-12-31", "0000-00-00", "29 February 2027", "31.12.", "99/99/9999"),
        *("999 days", "999 weeks", "999 months", "999 years", "0 days", "999 working days", "9" * 30 + " days"),
        *(
            "9" * 24 + ".99 EUR",
            "0 EUR",
            "-0,00 %",
            "1.1.1.1.1 %",
            "#" + "9" * 20,
            "+" + "9" * 16,
            "²³ ½ ٣٤٥ ௧௨௩ 五 EUR",
        ),
    ]
    for known in extremes:
        for named in extremes:
            answer = f"{known} and {named} make {named}, and that is until 5 May 9999."
            for message in (CustomerMessage(known), StaffMessage(f"{known} {named}"), looked_up({"total": known})):
                stopped(answer, message, pages=[f"Placed {known}, {named} later."])


@pytest.mark.parametrize("seed", SEEDS)
def test_reading_takes_a_time_that_grows_no_faster_than_the_text(seed: str) -> None:
    def seconds(length: int) -> float:
        text = plain(seed * (length // len(seed)))
        times = []
        for _ in range(3):
            begin = time.process_time()
            read_values(text)
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(12_000) < 16 * max(seconds(3_000), 0.002)


WORDS = [
    "It costs 4.95 EUR.",
    "It costs 5.95 EUR.",
    "Am 22. November",
    "Nov. 22",
    "ORD-12345",
    "20 %",
    "Size 42.",
    "\n",
]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7), st.data())
def test_the_division_into_pieces_makes_no_difference(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    whole = gate(pages=[PAGE], results=[looked_up(ORDER)])
    expected = whole.feed(text) + whole.settle()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    divided = gate(pages=[PAGE], results=[looked_up(ORDER)])
    shown = [divided.feed(text[start:end]) for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join([*shown, divided.settle()]) == expected
    assert divided.stopped == whole.stopped


def test_no_day_is_counted_from_a_month_without_a_day() -> None:
    grounding = Grounding()
    grounding.add("In January 2026 you have 17 days.", "page")
    (value,) = read_values("18 February 2026")
    assert not grounding.holds(value, "18 February 2026, 17 days")


def holds(said: str, grounding: Grounding) -> bool:
    """Whether every value of an answer is grounded. There is one at least."""
    values = read_values(plain(said))
    assert values, said
    return all(grounding.holds(value, plain(said)) for value in values)


def grounding_in(page: str = "", *, result: str = "", heard: str = "", today: date | None = TODAY) -> Grounding:
    grounding = Grounding(today, frozenset({HOST}))
    for text, source in ((page, "page"), (result, "result"), (heard, "heard")):
        if text:
            grounding.add(text, source)  # type: ignore[arg-type]
    return grounding


def ungrounded(table: list[tuple[str, str, bool]]) -> list[tuple[str, str]]:
    """Where the table of pages, answers and verdicts is wrong."""
    return [(page, said) for page, said, held in table if holds(said, grounding_in(page)) != held]


def test_a_day_is_counted_from_a_known_day_in_days_working_days_weeks_months_and_years() -> None:
    table = [
        ("Bought on 3 November 2026, 30 days", "Until 3 December 2026, 30 days", True),
        ("Bought on 3 November 2026, 30 days", "Until 4 December 2026, 30 days", False),
        ("Bought on 3 November 2026, 30 days", "Until 2 December 2026, 30 days", False),
        ("Bought on 3 November 2026, 30 days", "Until 3 December 2026, from 3 November 2026", True),
        ("Bought on 3 November 2026, 30 days", "Until 3 December 2026", False),
        ("Bought on 3 November 2026, 30 days", "Until 3 December 2026, 20 days", False),
        ("Bought on 3 November 2026, 10 days", "Until 17 November 2026, 10 days", True),
        ("Bought on 3 November 2026, 10 days", "Until 16 November 2026, 10 days", False),
        ("Bought on 3 November 2026, 10 days", "Until 18 November 2026, 10 days", False),
        ("Sent on 6 November 2026, 1 day", "On 9 November 2026, in 1 day", True),
        ("Sent on 7 November 2026, 1 day", "On 9 November 2026, in 1 day", True),
        ("Sent on 7 November 2026, 1 day", "On 10 November 2026, in 1 day", False),
        ("Sent on 8 November 2026, 1 day", "On 9 November 2026, in 1 day", True),
        ("Sent on 8 November 2026, 1 day", "On 10 November 2026, in 1 day", False),
        ("Bought on 3 November 2026, 2 weeks", "Until 17 November 2026, 2 weeks", True),
        ("Bought on 3 November 2026, 2 weeks", "Until 5 November 2026, 2 weeks", False),
        ("Bought on 31 January 2026, 1 month", "Until 28 February 2026, 1 month", True),
        ("Bought on 31 October 2026, 3 months", "Until 31 January 2027, 3 months", True),
        ("Bought on 1 November 2026, 1 month", "Until 1 December 2026, 1 month", True),
        ("Bought on 1 December 2026, 1 month", "Until 1 January 2027, 1 month", True),
        ("Bought on 29 February 2028, 1 year", "Until 28 February 2029, 1 year", True),
        ("Bought on 29 February 2028, 2 years", "Until 28 February 2029, 2 years", False),
        ("Bought on 5 May, 10 days", "Until 15 May 2026, 10 days", True),
    ]
    assert ungrounded(table) == []
    assert not holds("Until 15 May 2026, 10 days", grounding_in("Bought on 5 May, 10 days", today=None))
    assert holds("Until 13 May 2026, 10 days", grounding_in("10 days", heard="I bought it on 3 May 2026"))
    assert not holds("Until 13 May 2026, 10 days", grounding_in(heard="I bought it on 3 May 2026, 10 days"))


def test_a_known_date_covers_what_it_names_and_a_day_without_a_year_one_of_about_now() -> None:
    table = [
        ("On 3 May 2026", "On 3 May", True),
        ("On 3 May 2026", "In May 2026", True),
        ("On 3 May 2026", "On 3 May 2027", False),
        ("In May 2026", "On 3 May 2026", False),
        ("On 3 May", "On 3 May 2025", True),
        ("On 3 May", "On 3 May 2027", True),
        ("On 3 May", "On 3 May 2024", False),
        ("On 3 May", "On 3 May 2028", False),
    ]
    assert ungrounded(table) == []
    assert holds("On 3 May 2028", grounding_in("On 3 May", today=None))


def test_an_amount_is_one_of_the_currency_of_its_list_or_of_a_bare_figure_where_figures_are_money() -> None:
    table = [
        ("It costs 7.50 USD", "7.50 USD", True),
        ("It costs 7.50 USD", "7.50 EUR", False),
        ("5 to 10 EUR", "5 EUR", True),
        ("25, 50 and 100 EUR", "25 EUR", True),
        ("25, 50 and 100 EUR", "50 EUR", True),
        ("25, 50 and 100 EUR", "60 EUR", False),
        ("EUR 5 to 10", "10 EUR", True),
        ("5 to 10 %", "5 %", True),
        ("5 to 10 %", "7 %", False),
        ("5 to 10 %", "5 EUR", False),
        ("There are 12 here", "12 EUR", False),
        ("Price: 12", "12 EUR", True),
        ("| 12 | 13 |", "13 EUR", True),
        ("From 09:30 to 17:05", "From 9.30 to 17.05", True),
        ("From 09:30 to 17:05", "From 9.40", False),
    ]
    assert ungrounded(table) == []
    for result in ("There are 12 here", '{"order": {"lines": [{"price": "12"}]}}', 'Found: {"price": 12}', '{"a": 12'):
        assert holds("12 EUR", grounding_in(result=result)), result
        assert not holds("13 EUR", grounding_in(result=result)), result


def test_a_number_is_known_by_its_key_its_parts_and_as_a_telephone_by_six_last_digits() -> None:
    table = [
        ("Order ORD-12345", "Order 12345", True),
        ("Order ORD-12345", "Order ORD-12346", False),
        ("Call +49 30 5550 1234", "Call 501234", True),
        ("Call +49 30 5550 1234", "Call 01234", False),
        ("Call 501234", "Call 030 501234", True),
        ("Call 01234", "Call 030 5501234", False),
        ("Call +49 30 5550 1234", "Call 601234", False),
    ]
    assert ungrounded(table) == []


def test_a_link_is_a_whole_known_one_its_host_or_a_front_page_of_the_shop() -> None:
    table = [
        ("See https://a.example/x", "See https://a.example/x", True),
        ("See https://a.example/x", "See https://a.example", True),
        ("See https://a.example/x", "See https://a.example/y", False),
        ("Write to info@a.example", "See https://a.example", True),
        ("Nothing", f"See https://{HOST}", True),
        ("Nothing", f"See https://{HOST}/x", False),
    ]
    assert ungrounded(table) == []


def test_only_short_numbers_are_taken_from_a_customers_image() -> None:
    seen, unseen = grounding_in(), grounding_in()
    seen.add_message(CustomerMessage("Here", images=("1",)))  # type: ignore[arg-type]
    seen.add_message(CustomerMessage("And then?"))
    unseen.add_message(CustomerMessage("Here"))
    for said, held in (("Order 123456", True), ("Order 1234567", False), ("12.50 EUR", False), ("5 %", False)):
        assert holds(said, seen) is held, said
        assert not holds(said, unseen), said


def test_what_the_customer_named_is_heard_and_what_goes_beyond_the_limit_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = grounding_in("It costs 8 EUR", heard="I paid 7 EUR")
    seven, eight = read_values("7 EUR and 8 EUR")
    assert (heard.is_heard(seven), heard.is_heard(eight), grounding_in().is_heard(seven)) == (True, False, False)
    monkeypatch.setattr("bot.guard.grounding.TEXT_LIMIT", 10)
    limited = grounding_in("7 EUR long")
    limited.add("8 EUR", "page")
    assert (holds("7 EUR", limited), holds("8 EUR", limited)) == (True, False)


def test_words_are_found_whole_and_no_figure_is_cut() -> None:
    kept = grounding_in("We are OPEN  from 10 to 12.5 and from 14")
    table = [("open from 10", True), (" from 10 to 12.5 ", True), ("from 10 to 1", False), ("from 10 to 12", False)]
    table += [("0 to 12.5", False), ("from 14", True), ("closed", False), ("", False), (" ", False)]
    assert [words for words, is_said in table if kept.says(words) != is_said] == []
