"""Where a call runs, and what ends it: threads, deadlines and aborts, its turn."""

from callboard.workers.forks import renewed_after_fork
from callboard.workers.pauses import paused, paused_in_thread
from callboard.workers.programs import Finished, run_program
from callboard.workers.threads import Job, ThreadPool, shared_pool
from callboard.workers.timer import ThreadTimer, Timer
from callboard.workers.turns import Turns, left_of
from callboard.workers.waiting import CallerCancelled, Ended, cannot_wait, first_step, resumed, watched

__all__ = [
    "CallerCancelled",
    "Ended",
    "Finished",
    "Job",
    "ThreadPool",
    "ThreadTimer",
    "Timer",
    "Turns",
    "cannot_wait",
    "first_step",
    "left_of",
    "paused",
    "paused_in_thread",
    "renewed_after_fork",
    "resumed",
    "run_program",
    "shared_pool",
    "watched",
]
