"""All tables. A database of the last preliminary version is brought to them instead of being created."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN_CASE = sa.text("state in ('waiting', 'out_of_hours', 'human')")
RELAYED = sa.text("source_ts is not null")


def upgrade() -> None:
    if sa.inspect(op.get_bind()).has_table("inbox"):
        _rename()
    else:
        _create()


def _rename() -> None:
    """Give what revision 0010 made the names of today."""
    op.execute("alter table thread rename column hands to epoch")
    op.execute("alter table outbox rename column hands to epoch")
    op.execute("alter table case_ rename column standing to member_type")
    op.execute("alter table inbox rename column wish to interrupt")
    op.execute("update inbox set kind = 'interaction' where kind = 'press'")
    op.drop_index("uq_case_open_thread", "case_")
    op.execute("update case_ set state = 'out_of_hours' where state = 'away'")
    op.create_index(
        "uq_case_open_thread", "case_", ["thread"], unique=True, sqlite_where=OPEN_CASE, postgresql_where=OPEN_CASE
    )
    outbox = sa.table("outbox", sa.column("id", ID), sa.column("afterwards", sa.JSON))
    waiting = sa.cast(outbox.c.afterwards, sa.Text).like('%"hands"%')
    for row in op.get_bind().execute(sa.select(outbox).where(waiting)).all():
        afterwards = json.loads(json.dumps(row.afterwards), object_hook=_with_epoch)
        op.execute(sa.update(outbox).where(outbox.c.id == row.id).values(afterwards=afterwards))


def _with_epoch(stored: dict[str, Any]) -> dict[str, Any]:
    """A post that follows another one, with the epoch under its name."""
    return {"epoch" if name == "hands" else name: value for name, value in stored.items()}


def _ordered(length: int) -> sa.types.TypeEngine[str]:
    """Text whose order is that of its characters, whatever language the database was made for."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def _create() -> None:
    op.create_table(
        "alias",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("target", sa.String(160), nullable=False),
        sa.Column("set_by", sa.String(96), nullable=False),
        sa.Column("set_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_alias"),
    )
    op.create_table(
        "audit",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.String(32), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(160), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_action", "audit", ["action", "at"])
    op.create_index("ix_audit_subject", "audit", ["subject"])
    op.create_table(
        "case_",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("team", sa.String(32), nullable=False),
        sa.Column("thread", sa.String(128), nullable=False),
        sa.Column("channel", sa.String(32), nullable=False),
        sa.Column("thread_ts", sa.String(32), nullable=False),
        sa.Column("customer", sa.String(32), nullable=False),
        sa.Column("customer_name", sa.String(120), nullable=False),
        sa.Column("member_type", sa.String(16), nullable=False),
        sa.Column("link", sa.String(255), server_default="", nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("priority", sa.String(8), nullable=False),
        sa.Column("title", sa.String(160), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(32), nullable=True),
        sa.Column("owner_name", sa.String(120), nullable=True),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("claimed_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("desk", sa.String(32), server_default="", nullable=False),
        sa.Column("waiting_since", sa.Float(), nullable=True),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("step", sa.Integer(), server_default="0", nullable=False),
        sa.Column("keeps_helping", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("replied_at", sa.Float(), nullable=True),
        sa.Column("reopened", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_owner", sa.String(32), nullable=True),
        sa.Column("outcome", sa.String(32), server_default="", nullable=False),
        sa.Column("cause", sa.String(32), server_default="", nullable=False),
        sa.Column("follows", ID, nullable=True),
        sa.Column("merged_into", ID, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_case_"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_case_claimed", "case_", ["claimed_at"])
    op.create_index("ix_case_customer", "case_", ["customer"])
    op.create_index("ix_case_due", "case_", ["due"])
    op.create_index("ix_case_merged", "case_", ["merged_into"])
    op.create_index("ix_case_opened", "case_", ["opened_at"])
    op.create_index("ix_case_state", "case_", ["state", "opened_at"])
    op.create_index("ix_case_thread", "case_", ["thread"])
    op.create_index(
        "uq_case_open_thread", "case_", ["thread"], unique=True, sqlite_where=OPEN_CASE, postgresql_where=OPEN_CASE
    )
    op.create_table(
        "claim",
        sa.Column("name", sa.String(160), nullable=False),
        sa.Column("owner", sa.String(96), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_claim"),
    )
    op.create_table(
        "feedback",
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("person", sa.String(32), nullable=False),
        sa.Column("value", sa.String(16), nullable=False),
        sa.Column("given_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "person", name="pk_feedback"),
    )
    op.create_index("ix_feedback_given", "feedback", ["given_at"])
    op.create_index("ix_feedback_person", "feedback", ["person"])
    op.create_table(
        "file_copy",
        sa.Column("post", sa.String(160), nullable=False),
        sa.Column("source", sa.String(32), nullable=False),
        sa.Column("copy", sa.String(32), server_default="", nullable=False),
        sa.Column("refusal", sa.String(32), server_default="", nullable=False),
        sa.Column("shared", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("post", "source", name="pk_file_copy"),
    )
    op.create_table(
        "inbox",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("event_id", sa.String(255), nullable=False),
        sa.Column("team", sa.String(32), nullable=False),
        sa.Column("channel", sa.String(32), nullable=False),
        sa.Column("ts", _ordered(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("thread", sa.String(128), nullable=False),
        sa.Column("author", sa.String(32), nullable=False),
        sa.Column("author_team", sa.String(32), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(64), server_default="", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("fence", sa.Integer(), server_default="0", nullable=False),
        sa.Column("handed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("interrupt", sa.String(16), server_default="", nullable=False),
        sa.Column("received_at", sa.Float(), nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_inbox"),
        sa.UniqueConstraint("event_id", name="uq_inbox_event_id"),
    )
    op.create_index("ix_inbox_author", "inbox", ["author", "id"])
    op.create_index("ix_inbox_open", "inbox", ["state", "id"])
    op.create_index("ix_inbox_place", "inbox", ["channel", "ts"])
    op.create_index("ix_inbox_received", "inbox", ["received_at"])
    op.create_index("ix_inbox_thread", "inbox", ["thread", "id"])
    op.create_index("uq_inbox_message", "inbox", ["team", "channel", "ts", "kind"], unique=True)
    op.create_table(
        "member",
        sa.Column("id", sa.String(96), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_member"),
    )
    op.create_table(
        "pace",
        sa.Column("key", sa.String(128), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_pace"),
    )
    op.create_table(
        "pause",
        sa.Column("channel", sa.String(32), nullable=False),
        sa.Column("by", sa.String(32), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("channel", name="pk_pause"),
    )
    op.create_table(
        "preference",
        sa.Column("person", sa.String(32), nullable=False),
        sa.Column("language", sa.String(8), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("person", name="pk_preference"),
    )
    op.create_table(
        "schedule",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("rule", sa.String(120), nullable=False),
        sa.Column("due", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_schedule"),
    )
    op.create_table(
        "spending",
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("team", sa.String(32), nullable=False),
        sa.Column("thread", sa.String(128), nullable=False),
        sa.Column("customer", sa.String(32), nullable=False),
        sa.Column("models", sa.String(255), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_spending"),
    )
    op.create_index("ix_spending_at", "spending", ["at"])
    op.create_index("ix_spending_customer", "spending", ["customer", "at"])
    op.create_index("ix_spending_thread", "spending", ["thread"])
    op.create_table(
        "summary",
        sa.Column("thread", sa.String(128), nullable=False),
        sa.Column("episode", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("through", _ordered(32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("thread", "episode", "through", name="pk_summary"),
    )
    op.create_table(
        "thread",
        sa.Column("key", sa.String(128), nullable=False),
        sa.Column("team", sa.String(32), nullable=False),
        sa.Column("channel", sa.String(32), nullable=False),
        sa.Column("ts", _ordered(32), nullable=False),
        sa.Column("agent", sa.String(64), server_default="", nullable=False),
        sa.Column("language", sa.String(8), server_default="", nullable=False),
        sa.Column("episode", sa.Integer(), server_default="0", nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_thread"),
    )
    op.create_table(
        "case_helper",
        sa.Column("case_id", ID, autoincrement=False, nullable=False),
        sa.Column("person", sa.String(32), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("joined_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_case_helper_case_id"),
        sa.PrimaryKeyConstraint("case_id", "person", name="pk_case_helper"),
    )
    op.create_table(
        "draft",
        sa.Column("case_id", ID, autoincrement=False, nullable=False),
        sa.Column("asked", ID, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_draft_case_id"),
        sa.PrimaryKeyConstraint("case_id", "asked", "number", name="pk_draft"),
    )
    op.create_table(
        "journal",
        sa.Column("turn", ID, nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["inbox.id"], name="fk_journal_turn"),
        sa.PrimaryKeyConstraint("turn", "name", name="pk_journal"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("key", _ordered(160), nullable=False),
        sa.Column("method", sa.String(16), nullable=False),
        sa.Column("channel", sa.String(32), nullable=False),
        sa.Column("thread_ts", sa.String(32), nullable=True),
        sa.Column("lane", _ordered(200), server_default="", nullable=False),
        sa.Column("parent", sa.String(160), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("afterwards", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("ts", _ordered(32), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.String(160), server_default="", nullable=False),
        sa.Column("case_id", ID, nullable=True),
        sa.Column("source_channel", sa.String(32), nullable=True),
        sa.Column("source_ts", sa.String(32), nullable=True),
        sa.Column("conversation", sa.String(128), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("sent_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_outbox_case_id"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("key", name="uq_outbox_key"),
    )
    op.create_index("ix_outbox_case", "outbox", ["case_id", "id"])
    op.create_index("ix_outbox_lane", "outbox", ["channel", "lane", "state", "id"])
    op.create_index("ix_outbox_parent", "outbox", ["parent"])
    op.create_index("ix_outbox_place", "outbox", ["channel", "ts"])
    op.create_index("ix_outbox_relayed", "outbox", ["created_at"], sqlite_where=RELAYED, postgresql_where=RELAYED)
    op.create_index("ix_outbox_source", "outbox", ["source_channel", "source_ts"])
    op.create_index("ix_outbox_state", "outbox", ["state", "id"])
    op.create_index("ix_outbox_thread", "outbox", ["channel", "thread_ts"])
    op.create_table(
        "suggestion",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("key", sa.String(160), nullable=False),
        sa.Column("case_id", ID, nullable=True),
        sa.Column("title", sa.String(160), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("close_to", sa.String(255), server_default="", nullable=False),
        sa.Column("likeness", sa.Float(), server_default="0", nullable=False),
        sa.Column("contradicts", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("asked_by", sa.String(32), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("decided_by", sa.String(32), nullable=True),
        sa.Column("decided_at", sa.Float(), nullable=True),
        sa.Column("reason", sa.String(64), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_suggestion_case_id"),
        sa.PrimaryKeyConstraint("id", name="pk_suggestion"),
        sa.UniqueConstraint("key", name="uq_suggestion_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_suggestion_case", "suggestion", ["case_id"])
    op.create_table(
        "turn",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("thread", sa.String(128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("ts", _ordered(32), nullable=False),
        sa.Column("customer", sa.String(32), nullable=False),
        sa.Column("agent", sa.String(64), nullable=False),
        sa.Column("ended", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(64), server_default="", nullable=False),
        sa.Column("messages", sa.JSON(), nullable=False),
        sa.Column("trace", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("failures", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("posts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("confidence", sa.Float(), server_default="0", nullable=False),
        sa.Column("input_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["inbox.id"], name="fk_turn_id"),
        sa.PrimaryKeyConstraint("id", "thread", name="pk_turn"),
    )
    op.create_index("ix_turn_customer", "turn", ["customer"])
    op.create_index("ix_turn_thread", "turn", ["thread", "episode", "ts"])
