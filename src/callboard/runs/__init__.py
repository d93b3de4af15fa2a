"""One execution of a profile: recorded steps, and taking a run up again."""

from callboard.runs.journal import Journal, JournalStore, MemoryJournalStore, StepRow

__all__ = ["Journal", "JournalStore", "MemoryJournalStore", "StepRow"]
