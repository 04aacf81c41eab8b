"""What people see when a step of a case is made, as one table.

ANNOUNCEMENTS   Step -> who sees what.
to_customer     The customer's message for a step.
escalated       The customer's message when a person is called while the desk is open.
why_called      The sentence that says why the assistant calls a person, and who helps at once in danger.
greeting        The assistant's first sentence.
status_text     The sentence for a customer whose button does not fit the case's present state.

The sentences come from `Sentences`. Button values only name the case and are not trusted: the code that handles the
interaction looks up the present state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from bot.desk_file.model import DeskFile
from bot.language.languages import Language
from bot.language.sentences import Sentences, language_for
from bot.slack.blocks import Block, Card, actions, button, moment, one_line, section
from bot.slack.mrkdwn import escape
from bot.store.cases import Case
from bot.views import score_cards, staff_cards

HOURS_FROM = 90
"""The number of minutes from which a time is shown in hours."""
NAME_LIMIT = 80
"""The most characters of a person's name."""
SAID_FIRST = {
    "technical": "technical_problem",
    "model_down": "technical_problem",
    "declined": "declined",
    "budget": "over_budget",
    "crisis": "in_crisis",
    "harm": "in_harm",
    "threat": "in_threat",
    "fraud": "in_fraud",
    "security": "in_fraud",
    "upset": "in_upset",
    "billing": "in_billing",
    "legal": "in_legal",
    "change": "in_change",
}
"""Reason -> the key of the sentence that the customer reads first. It says why the assistant did not answer, what to do
now if someone is in danger, or that we are sorry. The sentence that the case was passed on follows it."""
WITH_CRISIS_LINE = frozenset({"crisis"})
"""The reasons for which the customer reads who listens to people in a crisis, if the desk file names someone."""
WITH_EMERGENCY_NUMBER = frozenset({"crisis", "harm", "threat"})
"""The reasons for which the customer reads the emergency number, if the desk file has one."""
CHEERFUL = frozenset({"asked_for_person", "other"})
"""The reasons for which a message to the customer begins with a waving hand."""

Offer = Literal["status", "end", "help"]
"""What the customer of a case that waits is shown besides: how it stands, how to end it, or the assistant's help."""

Say = Callable[..., str]
"""Key and values -> the sentence in the customer's language."""


def _no_buttons(_say: Say, _case: Case) -> Sequence[Block]:
    return ()


def _keep_assistant(say: Say, case: Case) -> Sequence[Block]:
    return (button("esc.cancel", say("keep_assistant"), case.ref),)


def _keep_helping(say: Say, case: Case) -> Sequence[Block]:
    return () if case.keeps_helping else (button("esc.keep", say("keep_helping"), case.ref),)


def _undo(say: Say, case: Case) -> Sequence[Block]:
    return (button("esc.undo", say("undo"), case.ref),)


def _while_closed(say: Say, case: Case) -> Sequence[Block]:
    return (
        button("esc.urgent", say("its_urgent"), case.ref, style="danger"),
        button("esc.wait", say("i_can_wait"), case.ref),
        *_keep_assistant(say, case),
    )


def _ratings(say: Say, case: Case) -> Sequence[Block]:
    """The scores from 1 to 5, and "Not solved"."""
    return (*score_cards.buttons(say, case), button("case.reopen", say("not_solved"), case.ref, style="danger"))


@dataclass(frozen=True, slots=True)
class Announcement:
    """Who sees what when a step is made."""

    customer: str = ""
    """The key of the sentence in the customer's thread. Empty if they see nothing."""
    emoji: str = ""
    buttons: Callable[[Say, Case], Sequence[Block]] = _no_buttons
    """Builds the buttons below the sentence."""
    card: bool = True
    """Whether the case's card is updated to the new state."""
    staff: Callable[[Case, Case, str], Card] | None = None
    """Builds the line in the card's thread from the case after and before the step and the user who made it. An update
    of the card notifies no one, but a mention in a new line does."""


