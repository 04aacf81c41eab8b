"""The messages for each change of a case: to the customer in their thread, to staff on the card and in its thread.

Every function is pure and returns outbox rows. Their keys contain the case's version, so a step that is repeated
posts nothing twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, get_args

from bot.cases import transcripts
from bot.cases.case import SLA_STEPS, State
from bot.cases.hours import Targets
from bot.conversation import MemberType, ThreadRef
from bot.language.sentences import Language, Sentences, language_for
from bot.slack.blocks import LINK, Card, moment, one_line
from bot.slack.mrkdwn import escape
from bot.slack.sessions import SessionStatus
from bot.store.cases import MERGED, Case, card_key, ref_of
from bot.store.outbox import Outgoing
from bot.store.transcripts import Line
from bot.views import article_cards as learning_cards
from bot.views import cards, staff_cards
from bot.views.cards import NAME_LIMIT

WHY = {
    "asked_for_person": "asked for a person",
    "upset": "is upset",
    "no_answer": "no answer in the help pages",
    "billing": "a dispute about money",
    "security": "account security",
    "legal": "a legal matter",
    "sensitive": "mentions law, fraud or theft",
    "crisis": "suicide risk: their own or someone else's",
    "harm": "someone is hurt or in danger",
    "threat": "is being threatened or followed",
    "fraud": "someone else is using their account, money or name",
    "change": "wants a change that the assistant can't make",
    "technical": "the assistant couldn't answer",
    "declined": "the model refused to answer",
    "technical_part": "the assistant couldn't answer everything",
    "shop_down": "the shop's systems didn't answer",
    "pages_down": "the help pages couldn't be searched",
    "budget": "a spending limit was reached",
    "called_by_staff": "a colleague escalated it",
    "not_solved": "says that an earlier case isn't solved",
    "other": "the assistant asked for help",
}
"""Reason -> what the card says."""

SAID_FIRST = {
    "technical": "technical_problem",
    "declined": "declined",
    "budget": "over_budget",
    "crisis": "in_crisis",
    "harm": "in_harm",
    "threat": "in_threat",
    "fraud": "in_fraud",
}
"""Reason -> the key of the sentence that the customer reads first. It says why the assistant did not answer, or what
to do now if someone is in danger. The sentence that the case was passed on follows it."""
SUFFERING = frozenset({"crisis", "harm", "threat"})
"""The reasons for which a message to the customer shows nothing cheerful."""

MEMBER_NOTES: dict[MemberType, str] = {"member": "", "guest": "guest", "stranger": "from another organisation"}


@dataclass(frozen=True, slots=True)
class CaseMessages:
    """Builds the outbox rows of every step."""

    sentences: Sentences
    agent_channel: str
    targets: Targets = field(default_factory=Targets)
    on_call: str = ""
    """The mention of the people who are called when no one claims a case. If it is empty, no one is called."""
    pages: bool = False
    """Whether `on_call` is called out of hours too, when a customer says that a case is urgent."""
    escalate_notice: Literal["thread", "ephemeral"] = "thread"
    """Who sees that a colleague opened a case: everyone in the thread, or only its customer."""

    def opened(
        self, case: Case, lines: Sequence[Line], *, usual: float | None = None, called_by: str = ""
    ) -> list[Outgoing]:
        """Tell the customer and post the card. The card's thread gets instructions and the conversation so far.

        `usual` is the usual time until a person claims a case, in minutes. `called_by` is the name of the colleague
        who opened the case. The customer then gets a message with that name and without buttons, since they did not
        ask for anything.
        """
        card = self._card(case)
        told = self._told_who_waits(case, usual)
        if why := self._why(case.reason, language(case)):
            told = _after(why, told)
        rows = [
            self._called_over(case, called_by) if called_by else self._to_customer(case, "opened", told),
            Outgoing(card_key(case), "post", self.desk(case), payload(card), case_id=case.id),
        ]
        return [*rows, *self._opening(case, lines)]

    def _called_over(self, case: Case, by: str) -> Outgoing:
        """Tell the customer that a colleague opened the case. With the ephemeral setting, only the customer sees it."""
        key, words = "called_over", {"name": one_line(by, NAME_LIMIT)}
        if case.state == "out_of_hours":
            key, words = "called_over_out_of_hours", {**words, "back": self._back(case.due or 0.0)}
        said = {"text": self.sentences.say(language(case), key, **words)}
        thread, name = case.thread, f"case/{case.id}/opened/{case.version}"
        if self.escalate_notice == "thread" or thread.is_direct:
            return Outgoing(name, "post", thread.channel, said, thread_ts=thread.ts, case_id=case.id)
        alone = {**said, "user": case.customer}
        return Outgoing(name, "ephemeral", thread.channel, alone, thread_ts=thread.ts, case_id=case.id)

    def joined(self, case: Case, thread: ThreadRef, code: str, latest: Line, *, reason: str) -> list[Outgoing]:
        """Tell both sides that another thread now belongs to an open case.

        `code` is the thread's language, `latest` is the customer's last line in it, and `reason` is why a person was
        called there.
        """
        key = f"case/{case.id}/joined/{thread.channel}/{latest.ts}"
        words = self.sentences.say(language_for(code), "case_joined", case=case.ref)
        if why := self._why(reason, language_for(code)):
            words = f"{why}\n{words}"
        told = copy_for_staff(case.customer_name, latest.text, elsewhere=True)
        return [
            Outgoing(f"{key}/said", "post", thread.channel, {"text": words}, thread_ts=thread.ts, case_id=case.id),
            Outgoing(
                key,
                "post",
                self.desk(case),
                {"text": told},
                parent=card_key(case),
                case_id=case.id,
                source=(thread.channel, latest.ts),
            ),
        ]

    def session(self, case: Case) -> Outgoing:
        """Set the status of the agent session in the customer's thread to fit the case."""
        key, thread = f"case/{case.id}/session/{case.version}", case.thread
        shown = {"status": session_status(case)}
        return Outgoing(key, "session", thread.channel, shown, thread_ts=thread.ts, case_id=case.id)

    def claimed(self, case: Case) -> list[Outgoing]:
        """Tell the customer that a person claimed the case, and update the card."""
        card = cards.claimed(self.sentences, language(case), case=case.ref, staff=case.owner_name or "")
        return [self._to_customer(case, "claimed", card), self._card_update(case)]

    def taken_over(self, case: Case, *, before: Case) -> list[Outgoing]:
        """Tell the customer that another person took over. The owner of `before` is mentioned in the card's thread."""
        staff, former = case.owner_name or "", before.owner_name or ""
        told = cards.taken_over(self.sentences, language(case), case=case.ref, staff=staff, before=former)
        call = staff_cards.taken_from(case=case.ref, staff=case.owner or "", before=before.owner or "")
        return [
            self._to_customer(case, "taken-over", told),
            self._card_update(case),
            self._in_card_thread(case, f"taken-from/{case.version}", call),
        ]

    def resolved(self, case: Case, *, by: str, name: str) -> list[Outgoing]:
        """Ask the customer for a rating. `by` is the user who resolved the case, the owner or another person, and
        `name` is that user's name."""
        known = case.owner_name if by == case.owner else None
        solved = case.outcome == "solved"
        card = cards.resolved(self.sentences, language(case), case=case.ref, staff=known or name, solved=solved)
        return [self._to_customer(case, "resolved", card), self._card_update(case, by=by)]

    def back_to_assistant(self, case: Case, *, by: str) -> list[Outgoing]:
        """Tell the customer that the assistant is back. `by` is the person who decided that: staff or the customer."""
        card = cards.handed_back(self.sentences, language(case), case=case.ref)
        return [self._to_customer(case, "back", card), self._card_update(case, by=by)]

    def spam(self, case: Case, *, by: str) -> list[Outgoing]:
        """Tell the customer that the team won't reply, and update the card."""
        told = cards.not_answered(self.sentences, language(case), case=case.ref)
        return [self._to_customer(case, "spam", told), self._card_update(case, by=by)]

    def erased(self, case: Case) -> Outgoing:
        """Post a line for an open case that ended because its customer's data was erased, and whose card is removed.

        The line says why the case ended and contains nothing about the customer.
        """
        text = f"{case.ref} was erased because the customer asked for it."
        return Outgoing(f"forgotten/case/{case.id}", "post", case.desk or self.agent_channel, {"text": text})

    def updated(self, case: Case) -> list[Outgoing]:
        """Update the card after a change that only the card shows."""
        return [self._card_update(case)]

    def replied(self, case: Case) -> list[Outgoing]:
        """Update the card after the first reply to the customer."""
        return [self._card_becomes(case, "replied", self._card(case))] if case.state == "human" else []

    def reopened(self, case: Case, *, wrote: bool = False) -> list[Outgoing]:
        """The customer says that the case is not solved, or `wrote` again.

        A new line in the card's thread mentions the last owner, because an update of the card notifies no one.
        """
        told = cards.reopened(self.sentences, language(case), case=case.ref)
        if case.state == "out_of_hours":
            told = _after(told.text, self._told_who_waits(case, None))
        return [
            self._to_customer(case, "reopened", told),
            self._card_update(case),
            self._in_card_thread(case, f"ring/{case.version}", _ring(case, wrote=wrote)),
        ]

    def helped(self, case: Case, *, by: str) -> list[Outgoing]:
        """A person helps the owner. The line in the card's thread mentions both."""
        told = staff_cards.helps(case=case.ref, staff=by, owner=case.owner or "")
        return [self._card_update(case), self._in_card_thread(case, f"helper/{case.version}", told)]

    def transferred(
        self, case: Case, lines: Sequence[Line], *, before: Case, by: str, is_known: bool
    ) -> list[Outgoing]:
        """Move the case to another desk: tell the customer, post the card there, and link the old card to the new one.

        A desk that had the case earlier (`is_known`) already has a card. The card is updated, and a new line in the
        channel notifies the desk, because an update notifies no one.
        """
        told = cards.transferred(self.sentences, language(case), case=case.ref)
        desk, version = self.desk(case), f"{case.version}"
        gone = self._card_becomes(before, version, self._gone_card(case, to=desk, by=by))
        leads = self._card_becomes(
            before, f"{version}/link", self._gone_card(case, to=desk, by=by, link=LINK), link_to=card_key(case)
        )
        came = staff_cards.came_from(case=case.ref, channel=self.desk(before), staff=by, link=LINK)
        came_row = self._in_card_thread(case, f"came/{case.version}", came, link_to=card_key(before))
        if is_known:
            ring = staff_cards.is_back(case=case.ref, link=LINK)
            called = Outgoing(
                f"case/{case.id}/ring/{version}",
                "post",
                desk,
                {**payload(ring), "link_to": card_key(case)},
                case_id=case.id,
            )
            there = [self._card_update(case), came_row, called, leads]
        else:
            shown = payload(self._card(case))
            card = Outgoing(card_key(case), "post", desk, shown, case_id=case.id, when_sent=(leads,))
            there = [card, *self._opening(case, lines, desk=f"/{case.desk}"), came_row]
        return [self._to_customer(case, "transferred", told), gone, *there]

    def _gone_card(self, case: Case, *, to: str, by: str, link: str = "") -> Card:
        """The case's card at the desk that no longer has the case."""
        common = {"case": case.ref, "title": case.title, "customer": case.customer, "permalink": _readable(case)}
        return staff_cards.transferred_card(**common, to=to, by=by, at=case.waiting_since or 0.0, link=link)

    def merged(self, case: Case, lines: Sequence[Line], *, into: Case, by: str) -> list[Outgoing]:
        """People continue the case in another one. Its customer, its card and the other card's thread say so."""
        where = f"<{escape(into.link)}|{into.ref}>" if into.link else into.ref
        told = cards.merged(self.sentences, language(case), case=case.ref, into=where)
        spoken = [entry for page in transcripts.pages(case, lines, most=1) for entry in page]
        heading = staff_cards.took_in(case=case.ref, staff=by)
        # The row quotes the merged case's thread. It belongs to the merged case, although it is under the other card.
        quoting = Outgoing(
            f"case/{case.id}/merged-into/{into.id}",
            "post",
            self.desk(into),
            {"text": "\n".join([heading, *spoken])},
            parent=card_key(into),
            case_id=case.id,
        )
        return [
            self._to_customer(case, "merged", told),
            self._card_becomes(case, f"{case.version}", self._card(case, by=by), link_to=card_key(into)),
            quoting,
        ]

    def parted(self, case: Case) -> list[Outgoing]:
        """The case that this one was merged into has ended, so the assistant is back in this one's thread too."""
        return [self._to_customer(case, "back", cards.handed_back(self.sentences, language(case), case=case.ref))]

    def elsewhere(self, case: Case, link: str = LINK) -> Card:
        """The card for a person at a desk that no longer has the case. `link` is the address of the case's card."""
        return staff_cards.elsewhere(case=case.ref, channel=self.desk(case), link=link)

    def desk(self, case: Case) -> str:
        """The channel of the case's card."""
        return case.stands_in(self.agent_channel)

    def urged(self, case: Case) -> list[Outgoing]:
        """The customer says that the case cannot wait for the desk to open.

        If `pages` is set and `on_call` names someone, they are called. Otherwise the customer reads that no one is
        called.
        """
        is_paged = self.pages and bool(self.on_call)
        told = cards.urgent(
            self.sentences, language(case), case=case.ref, back=self._back(case.due or 0.0), is_paged=is_paged
        )
        rows = [self._to_customer(case, "urged", told), self._card_update(case)]
        if is_paged:
            call = staff_cards.unclaimed(case=case.ref, words=_urgent(case), mention=self.on_call)
            rows.append(self._ringing(case, f"urgent/{case.version}", call))
        return rows

    def can_wait(self, case: Case) -> list[Outgoing]:
        """The customer agrees to wait for the desk to open."""
        back = self._back(case.due or 0.0)
        card = cards.can_wait(self.sentences, language(case), case=case.ref, back=back)
        return [replace(self._to_customer(case, "", card), key=self.key_of_waiting(case))]

    def key_of_waiting(self, case: Case) -> str:
        """The key of the `can_wait` message, which is posted once for each time that the case is opened or reopened."""
        return f"case/{case.id}/can-wait/{case.reopened}"

    def helping(self, case: Case) -> list[Outgoing]:
        """The assistant answers while the case waits."""
        return [self._to_customer(case, "helping", cards.helping(self.sentences, language(case), case=case.ref))]

    def settled(self, case: Case, *, key: str) -> Outgoing:
        """Offer the customer to end the case, since they wrote as if they no longer need a person."""
        card = cards.settled(self.sentences, language(case), case=case.ref)
        thread = case.thread
        return Outgoing(key, "post", thread.channel, payload(card), thread_ts=thread.ts, case_id=case.id)

    def desk_opened(self, case: Case) -> list[Outgoing]:
        """The desk has opened, and an out-of-hours case waits from now on."""
        ring = staff_cards.unclaimed(case=case.ref, words=_opened(case), mention="")
        return [self._card_update(case), self._ringing(case, f"open/{case.version}", ring)]

    def breached(
        self, case: Case, before: Case, *, waited: float, spoke: float | None, lead: str | None
    ) -> list[Outgoing]:
        """One or more SLA steps were breached: notify staff and, from the second step on, the lead and the customer.

        `waited` is in minutes of open desk. `spoke` is the time of the customer's last message. `lead` is the channel
        of direct messages with the lead, if there is one.
        """
        is_last = case.step == len(SLA_STEPS)
        target = self.targets.minutes[before.priority]
        words = staff_cards.overdue(case=case.ref, waited=waited, target=target, spoke=spoke, is_last=is_last)
        snooze = "" if is_last else f"{case.ref}/{case.version}"
        call = staff_cards.unclaimed(case=case.ref, words=words, mention=self.on_call, snooze=snooze)
        alert = self._ringing(case, f"sla/{case.version}", call)
        rows = []
        if case.step >= 2:
            say = cards.nobody_yet if is_last else cards.still_looking
            told = say(self.sentences, language(case), case=case.ref, is_helped=case.keeps_helping)
            rows.append(self._to_customer(case, "waits", told))
        if case.priority != before.priority:
            rows.append(self._card_update(case))
        if lead is None or before.step == 0:
            rows.append(alert)
        if lead is not None and case.step >= 2:
            direct = {**payload(staff_cards.for_lead(words=words, link=LINK)), "link_to": card_key(case)}
            key = f"case/{case.id}/lead/{case.version}"
            instead = () if alert in rows else (alert,)
            rows.append(Outgoing(key, "post", lead, direct, case_id=case.id, when_failed=instead))
        return rows

    def snoozed(self, case: Case, *, alert: str, by: str) -> Outgoing:
        """The alert of that version after someone snoozed the next step; it mentions no one."""
        until = moment(case.due or 0.0, "{date_short} {time}")
        words = f"{case.ref} is still waiting. Snoozed by <@{by}> until {until}."
        card = staff_cards.unclaimed(case=case.ref, words=words, mention="")
        return Outgoing(
            self.key_of_snooze(case, alert),
            "update",
            self.desk(case),
            payload(card),
            parent=f"case/{case.id}/sla/{alert}",
            case_id=case.id,
        )

    def key_of_snooze(self, case: Case, alert: str) -> str:
        """Each alert can be snoozed once."""
        return f"case/{case.id}/sla/{alert}/snoozed"

    def own_words(self, case: Case) -> list[str]:
        """The texts on the case's card and in its thread that are the same whatever people wrote. They quote no one."""
        bare = replace(case, title="…", summary="…")
        shown = [self._card(replace(bare, state=state)) for state in get_args(State)]
        openers = product((1, 2), (True, False))
        shown += [staff_cards.thread_opener(case=case.ref, messages=number, is_whole=all_) for number, all_ in openers]
        shown += learning_cards.bare(case.ref)
        shown.append(staff_cards.take_over_prompt(case=case.ref, ts=""))
        shown.append(staff_cards.helper_prompt(case=case.ref, ts=""))
        shown.append(staff_cards.taken_from(case=case.ref, staff="", before=""))
        shown += [_ring(case, wrote=False), _ring(case, wrote=True)]
        shown.append(staff_cards.helps(case=case.ref, staff="", owner=""))
        shown.append(staff_cards.came_from(case=case.ref, channel="", staff="", link=LINK))
        shown.append(staff_cards.is_back(case=case.ref, link=LINK))
        shown.append(staff_cards.owner_left(case=case.ref, staff="", staff_name=""))
        shown.append(self._gone_card(bare, to="", by="", link=LINK))
        shown += [
            staff_cards.unclaimed(case=case.ref, words=words, mention="", snooze=case.ref)
            for words in (_urgent(case), _opened(case), *_overdue(case))
        ]
        shown.append(staff_cards.drafts(case=case.ref, asked=0, texts=[("", "")], doubtful={1}, others_read=True))
        headings = [
            staff_cards.took_in(case=case.ref, staff=""),
            copy_for_staff(case.customer_name, "", elsewhere=True, is_helped=True),
            case.owner_name or "",
            *transcripts.OWN_WORDS,
        ]
        return [*headings, *(text for card in shown for text in _texts(payload(card)))]

    def _why(self, reason: str, language: Language) -> str:
        """The sentence that tells the customer why a person is called. Empty if the customer knows why."""
        key = SAID_FIRST.get(reason)
        return self.sentences.say(language, key) if key else ""

    def _told_who_waits(self, case: Case, usual: float | None) -> Card:
        if case.state == "out_of_hours":
            return cards.out_of_hours(self.sentences, language(case), case=case.ref, back=self._back(case.due or 0.0))
        how_long = "" if usual is None else cards.usual_reply_time(self.sentences, language(case), usual)
        is_grave = case.reason in SUFFERING
        return cards.escalated(self.sentences, language(case), case=case.ref, usual=how_long, is_grave=is_grave)

    def _back(self, opening: float) -> str:
        """When the desk opens, in the reader's time zone and in the desk's."""
        hours = self.targets.hours
        return f"{_reader_time(opening)} ({hours.local(opening):%Y-%m-%d %H:%M} {hours.zone})"

    def _ringing(self, case: Case, name: str, card: Card) -> Outgoing:
        """A line in the card's thread that Slack also shows in the channel, so that it notifies people."""
        row = self._in_card_thread(case, name, card)
        return replace(row, payload={**row.payload, "reply_broadcast": True})

    def _to_customer(self, case: Case, event: str, card: Card) -> Outgoing:
        key = f"case/{case.id}/{event}/{case.version}"
        return Outgoing(key, "post", case.thread.channel, payload(card), thread_ts=case.thread.ts, case_id=case.id)

    def _in_card_thread(self, case: Case, name: str, card: Card, *, link_to: str = "") -> Outgoing:
        link = {"link_to": link_to} if link_to else {}
        return Outgoing(
            f"case/{case.id}/{name}",
            "post",
            self.desk(case),
            {**payload(card), **link},
            parent=card_key(case),
            case_id=case.id,
        )

    def _card_update(self, case: Case, *, by: str | None = None) -> Outgoing:
        return self._card_becomes(case, f"{case.version}", self._card(case, by=by))

    def _card_becomes(self, case: Case, name: str, card: Card, *, link_to: str = "") -> Outgoing:
        """The update that replaces the card at the case's desk. `link_to` is the key of the row that the card links
        to."""
        link = {"link_to": link_to} if link_to else {}
        return Outgoing(
            f"{card_key(case)}/{name}",
            "update",
            self.desk(case),
            {**payload(card), **link},
            parent=card_key(case),
            case_id=case.id,
        )

    def _opening(self, case: Case, lines: Sequence[Line], *, desk: str = "") -> list[Outgoing]:
        """The first messages in a card's thread: how to use it, and the conversation so far.

        `desk` is a suffix of their keys that makes them unique for each desk.
        """
        is_whole = transcripts.is_whole(case, lines)
        spoken = [entry for page in transcripts.pages(case, lines, most=1) for entry in page]
        opener = staff_cards.thread_opener(case=case.ref, messages=len(spoken), is_whole=is_whole)
        rows = [self._in_card_thread(case, f"opener{desk}", opener)]
        if spoken:
            rows.append(self._in_card_thread(case, f"transcript{desk}", Card("\n".join(spoken), ())))
        if not is_whole:
            rows.append(transcripts.attached(case, lines, channel=self.desk(case), desk=desk))
        return rows

    def _card(self, case: Case, *, by: str | None = None) -> Card:
        """The card for the case's present state. `by` is the person who ended the case."""
        state: State = case.state  # type: ignore[assignment]  # the column holds nothing else
        common = {
            "case": case.ref,
            "title": case.title,
            "customer": case.customer,
            "facts": _facts(case),
            "permalink": _readable(case),
        }
        note = MEMBER_NOTES.get(case.member_type, "")  # type: ignore[call-overload]  # as above
        detail = {"customer_note": note, "priority": case.priority, "why": WHY.get(case.reason, case.reason)}
        match state:
            case "waiting" | "out_of_hours":
                return staff_cards.case_card(
                    **common,
                    **detail,
                    since=case.waiting_since or case.opened_at,
                    opens=case.due if state == "out_of_hours" else None,
                    summary=case.summary,
                )
            case "human":
                return staff_cards.claimed_card(
                    **common,
                    **detail,
                    summary=case.summary,
                    staff=case.owner or "",
                    staff_name=case.owner_name or "",
                    at=case.claimed_at or 0.0,
                    due=self._reply_due(case),
                    helpers=[helper.person for helper in case.helpers],
                )
            case "resolved" | "closed" | "bot":
                told = staff_cards.OUTCOMES.get(case.outcome, "Solved")
                return staff_cards.closed_card(
                    **common,
                    outcome=told if state != "bot" else "Back with the assistant",
                    cause=staff_cards.CAUSES.get(case.cause, ""),
                    by=by,
                    at=case.ended_at or 0.0,
                    # Only a case with a person's reply can become an article.
                    teaches=case.replied_at is not None,
                )
            case "merged":
                into = ref_of(case.merged_into or 0)
                return staff_cards.merged_card(**common, into=into, by=by, at=case.ended_at or 0.0, link=LINK)

    def _reply_due(self, case: Case) -> float | None:
        """When the first reply is due: as long after the claim as the target for the claim itself."""
        if case.replied_at is not None or case.claimed_at is None:
            return None
        return self.targets.hours.after(case.claimed_at, self.targets.seconds(case.priority))


