"""What a policy says of one action: whether it may be done, by whom, and why not.

judge          Every rule and limit of one action.
judge_undo     Whether an action may still be undone. Staff always approve it.
check_daily    The limits of what is done in a time.
because_in     The sentence of a rule, as its customer reads it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bot.actions.facts import FACTS, Facts
from bot.actions.policy_file import BUILT_IN_REASONS, PLACEHOLDER, Outcome, Policy
from bot.desk_file.model import in_language
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.shops.actions import ActionKind
from bot.shops.port import Money

SEVERITY: dict[Outcome, int] = {"allow": 0, "staff": 1, "person": 2, "ask": 3, "refuse": 4}
"""Of several outcomes, the most severe counts. After an answer to `ask`, every rule is checked again."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What came of one rule."""

    id: str
    outcome: Outcome
    """`allow` if the rule is fulfilled."""
    held: bool
    """Whether the rule is fulfilled."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a policy says of one action."""

    outcome: Outcome
    """`staff`: it may be done once staff approve. `person`: nothing is offered, and a person takes over."""
    because: str
    """The key of the deciding rule's sentence. Empty if it has none."""
    rules: tuple[RuleOutcome, ...]
    """Every rule of the file, in its order, and the limits that apply."""
    second_person: bool = False
    """Whether two people approve. Only with the outcome `staff`."""
    fee: Money | None = None
    """What the customer pays for the action, beside what the shop quotes."""
    missing: str = ""
    """With the outcome `ask`: the argument to ask for."""


@dataclass(frozen=True, slots=True)
class DailySums:
    """What was done already, without the action in question. Money is what customers got, in the action's currency."""

    customer_actions: int
    """In the last 24 hours, as all of these."""
    customer_money: int
    desk_actions: int
    """In the last hour, as all of these."""
    desk_money: int


def judge(policy: Policy, kind: ActionKind, facts: Facts, *, money: int, currency: str) -> Judgement:
    """Check every rule and every limit of one action.

    Args:
        money: in minor units. Negative if the customer gets it, positive if they pay it, 0 if none moves.
        currency: of the money. It makes no difference if none moves.
    """
    if kind not in policy.file.actions:
        return Judgement("person", "", (RuleOutcome("kind_allowed", "person", held=False),))
    lines = max((len(value) for value in facts.values() if type(value) is tuple), default=0)
    outcomes, deciding, missing = [], "", ""
    worst: Outcome = "allow"
    for rule in policy.rules[kind]:
        outcome: Outcome = "allow"
        # A rule about lines of an action that names none has no answer.
        for line in range(lines) if rule.per_line and lines else (0,):
            found = rule.check(facts, line)
            if found is not True:
                outcome = _worse(outcome, "person" if found is None else rule.otherwise)
        outcomes.append(RuleOutcome(rule.id, outcome, held=outcome == "allow"))
        if SEVERITY[outcome] > SEVERITY[worst]:
            # A rule without an answer is no reason to name.
            worst, deciding = outcome, rule.because if outcome == rule.otherwise else ""
            missing = rule.argument
    fee, fee_outcome = _fee(policy, kind, facts, lines, currency)
    outcomes += [*fee_outcome, *_limits(policy, kind, facts, money, currency)]
    for each in outcomes:
        if SEVERITY[each.outcome] > SEVERITY[worst]:
            worst, deciding = each.outcome, ""
    needs_two = any(each.id == "second_person_above" and not each.held for each in outcomes)
    return Judgement(
        outcome=worst,
        because=deciding,
        rules=tuple(outcomes),
        second_person=worst == "staff" and needs_two,
        fee=fee,
        missing=missing if worst == "ask" else "",
    )


def judge_undo(
    policy: Policy, undone: ActionKind, facts: Facts, *, hours: float | None, money: int, currency: str
) -> Judgement:
    """Check whether an action may be undone.

    Args:
        undone: the kind of that action.
        hours: how long ago it ended. None: it has not taken effect, or it is undone already.
        money: as in `judge`.
        currency: as in `judge`.
    """
    listed = policy.file.actions.get(undone)
    undo = listed.undo if listed else None
    in_time = undo is not None and hours is not None and hours < undo.hours
    outcomes = [RuleOutcome("undo_in_time", "allow" if in_time else "refuse", held=in_time)]
    outcomes.append(RuleOutcome("undo_needs_staff", "staff", held=False))
    if in_time:
        outcomes += _limits(policy, undone, facts, money, currency)
    worst = max((each.outcome for each in outcomes), key=SEVERITY.__getitem__)
    needs_two = any(each.id == "second_person_above" and not each.held for each in outcomes)
    because = "" if in_time else "undo_too_late"
    return Judgement(worst, because, tuple(outcomes), second_person=worst == "staff" and needs_two)


