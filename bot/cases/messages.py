"""What is said when a case changes: to the customer in their thread, to staff on the card and in its thread.

Every function is pure and returns outbox rows; their keys hold the case's version, so that a step that is
repeated says nothing twice.
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
"""Reason -> what the customer reads first: why, where nothing else says it, or what to do now where somebody is in
danger. That it was passed on follows it."""
SUFFERING = frozenset({"crisis", "harm", "threat"})
"""Reasons for which nothing cheerful is shown."""

MEMBER_NOTES: dict[MemberType, str] = {"member": "", "guest": "guest", "stranger": "from another organisation"}


@dataclass(frozen=True, slots=True)
class CaseMessages:
    """Writes the outbox rows of every step."""

    sentences: Sentences
    agent_channel: str
    targets: Targets = field(default_factory=Targets)
    on_call: str = ""
    """Who is called when nobody claims a case, as a mention; empty for nobody."""
    pages: bool = False
    """Whether they are called outside of opening hours too, when a customer says that it is urgent."""
    escalate_notice: Literal["thread", "ephemeral"] = "thread"
    """Who reads that a colleague has called for a case: everybody in the thread, or its customer alone."""

    def opened(
        self, case: Case, lines: Sequence[Line], *, usual: float | None = None, called_by: str = ""
    ) -> list[Outgoing]:
        """The customer is told; the card is posted, and in its thread how to use it and what was said before.

        `usual` is the usual time until somebody is there, in minutes. `called_by` is the colleague who called for it;
        the customer reads that, without buttons, since they have asked for nothing.
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
        """A colleague has called for it: its customer is told, unseen by others where that is set."""
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
        """A further thread belongs to an open case; `code` is its language, `latest` the customer's last line in it.

        `reason` is why a person was called there.
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
        """What the agent session of the customer's thread shows of the case."""
        key, thread = f"case/{case.id}/session/{case.version}", case.thread
        shown = {"status": session_status(case)}
        return Outgoing(key, "session", thread.channel, shown, thread_ts=thread.ts, case_id=case.id)

    def claimed(self, case: Case) -> list[Outgoing]:
        """A person has joined."""
        card = cards.claimed(self.sentences, language(case), case=case.ref, staff=case.owner_name or "")
        return [self._to_customer(case, "claimed", card), self._card_update(case)]

    def taken_over(self, case: Case, *, before: Case) -> list[Outgoing]:
        """Another person has taken over; who had it `before` is called in the card's thread."""
        staff, former = case.owner_name or "", before.owner_name or ""
        told = cards.taken_over(self.sentences, language(case), case=case.ref, staff=staff, before=former)
        call = staff_cards.taken_from(case=case.ref, staff=case.owner or "", before=before.owner or "")
        return [
            self._to_customer(case, "taken-over", told),
            self._card_update(case),
            self._in_card_thread(case, f"taken-from/{case.version}", call),
        ]

    def resolved(self, case: Case, *, by: str, name: str) -> list[Outgoing]:
        """The customer is asked how it was; `by` is who solved it, the owner or not, and `name` is theirs."""
        known = case.owner_name if by == case.owner else None
        solved = case.outcome == "solved"
        card = cards.resolved(self.sentences, language(case), case=case.ref, staff=known or name, solved=solved)
        return [self._to_customer(case, "resolved", card), self._card_update(case, by=by)]

    def back_to_assistant(self, case: Case, *, by: str) -> list[Outgoing]:
        """The assistant goes on; `by` wanted it so, one of the team or the customer."""
        card = cards.handed_back(self.sentences, language(case), case=case.ref)
        return [self._to_customer(case, "back", card), self._card_update(case, by=by)]

    def spam(self, case: Case, *, by: str) -> list[Outgoing]:
        """The team does not answer it."""
        told = cards.not_answered(self.sentences, language(case), case=case.ref)
        return [self._to_customer(case, "spam", told), self._card_update(case, by=by)]

    def erased(self, case: Case) -> Outgoing:
        """An open case has ended, and its card goes: one line that says why, and nothing of the customer."""
        text = f"{case.ref} was erased because the customer asked for it."
        return Outgoing(f"forgotten/case/{case.id}", "post", case.desk or self.agent_channel, {"text": text})

    def updated(self, case: Case) -> list[Outgoing]:
        """Something of the case is otherwise that only its card shows."""
        return [self._card_update(case)]

    def replied(self, case: Case) -> list[Outgoing]:
        """The customer has a first reply."""
        return [self._card_becomes(case, "replied", self._card(case))] if case.state == "human" else []

    def reopened(self, case: Case, *, wrote: bool = False) -> list[Outgoing]:
        """The customer says it is not solved, or `wrote` again. A new line in the card's thread calls who had it,
        which an update of the card does not."""
        told = cards.reopened(self.sentences, language(case), case=case.ref)
        if case.state == "out_of_hours":
            told = _after(told.text, self._told_who_waits(case, None))
        return [
            self._to_customer(case, "reopened", told),
            self._card_update(case),
            self._in_card_thread(case, f"ring/{case.version}", _ring(case, wrote=wrote)),
        ]

    def helped(self, case: Case, *, by: str) -> list[Outgoing]:
        """Somebody helps whoever is on it; these two read so."""
        told = staff_cards.helps(case=case.ref, staff=by, owner=case.owner or "")
        return [self._card_update(case), self._in_card_thread(case, f"helper/{case.version}", told)]

    def transferred(
        self, case: Case, lines: Sequence[Line], *, before: Case, by: str, is_known: bool
    ) -> list[Outgoing]:
        """Another desk has it: the customer is told, its card stands there, and the one of `before` leads to it.

        A desk that had it earlier (`is_known`) has its card again, and is called by a line, since an update rings
        nobody.
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
        """The case's card at the desk that has it no more."""
        common = {"case": case.ref, "title": case.title, "customer": case.customer, "permalink": _readable(case)}
        return staff_cards.transferred_card(**common, to=to, by=by, at=case.waiting_since or 0.0, link=link)

    def merged(self, case: Case, lines: Sequence[Line], *, into: Case, by: str) -> list[Outgoing]:
        """People go on with the case in another one: its customer, its card and the other one's thread are told."""
        where = f"<{escape(into.link)}|{into.ref}>" if into.link else into.ref
        told = cards.merged(self.sentences, language(case), case=case.ref, into=where)
        spoken = [entry for page in transcripts.pages(case, lines, most=1) for entry in page]
        heading = staff_cards.took_in(case=case.ref, staff=by)
        # It quotes the merged case's thread, and is that one's row, though it stands under the other's card.
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
        """The case that people had it in has ended: the assistant is back in this one's thread too."""
        return [self._to_customer(case, "back", cards.handed_back(self.sentences, language(case), case=case.ref))]

    def elsewhere(self, case: Case, link: str = LINK) -> Card:
        """For somebody at a desk that has the case no more; `link` is the address of its card."""
        return staff_cards.elsewhere(case=case.ref, channel=self.desk(case), link=link)

    def desk(self, case: Case) -> str:
        """The channel of the case's card."""
        return case.stands_in(self.agent_channel)

    def urged(self, case: Case) -> list[Outgoing]:
        """The customer says that it cannot wait for the desk to open; whoever is on duty is called, if that is meant.

        Who cannot be called is not: then the customer is told so.
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
        """The customer waits for the desk to open."""
        back = self._back(case.due or 0.0)
        card = cards.can_wait(self.sentences, language(case), case=case.ref, back=back)
        return [replace(self._to_customer(case, "", card), key=self.key_of_waiting(case))]

    def key_of_waiting(self, case: Case) -> str:
        """What `can_wait` says is said once each time that the case was opened."""
        return f"case/{case.id}/can-wait/{case.reopened}"

    def helping(self, case: Case) -> list[Outgoing]:
        """The assistant answers while the case waits."""
        return [self._to_customer(case, "helping", cards.helping(self.sentences, language(case), case=case.ref))]

    def settled(self, case: Case, *, key: str) -> Outgoing:
        """The customer wrote as if nobody were needed any more."""
        card = cards.settled(self.sentences, language(case), case=case.ref)
        thread = case.thread
        return Outgoing(key, "post", thread.channel, payload(card), thread_ts=thread.ts, case_id=case.id)

    def desk_opened(self, case: Case) -> list[Outgoing]:
        """An away case waits from now on."""
        ring = staff_cards.unclaimed(case=case.ref, words=_opened(case), mention="")
        return [self._card_update(case), self._ringing(case, f"open/{case.version}", ring)]

    def breached(
        self, case: Case, before: Case, *, waited: float, spoke: float | None, lead: str | None
    ) -> list[Outgoing]:
        """One or more SLA steps were breached: notify staff and, from the second step on, the lead and the customer.

        `waited` counts minutes, `spoke` is when the customer wrote last, and `lead` the channel of direct messages
        with the lead, if there is one.
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
        """What stands on the case's card and in its thread whatever anybody said: it quotes nobody."""
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
        """Why a person is called, in words for the customer; empty where they know."""
        key = SAID_FIRST.get(reason)
        return self.sentences.say(language, key) if key else ""

    def _told_who_waits(self, case: Case, usual: float | None) -> Card:
        if case.state == "out_of_hours":
            return cards.out_of_hours(self.sentences, language(case), case=case.ref, back=self._back(case.due or 0.0))
        how_long = "" if usual is None else cards.usual_reply_time(self.sentences, language(case), usual)
        is_grave = case.reason in SUFFERING
        return cards.escalated(self.sentences, language(case), case=case.ref, usual=how_long, is_grave=is_grave)

    def _back(self, opening: float) -> str:
        """When the desk opens, on the reader's clock and on its own."""
        hours = self.targets.hours
        return f"{_reader_time(opening)} ({hours.local(opening):%Y-%m-%d %H:%M} {hours.zone})"

    def _ringing(self, case: Case, name: str, card: Card) -> Outgoing:
        """A line in the card's thread that is shown in the channel too."""
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
        """The update by which the card at the case's desk becomes another; `link_to` is the row that it links to."""
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
        """What stands first in a card's thread: how to use it, and what was said before; `desk` tells it apart."""
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
        """The card as the case stands now; `by` ended it."""
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
                    # Only a case in which a person has spoken teaches anything.
                    teaches=case.replied_at is not None,
                )
            case "merged":
                into = ref_of(case.merged_into or 0)
                return staff_cards.merged_card(**common, into=into, by=by, at=case.ended_at or 0.0, link=LINK)

    def _reply_due(self, case: Case) -> float | None:
        """Until when a first reply shall leave: as long after the claim as the claim itself may take."""
        if case.replied_at is not None or case.claimed_at is None:
            return None
        return self.targets.hours.after(case.claimed_at, self.targets.seconds(case.priority))