ANNOUNCEMENTS: Mapping[str, Announcement] = {
    # A person has the case. Two steps change the card in their own way: a transfer moves it, and a merge links it.
    "claimed": Announcement("claimed", ":bust_in_silhouette:"),
    "taken_over": Announcement("taken_over", ":bust_in_silhouette:", staff=staff_cards.taken_over),
    "assigned": Announcement("claimed", ":bust_in_silhouette:"),
    "reassigned": Announcement("taken_over", ":bust_in_silhouette:"),
    "unassigned": Announcement("unassigned", ":hourglass_flowing_sand:", _keep_assistant, staff=staff_cards.unassigned),
    "joined": Announcement(staff=staff_cards.joined),
    "prioritized": Announcement(),
    "marked": Announcement(),
    "transferred": Announcement("transferred", ":arrow_right:", card=False),
    "merged": Announcement("merged", ":link:", card=False),
    # The case has ended.
    "resolved": Announcement("resolved", buttons=_ratings),
    "ended_otherwise": Announcement("closed", buttons=_ratings),
    "handed_back": Announcement("handed_back", ":robot_face:"),
    "cancelled": Announcement("handed_back", ":robot_face:"),
    "taken_back": Announcement("taken_back", ":white_check_mark:", _undo, staff=staff_cards.taken_back),
    "model_back": Announcement("model_back", ":robot_face:", staff=staff_cards.model_back),
    "unmerged": Announcement("handed_back", ":robot_face:", card=False),
    "spam": Announcement("not_answered", ":file_folder:"),
    "reopened": Announcement(
        "reopened", ":arrows_counterclockwise:", _keep_assistant, staff=staff_cards.reopened
    ),
    "wrote_again": Announcement(
        "reopened", ":arrows_counterclockwise:", _keep_assistant, staff=staff_cards.wrote_again
    ),
    # The case waits. SLA alerts and the opening of the desk notify staff in their own way.
    "out_of_hours": Announcement("out_of_hours", ":crescent_moon:", _while_closed, card=False),
    "urged": Announcement("urgent_unpaged", ":rotating_light:"),
    "urged_and_paged": Announcement("urgent_paged", ":rotating_light:"),
    "can_wait": Announcement("can_wait", ":hourglass_flowing_sand:", _keep_helping, card=False),
    "kept_helping": Announcement("helping", ":robot_face:", card=False),
    "offer_end": Announcement("settled", buttons=_keep_assistant, card=False),
    "offer_help": Announcement("asked_meanwhile", buttons=_keep_helping, card=False),
    "offer_status": Announcement("case_waiting", ":hourglass_flowing_sand:", _keep_helping, card=False),
    "status_usual": Announcement("case_waiting_usual", ":hourglass_flowing_sand:", _keep_helping, card=False),
    "status_out_of_hours": Announcement("case_out_of_hours", ":crescent_moon:", _keep_helping, card=False),
    "still_looking": Announcement("still_looking", ":hourglass_flowing_sand:", _keep_helping, card=False),
    "nobody_yet": Announcement("nobody_yet", ":hourglass_flowing_sand:", _keep_helping, card=False),
}  # fmt: skip
"""Step -> what people see. Most steps have the name of their audit entry. A step that is not in the table shows no one
anything, or has a method of its own in `bot.cases.messages.CaseMessages`."""


def to_customer(sentences: Sentences, case: Case, step: str, **values: str) -> Card:
    """The customer's message for a step. `values` are what its sentence names besides the case, as mrkdwn."""
    row, say = ANNOUNCEMENTS[step], partial(sentences.say, language_for(case.language))
    words = say(row.customer, case=case.ref, **values)
    shown, buttons = section(f"{row.emoji} {words}".lstrip()), row.buttons(say, case)
    return Card(words, (shown, actions(*buttons)) if buttons else (shown,))


def escalated(sentences: Sentences, case: Case, *, usual: float | None = None) -> Card:
    """A person has been called. `usual` is the usual time until a person replies, in minutes."""
    say = partial(sentences.say, language_for(case.language))
    words, label = say("escalated"), say("case_label")
    how_long = "" if usual is None else f" · {usual_reply_time(say, usual)}"
    wave = ":wave: " if case.reason in CHEERFUL else ""
    return Card(
        f"{words} ({label} {case.ref}{how_long})",
        (
            section(f"{wave}{words}\n*{label} {case.ref}*{how_long}"),
            actions(*_keep_assistant(say, case)),
        ),
    )


def why_called(sentences: Sentences, reason: str, language: Language, desk: DeskFile, *, country: str) -> str:
    """The sentence that tells the customer why a person is called. Empty if the customer knows why.

    In danger, the helplines follow that the desk file has for the country the customer seems to be in.
    """
    key = SAID_FIRST.get(reason)
    said = [sentences.say(language, key)] if key else []
    if reason in WITH_CRISIS_LINE and (line := desk.crisis_line(country, language)):
        said.append(sentences.say(language, "crisis_line", line=escape(line)))
    if reason in WITH_EMERGENCY_NUMBER and (number := desk.emergency_number(country)):
        said.append(sentences.say(language, "emergency_number", number=escape(number)))
    return "\n".join(said)


def greeting(sentences: Sentences, language: Language, desk: DeskFile) -> str:
    """The assistant's first sentence, with its name if it has one."""
    if name := desk.assistant.name:
        return sentences.say(language, "greeting_by_name", name=escape(name))
    return sentences.say(language, "greeting")


def status_text(sentences: Sentences, language: Language, case: Case) -> str:
    """The sentence for a customer whose button does not fit the case's present state."""
    keys = {
        "waiting": "case_waiting",
        "out_of_hours": "case_out_of_hours",
        "human": "case_claimed",
        "resolved": "case_solved",
        "merged": "case_merged",
    }
    key = keys.get(case.state, "case_back")
    staff, back = escape(case.owner_name or ""), reader_time(case.due or 0.0)
    return sentences.say(language, key, case=case.ref, staff=staff, back=back)


def preceded(sentence: str, card: Card) -> Card:
    """The message with a sentence before it."""
    return Card(f"{sentence}\n{card.text}", (section(sentence), *card.blocks))


def reader_time(at: float) -> str:
    """A time in the reader's time zone. `at` is in seconds since 1970."""
    return moment(at, "{date_short_pretty} {time}")


def short_name(name: str) -> str:
    """A person's name in a sentence."""
    return one_line(name, NAME_LIMIT)


def usual_reply_time(say: Say, minutes: float) -> str:
    """How long it usually takes until a person replies."""
    if minutes >= HOURS_FROM:
        return say("usual_hours", hours=str(round(minutes / 60)))
    return say("usual_minutes", minutes=str(max(1, round(minutes))))
