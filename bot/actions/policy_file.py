"""The policy file: what it can say, how it is read, and what is built from it.

read_policy   The policy, or every fault of its file.
PolicyFile    Every key, with its meaning and its bounds. docs/reference/policy.md is held to this.
Policy        The file with its rules ready to be checked.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from bot.actions.clauses import (
    Check,
    FactRef,
    Operand,
    Operator,
    Sums,
    all_fulfilled,
    any_fulfilled,
    build_check,
    find_fact,
    read_operand,
    read_sums,
)
from bot.actions.facts import FACTS
from bot.checked_files import FileFormat, KeyPath, Part
from bot.desk_file.model import Id
from bot.desk_file.model import Sentences as SentenceByLanguage
from bot.shops.actions import UNDOES, UNDONE_BY, ActionKind

SETTING = "POLICY_PATH"
SIZE_LIMIT = 262_144
"""The most bytes of a file."""
BUILT_IN_REASONS = (
    "shipped_already",
    "not_arrived",
    "return_window",
    "not_returnable",
    "nothing_paid",
    "more_than_paid",
    "other_method",
    "return_postage",
    "undo_too_late",
)
"""Sentences that a policy can name without writing them. They are in every language, as `because_<name>`."""
OWN_RULES = frozenset(
    {"kind_allowed", "one_currency", "currency_limit", "staff_above", "second_person_above", "never_above"}
    | {"staff_always", "fee", "undo_in_time", "undo_needs_staff"}
)
"""Names of what is checked beside the rules of the file."""
ONLY_MONEY_BACK: frozenset[ActionKind] = frozenset({"refund"})
"""Kinds that give the customer money and change nothing else."""
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

Outcome = Literal["allow", "staff", "person", "ask", "refuse"]
Fact = Annotated[str, AfterValidator(lambda name: name if find_fact(name) else ""), WithJsonSchema({"enum": [*FACTS]})]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
Amount = Annotated[int, Field(ge=0, le=10**12)]
Count = Annotated[int, Field(ge=0, le=10**6)]
Compared = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "number", "boolean"]},
                {"type": "object", "properties": {"fact": {"enum": [*FACTS]}}, "required": ["fact"]},
                {"type": "object", "additionalProperties": {"type": "integer"}},
            ]
        }
    ),
]
Listed = Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": ["string", "number"]}})]

_OPERATORS: Mapping[str, Operator] = {
    "is_": "is",
    "is_not": "is_not",
    "one_of": "one_of",
    "none_of": "none_of",
    "at_least": "at_least",
    "at_most": "at_most",
    "before": "before",
    "after": "after",
    "exists": "exists",
    "matches": "matches",
}
"""Field -> operator."""


class Comparison(Part):
    """A fact, and what it is compared with."""

    fact: Fact = ""
    """The fact to look at."""
    is_: Compared = Field(default=None, alias="is")
    """It is this value."""
    is_not: Compared = None
    """It is known, and another value."""
    one_of: Listed = None
    """It is one of these values, or has one of these tags."""
    none_of: Listed = None
    """It is known, and none of these values."""
    at_least: Compared = None
    """It is this much or more."""
    at_most: Compared = None
    """It is this much or less."""
    before: Compared = None
    """It is an earlier day."""
    after: Compared = None
    """It is a later day."""
    exists: Annotated[Any, WithJsonSchema({"enum": [True, "yes"]})] = None
    """`yes`: it is known."""
    matches: Annotated[Any, WithJsonSchema({"type": "string"})] = None
    """The whole text matches this pattern."""

    @field_validator(*_OPERATORS)
    @classmethod
    def _read(cls, written: object, info: ValidationInfo) -> object:
        # A comparison with an unknown fact has that one fault.
        if "fact" not in info.data or info.field_name is None:
            return None
        if not info.data["fact"]:
            raise ValueError("needs a fact to compare")
        return read_operand(info.data["fact"], _OPERATORS[info.field_name], written)

    @property
    def operators(self) -> list[tuple[Operator, Operand]]:
        """The operators that are written, each with what it compares the fact with."""
        return [(name, getattr(self, key)) for key, name in _OPERATORS.items() if key in self.model_fields_set]

    def _check_one(self, **others: object) -> None:
        """Raise ValueError unless there is one fact with one operator, or one of the other keys."""
        given = [name for name, value in others.items() if value]
        if len(given) + bool(self.fact) != 1:
            raise ValueError(f"needs one of: {', '.join(('fact', *others))}")
        if self.fact and len(self.operators) != 1:
            raise ValueError(f"needs one comparison, and has {len(self.operators)}")


class Clause(Comparison):
    """One comparison within a rule."""

    @model_validator(mode="after")
    def _check(self) -> "Clause":
        self._check_one()
        return self


Clauses = Annotated[tuple[Clause, ...], Field(max_length=20)]


class Group(Comparison):
    """A comparison, or several of them."""

    any_of: Clauses = ()
    """At least one is fulfilled."""
    all_of: Clauses = ()
    """Every one is fulfilled."""

    @model_validator(mode="after")
    def _check(self) -> "Group":
        self._check_one(any_of=self.any_of, all_of=self.all_of)
        return self

    def facts(self) -> Iterator[str]:
        """The facts that the group looks at."""
        for each in (self, *self.any_of, *self.all_of):
            if each.fact:
                yield each.fact
            yield from (operand.name for _, operand in each.operators if isinstance(operand, FactRef))


Groups = Annotated[tuple[Group, ...], Field(max_length=20)]


class Unless(Comparison):
    """What lets an action pass although its rule is not fulfilled."""

    up_to: Compared = None
    """The limit in place of the one of `at_most`. Without it there is none."""

    @model_validator(mode="after")
    def _check(self) -> "Unless":
        self._check_one()
        return self


class Rule(Comparison):
    """One rule of an action."""

    id: Id
    """The rule's name, which staff and the audit log see."""
    any_of: Groups = ()
    """At least one is fulfilled."""
    all_of: Groups = ()
    """Every one is fulfilled."""
    else_: Literal["refuse", "person", "staff", "ask"] = Field(alias="else")
    """What happens if it is not fulfilled."""
    because: Id | Literal[""] = ""
    """The sentence that the customer sees then: a key of `sentences`, or a built-in one."""
    unless: Unless | None = None
    """What lets the action pass although the rule is not fulfilled."""

    @model_validator(mode="after")
    def _check(self) -> "Rule":
        self._check_one(any_of=self.any_of, all_of=self.all_of)
        if self.unless and "up_to" in self.unless.model_fields_set:
            if not self.fact or self.operators[0][0] != "at_most":
                raise ValueError("has an up_to, which needs the rule to have a fact and at_most")
            read_operand(self.fact, "at_most", self.unless.up_to)
        if self.else_ == "refuse" and not self.because:
            raise ValueError("needs because: a customer who is refused sees why")
        return self

    def facts(self) -> Iterator[str]:
        """The facts that the rule looks at."""
        for group in (*self.any_of, *self.all_of):
            yield from group.facts()
        for each in (self, *([self.unless] if self.unless else [])):
            if each.fact:
                yield each.fact
            yield from (operand.name for _, operand in each.operators if isinstance(operand, FactRef))


