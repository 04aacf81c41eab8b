"""Which pattern a message gets, and what of it the customer reads."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.limits import Limits
from bot.agent.messages import AgentMessage, CustomerMessage, Message
from bot.agent.model import FailureKind, ModelEvent, ModelFailure, ModelRequest, Usage
from bot.conversation import Customer
from bot.desk.answers import NOT_SURE, answer_tools
from bot.desk.rewriting import SecondLook, build_rewriter
from bot.guard.claim_patterns import load_wordings
from bot.ingest.interrupts import Interrupt
from bot.language.sentences import load_sentences
from bot.store import inbox
from bot.store.database import Database
from bot.turns.answers.asking import SOURCES, Agents, Asked
from bot.turns.answers.endings import ending_of
from bot.turns.answers.journal import open_journal
from bot.turns.answers.question import Question
from knowledge.knowledge_base import Findings
from knowledge.search.passages import Hit
from tests.agent.desk import Counter, desk_tools, passages_in
from tests.doubles.clock import ManualClock
from tests.doubles.routed_model import RoutedModel, words_of
from tests.doubles.scripted_model import Step, call, calls, says
from tests.turns.arrivals import arrival

LOOK = calls(call("lookup_order", {"order_id": "ORD-1"}))
PERSON = calls(call("escalate_to_human", {"reason": "angry"}))
WHERE, RETURNS, TUNGSTEN = "Where is my order ORD-1?", "How do returns of boots work?", "How hot does tungsten get?"
LONG = f"I bought boots. {WHERE} {RETURNS} Please also tell me which cards you take."
Routes = Mapping[str, Sequence[Sequence[Step]]]


def part(key: str, question: str = TUNGSTEN) -> str:
    """What the customer sees about one of several questions."""
    return load_sentences().say("en", key, question=question)


def hit(title: str) -> Hit:
    url = f"https://help.example.com/{title}"
    return Hit(title, title, url, f"{title}.md", "", "2026-10-01", f"All about {title} stands here.", 1.0, title)


class FewPages:
    """Finds the page whose title stands in the query; what it does not find it may not have been able to look for.

    Of scarves it has a page that perhaps answers.
    """

    def __init__(self, *titles: str, broken: bool = False) -> None:
        self._titles = titles
        self._broken = broken

    async def search(self, query: str) -> Findings:
        """As KnowledgeBase.search. Of metals it knows a word, and no answer."""
        found = tuple(hit(title) for title in self._titles if title in query)
        if "scarf" in query and not found:
            return Findings((hit("scarves"),), 0.6, certainty="perhaps", is_close=True)
        near = (hit("metals"),) if "tungsten" in query and not self._broken else ()
        return Findings(
            found or near, float(bool(found)), certainty="clearly" if found else "not", degraded=self._broken
        )


@dataclass
class FakeWriter:
    """What the customer reads, in pieces."""

    pieces: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    stopped: bool = False

    def text(self, delta: str) -> None:
        self.pieces.append(delta)

    def task(self, task_id: str, *, title: str, status: str) -> None:
        self.cards.append(f"{task_id} {title} {status}")

    @property
    def words(self) -> str:
        return "".join(self.pieces)


@dataclass
class Room:
    """Agents over a scripted model, a knowledge base of a page or two, and one customer."""

    database: Database
    routes: Routes
    channel: str = "D0CUSTOMERA"
    checks: bool = False
    takes_apart: bool = True
    broken: bool = False
    """The pages cannot be searched as they should."""
    rewrites: bool = False
    """The cheap model rewrites questions."""
    titles: tuple[str, ...] = ("boots",)
    limits: Limits = field(default_factory=lambda: Limits(retries=0, retry_seconds=0.001))
    writer: FakeWriter = field(default_factory=FakeWriter)
    counter: Counter = field(default_factory=Counter)
    interrupt: Interrupt = field(default_factory=Interrupt)

    def __post_init__(self) -> None:
        self.model = RoutedModel(self.routes)

    @property
    def cheap(self) -> Models | None:
        return Models((Endpoint("cheap", self.model),)) if self.rewrites else None

    @property
    def agents(self) -> Agents:
        knowledge = cast(Any, FewPages(*self.titles, broken=self.broken))
        lookup, shipping, escalate = desk_tools(self.counter)
        search = answer_tools(knowledge)
        triage = Agent("triage", "You sort.", (escalate,), ("orders", "answers"), tier="cheap", sees_passages=False)
        orders = Agent("orders", "You know orders.", (lookup, shipping, *search, escalate), ("answers",))
        answers = Agent("answers", "You know the pages.", (*search, escalate), ("orders",))
        return Agents(
            knowledge=knowledge,
            second_look=SecondLook(knowledge, self.cheap, build_rewriter(shop_name="The Shop")),
            sentences=load_sentences(),
            clock=ManualClock(),
            team=Team((triage, orders, answers), entry="triage"),
            models=Models(strong=(Endpoint("strong", self.model),), cheap=(Endpoint("cheap", self.model),)),
            wordings=load_wordings(),
            link_hosts=frozenset(),
            lead=Agent("lead", "You lead.", (escalate,), rounds=3) if self.takes_apart else None,
            checker=Agent("check", "You check.", tier="cheap") if self.checks else None,
            takes_apart=self.takes_apart,
        )

    async def ask(self, text: str, *, agent: str = "", history: Sequence[Message] = ()) -> Asked:
        """Have the customer's message answered."""
        async with self.database.transaction() as tx:
            await inbox.add(tx, arrival("1.1", text=text, channel=self.channel), now=0.0)
            item = await inbox.start(tx, 1)
        assert item is not None
        customer = Customer("T0FRONTDESK", "U0CUSTOMERA", "Customer A", "en-US", "member")
        question = Question(item, customer, "en", text, agent, 0, history, interrupt=self.interrupt)
        journal = await open_journal(self.database, ManualClock(), turn=item.id, attempt=item.attempts)
        return await self.agents.ask(question, cast(Any, self.writer), journal, limits=self.limits)


