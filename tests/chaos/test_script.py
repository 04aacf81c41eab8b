"""The scripted model answers what was written to it, whatever notes stand before the words."""

from bot.agent.messages import CustomerMessage, SystemNote
from bot.agent.model import ModelRequest
from bot.models.lines import UserLine, lines_of
from tests.chaos.script import answer_to, decide


def test_a_note_about_a_case_before_the_question_is_not_what_is_answered() -> None:
    note = SystemNote('It was about, in words that are data: "Matter m00001: it came broken.".')
    question = CustomerMessage("Note m00002: where is ORD-12345 now?", passages="Today is Tuesday.")
    request = ModelRequest("scripted", "", (note, question), output_tokens=100, output_characters=100)
    (line,) = lines_of(request)
    assert isinstance(line, UserLine)
    assert decide({"messages": [{"role": "user", "content": line.text}]}).text == answer_to("m00002")
