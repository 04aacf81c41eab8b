"""The outbox rows of an action's steps: to the customer in their thread, to staff in the agent channel.

Keys are made of the action's reference, so that a step which is repeated posts nothing twice. The end of an action is
told once, by a row with one key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.cases.hours import Hours
from bot.language.sentences import Sentences
from bot.slack.blocks import Card
from bot.slack.mrkdwn import escape, mention
from bot.store.actions import Action
from bot.store.cases import Case, card_key
from bot.store.outbox import Outgoing
from bot.views import action_cards

SILENT_ENDS = frozenset({"declined", "expired", "withdrawn"})
"""States that need no message of their own, because nothing was done: the preview says so."""
DONE = frozenset({"done", "partly"})
"""States in which the shop has changed something."""
TOLD_AFTER_YES = frozenset({"", "identity_changed", "no_longer_allowed", "tampered"})
"""Why an action ends like that after its customer's yes, without their doing. They wait for an answer, so they get one.
"""


def offer_key(action: Action) -> str:
    """The key of the preview that stands."""
    return f"act/{action.ref}/offer/{action.shown}"


def approval_key(action: Action) -> str:
    """The key of the card that stands, on which staff decide."""
    return f"act/{action.ref}/approval/{action.asked}"


def offer_keys(action: Action) -> list[str]:
    """The keys of all its previews, the one that stands last."""
    return [offer_key(replace(action, shown=number)) for number in range(action.shown + 1)]


def approval_keys(action: Action) -> list[str]:
    """The keys of all its cards for staff, the one that stands last."""
    return [approval_key(replace(action, asked=number)) for number in range(action.asked + 1)]


def stuck_keys(action: Action) -> list[str]:
    """The keys of the cards that ask staff what became of it."""
    return [f"act/{action.ref}/stuck", f"act/{action.ref}/stuck/alone"]


def turn_of(action: Action) -> str:
    """The number of the turn that prepared it. Empty if no turn did."""
    parts = action.origin.split("/")
    return parts[1] if parts[0] == "turn" else ""


@dataclass(frozen=True, slots=True)
class ActionMessages:
    """Builds the rows."""

    sentences: Sentences
    agent_channel: str
    hours: Hours

    def offer(self, action: Action, epoch: int | None) -> Outgoing:
        """The preview. It is not posted if the thread has passed to people after the `epoch`, unless they offer it."""
        thread = action.thread
        card = action_cards.offered(self.sentences, action, turn=turn_of(action))
        of = None if epoch is None else (thread.key, epoch)
        return Outgoing(offer_key(action), "post", thread.channel, _payload(card), thread_ts=thread.ts, epoch=of)

    def stands(self, action: Action, *, now: float) -> Outgoing:
        """The preview as things stand now, in one line."""
        opening = self.hours.next_opening(now)
        card = action_cards.shown_as(self.sentences, action, opening=opening if opening > now else None)
        key = f"act/{action.ref}/{action.version}/stands"
        return Outgoing(key, "update", action.thread.channel, _payload(card), parent=offer_key(action))

    def step(self, action: Action, *, is_shown: bool, now: float, said: str = "") -> list[Outgoing]:
        """What the customer reads after a step: the preview changes, and an end is told once.

        Of a change that was never shown to them they read only what was done. `said` is what staff say about it.
        Nothing is said to somebody whose data is erased.
        """
        if action.is_nobodys:
            return []
        if not is_shown:
            return [self.end(action)] if action.state in DONE else []
        rows = [self.stands(action, now=now)]
        if not action.is_open and (action.state not in SILENT_ENDS or _is_waited_for(action)):
            rows.append(self.end(action, said=said))
        return rows

    def replaced(self, before: Action, action: Action) -> Outgoing:
        """The preview that stood before: it says that there is a newer one, and has no buttons."""
        key = f"act/{action.ref}/{action.version}/replaced"
        payload = _payload(action_cards.replaced(self.sentences, before))
        return Outgoing(key, "update", before.thread.channel, payload, parent=offer_key(before))

    def cannot(self, action: Action, words: str) -> Outgoing:
        """Why it cannot be offered again."""
        thread = action.thread
        return Outgoing(
            f"act/{action.ref}/cannot", "post", thread.channel, {"text": escape(words)}, thread_ts=thread.ts
        )

    def end(self, action: Action, *, said: str = "") -> Outgoing:
        """The message that tells the end, once. `said` is what staff say about it."""
        card = action_cards.ended(
            self.sentences, action, turn=turn_of(action), lines=action.preview.get("done_lines", ()), said=said
        )
        # What staff found out later is another message than what could not be found out before.
        key = f"act/{action.ref}/settled" if action.settled else f"act/{action.ref}/end"
        return Outgoing(key, "post", action.thread.channel, _payload(card), thread_ts=action.thread.ts)

    def ask_staff(self, action: Action, case: Case | None, *, said: str) -> Outgoing:
        """The card on which staff decide. `said` is what the customer wrote."""
        facts = {"customer": action.customer_name, "order": action.subject.partition("/")[2]}
        card = action_cards.approval(action, said=said, facts=facts)
        return self._to_staff(approval_key(action), case, _payload(card))

    def decided(self, action: Action, *, by: Sequence[str] = ()) -> Outgoing:
        """The card of staff in one line. The caller says which card."""
        key = f"act/{action.ref}/{action.version}/decided"
        return Outgoing(key, "update", self.agent_channel, _payload(action_cards.decided(action, by=by)))

    def ended_in_case(self, action: Action, case: Case | None) -> Outgoing:
        """What the member of staff reads who prepared it: how it ended."""
        words = {"text": f"{mention(action.prepared_by)}: {action_cards.staff_standing(action)}"}
        return self._to_staff(f"act/{action.ref}/{action.version}/prepared", case, words)

    def moved(self, action: Action, case: Case) -> Outgoing:
        """The card of staff in one line, when it is in the thread of a case by now. The caller says which card."""
        payload = _payload(action_cards.moved(action, case)) | {"link_to": card_key(case)}
        return Outgoing(f"act/{action.ref}/{action.version}/moved", "update", self.agent_channel, payload)

    def one_more(self, action: Action, case: Case | None, *, by: Sequence[str]) -> Outgoing:
        """What is said under the card when a second person has to agree."""
        words = {"text": action_cards.one_more_needed(by)}
        key = f"act/{action.ref}/{action.version}/one-more"
        row = self._to_staff(key, case, words)
        return row if case else replace(row, parent=approval_key(action))

    def _to_staff(self, key: str, case: Case | None, payload: Mapping[str, object]) -> Outgoing:
        """A post in the case's thread, or else in the agent channel."""
        if case is None:
            return Outgoing(key, "post", self.agent_channel, payload)
        channel = case.stands_in(self.agent_channel)
        return Outgoing(key, "post", channel, payload, parent=card_key(case), case_id=case.id)

    def stuck(self, action: Action, case: Case | None, *, can_undo: bool) -> Outgoing:
        """What staff have to find out, under the case's card. Without a case, it is a card of its own."""
        with_case, alone = stuck_keys(action)
        card = action_cards.stuck(action, can_undo=can_undo and case is not None)
        return self._to_staff(with_case if case else alone, case, _payload(card))


def _is_waited_for(action: Action) -> bool:
    """Whether the customer said yes and was not told the end yet."""
    return action.confirmed_at is not None and action.state != "declined" and action.reason in TOLD_AFTER_YES


def _payload(card: Card) -> dict[str, object]:
    return {"text": card.text, "blocks": list(card.blocks)}
