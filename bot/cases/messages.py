"""The messages for each change of a case: to the customer in their thread, to staff on the card and in its thread.

Every function is pure and returns outbox rows. Their keys contain the case's version, so a step that is repeated
posts nothing twice. What people see after most steps is in the table of bot/views/announcements.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from bot.cases import transcripts
from bot.cases.case import SLA_STEPS
from bot.cases.hours import Targets
from bot.conversation import ThreadRef
from bot.desk_file.model import DeskFile
from bot.language.sentences import Sentences, language_for
from bot.slack.api.sessions import SessionStatus
from bot.slack.blocks import LINK, Card
from bot.slack.mrkdwn import escape, mention
from bot.store.cases import MERGED, Case, card_key
from bot.store.outbox import Outgoing
from bot.store.scores import Score
from bot.store.transcripts import TranscriptLine
from bot.views import announcements, queue_cards, score_cards, staff_cards
from bot.views.announcements import (
    ANNOUNCEMENTS,
    Offer,
    preceded,
    reader_time,
    short_name,
    usual_reply_time,
    why_called,
)


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
    desk_file: Callable[[], DeskFile] = DeskFile
    """The desk file in force: helplines, the duty contact, and what staff choose from."""
    escalate_notice: Literal["thread", "ephemeral"] = "thread"
    """Who sees that a colleague opened a case: everyone in the thread, or only its customer."""
    prepares: Callable[[], bool] = lambda: False
    """Whether staff can prepare changes of orders here."""

    def announce(
        self, step: str, case: Case, *, before: Case | None = None, by: str = "", **values: str
    ) -> list[Outgoing]:
        """The rows of a step, as the table of announcements says.

        `before` is the case before the step, and `by` the Slack id of the user who made it. `values` replace those that
        the customer's sentence gets from the case.
        """
        row, rows, before = ANNOUNCEMENTS[step], [], before or case
        if row.customer:
            told = self._said(step, case, before=short_name(before.owner_name or ""), **values)
            rows.append(self._to_customer(case, step, told))
        if row.card:
            rows.append(self._card_update(case, by=by))
        if row.staff is not None:
            rows.append(self._in_card_thread(case, f"{step}/{case.version}/staff", row.staff(case, before, by)))
        return rows

    def opened(
        self,
        case: Case,
        lines: Sequence[TranscriptLine],
        *,
        usual: float | None = None,
        called_by: str = "",
        said_first: str = "",
        country: str = "",
    ) -> list[Outgoing]:
        """Tell the customer and post the card. The card's thread gets instructions and the conversation so far.

        `usual` is the usual time until a person claims a case, in minutes. `called_by` is the name of the colleague
        who opened the case. The customer then gets a message with that name and without buttons, since they did not
        ask for anything. `said_first` replaces the sentence of the reason, as mrkdwn. `country` is where the customer
        seems to be.
        """
        if called_by:
            to_customer = self._called_over(case, called_by)
        else:
            is_closed = case.state == "out_of_hours"
            told = (
                self._said("out_of_hours", case)
                if is_closed
                else announcements.escalated(self.sentences, case, usual=usual)
            )
            why = said_first or self.why_called(case.reason, case.language, country=country)
            to_customer = self._to_customer(case, "opened", preceded(why, told) if why else told)
        card = Outgoing(card_key(case), "post", self.desk(case), payload(self._card(case)), case_id=case.id)
        return [to_customer, card, *self._opening(case, lines), *self._duty_call(case)]

    def why_called(self, reason: str, code: str, *, country: str) -> str:
        """Why a person is called, for a customer whose language has the code. Empty if there is nothing to say."""
        return why_called(self.sentences, reason, language_for(code), self.desk_file(), country=country)

    def endangered(self, case: Case) -> list[Outgoing]:
        """The customer's later words show a danger: the card says so, and the duty contact is called."""
        return [*self.announce("prioritized", case), *self._duty_call(case)]

    def _duty_call(self, case: Case) -> list[Outgoing]:
        """The call of the duty contact, at any hour. Nothing if no one is in danger, or the desk file names no one."""
        contact = self.desk_file().duty_contact
        if case.reason not in staff_cards.CALLS_DUTY or not contact:
            return []
        return [self._ringing(case, f"duty/{case.version}", staff_cards.duty_call(case, mention=mention(contact)))]

    def _called_over(self, case: Case, by: str) -> Outgoing:
        """Tell the customer that a colleague opened the case. With the ephemeral setting, only the customer sees it."""
        key = "called_over_out_of_hours" if case.state == "out_of_hours" else "called_over"
        values = {"name": short_name(by), "back": self._back(case)}
        said = {"text": self.sentences.say(language_for(case.language), key, **values)}
        thread, name = case.thread, f"case/{case.id}/opened/{case.version}"
        if self.escalate_notice == "thread" or thread.is_direct:
            return Outgoing(name, "post", thread.channel, said, thread_ts=thread.ts, case_id=case.id)
        alone = {**said, "user": case.customer}
        return Outgoing(name, "ephemeral", thread.channel, alone, thread_ts=thread.ts, case_id=case.id)

    def thread_joined(
        self,
        case: Case,
        thread: ThreadRef,
        code: str,
        latest: TranscriptLine,
        *,
        reason: str,
        said_first: str = "",
        country: str = "",
    ) -> list[Outgoing]:
        """Tell both sides that another thread now belongs to an open case.

        `code` is the thread's language, `latest` is the customer's last line in it, and `reason` is why a person was
        called there. `said_first` replaces the sentence of the reason. `country` is where the customer seems to be.
        """
        key = f"case/{case.id}/joined/{thread.channel}/{latest.ts}"
        words = self.sentences.say(language_for(code), "case_joined", case=case.ref)
        if why := said_first or self.why_called(reason, code, country=country):
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

    def resolved(self, case: Case, *, by: str, name: str) -> list[Outgoing]:
        """Ask the customer for a rating. `name` is the name of the user `by`, who can be another than the owner."""
        known = case.owner_name if by == case.owner else None
        step = "resolved" if case.outcome == "solved" else "ended_otherwise"
        return self.announce(step, case, by=by, staff=short_name(known or name))

    def scored(self, case: Case, score: Score, *, before: Score | None, by: str) -> list[Outgoing]:
        """The customer gave a score, changed it, or said why: the card says so, and the owner is mentioned.

        `before` is the score before, and `by` the Slack id of the user who ended the case.
        """
        line = self._in_card_thread(case, f"score/{case.version}", score_cards.for_owner(case, score, before=before))
        return [self._card_update(case, by=by), line]

    def erased(self, case: Case) -> Outgoing:
        """Post a line for an open case that ended because its customer's data was erased, and whose card is removed.

        The line says why the case ended and contains nothing about the customer.
        """
        text = f"{case.ref} was erased because the customer asked for it."
        return Outgoing(f"forgotten/case/{case.id}", "post", self.desk(case), {"text": text})

    def retitled(self, case: Case) -> Outgoing:
        """Update the card after the case got another title."""
        return self._card_update(case)

    def assigned(self, case: Case, before: Case, *, by: str, note: str, direct: str | None) -> list[Outgoing]:
        """A colleague gave the case to a person: the customer, the card, its thread and the person are told.

        `direct` is the channel of direct messages with the person, if there is one. The line in the thread mentions
        them in any case.
        """
        line = self._in_card_thread(case, f"given/{case.version}", staff_cards.assigned(case, before, by=by, note=note))
        rows = [*self.announce("assigned" if before.waits else "reassigned", case, before=before, by=by), line]
        if direct is not None:
            told = {**payload(staff_cards.assigned_to_you(case, by=by, note=note)), "link_to": card_key(case)}
            rows.append(Outgoing(f"case/{case.id}/given/{case.version}/direct", "post", direct, told, case_id=case.id))
        return rows

    def reopened(self, case: Case, *, wrote: bool = False) -> list[Outgoing]:
        """The customer says that the case is not solved, or `wrote` again. While the desk is closed, they see that
        too."""
        step = "wrote_again" if wrote else "reopened"
        to_customer, *to_staff = self.announce(step, case)
        if case.state == "out_of_hours":
            closed = preceded(self._said(step, case).text, self._said("out_of_hours", case))
            to_customer = self._to_customer(case, step, closed)
        return [to_customer, *to_staff]

    def transferred(
        self, case: Case, lines: Sequence[TranscriptLine], *, before: Case, by: str, is_known: bool
    ) -> list[Outgoing]:
        """Move the case to another desk: tell the customer, post the card there, and link the old card to the new one.

        A desk that had the case earlier (`is_known`) already has a card. The card is updated, and a new line in the
        channel notifies the desk, because an update notifies no one.
        """
        desk, version = self.desk(case), f"{case.version}"
        gone = self._card_becomes(before, version, staff_cards.transferred_card(case, to=desk, by=by))
        leads = self._card_becomes(
            before,
            f"{version}/link",
            staff_cards.transferred_card(case, to=desk, by=by, link=LINK),
            link_to=card_key(case),
        )
        came = staff_cards.came_from(case, channel=self.desk(before), by=by)
        came_row = self._in_card_thread(case, f"came/{case.version}", came, link_to=card_key(before))
        if is_known:
            ring = {**payload(staff_cards.is_back(case)), "link_to": card_key(case)}
            called = Outgoing(f"case/{case.id}/ring/{version}", "post", desk, ring, case_id=case.id)
            there = [self._card_update(case), came_row, called, leads]
        else:
            shown = payload(self._card(case))
            card = Outgoing(card_key(case), "post", desk, shown, case_id=case.id, when_sent=(leads,))
            there = [card, *self._opening(case, lines, desk=f"/{case.desk}"), came_row]
        return [*self.announce("transferred", case), gone, *there]

    def merged(self, case: Case, lines: Sequence[TranscriptLine], *, into: Case, by: str) -> list[Outgoing]:
        """People continue the case in another one. Its customer, its card and the other card's thread say so."""
        where = f"<{escape(into.link)}|{into.ref}>" if into.link else into.ref
        # The row quotes the merged case's thread. It belongs to the merged case, although it is under the other card.
        quoting = Outgoing(
            f"{transcripts.merged_key(case.id)}{into.id}",
            "post",
            self.desk(into),
            {"text": "\n".join([staff_cards.took_in(case, by=by), *_latest(case, lines)])},
            parent=card_key(into),
            case_id=case.id,
        )
        return [
            *self.announce("merged", case, into=where),
            self._card_becomes(case, f"{case.version}", self._card(case, by=by), link_to=card_key(into)),
            quoting,
        ]

    def desk(self, case: Case) -> str:
        """The channel of the case's card."""
        return case.stands_in(self.agent_channel)

    def urged(self, case: Case) -> list[Outgoing]:
        """The customer says that the case cannot wait for the desk to open.

        If `pages` is set and `on_call` names someone, they are called. Otherwise the customer reads that no one is
        called.
        """
        if not (self.pages and self.on_call):
            return self.announce("urged", case)
        call = staff_cards.urgent(case, mention=self.on_call)
        return [*self.announce("urged_and_paged", case), self._ringing(case, f"urgent/{case.version}", call)]

    def can_wait(self, case: Case) -> list[Outgoing]:
        """The customer agrees to wait for the desk to open."""
        (row,) = self.announce("can_wait", case)
        return [replace(row, key=self.key_of_waiting(case))]

    def key_of_waiting(self, case: Case) -> str:
        """The key of the `can_wait` message, which is posted once for each time that the case is opened or reopened."""
        return f"case/{case.id}/can-wait/{case.reopened}"

    def offered(self, case: Case, offer: Offer, *, key: str, usual: float | None = None) -> Outgoing:
        """Tell the customer of a case that waits how it stands, or what they can do.

        `usual` is the usual time until a person claims a case, in minutes.
        """
        step, values = f"offer_{offer}", dict[str, str]()
        if offer == "status" and case.state == "out_of_hours":
            step = "status_out_of_hours"
        elif offer == "status" and usual is not None:
            say = partial(self.sentences.say, language_for(case.language))
            step, values = "status_usual", {"usual": usual_reply_time(say, usual)}
        (row,) = self.announce(step, case, before=None, **values)
        return replace(row, key=key)

    def says_solved(self, case: Case) -> Outgoing:
        """The customer says that no person is needed any more. The row is posted once for each version of the case."""
        return self._in_card_thread(case, f"says-solved/{case.version}", staff_cards.says_solved(case))

    def desk_opened(self, case: Case) -> list[Outgoing]:
        """The desk has opened, and an out-of-hours case waits from now on."""
        return [self._card_update(case), self._ringing(case, f"open/{case.version}", staff_cards.desk_opened(case))]

    def breached(
        self, case: Case, before: Case, *, waited: float, spoke: float | None, lead: str | None
    ) -> list[Outgoing]:
        """One or more SLA steps were breached: notify staff and, from the second step on, the lead and the customer.

        `waited` is in minutes of open desk. `spoke` is the time of the customer's last message. `lead` is the channel
        of direct messages with the lead, if there is one.
        """
        is_last = case.step == len(SLA_STEPS)
        target = self.targets.minutes[before.priority]
        words = staff_cards.overdue(case, waited=waited, target=target, spoke=spoke, is_last=is_last)
        snooze = "" if is_last else f"{case.ref}/{case.version}"
        call = staff_cards.unclaimed(case, words, mention=self.on_call, snooze=snooze)
        alert = self._ringing(case, f"sla/{case.version}", call)
        rows = self.breached_among_others(case, before)
        if lead is None or before.step == 0:
            rows.append(alert)
        if lead is not None and case.step >= 2:
            direct = {**payload(staff_cards.for_lead(words)), "link_to": card_key(case)}
            key = f"case/{case.id}/lead/{case.version}"
            instead = () if alert in rows else (alert,)
            rows.append(Outgoing(key, "post", lead, direct, case_id=case.id, when_failed=instead))
        return rows

    def breached_among_others(self, case: Case, before: Case) -> list[Outgoing]:
        """What a breach that rings together with others changes for the case itself: its customer and its card."""
        if case.state == "human":
            return [self._card_update(case)]
        rows = self.announce("nobody_yet" if case.step == len(SLA_STEPS) else "still_looking", case)
        rows = rows if case.step >= 2 else []
        if case.priority != before.priority:
            rows.append(self._card_update(case))
        return rows

    def breached_together(
        self,
        desk: str,
        late: Sequence[tuple[Case, float]],
        *,
        links: Mapping[int, str],
        lead: str | None,
        now: float,
    ) -> list[Outgoing]:
        """One alarm in the desk's channel for several cases, and one for the lead if some are late again.

        `late` has each case with the minutes of open desk that it has waited, and `links` the addresses of the cards.
        """
        key = f"alarm/{desk}/{int(now)}"
        rings = queue_cards.overdue_together(late, links=links, mention=self.on_call)
        rows = [Outgoing(key, "post", desk, payload(rings))]
        if lead is not None and (again := [each for each in late if each[0].step >= 2]):
            direct = queue_cards.overdue_together(again, links=links, mention="", claims=False)
            rows.append(Outgoing(f"{key}/lead", "post", lead, payload(direct)))
        return rows

    def reply_missed(self, case: Case) -> list[Outgoing]:
        """The reply to a customer is late: the card says so, and the person who has the case is mentioned."""
        return [
            self._card_update(case),
            self._ringing(case, f"reply/{case.version}", staff_cards.reply_missed(case, mention=f"<@{case.owner}>")),
        ]

    def woken(self, case: Case) -> list[Outgoing]:
        """A case that was put aside is there again: the person who has it is mentioned."""
        return [self._card_update(case), self._in_card_thread(case, f"woken/{case.version}", staff_cards.woken(case))]

    def no_answer(self, case: Case) -> list[Outgoing]:
        """The customer has left a person's words unanswered: that person is mentioned."""
        return [self._in_card_thread(case, f"no-answer/{case.version}", staff_cards.no_answer(case))]

    def snoozed(self, case: Case, *, alert: str, by: str) -> Outgoing:
        """The alert of that version after someone snoozed the next step; it mentions no one."""
        return Outgoing(
            self.key_of_snooze(case, alert),
            "update",
            self.desk(case),
            payload(staff_cards.snoozed(case, by=by)),
            parent=f"case/{case.id}/sla/{alert}",
            case_id=case.id,
        )

    def key_of_snooze(self, case: Case, alert: str) -> str:
        """Each alert can be snoozed once."""
        return f"case/{case.id}/sla/{alert}/snoozed"

    def _said(self, step: str, case: Case, **values: str) -> Card:
        """The customer's message for a step."""
        known = {"staff": short_name(case.owner_name or ""), "back": self._back(case), "usual": "", **values}
        return announcements.to_customer(self.sentences, case, step, **known)

    def _back(self, case: Case) -> str:
        """When the desk opens, in the reader's time zone and in the desk's."""
        opening, hours = case.due or 0.0, self.targets.hours
        return f"{reader_time(opening)} ({hours.local(opening):%Y-%m-%d %H:%M} {hours.zone})"

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

    def _card_update(self, case: Case, *, by: str = "") -> Outgoing:
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

    def _opening(self, case: Case, lines: Sequence[TranscriptLine], *, desk: str = "") -> list[Outgoing]:
        """The first messages in a card's thread: how to use it, and the conversation so far.

        `desk` is a suffix of their keys that makes them unique for each desk.
        """
        is_whole, spoken = transcripts.is_whole(case, lines), _latest(case, lines)
        opener = staff_cards.thread_opener(case, messages=len(spoken), is_whole=is_whole)
        rows = [self._in_card_thread(case, f"opener{desk}", opener)]
        if spoken:
            rows.append(self._in_card_thread(case, f"transcript{desk}", Card("\n".join(spoken), ())))
        if not is_whole:
            rows.append(transcripts.attached(case, lines, channel=self.desk(case), desk=desk))
        return rows

    def _card(self, case: Case, *, by: str = "") -> Card:
        """The card for the case's present state. `by` is the person who ended the case."""
        return staff_cards.case_card(case, by=by, desk=self.desk_file(), prepares=self.prepares())


def _latest(case: Case, lines: Sequence[TranscriptLine]) -> list[str]:
    """The latest lines of the conversation that fit into one message, as quotations."""
    return [entry for page in transcripts.pages(case, lines, most=1) for entry in page]


def session_status(case: Case) -> SessionStatus:
    """The status of the agent session in the customer's thread.

    The assistant waits for people ("suspended"), the matter is settled ("closed"), or the assistant is ready
    ("active").
    """
    if case.is_open or case.state == MERGED:
        return "suspended"
    is_settled = case.state == "resolved" or (case.state == "closed" and case.outcome != "spam")
    return "closed" if is_settled else "active"


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
