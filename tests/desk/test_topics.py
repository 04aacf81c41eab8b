"""The topics of a desk file, recognized in what customers write."""

import pytest

from bot.desk.topics import build_topics, marked_topic, without_marks
from bot.desk_file.model import DeskFile

DESK = DeskFile.model_validate(
    {
        "refuse": [
            {
                "topic": "Prices elsewhere",
                "phrases": ["price match*", "günstiger bei", "what's it worth"],
                "say": "No.",
            },
            {"topic": "Doping", "phrases": ["doping"], "say": {"en": "Never.", "de": "Niemals."}},
            {"topic": "Without phrases", "say": "Hm."},
        ],
        "people": [{"topic": "Leasing", "phrases": ["job bike", "leas*"]}],
    }
)
TOPICS = build_topics(DESK)


@pytest.mark.parametrize(
    ("text", "refused", "rest"),
    [
        ("Do you price match?", ["Prices elsewhere"], ""),
        ("PRICE  MATCHING??", ["Prices elsewhere"], ""),
        ("Hi! Do you price match? Thank you!", ["Prices elsewhere"], ""),
        ("Ist es gunstiger bei euch?", ["Prices elsewhere"], ""),
        ("What’s it worth to you?", ["Prices elsewhere"], ""),
        ("I saw a tent. Do you price match?", ["Prices elsewhere"], ""),
        ("My order FD-12345 is lost. Any doping?", ["Doping"], "My order FD-12345 is lost."),
        (
            "My parcel never came, I am waiting for 3 weeks. Any doping?",
            ["Doping"],
            "My parcel never came, I am waiting for 3 weeks.",
        ),
        ("Cancel my order because of doping", ["Doping"], "Cancel my order because of doping"),
        ("Your doping was bad and I want my money back.", ["Doping"], "Your doping was bad and I want my money back."),
        ("Bitte storniert das wegen Doping", ["Doping"], "Bitte storniert das wegen Doping"),
        ("Do you price match on doping?", ["Prices elsewhere", "Doping"], ""),
        ("Do you price match? Where is my order?", ["Prices elsewhere"], "Where is my order?"),
        ("Do you price match? My tent is broken.", ["Prices elsewhere"], "My tent is broken."),
        (
            "Do you price match and where is ORD-12345?",
            ["Prices elsewhere"],
            "Do you price match and where is ORD-12345?",
        ),
        (
            "Do you price match? Also, is the bike at https://a.example/b waterproof, and what means error `E-4711`?",
            ["Prices elsewhere"],
            "Also, is the bike at https://a.example/b waterproof, and what means error `E-4711`?",
        ),
        (
            "Is it wet? Do you price match? My log:\n> E-4711\nWhat is that?",
            ["Prices elsewhere"],
            "Is it wet? My log:\n> E-4711\nWhat is that?",
        ),
        (
            f"Do you price match? {'My tent is broken. ' * 200}Where is my order?",
            ["Prices elsewhere"],
            f"{'My tent is broken. ' * 200}Where is my order?",
        ),
        ("> Do you price match?\nWhere is my order?", [], ""),
        ("`price match`", [], ""),
        ("Is the price a match?", [], ""),
        ("A pricematch", [], ""),
        ("Overpriced matches", [], ""),
        ("Where is my order?", [], ""),
        ("", [], ""),
    ],
)
def test_a_refused_topic_is_found_and_what_is_asked_besides(text: str, refused: list[str], rest: str) -> None:
    found = TOPICS.find(text)
    assert ([topic.topic for topic in found.refused], found.rest) == (refused, rest)
    assert found.is_refused is (bool(refused) and not rest)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("A job bike, please", True), ("Can I lease it?", True), ("the job of a bike", False), ("please", False)],
)
def test_a_topic_for_people_is_found(text: str, *, is_found: bool) -> None:
    assert (TOPICS.find(text).person is not None) is is_found


def test_a_desk_without_topics_finds_none() -> None:
    found = build_topics(DeskFile()).find("Do you price match on leasing?")
    assert (found.person, found.refused, found.is_refused) == (None, (), False)


@pytest.mark.parametrize(
    ("reply", "topic"),
    [
        ("TOPIC_2", "Doping"),
        ("TOPIC_2.", "Doping"),
        ("Yes.\nTOPIC_3", "Without phrases"),
        ("TOPIC_4", None),
        ("TOPIC_0", None),
        ("TOPIC_22", None),
        ("MYTOPIC_2", None),
        ("", None),
    ],
)
def test_a_models_mark_names_a_topic(reply: str, topic: str | None) -> None:
    found = marked_topic(reply, DESK.refuse)
    assert (found.topic if found else None) == topic
    assert "TOPIC_" not in without_marks(reply).replace("MYTOPIC_2", "")


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("**TOPIC_1**", ""),
        ("TOPIC_1.", ""),
        ("- `TOPIC_1`\n", ""),
        ("_TOPIC_1_ !", ""),
        ("Within 30 days.\n**TOPIC_2**", "Within 30 days.\n"),
        ("...", "..."),
    ],
)
def test_a_mark_takes_the_signs_around_it(reply: str, left: str) -> None:
    assert without_marks(reply) == left
    assert (marked_topic(reply, DESK.refuse) is None) is (reply == "...")
