"""What stands in the workspace when a visitor comes: two conversations that have ended, and a desk with eight cases.

They are said by the invented customers and answered by the running product, as everything else here. Of the cases, four
wait for somebody, two have been claimed, one waits for its customer, and one is resolved.
"""

import asyncio
import logging
from collections.abc import Sequence

from local_slack.page.guide import Guide
from local_slack.page.screen import Screen
from local_slack.workspace import SlackError, Workspace

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 40.0
"""How long the opening takes at most; what is not said by then stays unsaid."""
_CASES = "C0AGENTS"
CONVERSATIONS = (
    ("U0CUSTOMERA", ("How long does standard shipping take?", "Perfect, thank you!")),
    ("U0CUSTOMERA", ("Where is my order ORD-12345?", "Great, thanks!")),
)
"""Who says what in direct messages, each message after the answer to the one before."""
WAITING = (
    ("U0CUSTOMERG", "A pole of my tent broke on the first night. I would like to talk to a person, please."),
    ("U0CUSTOMERG", "My discount code is not accepted. Can I talk to a person, please?"),
    ("U0CUSTOMERB", "Saya ingin bicara dengan petugas: alamat pengiriman saya salah."),
    ("U0CUSTOMERB", "I have written three times about my invoice and nobody answers. I am furious."),
)
"""Who opens a case with what, and nobody has claimed it."""


async def play_opening(workspace: Workspace) -> None:
    """Play the conversations beside each other, and one claimed case after the other, without pauses."""
    try:
        async with asyncio.timeout(LONGEST_SECONDS), asyncio.TaskGroup() as group:
            for user, said in CONVERSATIONS:
                group.create_task(_converse(_guide(workspace), user, said))
            group.create_task(_fill_the_desk(workspace))
    except* (TimeoutError, SlackError):
        logger.warning("the opening of the demo broke off", exc_info=True)


async def _fill_the_desk(workspace: Workspace) -> None:
    """The claimed cases come first, one at a time, so that each press meets the card it is meant for."""
    for staff, user, words, then in (
        ("U0AGENTA", "U0CUSTOMERG", "Please let me talk to a person: the zip of my jacket is stuck.", _resolves),
        ("U0AGENTA", "U0CUSTOMERB", "I want to talk to a person about a group order of 30 jackets.", _answers),
        ("U0AGENTB", "U0CUSTOMERG", "Can I speak to a human? My parcel was opened before it came.", _nothing_more),
        ("U0AGENTA", "U0CUSTOMERB", "A person, please: I need a customs form for my tent.", _nothing_more),
    ):
        guide = _guide(workspace)
        card = await _open_case(guide, user, words, staff)
        await guide.presses("right", "case.claim")
        await guide.finds("right", "case.resolve")
        await then(guide, staff, card)
    for user, words in WAITING:
        await _open_case(_guide(workspace), user, words, "U0AGENTA")


async def _open_case(guide: Guide, user: str, words: str, staff: str) -> str:
    """The ts of its card, at which the right half looks with the eyes of `staff`."""
    await _converse(guide, user, [words])
    await guide.shows("right", staff, _CASES)
    return await guide.finds("right", "case.claim")


async def _answers(guide: Guide, staff: str, card: str) -> None:
    await guide.shows("right", staff, _CASES, card)
    await guide.writes("right", "Gladly. Which sizes do you need, and until when?")


async def _resolves(guide: Guide, staff: str, card: str) -> None:
    await guide.shows("right", staff, _CASES, card)
    await guide.writes("right", "A drop of candle wax on the teeth helps. If it does not, we mend it for nothing.")
    await guide.presses("right", "case.resolve")
    await guide.submits("right")


async def _nothing_more(guide: Guide, staff: str, card: str) -> None:
    """The case is claimed, and its customer waits for the first reply."""


def _guide(workspace: Workspace) -> Guide:
    return Guide(workspace, Screen(workspace), send=lambda _: None, tell=lambda _: None, pace=0)


async def _converse(guide: Guide, user: str, said: Sequence[str]) -> None:
    await guide.shows("left", user, f"D{user[1:]}")
    for words in said:
        await guide.writes("left", words)
        await guide.is_answered("left")
