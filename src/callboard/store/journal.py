"""The steps that runs have recorded, for the engine that takes them up again."""

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from callboard.store.database import Database
from callboard.store.rows import StoredStep
from callboard.store.tables import steps


class Journal:
    """Recorded steps: begun, with the number of attempts, and saved once with their outcome."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, run_id: str) -> list[StoredStep]:
        """All steps of a run, by step id."""
        query = sa.select(steps.c.step_id, steps.c.attempts, steps.c.about, steps.c.outcome)
        with self._database.read() as connection:
            rows = connection.execute(query.where(steps.c.run_id == run_id).order_by(steps.c.step_id)).all()
        return [StoredStep(*row) for row in rows]

    def begin(self, run_id: str, step_id: str) -> int:
        """Note that a step begins; returns the attempt's number, from 1."""
        first = insert(steps).values(run_id=run_id, step_id=step_id, attempts=1, about="")
        storing = first.on_conflict_do_update(
            index_elements=["run_id", "step_id"],
            set_={"attempts": steps.c.attempts + 1},
        )
        with self._database.write() as connection:
            return connection.execute(storing.returning(steps.c.attempts)).scalar_one()

    def save(self, run_id: str, step_id: str, about: str, outcome: str) -> None:
        """Record a step's outcome, JSON text; the first one stays."""
        first = insert(steps).values(run_id=run_id, step_id=step_id, attempts=1, about=about, outcome=outcome)
        storing = first.on_conflict_do_update(
            index_elements=["run_id", "step_id"],
            set_={"about": about, "outcome": outcome},
            where=steps.c.outcome.is_(None),
        )
        with self._database.write() as connection:
            connection.execute(storing)
