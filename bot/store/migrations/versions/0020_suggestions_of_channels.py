"""The thread that a suggested article comes from if it is no case, and who asked there."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("suggestion", sa.Column("thread", sa.String(96), nullable=False, server_default=""))
    op.add_column("suggestion", sa.Column("person", sa.String(32), nullable=False, server_default=""))
    op.create_index("ix_suggestion_person", "suggestion", ["person"])
    op.create_index("ix_suggestion_made", "suggestion", ["made_at"])
