"""A seccomp allow list for a process that only computes; every other system call answers ENOSYS.

What is not listed looks like a kernel that does not have it, so the C library falls back where it can.
Opening files is listed: which files, Landlock decides. Threads are possible, new processes and sockets not.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

from callboard_worker.landlock import forbid_new_privileges

# name: number on x86_64, number on aarch64
_NUMBERS = {
    "brk": (12, 214),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "close": (3, 57),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "fstat": (5, 80),
    "futex": (202, 98),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "lseek": (8, 62),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "newfstatat": (262, 79),
    "openat": (257, 56),
    "pread64": (17, 67),
    "read": (0, 63),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124),
    "set_robust_list": (273, 99),
    "sigaltstack": (131, 132),
    "write": (1, 64),
    "writev": (20, 66),
}
_CLONE = (56, 220)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_AT_NUMBER, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

_libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(OSError):
    """Raised where this machine's system calls are not known here, or the kernel takes no filter."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def compute_only() -> None:
    """Give up every system call that is not in the list above, for good.

    Raises:
        Unavailable: on an architecture that is not known here, or when the kernel refuses.
    """
    known = _ARCHITECTURES.get(platform.machine())
    if known is None:
        raise Unavailable(f"the system calls of {platform.machine()} are not known here")
    column, architecture = known
    numbers = [pair[column] for pair in _NUMBERS.values()]
    install(_filter(architecture, numbers, _CLONE[column]))


def install(program: bytes) -> None:
    """Put a filter on this process.

    Raises:
        Unavailable: when the kernel refuses.
    """
    forbid_new_privileges()
    made = _Program(len(program) // 8, program)
    if _libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.byref(made)) != 0:
        number = ctypes.get_errno()
        raise Unavailable(number, f"the kernel takes no seccomp filter: {os.strerror(number)}")


def step(operation: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction; `then` and `otherwise` are how many to skip."""
    return struct.pack("=HBBI", operation, then, otherwise, value)


def _filter(architecture: int, numbers: Sequence[int], clone: int) -> bytes:
    refuse = step(_RETURN, _ERRNO | errno.ENOSYS)
    program = [
        step(_LOAD, _AT_ARCHITECTURE),
        step(_EQUAL, architecture, 1, 0),
        step(_RETURN, _KILL),
        step(_LOAD, _AT_NUMBER),
        step(_AT_LEAST, _X32_BIT, 0, 1),  # the second table of x86_64
        step(_RETURN, _KILL),
    ]
    for number in numbers:
        program += [step(_EQUAL, number, 0, 1), step(_RETURN, _ALLOW)]
    program += [
        step(_EQUAL, clone, 1, 0),
        refuse,
        step(_LOAD, _AT_FIRST_ARGUMENT),
        step(_ANY_BIT, _CLONE_THREAD, 0, 1),
        step(_RETURN, _ALLOW),
        refuse,
    ]
    return b"".join(program)
