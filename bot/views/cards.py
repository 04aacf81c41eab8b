"""The messages with buttons for customers, as pure functions that build blocks from simple values.

Their texts come from `Sentences`. Button values only name the case or the answer. They hold no secret and are not
trusted: the code that handles the interaction looks up the present state.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.language.sentences import Language, Sentences
from bot.slack.blocks import Block, Card, actions, button, context, one_line, plain, section
from bot.slack.mrkdwn import escape

SOURCES_SHOWN = 4
"""The most links under an answer. More of them help no one."""
HOURS_FROM = 90
"""The number of minutes from which a time is shown in hours."""
NAME_LIMIT = 80
"""The most characters of a person's name."""


@dataclass(frozen=True, slots=True)
class Source:
    """A page that an answer rests on."""

    title: str
    url: str
    """The page's address. If it is empty, the page is named but not linked."""
    updated: str = ""
    """When the page was last changed, for people to read. It can be empty."""


def answer_footer(
    sentences: Sentences,
    language: Language,
    *,
    ref: str,
    sources: Sequence[Source] = (),
    offer_person: bool = True,
) -> Card:
    """The blocks under an answer: its sources, the buttons to rate it, and the one that calls a person.

    `ref` names the answer.
    """
    blocks: list[Block] = []
    if sources:
        blocks.append(context(_source_line(sentences, language, sources)))
    blocks.append(
        {
            "type": "context_actions",
            "elements": [
                {
                    "type": "feedback_buttons",
                    "action_id": "fb",
                    "positive_button": {"text": plain(sentences.say(language, "helpful")), "value": f"{ref}/up"},
                    "negative_button": {
                        "text": plain(sentences.say(language, "not_helpful")),
                        "value": f"{ref}/down",
                    },
                }
            ],
        }
    )
    if offer_person:
        blocks.append(actions(button("esc.customer", sentences.say(language, "talk_to_person"), ref)))
    return Card(sentences.say(language, "talk_to_person"), tuple(blocks))


def no_answer(sentences: Sentences, language: Language, *, ref: str) -> Card:
    """The answer "I don't know". The text is the answer, and the blocks under it offer a person."""
    accept = button("esc.accept", sentences.say(language, "accept_person"), ref, style="primary")
    decline = button("esc.decline", sentences.say(language, "decline_person"), ref)
    return Card(sentences.say(language, "no_answer"), (actions(accept, decline),))


def escalated(sentences: Sentences, language: Language, *, case: str, usual: str = "", is_grave: bool = False) -> Card:
    """A person has been called. `usual` says how long it usually takes. With `is_grave` nothing cheerful is shown."""
    words = sentences.say(language, "escalated")
    label = sentences.say(language, "case_label")
    how_long = f" · {usual}" if usual else ""
    wave = "" if is_grave else ":wave: "
    return Card(
        f"{words} ({label} {escape(case)}{how_long})",
        (
            section(f"{wave}{words}\n*{label} {escape(case)}*{how_long}"),
            actions(_keep_assistant(sentences, language, case)),
        ),
    )


def usual_reply_time(sentences: Sentences, language: Language, minutes: float) -> str:
    """The sentence that says how long it usually takes until a person replies."""
    if minutes >= HOURS_FROM:
        return sentences.say(language, "usual_hours", hours=str(round(minutes / 60)))
    return sentences.say(language, "usual_minutes", minutes=str(max(1, round(minutes))))


def out_of_hours(sentences: Sentences, language: Language, *, case: str, back: str) -> Card:
    """A person has been called, but the team is offline until `back`, which is mrkdwn."""
    words = sentences.say(language, "out_of_hours", back=back, case=escape(case))
    return Card(
        words,
        (
            section(f":crescent_moon: {words}"),
            actions(
                button("esc.urgent", sentences.say(language, "its_urgent"), case, style="danger"),
                button("esc.wait", sentences.say(language, "i_can_wait"), case),
                _keep_assistant(sentences, language, case),
            ),
        ),
    )


def urgent(sentences: Sentences, language: Language, *, case: str, back: str, is_paged: bool) -> Card:
    """The customer said that the case cannot wait until `back`."""
    key = "urgent_paged" if is_paged else "urgent_unpaged"
    return _announcement(":rotating_light:", sentences.say(language, key, back=back, case=escape(case)))


def can_wait(sentences: Sentences, language: Language, *, case: str, back: str) -> Card:
    """The customer agrees to wait until `back`."""
    return _with_help(sentences, language, case, sentences.say(language, "can_wait", back=back))


def still_looking(sentences: Sentences, language: Language, *, case: str, is_helped: bool = False) -> Card:
    """No one has claimed the case within twice the target. Unless `is_helped`, the assistant offers to help."""
    words = sentences.say(language, "still_looking", case=escape(case))
    return _with_help(sentences, language, case, words, is_helped=is_helped)


