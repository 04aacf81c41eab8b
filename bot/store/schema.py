"""The tables, once for every database.

inbox     every Slack message or interaction that Frontdesk must answer, stored before Slack gets its "ok"
thread    the state of one Slack thread: which agent answers in it, which episode it is in
turn      one answer to one inbox row: its transcript, its ending, its cost. A private answer to a question asked in a
          channel has two rows: the whole one in the direct message's thread, and a stub in the channel's
journal   the finished steps of a turn that is still running, so that a restart repeats none of them
kase      a case: a person takes over (the table is `case_`, because CASE is a word of SQL)
outbox    every post that must not be lost, with a deterministic key
file_copy what became of the files of a message that is relayed: the app's own copy of each, or why there is none
spending  what each use of a model cost: a turn, a summary, drafts for staff
pace      how far someone is ahead of their allowed pace, for things with a limit per minute
summary   a summary of an episode's older turns; made once for a turn and never again
draft     answers proposed to staff for a case
schedule  when recurring work is due next
member    the processes that share the database, each with a lease that it renews while it lives
claim     what only one process does, such as sending to one channel; void when its owner's lease ends
alias     what a name points to now, for all processes: for example the generation of a knowledge base that is served
action    a change of an order: what the customer was shown, who agreed, the request as it is sent, and what came of it
action_vote  what staff decided about an action that needs their approval; append-only
shop_event  of which order the shop said by itself that it has changed
tracker   what the service that tracks parcels calls a tracking number
case_helper  the members of the team who help the owner of a case
suggestion  suggested articles for the knowledge base, until staff decide
pause     channels in which staff have paused the assistant
preference  what a person chose for themselves
feedback  "Helpful" or not, one per turn and person; a score from 1 to 5, one per case and person, and what went wrong
audit     who did what; append-only
daily     the figures of a day whose rows are gone or have lost their words
fix_list  each desk's list of things to fix: its message
fixed     what a desk's staff have done of these things
desk      each desk's channel: its queue message, when its last alarm rang, and who was assigned its last case
away      members of the team who said that they are away

Times are seconds since 1970 (float, UTC). Slack's timestamps are texts of the same length. They are ordered by their
characters, in any locale of the database.

Texts that people or models wrote are made storable here, for both databases alike: Postgres takes no NUL, and neither
takes half a character. Names and keys are not repaired, because two of them could become the same. A row with such a
key is refused.
"""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    false,
    text,
)

from bot.agent.surrogates import sound

INTEGER_LIMIT = 2**31 - 1
"""The highest number in an Integer column. Postgres enforces it, and a model's server may count more tokens."""


