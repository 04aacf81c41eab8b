"""What a policy says of an action."""

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.actions.facts import FACTS, TYPES, Facts
from bot.actions.policy import (
    SEVERITY,
    DailySums,
    Judgement,
    RuleOutcome,
    because_in,
    check_daily,
    is_desk_limit_reached,
    judge,
)
from bot.actions.policy_file import BUILT_IN_REASONS, NO_POLICY, Outcome, Policy
from bot.language.languages import languages
from bot.language.sentences import load_sentences
from bot.shops.actions import Arguments, LineQuantity, Quote
from bot.shops.port import Money
from tests.actions.orders import NOW, facts_of, order_with, policy_of

Rule = Mapping[str, Any]

DELIVERED: Rule = {
    "id": "arrived",
    "fact": "order.status",
    "is": "delivered",
    "else": "refuse",
    "because": "not_arrived",
}
WINDOW: Rule = {
    "id": "window",
    "fact": "line.days_since_delivery",
    "at_most": "30",
    "unless": {"fact": "line.reason", "one_of": ["damaged", "wrong_item"], "up_to": "730"},
    "else": "refuse",
    "because": "return_window",
}
RETURNABLE: Rule = {
    "id": "returnable",
    "fact": "line.returnable",
    "at_least": "1",
    "else": "refuse",
    "because": "not_returnable",
}
NO_SOCKS: Rule = {"id": "hygiene", "fact": "line.product_tags", "none_of": ["socks"], "else": "person"}
LIMITS = {"EUR": {"staff_above": "5000", "second_person_above": "50000", "never_above": "200000"}}


def said(policy: Policy, facts: Facts, *, money: int = 0, currency: str = "EUR") -> Judgement:
    return judge(policy, "return_items", facts, money=money, currency=currency)


def outcomes(judgement: Judgement) -> dict[str, Outcome]:
    return {rule.id: rule.outcome for rule in judgement.rules}


def test_an_action_is_allowed_if_every_rule_is_fulfilled() -> None:
    judgement = said(policy_of(DELIVERED, WINDOW, RETURNABLE), facts_of())
    assert judgement.outcome == "allow"
    assert outcomes(judgement) == {"arrived": "allow", "window": "allow", "returnable": "allow"}


def test_a_refusal_names_the_sentence_of_its_rule_and_every_rule_is_recorded() -> None:
    facts = facts_of(order=order_with(status="shipped"))
    judgement = said(policy_of(WINDOW, DELIVERED, NO_SOCKS), facts)
    assert (judgement.outcome, judgement.because) == ("refuse", "not_arrived")
    assert outcomes(judgement) == {"window": "allow", "arrived": "refuse", "hygiene": "allow"}


def test_a_kind_that_the_policy_does_not_list_goes_to_a_person() -> None:
    for policy in (NO_POLICY, policy_of(kind="refund")):
        assert said(policy, facts_of()) == Judgement(
            "person",
            "",
            (RuleOutcome("kind_allowed", "person", held=False),),
            second_person=False,
            fee=None,
            missing="",
        )


def test_of_several_outcomes_the_most_severe_counts() -> None:
    order = ["allow", "staff", "person", "ask", "refuse"]
    assert sorted(SEVERITY, key=SEVERITY.__getitem__) == order
    assert len({*SEVERITY.values()}) == len(order)


def test_each_line_has_to_fulfil_a_rule_about_lines() -> None:
    both = Arguments(order="FW-1", lines=(LineQuantity("1", 1), LineQuantity("2", 1)))
    assert outcomes(said(policy_of(RETURNABLE, NO_SOCKS), facts_of(arguments=both))) == {
        "returnable": "refuse",
        "hygiene": "person",
    }


@pytest.mark.parametrize("lines", [(), (LineQuantity("7", 1),), (LineQuantity("1", 1), LineQuantity("7", 1))])
def test_a_rule_about_lines_that_are_not_known_goes_to_a_person(lines: tuple[LineQuantity, ...]) -> None:
    judgement = said(policy_of(RETURNABLE), facts_of(arguments=Arguments(order="FW-1", lines=lines)))
    assert (judgement.outcome, judgement.because) == ("person", "")


@pytest.mark.parametrize(
    ("days", "reason", "outcome"),
    [
        (30, "changed_mind", "allow"),
        (31, "changed_mind", "refuse"),
        (31, "damaged", "allow"),
        (730, "wrong_item", "allow"),
        (731, "damaged", "refuse"),
        (31, "", "person"),
        (30, "", "allow"),
    ],
)
def test_an_exception_lets_a_rule_pass_up_to_its_own_limit(days: int, reason: Any, outcome: str) -> None:
    facts = {**facts_of(), "line.days_since_delivery": (days,), "line.reason": (reason or None,)}
    assert said(policy_of(WINDOW), facts).outcome == outcome


