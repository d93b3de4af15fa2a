"""The way from each older version of the tables to the next, in Alembic's form.

A published file of `versions` is never edited: files in the field were made by it.
"""
