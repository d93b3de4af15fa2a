"""Bringing a file to the newest version of the tables."""

import sqlalchemy as sa

from callboard.errors import StoreError
from callboard.store.database import Database
from callboard.store.version import HEAD

_SCRIPTS = "callboard.store:migrations"


def migrate(database: Database) -> None:
    """Make or upgrade the tables; nothing is loaded and nothing written where they are up to date.

    Several processes may do this at once: the first does the work while the others wait.

    Raises:
        StoreError: if the file was written by a newer Callboard, or by another program.
    """
    with database.read() as connection:
        version = _version(connection)
    if version == HEAD:
        return
    with database.write() as connection:
        version = _version(connection)
        if version != HEAD:
            _check(database, connection, version)
            _upgrade(connection)


def _version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def _check(database: Database, connection: sa.Connection, version: str | None) -> None:
    if version is None and (found := sa.inspect(connection).get_table_names()):
        raise StoreError(
            f"{database.path} belongs to another program (it has the table {found[0]!r} and no version)",
            hint="set [state] folder to another place",
        )
    if version is not None and version > HEAD:
        raise StoreError(
            f"{database.path} was written by a newer Callboard (tables {version}, known {HEAD})",
            hint="upgrade Callboard, or set [state] folder to another place",
        )


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command  # noqa: PLC0415 - most of a second, and needed once per file
    from alembic.config import Config  # noqa: PLC0415 - same

    config = Config()
    config.set_main_option("script_location", _SCRIPTS)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