def test_an_exception_without_a_limit_has_none() -> None:
    rule = {**WINDOW, "unless": {"fact": "line.reason", "is": "damaged"}}
    assert said(policy_of(rule), {**facts_of(), "line.days_since_delivery": (9999,)}).outcome == "allow"


def test_a_rule_asks_for_an_argument_before_a_person_has_to_decide_but_not_before_a_refusal() -> None:
    ask = {"id": "which", "fact": "method.kind", "exists": "yes", "else": "ask"}
    original = {"id": "method", "fact": "method.is_original", "is": "yes", "else": "refuse", "because": "other_method"}
    facts = facts_of(arguments=Arguments(order="FW-1", lines=(LineQuantity("1", 1),)))
    judgement = said(policy_of(original, ask), facts)
    assert (judgement.outcome, judgement.missing, outcomes(judgement)["method"]) == ("ask", "method", "person")
    assert said(policy_of(original, ask), facts_of()).missing == ""
    late = {**facts, "order.status": "shipped"}
    assert (said(policy_of(ask, DELIVERED), late).outcome, said(policy_of(ask, DELIVERED), late).missing) == (
        "refuse",
        "",
    )


@pytest.mark.parametrize(
    ("minor", "currency", "outcome", "second", "failed"),
    [
        (0, "", "allow", False, set()),
        (-5000, "EUR", "allow", False, set()),
        (-5001, "EUR", "staff", False, {"staff_above"}),
        (-50000, "EUR", "staff", False, {"staff_above"}),
        (-50001, "EUR", "staff", True, {"staff_above", "second_person_above"}),
        (-200001, "EUR", "person", False, {"staff_above", "second_person_above", "never_above"}),
        (900000, "EUR", "allow", False, set()),
        (-1, "USD", "person", False, {"one_currency", "currency_limit"}),
    ],
)
def test_money_has_limits(minor: int, currency: str, outcome: str, second: bool, failed: set[str]) -> None:
    judgement = said(policy_of(currency_limits=LIMITS), facts_of(), money=minor, currency=currency)
    assert (judgement.outcome, judgement.second_person) == (outcome, second)
    assert {rule.id for rule in judgement.rules if not rule.held} == failed


@pytest.mark.parametrize("minor", [-1, 1])
def test_money_in_a_currency_without_limits_needs_staff(minor: int) -> None:
    assert said(policy_of(), facts_of(), money=minor).outcome == "staff"


def test_an_order_with_two_currencies_goes_to_a_person() -> None:
    facts = facts_of(order=order_with(refundable=Money(100, "USD")))
    assert said(policy_of(currency_limits=LIMITS), facts, money=-100).outcome == "person"


def test_staff_can_be_needed_always_for_all_kinds_or_for_one() -> None:
    always = said(policy_of(staff="always"), facts_of())
    assert (always.outcome, always.rules) == ("staff", (RuleOutcome("staff_always", "staff", held=False),))
    assert said(policy_of(staff="always", staff_for_kind="above_limit"), facts_of()).outcome == "allow"
    assert said(policy_of(staff_for_kind="always"), facts_of()).outcome == "staff"
    assert said(policy_of(DELIVERED, staff="always"), facts_of(order=order_with(status="shipped"))).outcome == "refuse"


FEE = {"fact": "line.reason", "when": ["changed_mind"], "money": {"EUR": "495"}, "label": "return_postage"}


@pytest.mark.parametrize(
    ("reason", "currency", "fee", "outcome"),
    [
        ("changed_mind", "EUR", Money(495, "EUR"), "allow"),
        ("changed_mind", "", Money(495, "EUR"), "allow"),
        ("damaged", "EUR", None, "allow"),
        ("changed_mind", "USD", None, "staff"),
        ("", "EUR", None, "person"),
    ],
)
def test_a_fee_is_due_for_some_reasons(reason: Any, currency: str, fee: Money | None, outcome: str) -> None:
    facts = facts_of(arguments=Arguments(order="FW-1", lines=(LineQuantity("1", 1),), reason=reason))
    judgement = said(policy_of(fee=FEE), facts, currency=currency)
    assert (judgement.fee, judgement.outcome) == (fee, outcome)
    assert [each.held for each in judgement.rules if each.id == "fee"] == ([] if outcome == "allow" else [False])


