"""What the guided tour plays: nine journeys of the product, in the words of its customers and staff.

Three of them make the short tour of 40 seconds: what a support team asks first.

question    a question from the help pages
order       an order, asked for in Indonesian
person      "a person, please", and the person who comes
angry       a customer who has had enough
draft       a reply that an agent has drafted and sends
cancel      an order, cancelled by the customer's own press
approve     the same above the limit: a colleague approves it
lost        the shop acts, and its answer is lost
killed      the product's process killed in the middle of an answer
"""

from demo.program import Program
from demo.shop.server import Fault, Shop
from local_slack.page.guide import Guide, Journey, Playlist, Tour

_A, _B, _STAFF = "U0CUSTOMERA", "U0CUSTOMERB", "U0AGENTA"
_SMALL, _LARGE = "ORD-19283", "ORD-67890"
"""Orders of Customer A that can be cancelled, within the limit of demo/policy.yml and above it."""
_DM_A, _DM_B, _CASES = "D0CUSTOMERA", "D0CUSTOMERB", "C0AGENTS"


def build_tour(program: Program, shop: Shop | None, *, pace: float = 1.0) -> Tour:
    """`shop`: the one in which orders are changed, if there is one. `pace`: a factor of all pauses."""

    async def cancel(guide: Guide) -> None:
        await _cancel(guide, shop)

    async def approve(guide: Guide) -> None:
        await _approve(guide, shop)

    async def lost(guide: Guide) -> None:
        await _lost(guide, shop)

    async def killed(guide: Guide) -> None:
        await _killed(guide, program)

    journeys = (
        Journey("question", "A question", "The answer quotes the help page it is from, and links it.", _question),
        Journey(
            "order", "An order, in Indonesian", "Every look-up is a line, in the language of the question.", _order
        ),
        Journey("person", "“A person, please”", "The team gets a card, and words cross both ways.", _person),
        Journey("angry", "An angry customer", "No machine argues: the case goes up, urgent and summed up.", _angry),
        Journey("draft", "A drafted reply", "Proposed from the help page, read and sent by a person.", _draft),
        Journey(
            "cancel", "Cancel an order", "Words change nothing: the customer presses Yes, and code does it.", cancel
        ),
        Journey("approve", "Above the limit", "The same for more money: a colleague approves it first.", approve),
        Journey("lost", "The answer is lost", "The shop acts and says nothing: asked again, with the same key.", lost),
        Journey("killed", "Killed mid-answer", "The light goes out, and nothing is lost or said twice.", killed),
    )
    short = Playlist("short", "Play 40 seconds", ("angry", "draft", "killed"))
    long = Playlist("long", "Play 90 seconds", ("question", "order", "person", "cancel", "approve", "lost", "killed"))
    return Tour(journeys, "See it work", pace, (short, long))


async def _question(guide: Guide) -> None:
    await guide.shows("right", _STAFF, _CASES)
    await guide.shows("left", _A, _DM_A)
    guide.tells("A customer asks in a direct message.")
    await guide.writes("left", "How long does standard shipping take?")
    guide.tells("The help pages are searched, and the answer is written while you watch.")
    await guide.is_answered("left")
    guide.tells("Quoted from the help page, with its link and date below. One press says whether it helped.")
    await guide.pauses(4)


async def _order(guide: Guide) -> None:
    await guide.shows("right", _STAFF, _CASES)
    await guide.shows("left", _B, _DM_B)
    guide.tells("Customer B asks where an order is, in Indonesian.")
    await guide.writes("left", "Pesanan saya ORD-54321 sudah sampai di mana?")
    guide.tells("Orders are read from the shop, and only those of the person who asks.")
    await guide.is_answered("left")
    guide.tells("State, carrier and last scan, in Indonesian. The line above the answer is the look-up itself.")
    await guide.pauses(5)


async def _person(guide: Guide) -> None:
    await guide.shows("right", _STAFF, _CASES)
    await guide.shows("left", _A, _DM_A)
    guide.tells("A customer wants no machine at all.")
    await guide.writes("left", "I would like to talk to a person, please.")
    guide.tells("The team's channel gets a card, and the assistant is silent from here on.")
    card = await guide.finds("right", "case.claim")
    await guide.pauses(2.5)
    await guide.shows("right", _STAFF, _CASES)
    guide.tells("The first to press Claim has the case.")
    await guide.presses("right", "case.claim")
    await guide.finds("right", "case.resolve")
    await guide.shows("right", _STAFF, _CASES, card)
    guide.tells("What Agent A writes in the card's thread, the customer reads in theirs.")
    words = "Hello, this is a person. What can I do for you?"
    await guide.writes("right", words)
    await guide.shows("left", _A, _DM_A, guide.thread("left"))
    await guide.reads("left", words)
    await guide.pauses(1.5)
    await guide.writes("left", "That was quick! I only wanted to see whether it works.")
    await guide.pauses(1.5)
    await guide.shows("right", _STAFF, _CASES, card)
    guide.tells("Resolved, with how it ended: the customer is asked how it was, and the assistant answers again.")
    await guide.presses("right", "case.resolve")
    await guide.submits("right")
    await guide.shows("left", _A, _DM_A, guide.thread("left"))
    await guide.finds("left", "csat.5")
    await guide.pauses(3)