OpenRoom = Callable[..., Room]


@pytest.fixture
def room_for(database: Database) -> OpenRoom:
    """Rooms over one database."""
    return partial(Room, database)


def only(question: str) -> str:
    return f"the others are answered elsewhere.\n{question}"


# A second look with the question in the pages' words

REWRITES = "You rewrite a question"


async def test_a_question_in_another_language_is_rewritten_and_answered_from_the_page(room_for: OpenRoom) -> None:
    routes = {REWRITES: [says("How do boots fit?")], "You know the pages.": [says("All about boots stands here.")]}
    room = room_for(routes, rewrites=True)
    asked = await room.ask("Wie fallen die Stiefel aus, tungsten?", agent="answers")
    (rewriting,) = room.model.asked(REWRITES)
    assert "<headings>\nmetals\n</headings>" in words_of(rewriting)
    assert (asked.verdict, room.writer.words) == ("stands", "All about boots stands here.")
    assert asked.outcome.models == ("cheap", "strong")


async def test_a_rewrite_counts_in_the_answers_usage_and_is_not_made_again_after_a_crash(room_for: OpenRoom) -> None:
    routes = {
        REWRITES: [[Usage(100, 10), *says("How do boots fit?")]],
        "You know the pages.": [[Usage(1_000, 50), *says("All about boots stands here.")]],
    }
    room = room_for(routes, rewrites=True)
    asked = await room.ask("tungsten?", agent="answers")
    assert (asked.outcome.usage.input_tokens, asked.outcome.usage.output_tokens) == (1_100, 60)
    assert {name for name in asked.journal.rounds if name.startswith("rewrite/")} == {"rewrite/round-1"}


async def test_what_is_clearly_answered_or_asks_nothing_is_not_rewritten(room_for: OpenRoom) -> None:
    routes = {"You know the pages.": [says("All about boots stands here."), says("You are welcome!")]}
    room = room_for(routes, rewrites=True)
    await room.ask(RETURNS, agent="answers")
    assert room.model.asked(REWRITES) == []