def check_daily(policy: Policy, sums: DailySums, money: int, currency: str) -> Literal["allow", "staff"]:
    """Whether an action is within the limits of what is done in a time. `money` is as in `judge`."""
    daily, received = policy.file.daily, max(-money, 0)
    within = (
        _fits(sums.customer_actions + 1, daily.customer_actions)
        and (not received or _fits(sums.customer_money + received, daily.customer_money.get(currency)))
        and not is_desk_limit_reached(policy, sums, money, currency)
    )
    return "allow" if within else "staff"


def is_desk_limit_reached(policy: Policy, sums: DailySums, money: int, currency: str) -> bool:
    """Whether an action would exceed what the whole desk may do in an hour. An operator has to know of it."""
    daily, received = policy.file.daily, max(-money, 0)
    has_room = _fits(sums.desk_actions + 1, daily.desk_actions_per_hour) and (
        not received or _fits(sums.desk_money + received, daily.desk_money_per_hour.get(currency))
    )
    return not has_room


def because_in(policy: Policy, key: str, language: Language, facts: Facts, *, sentences: Sentences) -> str:
    """The sentence with a key, in plain text: the file's own, or else the built-in one.

    Without a key, and where a fact of the sentence is missing, it is a sentence that fits every rule. It has words of
    the shop: escape it for Slack.
    """
    if key in policy.file.sentences:
        template = in_language(policy.file.sentences[key], language)
        values = {name: _shown(facts, name) for name in PLACEHOLDER.findall(template)}
        if all(values.values()):
            return PLACEHOLDER.sub(lambda found: values[found[1]], template)
    return sentences.say(language, f"because_{key}" if key in BUILT_IN_REASONS else "because_policy")


def _worse(one: Outcome, other: Outcome) -> Outcome:
    return max(one, other, key=SEVERITY.__getitem__)


def _fee(
    policy: Policy, kind: ActionKind, facts: Facts, lines: int, currency: str
) -> tuple[Money | None, tuple[RuleOutcome, ...]]:
    """The fee, and what is wrong if nobody knows whether it is due, or how much it is."""
    fee = policy.fees.get(kind)
    if fee is None:
        return None, ()
    found = {fee.check(facts, line) for line in (range(lines) if fee.per_line and lines else (0,))}
    if None in found:
        return None, (RuleOutcome("fee", "person", held=False),)
    if True not in found:
        return None, ()
    named = currency or facts.get("order.currency")
    if not isinstance(named, str) or named not in fee.minor:
        return None, (RuleOutcome("fee", "staff", held=False),)
    return Money(fee.minor[named], named), ()


def _limits(policy: Policy, kind: ActionKind, facts: Facts, money: int, currency: str) -> Iterator[RuleOutcome]:
    file = policy.file
    if (file.actions[kind].staff or file.staff) == "always":
        yield RuleOutcome("staff_always", "staff", held=False)
    if not money:
        return
    if kind != "change_customer_address":
        yield _limit("one_currency", "person", held=facts.get("order.currency") == currency)
    limits = file.currency_limits.get(currency)
    yield _limit("currency_limit", "staff", held=limits is not None)
    if limits is None or money > 0:
        return
    yield _limit("staff_above", "staff", held=-money <= limits.staff_above)
    yield _limit("second_person_above", "staff", held=_fits(-money, limits.second_person_above))
    yield _limit("never_above", "person", held=_fits(-money, limits.never_above))


def _limit(name: str, otherwise: Outcome, *, held: bool) -> RuleOutcome:
    return RuleOutcome(name, "allow" if held else otherwise, held)


def _fits(sum_: int, limit: int | None) -> bool:
    return limit is None or sum_ <= limit


def _shown(facts: Facts, name: str) -> str:
    """A fact as a sentence shows it: the different values of several lines in a row. Empty if it is missing."""
    value = facts.get(name)
    values = value if type(value) is tuple else (value,)
    if not FACTS[name].shown or None in values:
        return ""
    return ", ".join(dict.fromkeys(str(each) for each in values))
