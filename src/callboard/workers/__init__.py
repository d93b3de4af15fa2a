"""Where a call runs, and what ends it: threads, deadlines and aborts, its turn at a lock."""

from callboard.workers.locks import Locks
from callboard.workers.threads import Job, ThreadPool, shared_pool
from callboard.workers.waiting import watched

__all__ = ["Job", "Locks", "ThreadPool", "shared_pool", "watched"]