def _ring(case: Case, *, wrote: bool) -> Card:
    called = f"<@{case.last_owner}> " if case.last_owner else ""
    what = "wrote again" if wrote else "says it isn't solved"
    return Card(f"{called}{case.ref} is open again: {escape(case.customer_name)} {what}.", ())


def _readable(case: Case) -> str:
    """The address of the customer's thread. Empty for direct messages, which only the customer can open."""
    return "" if case.thread.is_direct else case.link


def _facts(case: Case) -> str:
    """More facts for staff: which case this one follows, and whether it was reopened."""
    facts = [f"follows {ref_of(case.follows)}" if case.follows else "", "reopened" if case.reopened else ""]
    return " · ".join(fact for fact in facts if fact)


def _urgent(case: Case) -> str:
    return f"{case.ref}: the customer says it can't wait until the desk opens."


def _opened(case: Case) -> str:
    return f"{case.ref} came in while the desk was closed. It's waiting now."


def _overdue(case: Case) -> Iterator[str]:
    for is_last in (False, True):
        yield staff_cards.overdue(case=case.ref, waited=0.0, target=0.0, spoke=1.0, is_last=is_last)
    yield staff_cards.for_lead(words="", link=LINK).text


def language(case: Case) -> Language:
    """The case's language, as one of the supported languages."""
    return language_for(case.language)