class Fee(Part):
    """What an action costs the customer."""

    fact: Fact
    """The fact that decides, such as `line.reason`."""
    when: Listed
    """The values for which the fee is due."""
    money: Annotated[Any, WithJsonSchema({"type": "object", "additionalProperties": {"type": "integer"}})]
    """The fee in minor units, by currency."""
    label: Id
    """What it is called: a key of `sentences`, or a built-in one."""

    @field_validator("when")
    @classmethod
    def _read_when(cls, written: object, info: ValidationInfo) -> object:
        return read_operand(info.data["fact"], "one_of", written) if "fact" in info.data else None

    @field_validator("money")
    @classmethod
    def _read_money(cls, written: object) -> Sums:
        sums = read_sums(written)
        if min(sums.minor.values()) < 0:
            raise ValueError("must not be negative")
        return sums


StaffRule = Literal["always", "above_limit"]


class Undo(Part):
    """Staff can undo an action of this kind. The customer says yes to it, and a colleague approves it."""

    hours: Annotated[int, Field(ge=1, le=8_760)]
    """How long after the action's end it can be undone."""


class KindPolicy(Part):
    """When one kind of action may be done."""

    rules: Annotated[tuple[Rule, ...], Field(max_length=50)]
    """The rules that all have to be fulfilled. An empty list: it may always be done, within the limits."""
    staff: StaffRule | None = None
    """In place of the file's `staff`, for this kind."""
    fee: Fee | None = None
    """What the action costs the customer."""
    customer_yes: Literal["needed", "not_needed"] = "needed"
    """`not_needed`: a refund that staff prepare is made without asking the customer. Only for `refund`."""
    undo: Undo | None = None
    """Whether staff can have it undone, and until when. Only for `return_items`, `exchange_items` and `send_again`."""


