"""Indexes for what every message looks up, and for what the erasure of one person looks up."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

INDEXES = (
    ("ix_inbox_author", "inbox", ["author", "id"]),
    ("ix_inbox_place", "inbox", ["channel", "ts"]),
    ("ix_turn_customer", "turn", ["customer"]),
    ("ix_case_thread", "case_", ["thread"]),
    ("ix_case_customer", "case_", ["customer"]),
    ("ix_case_merged", "case_", ["merged_into"]),
    ("ix_case_claimed", "case_", ["claimed_at"]),
    ("ix_outbox_case", "outbox", ["case_id", "id"]),
    ("ix_outbox_parent", "outbox", ["parent"]),
    ("ix_outbox_thread", "outbox", ["channel", "thread_ts"]),
    ("ix_outbox_source", "outbox", ["source_channel", "source_ts"]),
    ("ix_suggestion_case", "suggestion", ["case_id"]),
    ("ix_feedback_person", "feedback", ["person"]),
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # They are looked up by how they begin, which an index can only do where characters decide the order.
        op.alter_column("outbox", "key", type_=sa.String(length=160, collation="C"))
        op.alter_column("outbox", "lane", type_=sa.String(length=200, collation="C"))
    for name, table, columns in INDEXES:
        op.create_index(name, table, columns)
