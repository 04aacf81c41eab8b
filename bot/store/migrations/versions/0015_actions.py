"""Actions: what a shop changes for a customer, and the votes of staff about it."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TS = sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")
RUNNING = sa.text(
    "state in ('approving', 'ready', 'executing', 'unknown') or (state in ('stuck', 'partly') and not settled)"
)


def upgrade() -> None:
    op.create_table(
        "action",
        sa.Column("id", ID, nullable=False, autoincrement=True),
        sa.Column("ref", sa.String(40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(32), server_default="", nullable=False),
        sa.Column("team", sa.String(32), nullable=False),
        sa.Column("channel", sa.String(32), nullable=False),
        sa.Column("thread_ts", TS, nullable=False),
        sa.Column("origin", sa.String(96), nullable=False),
        sa.Column("customer", sa.String(32), nullable=False),
        sa.Column("customer_team", sa.String(32), nullable=False),
        sa.Column("customer_name", sa.String(120), server_default="", nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("zone", sa.String(64), server_default="", nullable=False),
        sa.Column("shop_customer", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(160), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("arguments_hash", sa.String(64), nullable=False),
        sa.Column("facts_hash", sa.String(64), nullable=False),
        sa.Column("preview", sa.JSON(), nullable=False),
        sa.Column("money", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("currency", sa.String(3), server_default="", nullable=False),
        sa.Column("policy", sa.String(64), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("key", sa.String(36), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("looks", sa.Integer(), server_default="0", nullable=False),
        sa.Column("worker", sa.String(96), server_default="", nullable=False),
        sa.Column("reference", sa.String(120), server_default="", nullable=False),
        sa.Column("offered_at", sa.Float(), nullable=False),
        sa.Column("confirmed_at", sa.Float()),
        sa.Column("decided_at", sa.Float()),
        sa.Column("sent_at", sa.Float()),
        sa.Column("ended_at", sa.Float()),
        sa.Column("due", sa.Float()),
        sa.Column("settled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_action"),
        sa.UniqueConstraint("ref", name="uq_action_ref"),
        sa.UniqueConstraint("key", name="uq_action_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_action_origin_kind_arguments_hash", "action", ["origin", "kind", "arguments_hash"], unique=True)
    op.create_index(
        "uq_action_subject", "action", ["subject"], unique=True, sqlite_where=RUNNING, postgresql_where=RUNNING
    )
    op.create_index("ix_action_state_due", "action", ["state", "due"])
    op.create_index("ix_action_shop_customer_confirmed_at", "action", ["shop_customer", "confirmed_at"])
    op.create_index("ix_action_channel_thread_ts", "action", ["channel", "thread_ts"])
    op.create_index("ix_action_customer", "action", ["customer"])
    op.create_index("ix_action_offered_at", "action", ["offered_at"])
    op.create_table(
        "action_vote",
        sa.Column("action", ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("person", sa.String(32), nullable=False),
        sa.Column("vote", sa.String(16), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["action"], ["action.id"], name="fk_action_vote_action"),
        sa.PrimaryKeyConstraint("action", "version", "person", name="pk_action_vote"),
    )