class Words(TypeDecorator[str]):
    """Text that people or models wrote. Any text can be stored. With `limit`, it is cut to that many characters."""

    impl: Any = Text
    cache_ok = True

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        self.limit = limit
        self.impl = String(limit) if limit else Text()

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Replace NULs and halves of characters by U+FFFD."""
        return None if value is None else sound(value).replace("\0", "\ufffd")[: self.limit]


class Ids(TypeDecorator[tuple[str, ...]]):
    """Ids from a closed list, as one text with a blank before and behind each, by which a condition finds one."""

    impl: Any = String(400)
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Any) -> str:
        """The text for the ids. Empty if there are none."""
        return " ".join(("", *value, "")) if value else ""

    def process_result_value(self, value: str | None, dialect: Any) -> tuple[str, ...]:
        """The ids in the text."""
        return tuple((value or "").split())


OPEN_CASE = "state in ('waiting', 'out_of_hours', 'human')"
"""The condition for a case that people have or will get. A thread has at most one."""
RELAYED = "source_ts is not null"
"""The condition for a row of the outbox that shows one side what the other wrote."""
ID = BigInteger().with_variant(Integer(), "sqlite")
"""A row's number. SQLite only counts up automatically in a column of exactly this type."""
TS = String(32).with_variant(String(32, collation="C"), "postgresql")
"""Slack's timestamp of a message."""
KEY = String(160).with_variant(String(160, collation="C"), "postgresql")
LANE = String(200).with_variant(String(200, collation="C"), "postgresql")
"""Names that are also looked up by their beginning (`bot.store.statements.begins`)."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("event_id", String(255), nullable=False, unique=True),
    Column("team", String(32), nullable=False),
    Column("channel", String(32), nullable=False),
    Column("ts", TS, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("thread", String(128), nullable=False),
    Column("author", String(32), nullable=False),
    Column("author_team", String(32), nullable=False),
    Column("body", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", String(64), nullable=False, server_default=""),
    Column("attempts", Integer, nullable=False, server_default="0"),
    # How often work on it was begun. The attempt that began last owns it. Unlike attempts, it only grows.
    Column("fence", Integer, nullable=False, server_default="0"),
    # Whether the engine of several processes has it in its own queue.
    Column("handed", Boolean, nullable=False, server_default=false()),
    # The interrupt of the row, such as "stop", "edited" or "deleted"; "" for none.
    Column("interrupt", String(16), nullable=False, server_default=""),
    Column("received_at", Float, nullable=False),
    Column("finished_at", Float),
    # One message is one row, although app_mention and message deliver it under two event ids.
    Index("uq_inbox_message", "team", "channel", "ts", "kind", unique=True),
    Index("ix_inbox_open", "state", "id"),
    Index("ix_inbox_thread", "thread", "id"),
    Index("ix_inbox_received", "received_at"),
    Index("ix_inbox_author", "author", "id"),
    Index("ix_inbox_place", "channel", "ts"),
)

thread = Table(
    "thread",
    metadata,
    Column("key", String(128), primary_key=True),
    Column("team", String(32), nullable=False),
    Column("channel", String(32), nullable=False),
    Column("ts", TS, nullable=False),
    Column("agent", String(64), nullable=False, server_default=""),
    Column("language", String(8), nullable=False, server_default=""),
    Column("episode", Integer, nullable=False, server_default="0"),
    Column("note", Words, nullable=False, server_default=""),
    # The ownership epoch: how often the thread went from the assistant to a person, between persons, or back.
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("opened_at", Float, nullable=False),
)

turn = Table(
    "turn",
    metadata,
    Column("id", ID, ForeignKey("inbox.id"), primary_key=True, autoincrement=False),
    Column("thread", String(128), primary_key=True),
    Column("episode", Integer, nullable=False),
    Column("ts", TS, nullable=False),
    Column("customer", String(32), nullable=False),
    Column("agent", String(64), nullable=False),
    Column("ended", String(16), nullable=False),
    Column("reason", String(64), nullable=False, server_default=""),
    Column("messages", JSON, nullable=False),
    # What the agents said and did, where `messages` holds something else in its place. Only people read it.
    Column("trace", JSON(none_as_null=True)),
    Column("sources", JSON, nullable=False),
    # Why requests to models failed, a line each. NULL if none did.
    Column("failures", JSON(none_as_null=True)),
    # What the cheap model made of the question before the pages were searched again. NULL if nothing.
    Column("rewrites", JSON(none_as_null=True)),
    # The timestamps of the messages that show the answer. NULL if they are not known.
    Column("posts", JSON(none_as_null=True)),
    Column("confidence", Float, nullable=False, server_default="0"),
    Column("input_tokens", Integer, nullable=False, server_default="0"),
    Column("output_tokens", Integer, nullable=False, server_default="0"),
    Column("finished_at", Float, nullable=False),
    Index("ix_turn_thread", "thread", "episode", "ts"),
    Index("ix_turn_customer", "customer"),
)

journal = Table(
    "journal",
    metadata,
    Column("turn", ID, ForeignKey("inbox.id"), primary_key=True),
    Column("name", String(128), primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("value", JSON, nullable=False),
    Column("recorded_at", Float, nullable=False),
)

kase = Table(
    "case_",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("team", String(32), nullable=False),
    Column("thread", String(128), nullable=False),
    Column("channel", String(32), nullable=False),
    Column("thread_ts", String(32), nullable=False),
    Column("customer", String(32), nullable=False),
    Column("customer_name", Words(120), nullable=False),
    Column("member_type", String(16), nullable=False),
    Column("link", String(255), nullable=False, server_default=""),
    Column("language", String(8), nullable=False),
    Column("state", String(16), nullable=False),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("reason", String(64), nullable=False),
    Column("priority", String(8), nullable=False),
    Column("title", Words(160), nullable=False),
    Column("summary", Words, nullable=False),
    Column("owner", String(32)),
    Column("owner_name", Words(120)),
    Column("opened_at", Float, nullable=False),
    Column("claimed_at", Float),
    Column("ended_at", Float),
    # The channel of its card. "" is the agent channel.
    Column("desk", String(32), nullable=False, server_default=""),
    # Since when it waits now. It may have been opened long before.
    Column("waiting_since", Float),
    # When the next automatic step is due: the next SLA step while it waits, the opening of the desk while out of hours,
    # the next reply or the end of a snooze while a person has it, the end of the week after it was solved. NULL if
    # there is none.
    Column("due", Float),
    Column("step", Integer, nullable=False, server_default="0"),
    # Whether the assistant answers while the customer waits, because the customer wants it.
    Column("keeps_helping", Boolean, nullable=False, server_default=false()),
    # When a person's first words were sent to the customer.
    Column("replied_at", Float),
    # While a person has it: when the next reply to the customer is due, NULL while the customer is to answer; whether
    # that reply is late; and until when the person has put the case aside.
    Column("reply_due", Float),
    Column("reply_missed", Boolean, nullable=False, server_default=false()),
    Column("snoozed_until", Float),
    Column("reopened", Integer, nullable=False, server_default="0"),
    # The owner before it was opened again. That person is called first.
    Column("last_owner", String(32)),
    # How it ended, by the person who ended it, from closed lists of words.
    Column("outcome", String(32), nullable=False, server_default=""),
    Column("cause", String(32), nullable=False, server_default=""),
    # The tags that staff gave it, from the desk file's list.
    Column("tags", Ids, nullable=False, server_default=""),
    # Where its title is from: "" none yet, "rule", "asked" while a model is asked, "model". And when it was made.
    Column("titled_by", String(8), nullable=False, server_default=""),
    Column("titled_at", Float),
    # The case that it continues, and the one that it was merged into.
    Column("follows", ID),
    Column("merged_into", ID),
    Index(
        "uq_case_open_thread",
        "thread",
        unique=True,
        sqlite_where=text(OPEN_CASE),
        postgresql_where=text(OPEN_CASE),
    ),
    Index("ix_case_due", "due"),
    Index("ix_case_state", "state", "opened_at"),
    Index("ix_case_opened", "opened_at"),
    Index("ix_case_thread", "thread"),
    Index("ix_case_customer", "customer"),
    Index("ix_case_merged", "merged_into"),
    Index("ix_case_claimed", "claimed_at"),
    Index("ix_case_ended", "ended_at"),
    sqlite_autoincrement=True,
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("key", KEY, nullable=False, unique=True),
    Column("method", String(16), nullable=False),
    Column("channel", String(32), nullable=False),
    Column("thread_ts", String(32)),
    # Rows of one channel with the same lane leave in order. Older rows have no lane and form one together.
    Column("lane", LANE, nullable=False, server_default=""),
    Column("parent", String(160)),
    Column("payload", JSON, nullable=False),
    Column("afterwards", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("ts", TS),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("error", Words(160), nullable=False, server_default=""),
    Column("case_id", ID, ForeignKey("case_.id")),
    Column("source_channel", String(32)),
    Column("source_ts", String(32)),
    # For what the assistant says: the conversation and its ownership epoch.
    Column("conversation", String(128)),
    Column("epoch", Integer),
    Column("created_at", Float, nullable=False),
    Column("sent_at", Float),
    # The span in which it was queued, if traces are made.
    Column("traceparent", String(64)),
    Index("ix_outbox_state", "state", "id"),
    Index("ix_outbox_lane", "channel", "lane", "state", "id"),
    Index("ix_outbox_place", "channel", "ts"),
    Index("ix_outbox_case", "case_id", "id"),
    Index("ix_outbox_parent", "parent"),
    Index("ix_outbox_thread", "channel", "thread_ts"),
    Index("ix_outbox_source", "source_channel", "source_ts"),
    Index("ix_outbox_relayed", "created_at", sqlite_where=text(RELAYED), postgresql_where=text(RELAYED)),
)

file_copy = Table(
    "file_copy",
    metadata,
    # The key of the outbox's row that shares it.
    Column("post", String(160), primary_key=True),
    Column("source", String(32), primary_key=True),
    Column("copy", String(32), nullable=False, server_default=""),
    Column("refusal", String(32), nullable=False, server_default=""),
    Column("shared", Boolean, nullable=False, server_default=false()),
)

spending = Table(
    "spending",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("at", Float, nullable=False),
    Column("purpose", String(16), nullable=False),
    Column("team", String(32), nullable=False),
    Column("thread", String(128), nullable=False),
    Column("customer", String(32), nullable=False),
    Column("models", String(255), nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cost", Float, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("written_tokens", Integer, nullable=False, server_default="0"),
    Index("ix_spending_customer", "customer", "at"),
    Index("ix_spending_at", "at"),
    Index("ix_spending_thread", "thread"),
)

pace = Table(
    "pace",
    metadata,
    Column("key", String(128), primary_key=True),
    Column("until", Float, nullable=False),
)

summary = Table(
    "summary",
    metadata,
    Column("thread", String(128), primary_key=True),
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("through", TS, primary_key=True),
    Column("text", Words, nullable=False),
    Column("made_at", Float, nullable=False),
)

draft = Table(
    "draft",
    metadata,
    Column("case_id", ID, ForeignKey("case_.id"), primary_key=True, autoincrement=False),
    Column("asked", ID, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("text", Words, nullable=False),
    Column("made_at", Float, nullable=False),
)

schedule = Table(
    "schedule",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("rule", String(120), nullable=False),
    Column("due", Float, nullable=False),
)

member = Table(
    "member",
    metadata,
    Column("id", String(96), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("started_at", Float, nullable=False),
    Column("until", Float, nullable=False),
)

claim = Table(
    "claim",
    metadata,
    Column("name", String(160), primary_key=True),
    Column("owner", String(96), nullable=False),
)

alias = Table(
    "alias",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("target", String(160), nullable=False),
    Column("set_by", String(96), nullable=False),
    Column("set_at", Float, nullable=False),
)

feedback = Table(
    "feedback",
    metadata,
    Column("subject", String(64), primary_key=True),
    Column("person", String(32), primary_key=True),
    Column("value", String(16), nullable=False),
    # Of a score: when it was given first.
    Column("given_at", Float, nullable=False),
    # What went wrong, of a low score: a word of a closed list, and the customer's own words.
    Column("reason", String(16), nullable=False, server_default=""),
    Column("words", Words, nullable=False, server_default=""),
    Index("ix_feedback_given", "given_at"),
    Index("ix_feedback_person", "person"),
)

case_helper = Table(
    "case_helper",
    metadata,
    Column("case_id", ID, ForeignKey("case_.id"), primary_key=True, autoincrement=False),
    Column("person", String(32), primary_key=True),
    Column("name", Words(120), nullable=False),
    Column("joined_at", Float, nullable=False),
)

suggestion = Table(
    "suggestion",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    # Names what it was made from, so that it is made once.
    Column("key", String(160), nullable=False, unique=True),
    Column("case_id", ID, ForeignKey("case_.id")),
    Column("title", Words(160), nullable=False),
    Column("question", Words, nullable=False),
    Column("answer", Words, nullable=False),
    Column("state", String(16), nullable=False),
    Column("version", Integer, nullable=False, server_default="1"),
    # The document of the knowledge base that says something similar, how similar, and whether it says something
    # different.
    Column("close_to", String(255), nullable=False, server_default=""),
    Column("likeness", Float, nullable=False, server_default="0"),
    Column("contradicts", Boolean, nullable=False, server_default=false()),
    Column("asked_by", String(32), nullable=False),
    Column("made_at", Float, nullable=False),
    Column("decided_by", String(32)),
    Column("decided_at", Float),
    Column("reason", String(64), nullable=False, server_default=""),
    # For one that comes from a thread of a channel: the thread, and the person who asked there.
    Column("thread", String(96), nullable=False, server_default=""),
    Column("person", String(32), nullable=False, server_default=""),
    Index("ix_suggestion_case", "case_id"),
    Index("ix_suggestion_person", "person"),
    Index("ix_suggestion_made", "made_at"),
    sqlite_autoincrement=True,
)

pause = Table(
    "pause",
    metadata,
    Column("channel", String(32), primary_key=True),
    Column("by", String(32), nullable=False),
    Column("at", Float, nullable=False),
)

preference = Table(
    "preference",
    metadata,
    Column("person", String(32), primary_key=True),
    Column("language", String(8), nullable=False, server_default=""),
)

RUNNING_ACTION = (
    "state in ('approving', 'ready', 'executing', 'unknown') or (state in ('stuck', 'partly') and not settled)"
)
"""The condition for an action beside which nothing else may change the same order."""

UNDOING_ACTION = "undoes <> '' and state in ('executing', 'unknown', 'stuck', 'partly', 'done')"
"""The condition for an action that may have undone another one. One action is undone once."""

action = Table(
    "action",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("ref", String(40), nullable=False, unique=True),
    Column("version", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", String(32), nullable=False, server_default=""),
    # Where it is shown. The private answer to a question in a channel moves it into the direct messages.
    Column("team", String(32), nullable=False),
    Column("channel", String(32), nullable=False),
    Column("thread_ts", TS, nullable=False),
    # What it was prepared for, so that a turn which begins again prepares it once.
    Column("origin", String(96), nullable=False),
    Column("customer", String(32), nullable=False),
    Column("customer_team", String(32), nullable=False),
    Column("customer_name", Words(120), nullable=False, server_default=""),
    Column("language", String(8), nullable=False),
    Column("zone", String(64), nullable=False, server_default=""),
    Column("shop_customer", String(64), nullable=False),
    Column("subject", String(160), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("arguments_hash", String(64), nullable=False),
    Column("facts_hash", String(64), nullable=False),
    Column("preview", JSON, nullable=False),
    # In minor units; negative: the customer gets it.
    Column("money", BigInteger, nullable=False, server_default="0"),
    Column("currency", String(3), nullable=False, server_default=""),
    Column("policy", String(64), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("request", JSON, nullable=False),
    Column("key", String(36), nullable=False, unique=True),
    Column("attempts", Integer, nullable=False, server_default="0"),
    # How often the shop was asked what became of it.
    Column("looks", Integer, nullable=False, server_default="0"),
    # The process that sends it.
    Column("worker", String(96), nullable=False, server_default=""),
    Column("reference", Words(120), nullable=False, server_default=""),
    Column("offered_at", Float, nullable=False),
    Column("confirmed_at", Float),
    Column("decided_at", Float),
    Column("sent_at", Float),
    Column("ended_at", Float),
    Column("due", Float),
    # Whether staff have said what became of an action that got stuck.
    Column("settled", Boolean, nullable=False, server_default=false()),
    # How often its preview was shown anew, and how often staff were asked anew: the last message of each stands.
    Column("shown", Integer, nullable=False, server_default="0"),
    Column("asked", Integer, nullable=False, server_default="0"),
    # The case in whose thread the card of staff is; 0: it is in the agent channel.
    Column("case_id", ID, nullable=False, server_default="0"),
    # The member of staff who prepared it; empty: the assistant did.
    Column("prepared_by", String(32), nullable=False, server_default=""),
    # The action that it undoes.
    Column("undoes", String(40), nullable=False, server_default=""),
    Index("uq_action_origin_kind_arguments_hash", "origin", "kind", "arguments_hash", unique=True),
    Index(
        "uq_action_subject",
        "subject",
        unique=True,
        sqlite_where=text(RUNNING_ACTION),
        postgresql_where=text(RUNNING_ACTION),
    ),
    Index(
        "uq_action_undoes",
        "undoes",
        unique=True,
        sqlite_where=text(UNDOING_ACTION),
        postgresql_where=text(UNDOING_ACTION),
    ),
    Index("ix_action_state_due", "state", "due"),
    Index("ix_action_shop_customer_confirmed_at", "shop_customer", "confirmed_at"),
    Index("ix_action_channel_thread_ts", "channel", "thread_ts"),
    Index("ix_action_customer", "customer"),
    Index("ix_action_offered_at", "offered_at"),
    sqlite_autoincrement=True,
)

action_vote = Table(
    "action_vote",
    metadata,
    Column("action", ID, ForeignKey("action.id"), primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("person", String(32), primary_key=True),
    Column("vote", String(16), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("at", Float, nullable=False),
)

RUNNING_PROCEDURE = "ended_at is null"
"""The condition for a procedure that is on."""

procedure_run = Table(
    "procedure_run",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("version", Integer, nullable=False),
    Column("thread", String(128), nullable=False),
    Column("customer", String(32), nullable=False),
    Column("procedure", String(48), nullable=False),
    Column("digest", String(64), nullable=False),
    # The file with which it began, so that another one does not change its steps. It goes at the end.
    Column("source", Words, nullable=False),
    Column("step", String(40), nullable=False),
    Column("collected", JSON, nullable=False),
    Column("tries", JSON, nullable=False),
    # The messages from which something was collected.
    Column("turns", JSON, nullable=False),
    # The action whose end it waits for.
    Column("action", String(40), nullable=False, server_default=""),
    Column("rounds", Integer, nullable=False, server_default="0"),
    Column("started_at", Float, nullable=False),
    Column("touched_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("why", String(16), nullable=False, server_default=""),
    Index(
        "uq_procedure_run_thread",
        "thread",
        unique=True,
        sqlite_where=text(RUNNING_PROCEDURE),
        postgresql_where=text(RUNNING_PROCEDURE),
    ),
    Index("ix_procedure_run_customer", "customer"),
    Index("ix_procedure_run_ended_at", "ended_at"),
    sqlite_autoincrement=True,
)

shop_event = Table(
    "shop_event",
    metadata,
    # The shop's id of the delivery. It is the same when it is sent once more.
    Column("id", String(200), primary_key=True),
    # As `action.subject`.
    Column("subject", String(160), nullable=False),
    Column("received_at", Float, nullable=False),
    # When somebody looks at it next. NULL: somebody did.
    Column("due", Float),
    Index("ix_shop_event_due", "due"),
)

tracker = Table(
    "tracker",
    metadata,
    # The tracking number.
    Column("number", String(40), primary_key=True),
    # The service's own id.
    Column("id", String(64), nullable=False),
    # The order that names the parcel.
    Column("order_id", String(40), nullable=False),
    Column("created_at", Float, nullable=False),
    Index("ix_tracker_id", "id"),
    Index("ix_tracker_created_at", "created_at"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("actor", String(32), nullable=False),
    Column("action", String(64), nullable=False),
    Column("subject", String(160), nullable=False),
    Column("detail", JSON, nullable=False),
    Index("ix_audit_subject", "subject"),
    Index("ix_audit_action", "action", "at"),
)

desk = Table(
    "desk",
    metadata,
    Column("channel", String(32), primary_key=True),
    Column("number", Integer, nullable=False, server_default="0"),
    Column("ts", TS),
    Column("shown", String(64), nullable=False, server_default=""),
    Column("edited_at", Float, nullable=False, server_default="0"),
    Column("begun_at", Float, nullable=False, server_default="0"),
    Column("rang_at", Float, nullable=False, server_default="0"),
    # The person whom the setting ASSIGN gave the last case, and how many cases it has given to people.
    Column("assigned", String(32), nullable=False, server_default=""),
    Column("assignments", Integer, nullable=False, server_default="0"),
)

fix_list = Table(
    "fix_list",
    metadata,
    Column("channel", String(32), primary_key=True),
    Column("number", Integer, nullable=False, server_default="0"),
    Column("ts", TS),
    Column("shown", String(64), nullable=False, server_default=""),
    Column("edited_at", Float, nullable=False, server_default="0"),
    Column("begun_at", Float, nullable=False, server_default="0"),
)

fixed = Table(
    "fixed",
    metadata,
    # The desk's channel, and what is done: turn/7, low/FD-1012, could/FD-1012 or page/ with a digest of its address.
    Column("channel", String(32), primary_key=True),
    Column("subject", String(64), primary_key=True),
    Column("person", String(32), nullable=False),
    Column("at", Float, nullable=False),
    Index("ix_fixed_at", "at"),
)

away = Table(
    "away",
    metadata,
    Column("person", String(32), primary_key=True),
    Column("since", Float, nullable=False),
    # NULL: until they say that they are back.
    Column("until", Float),
)

daily = Table(
    "daily",
    metadata,
    # The day (UTC), as 2026-11-30, and whose figures they are.
    Column("day", String(10), primary_key=True),
    Column("name", String(16), primary_key=True),
    Column("figures", JSON, nullable=False),
)