def _ring(case: Case, *, wrote: bool) -> Card:
    called = f"<@{case.last_owner}> " if case.last_owner else ""
    what = "wrote again" if wrote else "says it isn't solved"
    return Card(f"{called}{case.ref} is open again: {escape(case.customer_name)} {what}.", ())


def _readable(case: Case) -> str:
    """The address of the customer's thread, where others than the customer can open it."""
    return "" if case.thread.is_direct else case.link


def _facts(case: Case) -> str:
    """What else of the case staff should know."""
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
    """The case's language, one of ours."""
    return language_for(case.language)


def session_status(case: Case) -> SessionStatus:
    """How the agent session of the customer's thread stands: the assistant waits for people, the matter is settled, or
    the assistant is ready."""
    if case.is_open or case.state == MERGED:
        return "suspended"
    is_settled = case.state == "resolved" or (case.state == "closed" and case.outcome != "spam")
    return "closed" if is_settled else "active"


def status_text(sentences: Sentences, spoken: Language, case: Case) -> str:
    """What a customer is told whose button does not fit the case as it is now."""
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
    """A customer's message as it stands in the thread of a card.

    `elsewhere`: it was not written in the case's thread. `is_helped`: the assistant answers it.
    """
    where = ", in another thread; your replies go to the case's thread" if elsewhere else ""
    helped = "; the assistant is answering this while the case waits" if is_helped else ""
    return f"*{escape(name)}* (customer{where}{helped})\n{quoted(words)}"


def quoted(words: str) -> str:
    """Somebody's words as a quotation."""
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