async def test_a_model_that_cannot_rewrite_leaves_the_first_look_as_it_is(room_for: OpenRoom) -> None:
    routes = {
        REWRITES: [[ModelFailure("model_unreachable", "down")]],
        "You know the pages.": [says("It melts at 3422.")],
    }
    asked = await room_for(routes, rewrites=True).ask(TUNGSTEN, agent="answers")
    assert asked.verdict == "not_found"


# A message that refers back


async def test_a_question_that_refers_back_is_searched_with_the_one_before_it(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("44 by 15.")]}, titles=("boots", "sizes"))
    before: list[Message] = [CustomerMessage("How heavy are boots?"), AgentMessage("Two kilograms.")]
    await room.ask("And their sizes?", agent="answers", history=before)
    (asked,) = [request for request in room.model.requests if "You know the pages." in request.instructions]
    assert "All about boots stands here." in words_of(asked)
    assert words_of(asked).index("All about boots") < words_of(asked).index("All about sizes")


async def test_a_question_that_names_its_subject_is_searched_alone(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("From 36 to 48.")]}, titles=("boots", "sizes"))
    before: list[Message] = [CustomerMessage("How heavy are boots?"), AgentMessage("Two kilograms.")]
    await room.ask("Which sizes are there?", agent="answers", history=before)
    (asked,) = [request for request in room.model.requests if "You know the pages." in request.instructions]
    assert "All about boots" not in words_of(asked)


# One answer for the whole message


async def test_a_new_conversation_goes_through_triage_to_the_specialist(room_for: OpenRoom) -> None:
    room = room_for(
        {"You sort.": [calls(call("hand_over_to_orders"))], "You know orders.": [[], LOOK, says("Shipped.")]}
    )
    asked = await room.ask(WHERE)
    assert (asked.verdict, asked.outcome.agent, room.writer.words) == ("stands", "orders", "Shipped.")
    assert room.writer.cards == [f"call02000 Looking up ORD-1 {status}" for status in ("in_progress", "complete")]
    assert [request.model for request in room.model.requests] == ["cheap", "strong", "strong"]


async def test_the_next_message_is_for_whoever_answered_last(room_for: OpenRoom) -> None:
    room = room_for({"You know orders.": [LOOK, says("Shipped.")]})
    asked = await room.ask(WHERE, agent="orders")
    assert asked.verdict == "stands"
    assert len(room.model.requests) == 2


async def test_what_triage_says_while_it_hands_over_is_not_shown(room_for: OpenRoom) -> None:
    handing = calls(call("hand_over_to_answers"), text="One moment, a colleague will help.")
    room = room_for({"You sort.": [handing], "You know the pages.": [[], says("All about boots.")]})
    await room.ask(RETURNS)
    assert room.writer.words == "All about boots."


@pytest.mark.parametrize(
    ("message", "reply"), [("Hello!", "Hi! What can I do for you?"), ("It is broken", "Which order do you mean?")]
)
async def test_triage_may_greet_and_ask_back(message: str, reply: str, room_for: OpenRoom) -> None:
    room = room_for({"You sort.": [says(reply)]})
    asked = await room.ask(message)
    asked.reply.release()
    assert (asked.verdict, asked.outcome.agent, room.writer.words) == ("stands", "triage", reply)


async def test_what_triage_answers_by_itself_is_replaced_by_the_one_for_doubtful_cases(room_for: OpenRoom) -> None:
    room = room_for(
        {"You sort.": [says("Boots can be returned for 90 days.")], "You know the pages.": [says("30 days.")]}
    )
    asked = await room.ask(RETURNS)
    assert (asked.verdict, asked.outcome.agent, room.writer.words) == ("stands", "answers", "30 days.")
    assert [message.text for message in asked.outcome.messages if isinstance(message, AgentMessage)] == ["30 days."]


async def test_an_answer_of_a_specialist_without_evidence_does_not_stand(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("It melts at 3422 degrees.")]})
    asked = await room.ask(TUNGSTEN, agent="answers")
    assert (asked.verdict, room.writer.words) == ("not_found", "")


