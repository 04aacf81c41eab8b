"""A page as data: `patches` tells how a browser gets from one `Picture` to the next."""

from dataclasses import dataclass, field

from local_slack.page.html import Html, join
from local_slack.page.loose import Json


@dataclass(slots=True)
class Picture:
    """The regions of a page. Ids are those of the elements that hold them."""

    parts: dict[str, Html] = field(default_factory=dict)
    lists: dict[str, dict[str, Html]] = field(default_factory=dict)
    """Ordered elements by their own ids."""
    attributes: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """By element id and name; None: without it."""


def patches(old: Picture, new: Picture) -> list[Json]:
    """What the browser has to do: set, fill, replace, append or remove."""
    changes: list[Json] = [
        {"op": "set", "id": id_, "name": name, "value": value}
        for (id_, name), value in new.attributes.items()
        if (id_, name) not in old.attributes or old.attributes[id_, name] != value
    ]
    changes += [
        {"op": "fill", "id": id_, "html": html} for id_, html in new.parts.items() if old.parts.get(id_) != html
    ]
    for id_, items in new.lists.items():
        changes += _list_patches(id_, old.lists.get(id_), items)
    return changes


def _list_patches(id_: str, old: dict[str, Html] | None, new: dict[str, Html]) -> list[Json]:
    """Removals, replacements and additions at the end if they suffice; otherwise the list is filled anew."""
    if old is not None and list(old.items()) == list(new.items()):
        return []
    kept = [key for key in new if old and key in old]
    is_in_order = kept == list(new)[: len(kept)] and kept == [key for key in old or () if key in new]
    if old is None or not kept or not is_in_order:
        return [{"op": "fill", "id": id_, "html": join(new.values())}]
    return [
        *({"op": "remove", "id": key} for key in old if key not in new),
        *({"op": "replace", "id": key, "html": new[key]} for key in kept if old[key] != new[key]),
        *({"op": "append", "id": id_, "html": html} for key, html in new.items() if key not in old),
    ]
