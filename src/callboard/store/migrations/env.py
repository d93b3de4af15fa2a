"""Alembic's entry: runs the scripts inside the transaction that `callboard.store.migrate` opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
