"""The stand-in as the one who makes articles and compares them, told by the desk's own instructions."""

from pathlib import Path

import pytest

from demo.model.conversation import Talk, read_request
from demo.model.reply import decide
from demo.model.roles import role_of

INSTRUCTIONS = Path(__file__).parents[3] / "bot" / "desk" / "instructions"
SAID = (
    "<conversation>\nCustomer: Hello! May I rent a tent? I want to talk to a person.\n"
    "Assistant: Somebody of the team will answer.\nStaff: Hi [name]!\nStaff: Tents can be rented for 9 EUR a day.\n"
    "</conversation>"
)


def talk(role: str, text: str) -> Talk:
    instructions = (INSTRUCTIONS / f"{role}.md").read_text("utf-8")
    messages = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
    return read_request({"model": "any", "messages": messages})


def test_each_of_those_without_tools_is_known_by_its_instructions() -> None:
    table = ["article", "compare", "summary", "check", "draft"]
    misses = [(role, got) for role in table if (got := role_of(talk(role, "Anything."))) != role]
    assert misses == []


def test_an_article_is_the_question_and_the_teams_own_words() -> None:
    told = decide(talk("article", SAID)).text
    assert (
        told == "TITLE: May I rent a tent?\nQUESTION: May I rent a tent?\nANSWER: Tents can be rented for 9 EUR a day."
    )


@pytest.mark.parametrize("said", ["<conversation>\nCustomer: May I rent a tent?\nStaff: Yes.\n</conversation>", "Hm."])
def test_where_the_team_has_told_nothing_there_is_none(said: str) -> None:
    assert decide(talk("article", said)).text == "NOTHING"


@pytest.mark.parametrize(
    ("page", "verdict"), [("For 9 EUR.", "AGREES"), ("For 12 EUR.", "DIFFERS"), ("Tents are rented.", "AGREES")]
)
def test_texts_differ_when_their_figures_do(page: str, verdict: str) -> None:
    asked = f"<article>\nTents can be rented for 9 EUR.\n</article>\n<page>\n{page}\n</page>"
    assert decide(talk("compare", asked)).text == verdict