DAILY = {
    "customer_actions": "5",
    "customer_money": {"EUR": "20000"},
    "desk_actions_per_hour": "60",
    "desk_money_per_hour": {"EUR": "500000"},
}


@pytest.mark.parametrize(
    ("sums", "money", "currency", "outcome", "whole_desk"),
    [
        (DailySums(4, 0, 59, 0), 0, "", "allow", False),
        (DailySums(5, 0, 0, 0), 0, "", "staff", False),
        (DailySums(0, 19999, 0, 0), -1, "EUR", "allow", False),
        (DailySums(0, 19999, 0, 0), -2, "EUR", "staff", False),
        (DailySums(0, 20001, 0, 0), 900, "EUR", "allow", False),
        (DailySums(0, 99999, 0, 0), -2, "USD", "allow", False),
        (DailySums(0, 0, 60, 0), 0, "", "staff", True),
        (DailySums(0, 0, 0, 499999), -1, "EUR", "allow", False),
        (DailySums(0, 0, 0, 499999), -2, "EUR", "staff", True),
        (DailySums(0, 0, 0, 500001), 900, "EUR", "allow", False),
        (DailySums(0, 0, 0, 500001), 0, "EUR", "allow", False),
    ],
)
def test_what_is_done_in_a_time_has_limits(
    sums: DailySums, money: int, currency: str, outcome: str, whole_desk: bool
) -> None:
    policy = policy_of(daily=DAILY)
    assert check_daily(policy, sums, money, currency) == outcome
    assert is_desk_limit_reached(policy, sums, money, currency) is whole_desk
    assert check_daily(policy_of(), sums, money, currency) == "allow"


OWN = {"late": {"en": "After {line.days_since_delivery} days.", "de": "Nach {line.days_since_delivery} Tagen."}}


def test_a_sentence_of_the_file_has_the_facts_and_falls_back_to_english() -> None:
    policy, sentences = policy_of(sentences=OWN), load_sentences()
    facts = {**facts_of(), "line.days_since_delivery": (34, 34, 40)}
    assert because_in(policy, "late", "de", facts, sentences=sentences) == "Nach 34, 40 Tagen."
    assert because_in(policy, "late", "fr", facts, sentences=sentences) == "After 34, 40 days."


@pytest.mark.parametrize("key", ["late", "", "no_such_key"])
def test_without_a_sentence_or_its_fact_one_that_fits_every_rule_is_said(key: str) -> None:
    policy, sentences = policy_of(sentences=OWN), load_sentences()
    facts = {**facts_of(), "line.days_since_delivery": (None,)}
    assert because_in(policy, key, "de", facts, sentences=sentences) == sentences.say("de", "because_policy")


@pytest.mark.parametrize("language", languages())
def test_built_in_sentences_are_there_in_every_language_and_a_file_can_replace_them(language: Any) -> None:
    sentences = load_sentences()
    for key in BUILT_IN_REASONS:
        assert because_in(NO_POLICY, key, language, {}, sentences=sentences) == sentences.say(
            language, f"because_{key}"
        )
    own = policy_of(sentences={"not_arrived": "Not yet."})
    assert because_in(own, "not_arrived", language, {}, sentences=sentences) == "Not yet."


VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=5),
    "number": st.integers(-5, 50),
    "yes or no": st.booleans(),
    "money": st.builds(Money, st.integers(-5, 50), st.sampled_from(["EUR", "USD"])),
    "texts": st.frozensets(st.text(max_size=3), max_size=3),
    "day": st.dates(),
}
LITERALS: Mapping[str, Mapping[str, Any]] = {
    "text": {"is": "a", "is_not": "a", "one_of": ["a", "b"], "none_of": ["a"], "matches": "a.*"},
    "number": {"is": "3", "is_not": "3", "one_of": ["3", "4"], "none_of": ["3"], "at_least": "3", "at_most": "3"},
    "yes or no": {"is": "yes", "is_not": "no"},
    "money": {"at_least": {"EUR": "3"}, "at_most": {"EUR": "3"}},
    "texts": {"one_of": ["a"], "none_of": ["a"]},
    "day": {"is": "2026-11-23", "is_not": "2026-11-23", "before": "2026-11-23", "after": "2026-11-23"},
}
USABLE = [name for name, spec in FACTS.items() if not spec.choices and not name.startswith("variant.")]


