"""A desk file as it is read: YAML, checked against the model. A FileFaulty has the place of every fault."""

from collections.abc import Iterator
from pathlib import Path

from bot.checked_files import FileFormat, KeyPath
from bot.desk_file.model import DeskFile
from bot.desk_file.own_part import drafts_part, own_part

OWN_PART_LIMIT = 6_000
"""The most characters that a file can add to the agents' instructions, which every request to a model holds."""
SIZE_LIMIT = 200_000
"""The most bytes of a file."""
FORMS = {
    "": "shop: Harbour Bikes",
    "shop": "shop: Harbour Bikes",
    "assistant": "assistant: {name: Pia, tone: Warm and short., address: By first name.}",
    "assistant.name": "name: Pia",
    "assistant.tone": "tone: Warm and short.",
    "assistant.address": 'address: By first name, with "du" in German.',
    "rules": "rules: [Never promise a delivery date.]",
    "refuse": "refuse: [{topic: Medical advice, phrases: [knee pain], say: Please ask a doctor about this.}]",
    "refuse.topic": "topic: Medical advice",
    "refuse.phrases": 'phrases: [knee pain, "Knieschmerz*"]',
    "refuse.say": "say: {en: Please ask a doctor about this., de: Bitte frag dazu eine Ärztin.}",
    "people": "people: [{topic: Leasing, phrases: [job bike, leasing]}]",
    "people.topic": "topic: Leasing",
    "people.phrases": "phrases: [job bike, leasing]",
    "people.say": "say: {en: Our leasing team knows this best., de: Das weiß unser Leasing-Team am besten.}",
    "glossary": "glossary: {Harbour Club: our members' programme with free inspections}",
    "helplines": 'helplines: {DE: {emergency: "112", crisis: "Telefonseelsorge 0800 111 0 111"}}',
    "helplines.emergency": 'emergency: "112"',
    "helplines.crisis": 'crisis: {de: "Telefonseelsorge 0800 111 0 111, rund um die Uhr"}',
    "duty_contact": "duty_contact: S0123ABCD",
    "cases": "cases: {causes: {brakes: Brakes}, outcomes: {workshop: Sent to the workshop}}",
    "cases.causes": "causes: {brakes: Brakes, delivery: Delivery}",
    "cases.outcomes": "outcomes: {workshop: Sent to the workshop}",
    "cases.tags": "tags: {refund: {label: Refund, phrases: [money back]}}",
    "cases.tags.label": "label: Refund",
    "cases.tags.phrases": "phrases: [money back, refund*]",
    "cases.tags.cause": "cause: payment",
    "saved_replies": "saved_replies: [{name: On its way, text: 'Hello {customer}, {order} is on its way.'}]",
    "saved_replies.name": "name: On its way",
    "saved_replies.text": 'text: {en: "Hello {customer}!", de: "Guten Tag {customer}!"}',
    "tools": "tools: {without: [check_shipping]}",
    "tools.without": "without: [check_shipping]",
}
"""Key -> the right form. A list's entries and a mapping's names are left out of the key."""


def read_desk_file(path: Path) -> DeskFile:
    """The file. Raises ConfigurationError; a FileFaulty has the place of every fault."""
    return _FORMAT.read(path)


def _check(desk: DeskFile) -> Iterator[tuple[KeyPath, str]]:
    for name, tag in desk.cases.tags.items():
        if tag.cause and tag.cause not in desk.cases.known_causes:
            known = ", ".join(sorted(desk.cases.known_causes))
            yield ("cases", "tags", name, "cause"), f"is no cause of this desk: use one of {known}"
    if (length := max(len(own_part(desk)), len(drafts_part(desk)))) > OWN_PART_LIMIT:
        told = f"adds {length:,} characters to the instructions, and at most {OWN_PART_LIMIT:,} are possible"
        yield (), f"{told}: shorten rules, topics with their sentences, and glossary"
    names = [reply.name.casefold() for reply in desk.saved_replies]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield ("saved_replies", number, "name"), "is the name of another reply; each needs one of its own"


_FORMAT = FileFormat(DeskFile, setting="DESK_FILE", size_limit=SIZE_LIMIT, forms=FORMS, check=_check)
