"""`frontdesk policy`: check the policy, print it in plain words, and print its schema."""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.actions.clauses import FactRef, Operand, Operator, Sums, read_operand
from bot.actions.patterns import Pattern
from bot.actions.policy_file import (
    Comparison,
    CurrencyLimits,
    KindPolicy,
    PolicyFile,
    Rule,
    Unless,
    json_schema,
    read_policy,
)
from bot.checked_files import FileFaulty
from bot.cli.desk import untranslated
from bot.errors import ConfigurationError
from bot.settings import Settings
from bot.shops.port import Money

_ELSE = {
    "refuse": "it is refused",
    "person": "a person takes over",
    "staff": "staff approve",
    "ask": "the customer is asked",
}
_OPERATORS: Mapping[Operator, str] = {
    "is": "is",
    "is_not": "is not",
    "one_of": "is one of",
    "none_of": "is none of",
    "at_least": "is at least",
    "at_most": "is at most",
    "before": "is before",
    "after": "is after",
    "exists": "is known",
    "matches": "matches",
}


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Check the file, or print the schema. The exit status is 2 if the file has a fault."""
    if given.verb == "schema":
        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return 0
    path: Path | None = given.file or settings.policy_path
    if path is None:
        raise ConfigurationError(["policy check: name a file, or set POLICY_PATH"])
    try:
        file = read_policy(path).file
    except FileFaulty as error:
        for fault in error.found:
            print(f"wrong: {path}: {fault}")
        return 2
    for line in _limits(file):
        print(line)
    for kind, each in file.actions.items():
        print(f"{kind}:")
        for line in (*map(_rule, each.rules), *_extras(file, each)):
            print(f"  {line}")
        if not each.rules:
            print("  no rules: it may always be done, within the limits")
    for note in notes(file):
        print(f"note: {note}")
    print(f"{path} has no fault.")
    return 0


def notes(file: PolicyFile) -> Iterator[str]:
    """What is worth knowing about a policy, and is no fault."""
    for key, texts in file.sentences.items():
        yield from untranslated(f"sentences: {key}", texts)
    rules = [rule for each in file.actions.values() for rule in each.rules]
    used = {rule.because for rule in rules} | {each.fee.label for each in file.actions.values() if each.fee}
    for key in sorted(file.sentences.keys() - used):
        yield f"sentences: no rule names {key}"
    if not file.currency_limits:
        yield "currency_limits: no currency is listed, so staff approve every sum of money"
    for currency, limits in file.currency_limits.items():
        if limits.never_above is None:
            yield f"currency_limits: {currency} has no never_above, so staff can approve any sum"
    if not file.actions:
        yield "actions: none is listed, so nothing can be changed"


def _limits(file: PolicyFile) -> Iterator[str]:
    if file.staff == "always":
        yield "staff approve every action, unless its kind says otherwise"
    for currency, limits in file.currency_limits.items():
        yield f"one action, {currency}: {', '.join(_limit(currency, limits))}"
    daily = file.daily
    customer = [] if daily.customer_actions is None else [f"{daily.customer_actions} actions"]
    customer += [str(Money(sum_, currency)) for currency, sum_ in daily.customer_money.items()]
    if customer:
        yield f"one customer, 24 hours: staff approve above {', '.join(customer)}"
    desk = [] if daily.desk_actions_per_hour is None else [f"{daily.desk_actions_per_hour} actions"]
    desk += [str(Money(sum_, currency)) for currency, sum_ in daily.desk_money_per_hour.items()]
    if desk:
        yield f"the whole desk, one hour: staff approve everything above {', '.join(desk)}"


def _limit(currency: str, limits: CurrencyLimits) -> Iterator[str]:
    yield f"staff approve above {Money(limits.staff_above, currency)}"
    if limits.second_person_above is not None:
        yield f"two people above {Money(limits.second_person_above, currency)}"
    if limits.never_above is not None:
        yield f"a person takes over above {Money(limits.never_above, currency)}"


def _rule(rule: Rule) -> str:
    unless = f", unless {_unless(rule, rule.unless)}" if rule.unless else ""
    because = f" ({rule.because})" if rule.because else ""
    return f"{rule.id}: {described(rule)}{unless}; otherwise {_ELSE[rule.else_]}{because}"


def described(part: Comparison, *, is_inner: bool = False) -> str:
    """A comparison, or several joined by `or` and `and`."""
    if part.fact:
        ((operator, operand),) = part.operators
        value = "" if operator == "exists" else f" {_value(operand)}"
        return f"{part.fact} {_OPERATORS[operator]}{value}"
    any_of, all_of = getattr(part, "any_of", ()), getattr(part, "all_of", ())
    joined = (" or " if any_of else " and ").join(described(each, is_inner=True) for each in (*any_of, *all_of))
    return f"({joined})" if is_inner else joined


def _unless(rule: Rule, unless: Unless) -> str:
    if "up_to" not in unless.model_fields_set:
        return described(unless)
    limit = _value(read_operand(rule.fact, "at_most", unless.up_to))
    return f"{described(unless)} and {rule.fact} is at most {limit}"


def _value(operand: Operand) -> str:
    match operand:
        case FactRef(name):
            return name
        case Sums(minor):
            return " or ".join(str(Money(sum_, currency)) for currency, sum_ in minor.items())
        case Pattern():
            return operand.written
        case tuple():
            return ", ".join(map(str, operand))
        case bool():
            return "yes" if operand else "no"
    return str(operand)


def _extras(file: PolicyFile, policy: KindPolicy) -> Iterator[str]:
    """What a kind has beside its rules."""
    if policy.staff == "always":
        yield "staff always approve it"
    if policy.staff == "above_limit" and file.staff == "always":
        yield "staff approve it above a limit only"
    if policy.fee:
        costs = _value(policy.fee.money)
        yield f"it costs {costs} ({policy.fee.label}) if {policy.fee.fact} is one of {_value(policy.fee.when)}"