class CurrencyLimits(Part):
    """How much money a customer can get in one action, in minor units."""

    staff_above: Amount
    """Above this, staff approve."""
    second_person_above: Amount | None = None
    """Above this, two people approve."""
    never_above: Amount | None = None
    """Above this, nothing is offered, and a person takes over."""

    @model_validator(mode="after")
    def _check(self) -> "CurrencyLimits":
        given = [each for each in (self.staff_above, self.second_person_above, self.never_above) if each is not None]
        if given != sorted(given):
            raise ValueError("must rise from staff_above to second_person_above to never_above")
        return self


class Daily(Part):
    """Limits of what is done in a time. Without a limit there is none."""

    customer_actions: Count | None = None
    """Actions that a customer can confirm in 24 hours. Above this, staff approve."""
    customer_money: Mapping[Currency, Amount] = Field(default={})
    """What a customer can get in 24 hours, in minor units by currency. Above this, staff approve."""
    desk_actions_per_hour: Count | None = None
    """Actions of all customers in an hour. Above this, staff approve everything, and an alert is logged."""
    desk_money_per_hour: Mapping[Currency, Amount] = Field(default={})
    """What all customers can get in an hour. Above this, staff approve everything, and an alert is logged."""


class PolicyFile(Part):
    """What a shop allows."""

    version: Annotated[int, Field(ge=1, le=1)]
    """The version of this format: 1."""
    staff: StaffRule = "above_limit"
    """`always`: staff approve whatever the rules allow. `above_limit`: only what is above a limit."""
    currency_limits: Mapping[Currency, CurrencyLimits] = Field(default={})
    """Currency -> limits of one action. Money in a currency that is not listed always needs staff."""
    daily: Daily = Daily()
    """Limits of what is done in a time."""
    actions: Mapping[ActionKind, KindPolicy]
    """The kinds of actions that are possible at all, each with its rules."""
    sentences: Annotated[Mapping[Id, SentenceByLanguage], Field(max_length=100)] = Field(default={})
    """Key -> sentence for customers. The name of a fact in braces is replaced by its value."""

    @field_validator("actions")
    @classmethod
    def _needs_yes(cls, kinds: Mapping[ActionKind, KindPolicy]) -> Mapping[ActionKind, KindPolicy]:
        if any(each.customer_yes == "not_needed" and kind not in ONLY_MONEY_BACK for kind, each in kinds.items()):
            raise ValueError("needs the customer's yes for everything but a refund: customer_yes is for refund only")
        return kinds

    @field_validator("actions")
    @classmethod
    def _undoes(cls, kinds: Mapping[ActionKind, KindPolicy]) -> Mapping[ActionKind, KindPolicy]:
        if any(each.undo and kind not in UNDONE_BY for kind, each in kinds.items()):
            raise ValueError(f"can only undo {', '.join(UNDONE_BY)}: every other kind has no undo")
        if named := sorted({*kinds} & {*UNDOES}):
            raise ValueError(f"has {named[0]}: write undo under {UNDOES[named[0]]} instead")
        return kinds


