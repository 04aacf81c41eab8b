"""What the figures look for by time, and a time for cases that were open before there was a ladder."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_inbox_received", "inbox", ["received_at"])
    relayed = sa.text("source_ts is not null")
    op.create_index("ix_outbox_relayed", "outbox", ["created_at"], sqlite_where=relayed, postgresql_where=relayed)
    op.create_index("ix_case_opened", "case_", ["opened_at"])
    op.create_index("ix_feedback_given", "feedback", ["given_at"])
    op.create_index("ix_audit_action", "audit", ["action", "at"])
    # They have waited since before anybody looked: what was missed is done at the next look, and once. After the last
    # rung nothing is due by right.
    op.execute(
        "update case_ set due = coalesce(waiting_since, opened_at), version = version + 1 "
        "where due is null and step = 0 and state in ('waiting', 'away')"
    )
    op.execute(
        "update case_ set due = coalesce(ended_at, opened_at) + 7 * 86400.0, version = version + 1 "
        "where due is null and state = 'resolved'"
    )
