"""Where a call runs, and what ends it: threads, deadlines and aborts, its turn at a lock."""

from callboard.workers.forks import renewed_after_fork
from callboard.workers.locks import Locks
from callboard.workers.programs import Finished, run_program
from callboard.workers.threads import Job, ThreadPool, shared_pool
from callboard.workers.waiting import CallerCancelled, Ended, cannot_wait, first_step, resumed, watched

__all__ = [
    "CallerCancelled",
    "Ended",
    "Finished",
    "Job",
    "Locks",
    "ThreadPool",
    "cannot_wait",
    "first_step",
    "renewed_after_fork",
    "resumed",
    "run_program",
    "shared_pool",
    "watched",
]