FORMS = {
    "": "version: 1",
    "version": "version: 1",
    "staff": "staff: always",
    "currency_limits": "currency_limits: {EUR: {staff_above: 5000}}",
    "currency_limits.staff_above": "staff_above: 5000",
    "currency_limits.second_person_above": "second_person_above: 50000",
    "currency_limits.never_above": "never_above: 200000",
    "daily": "daily: {customer_actions: 5, customer_money: {EUR: 20000}}",
    "daily.customer_actions": "customer_actions: 5",
    "daily.customer_money": "customer_money: {EUR: 20000}",
    "daily.desk_actions_per_hour": "desk_actions_per_hour: 60",
    "daily.desk_money_per_hour": "desk_money_per_hour: {EUR: 500000}",
    "actions": "actions: {send_again: {rules: []}}",
    "actions.undo": "undo: {hours: 48}",
    "actions.undo.hours": "hours: 48",
    "actions.rules": "rules: [{id: paid, fact: order.payment, is: paid, else: person}]",
    "actions.rules.id": "id: paid",
    "actions.rules.else": "else: refuse",
    "actions.rules.because": "because: return_window",
    "actions.rules.unless": "unless: {fact: line.reason, one_of: [damaged]}",
    "actions.rules.unless.up_to": "up_to: 730",
    "actions.rules.any_of": "any_of: [{fact: order.parcels, is: 0}, {fact: order.status, is: pending}]",
    "actions.rules.all_of": "all_of: [{fact: order.parcels, is: 0}, {fact: order.status, is: pending}]",
    "actions.rules.fact": "fact: order.status",
    "actions.rules.is": "is: delivered",
    "actions.rules.is_not": "is_not: cancelled",
    "actions.rules.one_of": "one_of: [pending, processing]",
    "actions.rules.none_of": "none_of: [cancelled, refunded]",
    "actions.rules.at_least": "at_least: 1",
    "actions.rules.at_most": "at_most: 30",
    "actions.rules.before": "before: 2027-02-01",
    "actions.rules.after": "after: 2026-11-30",
    "actions.rules.exists": "exists: yes",
    "actions.rules.matches": 'matches: "SALE-[0-9]+"',
    "actions.staff": "staff: always",
    "actions.fee": "fee: {fact: line.reason, when: [changed_mind], money: {EUR: 495}, label: return_postage}",
    "actions.customer_yes": "customer_yes: not_needed",
    "actions.fee.fact": "fact: line.reason",
    "actions.fee.when": "when: [changed_mind]",
    "actions.fee.money": "money: {EUR: 495}",
    "actions.fee.label": "label: return_postage",
    "sentences": "sentences: {too_late: {en: We take articles back within 30 days.}}",
}
"""Key -> the right form. A list's entries and a mapping's names are left out of the key."""


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """A rule that is ready to be checked."""

    id: str
    check: Check
    otherwise: Outcome
    because: str
    per_line: bool
    """Whether it is checked for each line that the action names."""
    argument: str
    """What to ask the customer for, if the rule asks."""


@dataclass(frozen=True, slots=True)
class FeeCheck:
    """A fee that is ready to be checked."""

    check: Check
    minor: Mapping[str, int]
    per_line: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """What a shop allows, ready to be asked."""

    file: PolicyFile
    digest: str = ""
    """The SHA-256 of the file. Empty without a file."""
    rules: Mapping[ActionKind, Sequence[RuleCheck]] = field(default_factory=dict)
    fees: Mapping[ActionKind, FeeCheck] = field(default_factory=dict)

    @property
    def kinds(self) -> frozenset[ActionKind]:
        """The kinds of actions that are possible at all, with those that undo others."""
        undoing = {UNDONE_BY[kind] for kind, each in self.file.actions.items() if each.undo}
        return frozenset({*self.file.actions, *undoing})


NO_POLICY = Policy(PolicyFile(version=1, actions={}))
"""The policy without a file: nothing can be prepared."""


def read_policy(path: Path) -> Policy:
    """The policy. Raises ConfigurationError; a FileFaulty has the place of every fault."""
    written = _FORMAT.load(path)
    return build_policy(_FORMAT.parse(written, path), digest=hashlib.sha256(written).hexdigest())


def build_policy(file: PolicyFile, *, digest: str) -> Policy:
    """The policy of a checked file."""
    rules = {kind: tuple(_rule_check(rule) for rule in each.rules) for kind, each in file.actions.items()}
    fees = {kind: _fee_check(each.fee) for kind, each in file.actions.items() if each.fee}
    return Policy(file, digest, rules, fees)