async def test_an_answer_from_a_page_that_perhaps_fits_is_shown_only_when_it_is_whole(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("All about scarves stands here.")]})
    asked = await room.ask("How do I wash a scarf?", agent="answers")
    assert 'uncertain="yes"' in passages_in(room.model.asked("You know the pages.")[0])
    assert (asked.verdict, room.writer.words) == ("stands", "")
    asked.reply.release()
    assert room.writer.words == "All about scarves stands here."
    assert [source.title for source in asked.sources] == ["scarves"]


async def test_an_agent_that_finds_no_answer_in_such_a_page_says_nothing_of_its_own(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("It may be wool. ", NOT_SURE)]})
    asked = await room.ask("How do I wash a scarf?", agent="answers")
    asked.reply.release()
    assert asked.verdict == "not_found"
    assert ending_of(asked.verdict, asked.outcome, asked.reply).sentence == "not_sure"
    assert NOT_SURE not in room.writer.words


async def test_of_several_questions_the_one_without_a_sure_answer_names_the_nearest_page(room_for: OpenRoom) -> None:
    wash = "How do I wash a scarf?"
    room = room_for({only(RETURNS): [says("All about boots stands here.")], only(wash): [says(NOT_SURE)]})
    await room.ask(f"{RETURNS} {wash}", agent="answers")
    assert load_sentences().say("en", "part_not_sure", question=wash, page="scarves") in room.writer.words
    assert NOT_SURE not in room.writer.words


async def test_who_answers_in_place_of_triage_may_spend_what_that_has_left(room_for: OpenRoom) -> None:
    look = calls(call("search_knowledge", {"query": "boots"}))
    routes = {
        "You sort.": [[Usage(900, 0), *says("Ninety days.")]],
        "You know the pages.": [[Usage(200, 0), *look], says("30 days.")],
    }
    room = room_for(routes, limits=Limits(retries=0, tokens=1_000))
    asked = await room.ask(RETURNS)
    assert (asked.verdict, room.writer.words, asked.outcome.reason) == ("stands", "30 days.", "tokens")
    assert [request.may_call for request in room.model.asked("You know the pages.")] == [True, False]


async def test_what_could_not_be_looked_up_is_not_said_to_be_missing(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("It melts at 3422 degrees.")]}, broken=True)
    asked = await room.ask(TUNGSTEN, agent="answers")
    assert (asked.verdict, room.writer.words) == ("pages_down", "")
    assert "cannot be searched at the moment" in passages_in(room.model.asked("You know the pages.")[0])


async def test_what_a_lame_index_still_finds_is_answered(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("All about boots stands here.")]}, broken=True)
    assert (await room.ask(RETURNS, agent="answers")).verdict == "stands"
    greeted = room_for({"You know the pages.": [says("You're welcome!")]}, broken=True)
    assert (await greeted.ask("Thanks!", agent="answers")).verdict == "stands"


async def test_a_desk_of_one_agent_needs_no_triage(room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [says("All about boots.")]})
    alone = Team((Agent("answers", "You know the pages."),), entry="answers")
    room_agents = replace(room.agents, team=alone)
    assert room_agents.choose_pattern(RETURNS).__name__ == "single"  # type: ignore[attr-defined]


# Several questions


def several(second: Sequence[Sequence[Step]], *, first: Sequence[Sequence[Step]] = (LOOK, says("Shipped."))) -> Routes:
    return {only(WHERE): first, only(RETURNS): second, only(TUNGSTEN): second}


async def test_separate_questions_are_answered_one_below_the_other_from_their_own_pages(room_for: OpenRoom) -> None:
    room = room_for(several([says("All about boots stands here.")]), titles=("boots", "ORD-1"))
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert asked.verdict == "stands"
    assert not asked.partly
    assert room.writer.words == "Shipped.\n\nAll about boots stands here."
    assert asked.outcome.text == room.writer.words
    assert [source.title for source in asked.sources] == ["boots"]
    assert "boots" not in passages_in(room.model.asked(only(WHERE))[0])


