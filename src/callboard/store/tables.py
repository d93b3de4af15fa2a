"""The tables as they are in the newest version of the file; migrations/ leads there from any older one."""

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator


class Words(TypeDecorator[str]):
    """Text that may hold lone surrogates: SQLite can't take them, so they are stored as escapes."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Escape what UTF-8 can't encode."""
        return None if value is None else value.encode("utf-8", "backslashreplace").decode("utf-8")


class Damaged:
    """Stands for a value whose JSON text in the file can't be read: one bad row hides no good one."""


DAMAGED = Damaged()


class Json(TypeDecorator[Any]):
    """Any JSON value as ASCII text; None is SQL's null."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Write it; NaN is refused."""
        return None if value is None else json.dumps(value, allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """Read it; a text that is no JSON becomes `DAMAGED`."""
        try:
            return None if value is None else json.loads(value)
        except (ValueError, RecursionError):
            return DAMAGED


metadata = sa.MetaData()

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("id", Words, nullable=False, unique=True),
    sa.Column("profile", Words, nullable=False),
    sa.Column("status", Words, nullable=False, index=True),
    sa.Column("reason", Words),
    sa.Column("message", Words),
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("finished_at", sa.Float),
    sa.Column("input", Words, nullable=False),
    sa.Column("text", Words),
    sa.Column("simulate", sa.Boolean, nullable=False),
    sa.Column("model", Words),
    sa.Column("model_reason", Words),
    sa.Column("principal", Json),
    sa.Column("workspace", Words),
    sa.Column("rounds", sa.Integer),
    sa.Column("usage", Json),
    sa.Column("owner", Words),  # the name of the file that its process holds locked
    sqlite_autoincrement=True,
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("run", Words, nullable=False),
    sa.Column("path", Words, nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("type", Words, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("v", sa.Integer, nullable=False),
    sa.Column("data", Json, nullable=False),
    sa.UniqueConstraint("run", "path", "n", name="events_identity"),
    sa.Index("events_of_run", "run", "seq"),
    sqlite_autoincrement=True,
)

calls = sa.Table(
    "calls",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("invocation_id", Words, nullable=False, unique=True),
    sa.Column("run", Words, index=True),
    sa.Column("step", Words),
    sa.Column("tool_id", Words, nullable=False, index=True),
    sa.Column("kind", Words, nullable=False),
    sa.Column("status", Words, nullable=False, index=True),
    sa.Column("agent", Words, index=True),
    sa.Column("started_ns", sa.BigInteger, nullable=False, index=True),
    sa.Column("duration_ns", sa.BigInteger, nullable=False, index=True),
    sa.Column("record", Json, nullable=False),
    # what the record says, for those who look for it
    sa.Column("code", Words),
    sa.Column("user", Words),
    sa.Column("tenant", Words),
    sa.Column("simulated", sa.Boolean),
    # most records have none of these, and cost no entry
    sa.Index("ix_calls_code", "code", sqlite_where=sa.text("code IS NOT NULL")),
    sa.Index("ix_calls_user", "user", sqlite_where=sa.text("user IS NOT NULL")),
    sa.Index("ix_calls_tenant", "tenant", sqlite_where=sa.text("tenant IS NOT NULL")),
    sa.Index("ix_calls_simulated", "simulated", sqlite_where=sa.text("simulated IS 1")),
    sqlite_autoincrement=True,
)

blobs = sa.Table(
    "blobs",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("run", Words, nullable=False),  # empty: of calls outside of runs
    sa.Column("principal", Words, nullable=False),  # JSON text; empty: on nobody's behalf
    sa.Column("handle", Words, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("text", Words, nullable=False),
    sa.UniqueConstraint("run", "handle", "principal", name="blobs_identity"),
    sqlite_autoincrement=True,
)

steps = sa.Table(
    "steps",
    metadata,
    sa.Column("run_id", Words, primary_key=True),
    sa.Column("step_id", Words, primary_key=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("about", Words, nullable=False),
    sa.Column("outcome", Words),  # JSON text of the engine, kept as it came
)