def json_schema() -> dict[str, Any]:
    """The JSON schema, with which an editor completes and checks the file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **PolicyFile.model_json_schema()}


def _rule_check(rule: Rule) -> RuleCheck:
    check = build_group(rule)
    if rule.unless:
        check = _with_exception(check, rule, rule.unless)
    asked = FACTS[next(rule.facts())].argument if rule.else_ == "ask" else ""
    per_line = any(FACTS[name].per_line for name in rule.facts())
    return RuleCheck(rule.id, check, rule.else_, rule.because, per_line, asked)


def build_group(part: Comparison) -> Check:
    """What a comparison, or a group of them, checks."""
    if part.fact:
        ((operator, operand),) = part.operators
        return build_check(part.fact, operator, operand)
    any_of, all_of = getattr(part, "any_of", ()), getattr(part, "all_of", ())
    return any_fulfilled([*map(build_group, any_of)]) if any_of else all_fulfilled([*map(build_group, all_of)])


def _with_exception(check: Check, rule: Rule, unless: Unless) -> Check:
    """A rule that may be unfulfilled where its exception is fulfilled."""
    parts = [build_group(unless)]
    if "up_to" in unless.model_fields_set:
        parts.append(build_check(rule.fact, "at_most", read_operand(rule.fact, "at_most", unless.up_to)))
    excepted = all_fulfilled(parts)

    def checked(facts: Any, line: int) -> bool | None:
        found = check(facts, line)
        return excepted(facts, line) if found is False else found

    return checked


def _fee_check(fee: Fee) -> FeeCheck:
    return FeeCheck(build_check(fee.fact, "one_of", fee.when), fee.money.minor, FACTS[fee.fact].per_line)


def _faults(file: PolicyFile) -> Iterator[tuple[KeyPath, str]]:
    known = {*BUILT_IN_REASONS, *file.sentences}
    for kind, policy in file.actions.items():
        seen: set[str] = set()
        for at, rule in enumerate(policy.rules):
            here: KeyPath = ("actions", kind, "rules", at)
            if rule.id in seen or rule.id in OWN_RULES:
                yield (*here, "id"), "is the name of another rule"
            seen.add(rule.id)
            if rule.because and rule.because not in known:
                yield (*here, "because"), _no_sentence(rule.because)
            if rule.else_ == "ask" and len({FACTS[name].argument for name in rule.facts()} - {""}) != 1:
                yield (*here, "else"), "can ask for one argument only, which every fact of the rule has to be about"
            for name in sorted({*rule.facts()} & _never_known(kind)):
                yield here, f"would never be fulfilled: {name} is not known for {kind}"
        if policy.fee and policy.fee.label not in known:
            yield ("actions", kind, "fee", "label"), _no_sentence(policy.fee.label)
    for key, texts in file.sentences.items():
        for language, text in texts.items():
            yield from ((("sentences", key, language), problem) for problem in _placeholder_faults(text))


def _no_sentence(key: str) -> str:
    return f"names {key}, which is neither in sentences nor built in: {', '.join(BUILT_IN_REASONS)}"


def _never_known(kind: ActionKind) -> set[str]:
    """The facts that no action of a kind has."""
    if kind == "change_customer_address":
        return {name for name in FACTS if name.startswith(("order.", "line.", "variant.", "method."))}
    if kind in ("change_order_items", "exchange_items"):
        return set()
    return {name for name in FACTS if name.startswith("variant.")}


def _placeholder_faults(text: str) -> Iterator[str]:
    for name in PLACEHOLDER.findall(text):
        if name not in FACTS:
            yield f"has {{{name}}}, which is no fact"
        elif not FACTS[name].shown:
            yield f"has {{{name}}}, which is for rules only"
    if "{" in (rest := PLACEHOLDER.sub("", text)) or "}" in rest:
        yield "has a brace without its other half"


_FORMAT = FileFormat(PolicyFile, setting=SETTING, size_limit=SIZE_LIMIT, forms=FORMS, check=_faults)