async def test_the_answers_of_a_message_name_four_pages_at_most_together(room_for: OpenRoom) -> None:
    first, second = ("returns", "boots", "work"), ("hot", "tungsten", "get")
    answers = {only(RETURNS): first, only(TUNGSTEN): second}
    routes = {way: [says(" ".join(f"All about {page} stands here." for page in of))] for way, of in answers.items()}
    room = room_for(routes, titles=(*first, *second))
    asked = await room.ask(f"{RETURNS} {TUNGSTEN}", agent="answers")
    assert asked.verdict == "stands"
    assert len(asked.sources) == SOURCES


async def test_the_first_answer_is_live_while_the_others_wait_for_it(room_for: OpenRoom) -> None:
    slow = [calls(call("lookup_order", {"order_id": "meet"})), says("It is sent. ", "It comes soon.")]
    quick = [calls(call("lookup_order", {"order_id": "meet-too"})), says("30 days.")]
    room = room_for(several(quick, first=slow))
    await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    first, *others = room.writer.pieces
    assert first.startswith("It is sent.")
    assert "It comes soon." not in first
    assert "".join(others).endswith("It comes soon.\n\n30 days.")


async def test_lookups_of_a_later_question_do_not_wait_and_share_a_line(room_for: OpenRoom) -> None:
    first = [calls(call("lookup_order", {"order_id": "meet"})), says("It is sent.")]
    second = [calls(call("lookup_order", {"order_id": "meet-too"})), says("30 days.")]
    room = room_for(several(second, first=first))
    await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert room.writer.cards == [
        "question-1/call_1 Looking up meet in_progress",
        "question-1/call_1 Looking up meet, meet-too in_progress",
        "question-1/call_1 Looking up meet, meet-too complete",
    ]


async def test_a_question_that_nothing_supports_is_said_not_to_be_found_beside_the_others(room_for: OpenRoom) -> None:
    room = room_for(several([says("3422 degrees.")]))
    asked = await room.ask(f"{WHERE} {TUNGSTEN}", agent="orders")
    assert asked.verdict == "stands"
    assert room.writer.words.startswith(f"Shipped.\n\n{part('part_not_found')}")
    assert "3422" not in room.writer.words + asked.outcome.text + str(asked.outcome.messages)


async def test_a_question_that_could_not_be_looked_up_goes_to_a_person_beside_the_others(room_for: OpenRoom) -> None:
    room = room_for(several([says("3422 degrees.")]), broken=True)
    asked = await room.ask(f"{WHERE} {TUNGSTEN}", agent="orders")
    assert (asked.verdict, asked.partly) == ("pages_down", True)
    assert room.writer.words.startswith(f"Shipped.\n\n{part('part_pages_down')}")


async def test_that_the_first_was_not_found_is_said_as_soon_as_another_is(room_for: OpenRoom) -> None:
    room = room_for(several([says("3422 degrees.")]))
    asked = await room.ask(f"{TUNGSTEN} {WHERE}", agent="orders")
    assert asked.verdict == "stands"
    assert room.writer.words.startswith(part("part_not_found"))
    assert room.writer.words.endswith("\n\nShipped.")


async def test_a_question_about_nothing_of_the_shop_is_passed_over_beside_an_answer(room_for: OpenRoom) -> None:
    marbles = "Have all of them lost their marbles?"
    room = room_for({only(WHERE): [LOOK, says("Shipped.")], only(marbles): [says("No, they have not.")]})
    asked = await room.ask(f"{marbles} {WHERE}", agent="orders")
    assert (asked.verdict, room.writer.words, asked.outcome.text) == ("stands", "Shipped.", "Shipped.")


async def test_a_long_question_that_is_not_found_is_named_in_short(room_for: OpenRoom) -> None:
    room = room_for({only(WHERE): [LOOK, says("Shipped.")], "tungsten": [says("3422 degrees.")]})
    asked = await room.ask(f"{WHERE} How hot does tungsten get {'when it is very hot ' * 20}?", agent="orders")
    assert "“How hot does tungsten get when" in asked.outcome.text
    assert "…”" in asked.outcome.text
    assert len(asked.outcome.text) < 250


