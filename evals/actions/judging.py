"""What was right in a scenario that was played. Every counter must be whole with the stand-in for the model."""

from collections.abc import Iterator, Mapping
from typing import Any

from evals.actions.playing import Played
from evals.conversations.reading import Json

COUNTERS = (
    "right_action",
    "right_arguments",
    "nothing_without_a_yes",
    "impossible_refused",
    "right_end",
    "no_collateral_change",
    "told_once",
    "right_words",
)


def judge(played: Played) -> dict[str, str]:
    """Counter -> what is wrong; an empty text says that it is right. Counters that don't apply are left out."""
    if played.fault:
        return {"played": played.fault}
    return dict(_judged(played))


def _judged(played: Played) -> Iterator[tuple[str, str]]:
    wanted = played.scenario
    offers, given = wanted.get("offers", ()), played.offers
    kinds = sorted((each["kind"], each["order"]) for each in offers)
    found = sorted((each["kind"], each["order"]) for each in given)
    if wanted.get("refused"):
        yield "impossible_refused", f"offered {found}" if found else ""
    else:
        yield "right_action", "" if kinds == found else f"offered {found}, not {kinds}"
        yield "right_arguments", "; ".join(_differences(offers, given))
    early = f"{played.before_yes} changes before a yes" if played.before_yes else ""
    agreed = wanted.get("presses") == "yes" and wanted.get("by", "A") == "A" and wanted.get("approves", True)
    late = f"{len(played.done)} changes without a yes" if played.done and not agreed else ""
    yield "nothing_without_a_yes", early or late
    shop = wanted.get("shop", {})
    missing = [
        f"{order}.{name} is {_at(played.changed.get(order, {}), name)!r}, not {value!r}"
        for order, fields in shop.items()
        for name, value in fields.items()
        if _at(played.changed.get(order, {}), name) != value
    ]
    yield "right_end", "; ".join(missing)
    besides = [*(name for name in played.changed if name not in shop), *played.besides]
    more = [f"{len(played.done)} changes in the books"] if len(played.done) != len(shop) else []
    yield "no_collateral_change", "; ".join([*besides, *more])
    if told := wanted.get("told"):
        times = sum(told in each.text for each in played.seen)
        yield "told_once", "" if times == 1 else f"told {times} times: {told}"
    lacks = [f"does not say {words!r}" for words in wanted.get("must", ()) if words not in played.text]
    says = [f"says {words!r}" for words in wanted.get("mustnt", ()) if words in played.text]
    yield "right_words", "; ".join([*lacks, *says])


def _differences(offers: Any, given: Any) -> Iterator[str]:
    for offer in offers:
        same = [each for each in given if (each["kind"], each["order"]) == (offer["kind"], offer["order"])]
        for name, value in offer.items():
            if same and _at(same[-1], name) != value:
                yield f"{name} is {_at(same[-1], name)!r}, not {value!r}"


def _at(record: Mapping[str, Any] | Json, name: str) -> Any:
    """The value below a name with dots."""
    value: Any = record
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