def session_status(case: Case) -> SessionStatus:
    """The status of the agent session in the customer's thread.

    The assistant waits for people ("suspended"), the matter is settled ("closed"), or the assistant is ready
    ("active").
    """
    if case.is_open or case.state == MERGED:
        return "suspended"
    is_settled = case.state == "resolved" or (case.state == "closed" and case.outcome != "spam")
    return "closed" if is_settled else "active"


def status_text(sentences: Sentences, spoken: Language, case: Case) -> str:
    """The sentence for a customer whose button does not fit the case's present state."""
    keys = {
        "waiting": "case_waiting",
        "out_of_hours": "case_out_of_hours",
        "human": "case_claimed",
        "resolved": "case_solved",
    }
    key = keys.get(case.state, "case_back")
    back = _reader_time(case.due or 0.0)
    return sentences.say(spoken, key, case=case.ref, staff=escape(case.owner_name or ""), back=back)


def _reader_time(at: float) -> str:
    return moment(at, "{date_short_pretty} {time}")


def payload(card: Card) -> dict[str, object]:
    """A card as the arguments of a post."""
    return {"text": card.text, "blocks": list(card.blocks)} if card.blocks else {"text": card.text}


def copy_for_staff(name: str, words: str, *, elsewhere: bool = False, is_helped: bool = False) -> str:
    """The copy of a customer's message for the thread of a card.

    `elsewhere` is set if it was not written in the case's thread, and `is_helped` if the assistant answers it.
    """
    where = ", in another thread; your replies go to the case's thread" if elsewhere else ""
    helped = "; the assistant is answering this while the case waits" if is_helped else ""
    return f"*{escape(name)}* (customer{where}{helped})\n{quoted(words)}"


def quoted(words: str) -> str:
    """The text as a quotation in mrkdwn."""
    return "\n".join(f">{line}" for line in escape(words).splitlines())


def _after(sentence: str, card: Card) -> Card:
    block = {"type": "section", "text": {"type": "mrkdwn", "text": sentence}}
    return Card(f"{sentence}\n{card.text}", (block, *card.blocks))


def _texts(value: object) -> Iterator[str]:
    """Every text that a payload shows."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name == "text" and isinstance(each, str):
                yield each
            else:
                yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