async def test_a_question_is_searched_with_what_stands_before_it_when_its_own_words_find_nothing(
    room_for: OpenRoom,
) -> None:
    who, pays = "Who is the carrier of parcels?", "Who pays the customs at arrival?"
    room = room_for({only(who): [says("GLS.")], only(pays): [says("You pay.")]}, titles=("boots",))
    asked = await room.ask(f"I bought boots. {who} {pays}", agent="answers")
    assert (asked.verdict, room.writer.words) == ("stands", "GLS.\n\nYou pay.")
    assert all("All about boots" in passages_in(room.model.asked(only(each))[0]) for each in (who, pays))


async def test_a_claim_that_is_taken_back_beside_an_answer_names_its_question(room_for: OpenRoom) -> None:
    room = room_for(several([says(CLAIMED)]))
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert (asked.verdict, asked.partly) == ("claimed", True)
    assert room.writer.words == f"Shipped.\n\n{part('part_withdrawn', RETURNS)}"


async def test_when_no_question_is_found_the_whole_has_no_answer(room_for: OpenRoom) -> None:
    room = room_for(several([says("3422 degrees.")], first=[says("In the post.")]))
    asked = await room.ask(f"{TUNGSTEN} {WHERE}", agent="orders")
    assert (asked.verdict, room.writer.words, asked.reply.shown) == ("not_found", "", False)


async def test_a_question_that_calls_a_person_leaves_the_others_their_answers(room_for: OpenRoom) -> None:
    room = room_for(several([PERSON]))
    asked = await room.ask(f"{RETURNS} {WHERE}", agent="orders")
    assert (asked.verdict, asked.partly, room.writer.words) == ("escalated", True, "Shipped.")
    assert asked.outcome.ended == "escalated"