async def _angry(guide: Guide) -> None:
    await guide.shows("right", _STAFF, _CASES)
    await guide.shows("left", _A, _DM_A)
    guide.tells("A customer is furious, and has every reason.")
    await guide.writes(
        "left", "This is the third time I write! My lamp arrived broken and nobody answers. I am furious."
    )
    guide.tells("No answer from a help page: people are told at once, with high priority.")
    await guide.is_answered("left")
    await guide.shows("right", _STAFF, _CASES)
    await guide.finds("right", "case.claim")
    guide.tells("The card says why it is there and sums up what was said, so that nobody has to ask again.")
    await guide.pauses(2)


async def _draft(guide: Guide) -> None:
    await guide.shows("right", _STAFF, _CASES)
    await guide.shows("left", _B, _DM_B)
    guide.tells("A customer prefers a person, and Agent A takes the case.")
    await guide.writes("left", "How many days do I have to return a tent? I want to talk to a real person.")
    card = await guide.finds("right", "case.claim")
    await guide.shows("right", _STAFF, _CASES)
    await guide.presses("right", "case.claim")
    await guide.finds("right", "case.draft")
    guide.tells("One press drafts replies from the help pages. Nothing leaves before Agent A has read it.")
    await guide.shows("right", _STAFF, _CASES, card)
    await guide.presses("right", "case.draft")
    await guide.finds("right", "draft.send")
    await guide.pauses(1)
    await guide.presses("right", "draft.send")
    guide.tells("“Send this”: the customer reads it under the name of Agent A.")
    await guide.shows("left", _B, _DM_B, guide.thread("left"))
    await guide.reads("left", "Agent A")
    await guide.pauses(2)


async def _killed(guide: Guide, program: Program) -> None:
    await guide.shows("right", _STAFF, _CASES)
    await guide.shows("left", _A, _DM_A)
    guide.tells("Three orders at once: an answer that takes a moment.")
    await guide.writes("left", "Where are my orders ORD-12345, ORD-67890 and ORD-24680?")
    await guide.hears("left", 40)
    try:
        await program.kill()
        guide.tells("Killed in mid-sentence, as by a power cut (SIGKILL). The light at the top is out.")
        await guide.pauses(1.5)
        guide.tells("Slack keeps what is written meanwhile.")
        await guide.writes("left", "And do you ship to Indonesia?")
        await guide.pauses(1)
    finally:
        await program.start()
    guide.tells("Started again; a few seconds until it is connected …")
    await guide.is_back()
    guide.tells("It is back, finds in its database what it owes, and goes on where it stopped.")
    await guide.is_answered("left")
    await guide.pauses(1)
    await guide.is_answered("left")
    guide.tells("Above, the whole answer, once and in its place; here, the answer to what came meanwhile.")
    await guide.pauses(2)


async def _cancel(guide: Guide, shop: Shop | None) -> None:
    await _asks_to_cancel(guide, shop, _SMALL, "The order is looked up, and the rules of the shop are checked by code.")
    guide.tells("Until Yes is pressed nothing changes, whatever anyone writes.")
    await guide.pauses(2)
    await guide.presses("left", "act.yes")
    await guide.reads("left", "white_check_mark")
    guide.tells("Done, once, with the shop's reference. No model was asked after the press.")
    await guide.pauses(2)


async def _approve(guide: Guide, shop: Shop | None) -> None:
    await _asks_to_cancel(guide, shop, _LARGE, "More than 50.00: the shop's rules want a colleague to look at it.")
    await guide.presses("left", "act.yes")
    await guide.shows("right", _STAFF, _CASES)
    await guide.finds("right", "appr.yes")
    guide.tells("Who asks, for what, and which rule wants it: one press approves it.")
    await guide.pauses(2.5)
    await guide.presses("right", "appr.yes")
    await guide.shows("left", _A, _DM_A, guide.thread("left"))
    await guide.reads("left", "white_check_mark")
    guide.tells("Approved and done, and the customer reads it where they asked.")
    await guide.pauses(2)


async def _lost(guide: Guide, shop: Shop | None) -> None:
    if shop is not None:
        shop.add_fault(Fault("act_then_500"))
    await _asks_to_cancel(guide, shop, _SMALL, "This time the shop will act, and its answer will be lost.")
    await guide.presses("left", "act.yes")
    guide.tells("Nobody knows whether it went through. It is asked again with the same key, and never done twice.")
    await guide.reads("left", "white_check_mark")
    guide.tells("Found out: it was done, once. The inspector has both requests with their key.")
    await guide.pauses(2)


async def _asks_to_cancel(guide: Guide, shop: Shop | None, order: str, words: str) -> None:
    """Until the details are shown."""
    if shop is not None:
        shop.restore(order)
    await guide.shows("right", _STAFF, _CASES)
    await guide.shows("left", _A, _DM_A)
    guide.tells("A customer wants an order cancelled.")
    await guide.writes("left", f"Please cancel {order}, I changed my mind.")
    guide.tells(words)
    await guide.finds("left", "act.yes")
    await guide.pauses(1.5)
