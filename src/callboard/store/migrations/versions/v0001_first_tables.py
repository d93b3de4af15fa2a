"""The first tables: runs, events, calls, steps."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    _runs()
    _events()
    _calls()
    op.create_table(
        "steps",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("step_id", sa.Text, primary_key=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("profile", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False, index=True),
        sa.Column("reason", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("finished_at", sa.Float),
        sa.Column("input", sa.Text, nullable=False),
        sa.Column("text", sa.Text),
        sa.Column("simulate", sa.Boolean, nullable=False),
        sa.Column("model", sa.Text),
        sa.Column("model_reason", sa.Text),
        sa.Column("principal", sa.Text),
        sa.Column("workspace", sa.Text),
        sa.Column("rounds", sa.Integer),
        sa.Column("usage", sa.Text),
        sa.Column("owner", sa.Text),
        sqlite_autoincrement=True,
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("v", sa.Integer, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.UniqueConstraint("run", "path", "n", name="events_identity"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_of_run", "events", ["run", "seq"])


def _calls() -> None:
    op.create_table(
        "calls",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("invocation_id", sa.Text, nullable=False, unique=True),
        sa.Column("run", sa.Text, index=True),
        sa.Column("step", sa.Text),
        sa.Column("tool_id", sa.Text, nullable=False, index=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False, index=True),
        sa.Column("agent", sa.Text),
        sa.Column("started_ns", sa.BigInteger, nullable=False),
        sa.Column("duration_ns", sa.BigInteger, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