def clauses(names: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    def of(name: str) -> st.SearchStrategy[dict[str, Any]]:
        literals = LITERALS[FACTS[name].type]
        return st.sampled_from(sorted(literals)).map(lambda operator: {"fact": name, operator: literals[operator]})

    return names.flatmap(of)


def rules_over(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    one = clauses(names)
    several = st.lists(one, min_size=1, max_size=3)
    group = st.one_of(one, several.map(lambda each: {"any_of": each}), several.map(lambda each: {"all_of": each}))
    groups = st.lists(group, min_size=1, max_size=3)
    test = st.one_of(one, groups.map(lambda each: {"any_of": each}), groups.map(lambda each: {"all_of": each}))
    ending = st.one_of(
        st.fixed_dictionaries({"else": st.sampled_from(["person", "staff"])}),
        st.just({"else": "refuse", "because": "not_arrived"}),
    )
    exception = st.one_of(st.just({}), one.map(lambda each: {"unless": each}))
    whole = st.tuples(test, ending, exception).map(lambda parts: {**parts[0], **parts[1], **parts[2]})
    return st.lists(whole, min_size=1, max_size=5).map(
        lambda rules: [{"id": f"r{at}", **rule} for at, rule in enumerate(rules)]
    )


def some_facts(draw: Any) -> dict[str, Any]:
    """Facts of the right types, some missing, over two lines."""
    facts: dict[str, Any] = {}
    for name in USABLE:
        values = st.one_of(st.none(), VALUES[FACTS[name].type])
        if FACTS[name].per_line:
            facts[name] = (draw(values), draw(values))
        elif (value := draw(values)) is not None:
            facts[name] = value
    return facts


NAMES = st.sampled_from(["order.state", "order.parcels", "order.total", "customer.tags", "now.date", "line.bought"])
NAMES_OF_ALL = st.sampled_from(USABLE)


@given(st.data(), rules_over(NAMES))
def test_the_order_of_rules_makes_no_difference(data: Any, rules: list[dict[str, Any]]) -> None:
    facts = some_facts(data.draw)
    judgement = said(policy_of(*rules), facts)
    other = said(policy_of(*data.draw(st.permutations(rules))), facts)
    assert judgement.outcome == other.outcome
    assert set(judgement.rules) == set(other.rules)
    assert judgement.outcome == max((rule.outcome for rule in judgement.rules), key=SEVERITY.__getitem__)


@given(rules_over(NAMES_OF_ALL), st.randoms(use_true_random=False))
def test_facts_that_are_missing_or_of_another_type_never_allow_anything(
    rules: list[dict[str, Any]], chance: random.Random
) -> None:
    wrong: list[Any] = [None, object(), 1.5, NOW, b"a", ["a"], {"EUR": 3}, (None,), ((),)]
    broken = {
        name: chance.choice([value for value in wrong if type(value) is not TYPES[FACTS[name].type]]) for name in FACTS
    }
    for facts in ({}, broken):
        judgement = said(policy_of(*rules), facts)
        assert judgement.outcome == "person"
        assert not any(rule.held for rule in judgement.rules)


@given(st.data(), rules_over(NAMES))
def test_a_rule_that_refuses_beats_every_other(data: Any, rules: list[dict[str, Any]]) -> None:
    refusal = {"id": "never", "fact": "case.count_30d", "at_most": "0", "else": "refuse", "because": "not_arrived"}
    facts = {**some_facts(data.draw), "case.count_30d": 2}
    money = data.draw(st.integers(-300_000, 300_000))
    policy = policy_of(*rules, refusal, currency_limits=LIMITS, staff="always", fee=FEE)
    assert said(policy, facts, money=money).outcome == "refuse"


@given(st.data(), rules_over(NAMES))
def test_one_fact_less_never_allows_more(data: Any, rules: list[dict[str, Any]]) -> None:
    facts = some_facts(data.draw)
    less = {name: value for name, value in facts.items() if name != data.draw(st.shared(NAMES, key="gone"))}
    before, after = said(policy_of(*rules), facts), said(policy_of(*rules), less)
    assert after.outcome != "allow" or before.outcome == "allow"


def test_a_quote_moves_what_the_rules_see() -> None:
    rest = {
        "id": "rest",
        "fact": "amount",
        "at_most": {"fact": "order.refundable"},
        "else": "refuse",
        "because": "more_than_paid",
    }
    for minor, outcome in ((-12998, "allow"), (-12999, "refuse")):
        facts = facts_of(quote=Quote(Money(minor, "EUR")))
        assert said(policy_of(rest), facts).outcome == outcome
    assert said(policy_of(rest), facts_of()).outcome == "person"
