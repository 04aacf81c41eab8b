"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TS = sa.String(length=32).with_variant(sa.String(length=32, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.String(length=32), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=160), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_subject", "audit", ["subject"], unique=False)
    op.create_table(
        "case_",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("team", sa.String(length=32), nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("thread_ts", sa.String(length=32), nullable=False),
        sa.Column("customer", sa.String(length=32), nullable=False),
        sa.Column("customer_name", sa.String(length=120), nullable=False),
        sa.Column("standing", sa.String(length=16), nullable=False),
        sa.Column("link", sa.String(length=255), server_default="", nullable=False),
        sa.Column("language", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=False),
        sa.Column("priority", sa.String(length=8), nullable=False),
        sa.Column("title", sa.String(length=160), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(length=32), nullable=True),
        sa.Column("owner_name", sa.String(length=120), nullable=True),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("claimed_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_case_")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_case_state", "case_", ["state", "opened_at"], unique=False)
    op.create_index(
        "uq_case_open_thread",
        "case_",
        ["thread"],
        unique=True,
        sqlite_where=sa.text("state in ('waiting', 'human')"),
        postgresql_where=sa.text("state in ('waiting', 'human')"),
    )
    op.create_table(
        "feedback",
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=32), nullable=False),
        sa.Column("value", sa.String(length=16), nullable=False),
        sa.Column("given_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "person", name=op.f("pk_feedback")),
    )
    op.create_table(
        "inbox",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("event_id", sa.String(length=255), nullable=False),
        sa.Column("team", sa.String(length=32), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("ts", TS, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=False),
        sa.Column("author", sa.String(length=32), nullable=False),
        sa.Column("author_team", sa.String(length=32), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=64), server_default="", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("received_at", sa.Float(), nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sa.UniqueConstraint("event_id", name=op.f("uq_inbox_event_id")),
    )
    op.create_index("ix_inbox_open", "inbox", ["state", "id"], unique=False)
    op.create_index("ix_inbox_thread", "inbox", ["thread", "id"], unique=False)
    op.create_index("uq_inbox_message", "inbox", ["team", "channel", "ts", "kind"], unique=True)
    op.create_table(
        "thread",
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("team", sa.String(length=32), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("ts", TS, nullable=False),
        sa.Column("agent", sa.String(length=64), server_default="", nullable=False),
        sa.Column("language", sa.String(length=8), server_default="", nullable=False),
        sa.Column("episode", sa.Integer(), server_default="0", nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_thread")),
    )
    op.create_table(
        "journal",
        sa.Column("turn", ID, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["inbox.id"], name=op.f("fk_journal_turn")),
        sa.PrimaryKeyConstraint("turn", "name", name=op.f("pk_journal")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("method", sa.String(length=16), nullable=False),
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("thread_ts", sa.String(length=32), nullable=True),
        sa.Column("parent", sa.String(length=160), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("afterwards", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("ts", TS, nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.String(length=160), server_default="", nullable=False),
        sa.Column("case_id", ID, nullable=True),
        sa.Column("source_channel", sa.String(length=32), nullable=True),
        sa.Column("source_ts", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("sent_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_outbox_case_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("key", name=op.f("uq_outbox_key")),
    )
    op.create_index("ix_outbox_place", "outbox", ["channel", "ts"], unique=False)
    op.create_index("ix_outbox_state", "outbox", ["state", "id"], unique=False)
    op.create_table(
        "turn",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("ts", TS, nullable=False),
        sa.Column("customer", sa.String(length=32), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("ended", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=64), server_default="", nullable=False),
        sa.Column("messages", sa.JSON(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("confidence", sa.Float(), server_default="0", nullable=False),
        sa.Column("input_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["inbox.id"], name=op.f("fk_turn_id")),
        sa.PrimaryKeyConstraint("id", "thread", name=op.f("pk_turn")),
    )
    op.create_index("ix_turn_thread", "turn", ["thread", "episode", "ts"], unique=False)