class EditedMeanwhile(FakeWriter):
    """As soon as something is read, the customer edits the message."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__()
        self._interruption = interrupt

    def text(self, delta: str) -> None:
        super().text(delta)
        self._interruption.tell("edited")


async def test_a_person_who_was_called_stays_called_when_the_message_is_edited(room_for: OpenRoom) -> None:
    room = room_for(several([PERSON]))
    room.writer = EditedMeanwhile(room.interrupt)
    assert (await room.ask(f"{RETURNS} {WHERE}", agent="orders")).verdict == "escalated"
    assert room.interrupt.kind == "edited"


CLAIMED = "I have refunded 500 dollars to your card."


@pytest.mark.parametrize("channel", ["D0CUSTOMERA", "C0SUPPORT"])
async def test_what_was_claimed_beside_the_call_for_a_person_is_neither_read_nor_kept(
    channel: str, room_for: OpenRoom
) -> None:
    both = calls(call("escalate_to_human", {"reason": "angry"}), text=CLAIMED)
    room = room_for(several([both]), channel=channel)
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert (asked.verdict, asked.partly, asked.outcome.text) == ("escalated", True, "Shipped.")
    assert CLAIMED not in room.writer.words + str(asked.outcome.messages)


async def test_of_a_part_that_stopped_half_way_only_what_was_read_is_kept(room_for: OpenRoom) -> None:
    claims = calls(call("lookup_order", {"order_id": "ORD-1"}), text=CLAIMED)
    cut: list[Step] = [*says("It is on its way. And")[:-1], ModelFailure("filtered")]
    room = room_for(several([claims, cut]))
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert asked.partly
    assert CLAIMED not in room.writer.words + asked.outcome.text + str(asked.outcome.messages)


@pytest.mark.parametrize("last", [[ModelFailure("filtered")], PERSON])
async def test_an_end_without_an_answer_keeps_what_was_read(last: Sequence[Step], room_for: OpenRoom) -> None:
    room = room_for({"You know the pages.": [[*says("It melts at 3422 degrees. ")[:-1], *last]]})
    asked = await room.ask(TUNGSTEN, agent="answers")
    assert room.writer.words == ""
    assert "3422" not in asked.outcome.text + str(asked.outcome.messages)


@pytest.mark.parametrize(
    ("failure", "why"),
    [("malformed", "part_failed"), ("filtered", "part_declined")],
)
async def test_a_question_that_fails_half_way_is_said_to_and_the_others_are_answered(
    failure: FailureKind, why: str, room_for: OpenRoom
) -> None:
    cut: list[Step] = [*says("Return them with")[:-1], ModelFailure(failure)]
    room = room_for(several([cut]))
    asked = await room.ask(f"{RETURNS} {WHERE}", agent="orders")
    assert (asked.verdict, asked.partly) == ("failed", True)
    assert room.writer.words == f"Return them with\n\n{part(why, RETURNS)}\n\nShipped."


class SlowerFirst(RoutedModel):
    """Says nothing to the first of two questions before it has failed at the second."""

    def __init__(self, routes: Routes) -> None:
        super().__init__(routes)
        self._failed = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        if only(WHERE) in words_of(request):
            await self._failed.wait()
        try:
            async for event in super().stream(request):
                yield event
        except ModelFailure:
            self._failed.set()
            raise


async def test_a_failure_that_waited_for_its_turn_shows_nothing_of_its_text(room_for: OpenRoom) -> None:
    cut: list[Step] = [*says("Return them with")[:-1], ModelFailure("filtered")]
    room = room_for(several([cut]))
    room.model = SlowerFirst(several([cut]))
    await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert room.writer.words.startswith(f"Shipped.\n\n{part('part_declined', RETURNS)}")


async def test_when_every_question_fails_the_turn_has_failed_as_a_whole(room_for: OpenRoom) -> None:
    room = room_for(several([[ModelFailure("filtered")]], first=[[ModelFailure("filtered")]]))
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert (asked.verdict, asked.partly, room.writer.words) == ("failed", False, "")


async def test_a_shop_that_is_down_takes_only_its_own_question(room_for: OpenRoom) -> None:
    strike = [calls(call("check_shipping", {"tracking_number": "strike"})), says("It is lost.")]
    room = room_for(several([says("30 days.")], first=strike))
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert (asked.verdict, asked.partly) == ("shop_down", True)
    assert room.writer.words.endswith("Please try again in a few minutes.\n\n30 days.")
    assert "lost" not in room.writer.words


async def test_in_a_channel_only_what_is_nobodys_is_written(room_for: OpenRoom) -> None:
    room = room_for(several([says("30 days.")]), channel="C0SUPPORT")
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert (asked.verdict, asked.reply.withheld) == ("stands", True)
    assert room.writer.words == "30 days."
    assert asked.outcome.text == "Shipped.\n\n30 days."


async def test_a_customer_who_pressed_stop_gets_no_more(room_for: OpenRoom) -> None:
    room = room_for(several([says("30 days.")]))
    room.writer.stopped = True
    assert (await room.ask(f"{WHERE} {RETURNS}", agent="orders")).verdict == "stopped"


async def test_the_setting_has_one_agent_answer_everything(room_for: OpenRoom) -> None:
    room = room_for({"You know orders.": [LOOK, says("Shipped, 30 days.")]}, takes_apart=False)
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert (asked.verdict, room.writer.words) == ("stands", "Shipped, 30 days.")
    await room.ask(LONG, agent="orders")
    assert not any("You lead." in request.instructions for request in room.model.requests)


# A lead


def leading() -> Routes:
    asks = calls(call("ask_orders", {"question": WHERE}, id="c1"), call("ask_answers", {"question": RETURNS}, id="c2"))
    return {
        "You lead.": [asks, says("Shipped, and 30 days.")],
        "You know orders.": [LOOK, says("ORD-1 is shipped.")],
        "You know the pages.": [calls(call("search_knowledge", {"query": "boots"})), says("30 days.")],
    }


async def test_a_long_request_is_led_and_answered_once(room_for: OpenRoom) -> None:
    room = room_for(leading())
    asked = await room.ask(LONG, agent="orders")
    assert (asked.verdict, asked.outcome.agent, room.writer.words) == ("stands", "orders", "Shipped, and 30 days.")
    assert sorted(card for card in room.writer.cards if card.endswith("complete")) == [
        "ask-c1/call_1 Looking up ORD-1 complete",
        "ask-c2/call_1 Searching the help pages complete",
    ]
    assert [source.title for source in asked.sources] == []


async def test_what_a_lead_says_with_nothing_to_rest_on_does_not_stand(room_for: OpenRoom) -> None:
    room = room_for({"You lead.": [says("Everything is fine with your boats.")]}, titles=())
    assert (await room.ask(LONG)).verdict == "not_found"


async def test_a_lead_in_a_channel_shows_neither_cards_nor_words_of_private_things(room_for: OpenRoom) -> None:
    room = room_for(leading(), channel="C0SUPPORT")
    asked = await room.ask(LONG, agent="orders")
    assert asked.reply.withheld
    assert room.writer.words == ""
    assert not any("order" in card for card in room.writer.cards)


# A check


async def test_a_checked_answer_is_written_once_and_whole(room_for: OpenRoom) -> None:
    routes = {"You check.": [says("Ship", "ped.")], "You know orders.": [LOOK, says("Shipped, and free.")]}
    room = room_for(routes, checks=True)
    asked = await room.ask(WHERE, agent="orders")
    assert (asked.verdict, room.writer.pieces) == ("stands", ["Shipped."])
    assert asked.outcome.text == "Shipped."


async def test_each_of_several_answers_is_checked(room_for: OpenRoom) -> None:
    routes = {"You check.": [says("STANDS")]} | dict(several([says("30 days.")]))
    room = room_for(routes, checks=True)
    await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert room.writer.words == "Shipped.\n\n30 days."
    assert len(room.model.asked("You check.")) == 2


async def test_the_answer_of_a_lead_is_checked(room_for: OpenRoom) -> None:
    room = room_for({"You check.": [says("Shipped.")]} | dict(leading()), checks=True)
    asked = await room.ask(LONG, agent="orders")
    assert (asked.verdict, room.writer.words) == ("stands", "Shipped.")


@pytest.mark.parametrize("draft", [NOT_SURE, f"Boots can perhaps be returned. {NOT_SURE}"])
async def test_a_draft_that_is_not_sure_is_not_checked(draft: str, room_for: OpenRoom) -> None:
    routes = {"You check.": [says("You have 30 days to return boots.")], "You know orders.": [says(draft)]}
    room = room_for(routes, checks=True)
    asked = await room.ask(RETURNS, agent="orders")
    assert (asked.verdict, room.model.asked("You check.")) == ("not_found", [])
    assert "30 days" not in room.writer.words


async def test_small_talk_is_not_checked(room_for: OpenRoom) -> None:
    room = room_for({"You sort.": [says("Hi! What can I do?")]}, checks=True)
    assert (await room.ask("Hello!")).verdict == "stands"


# Restarts


@pytest.mark.parametrize(
    ("routes", "text", "checks"),
    [
        (several([LOOK, says("30 days.")]), f"{WHERE} {RETURNS}", False),
        (several([says("3422.")]), f"{TUNGSTEN} {WHERE}", False),
        (leading(), LONG, False),
        ({"You check.": [says("Shipped.")]} | dict(leading()), LONG, True),
        ({"You sort.": [says("Ninety days.")], "You know the pages.": [says("30 days.")]}, RETURNS, False),
    ],
)
async def test_a_turn_that_is_taken_up_again_comes_to_the_same_without_a_request(
    routes: Routes, text: str, checks: bool, room_for: OpenRoom
) -> None:
    first = room_for(routes, checks=checks)
    agent = "" if "You sort." in routes else "orders"
    asked = await first.ask(text, agent=agent)
    again = room_for({}, checks=checks, counter=first.counter)
    looked_up = len(first.counter.seen)
    repeated = await again.ask(text, agent=agent)
    assert (repeated.verdict, repeated.outcome) == (asked.verdict, asked.outcome)
    assert again.writer.words == first.writer.words
    assert len(again.counter.seen) == looked_up
    assert again.model.requests == []