def nobody_yet(sentences: Sentences, language: Language, *, case: str, is_helped: bool = False) -> Card:
    """No one has claimed the case within four times the target. This is the last such message before a claim."""
    words = sentences.say(language, "nobody_yet", case=escape(case))
    return _with_help(sentences, language, case, words, is_helped=is_helped)


def helping(sentences: Sentences, language: Language, *, case: str) -> Card:
    """The assistant answers while the case waits."""
    return _announcement(":robot_face:", sentences.say(language, "helping", case=escape(case)))


def settled(sentences: Sentences, language: Language, *, case: str) -> Card:
    """A button to end the case, for a customer who wrote as if they no longer need a person."""
    words = sentences.say(language, "settled", case=escape(case))
    return Card(words, (section(words), actions(_keep_assistant(sentences, language, case))))


def claimed(sentences: Sentences, language: Language, *, case: str, staff: str) -> Card:
    """A person has claimed the case. `staff` is their name."""
    words = sentences.say(language, "claimed", staff=_name(staff), case=escape(case))
    return _announcement(":bust_in_silhouette:", words)


def taken_over(sentences: Sentences, language: Language, *, case: str, staff: str, before: str) -> Card:
    """`staff` has taken the case over from `before`. Both are names."""
    words = sentences.say(language, "taken_over", staff=_name(staff), before=_name(before), case=escape(case))
    return _announcement(":bust_in_silhouette:", words)


def transferred(sentences: Sentences, language: Language, *, case: str) -> Card:
    """Another part of the team has the case, and a person there will take it."""
    return _announcement(":arrow_right:", sentences.say(language, "transferred", case=escape(case)))


def merged(sentences: Sentences, language: Language, *, case: str, into: str) -> Card:
    """People continue the case in another one of the customer's. `into` is mrkdwn that names it."""
    return _announcement(":link:", sentences.say(language, "merged", case=escape(case), into=into))


def handed_back(sentences: Sentences, language: Language, *, case: str) -> Card:
    """The assistant answers again."""
    return _announcement(":robot_face:", sentences.say(language, "handed_back", case=escape(case)))


def not_answered(sentences: Sentences, language: Language, *, case: str) -> Card:
    """The team has closed the case and won't reply."""
    return _announcement(":file_folder:", sentences.say(language, "not_answered", case=escape(case)))


def reopened(sentences: Sentences, language: Language, *, case: str) -> Card:
    """The customer said that it is not solved, or wrote again: a person has been called."""
    words = sentences.say(language, "reopened", case=escape(case))
    blocks = _announcement(":arrows_counterclockwise:", words).blocks
    return Card(words, (*blocks, actions(_keep_assistant(sentences, language, case))))


def resolved(sentences: Sentences, language: Language, *, case: str, staff: str, solved: bool = True) -> Card:
    """The person named `staff` has closed the case, as `solved` or for another reason.

    The buttons are the scores from 1 to 5, and "Not solved".
    """
    words = sentences.say(language, "resolved" if solved else "closed", staff=_name(staff), case=escape(case))
    faces = {"1": "1 :disappointed:", "5": "5 :star-struck:"}
    scores = [
        button(
            f"csat.{score}",
            faces.get(score, score),
            f"{case}/{score}",
            label=sentences.say(language, "rating_label", score=score),
        )
        for score in "12345"
    ]
    not_solved = button("case.reopen", sentences.say(language, "not_solved"), case, style="danger")
    return Card(words, (section(words), actions(*scores, not_solved)))


def _keep_assistant(sentences: Sentences, language: Language, case: str) -> Block:
    return button("esc.cancel", sentences.say(language, "keep_assistant"), case)


def _with_help(sentences: Sentences, language: Language, case: str, words: str, *, is_helped: bool = False) -> Card:
    said = _announcement(":hourglass_flowing_sand:", words)
    if is_helped:
        return said
    return Card(words, (*said.blocks, actions(button("esc.keep", sentences.say(language, "keep_helping"), case))))


def _source_line(sentences: Sentences, language: Language, sources: Sequence[Source]) -> str:
    links = " · ".join(source_link(source) for source in sources[:SOURCES_SHOWN])
    updated = max((source.updated for source in sources[:SOURCES_SHOWN]), default="")
    note = f"  ·  {sentences.say(language, 'updated', date=escape(updated))}" if updated else ""
    return f":books: {links}{note}"


def source_link(source: Source) -> str:
    """The page in mrkdwn. It is linked if its address is safe to link."""
    title = one_line(source.title, 80).replace("|", "¦")
    url = escape(source.url)
    return f"<{url}|{title}>" if source.url.startswith("https://") and "|" not in url else title


def _announcement(emoji: str, words: str) -> Card:
    return Card(words, (section(f"{emoji} {words}"),))


def _name(name: str) -> str:
    return one_line(name, NAME_LIMIT)
