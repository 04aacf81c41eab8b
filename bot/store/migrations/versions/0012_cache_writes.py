"""Tokens that were written to a provider's cache, beside those that were read from it."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("spending", sa.Column("written_tokens", sa.Integer(), nullable=False, server_default="0"))
