"""Landlock by system call: a process gives up every file, and TCP, except what it is granted by descriptor.

Only the calling thread is restricted, so a process restricts itself while it has one thread. Children and
later threads inherit it; nothing takes it back.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from typing import NamedTuple

# The numbers are the same on every architecture that has Landlock.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15
_FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

# How many of the file rights, counted from bit 0, each ABI knows; later ones know as many as the last.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_ALL_NETWORK = 0b11  # bind and connect of TCP, from ABI 4
_ALL_SCOPES = 0b11  # abstract Unix sockets and signals outside, from ABI 6

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Unavailable(OSError):
    """Raised where the kernel has no Landlock, or has it switched off."""


class Grant(NamedTuple):
    """What stays allowed: the rights (a bit mask) on the file or folder that is open as `fd`."""

    fd: int
    rights: int


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    version = _libc.syscall(
        ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG)
    )
    return max(0, version)


def restrict(grants: Iterable[Grant]) -> int:
    """Give up all files and TCP but for `grants`, for good; returns the version that does it.

    Raises:
        Unavailable: where the kernel offers none.
        OSError: when the kernel refuses a rule.
    """
    version = abi()
    if version < 1:
        raise Unavailable("this kernel has no Landlock, or it is switched off")
    handled = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    ruleset = _ruleset(version, handled)
    try:
        for grant in grants:
            _add(ruleset, grant, handled)
        forbid_new_privileges()
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version


def forbid_new_privileges() -> None:
    """No program started from here gains rights by its file: what Landlock and seccomp ask for first.

    Raises:
        OSError: when the kernel refuses.
    """
    if _libc.prctl(ctypes.c_int(_PR_SET_NO_NEW_PRIVS), *map(ctypes.c_ulong, (1, 0, 0, 0))) != 0:
        raise _failed()


def _ruleset(version: int, handled: int) -> int:
    fields = [handled]
    if version >= 4:  # noqa: PLR2004 - the versions are the kernel's
        fields.append(_ALL_NETWORK)
    if version >= 6:  # noqa: PLR2004
        fields.append(_ALL_SCOPES)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(attributes))
    return _call(_CREATE_RULESET, ctypes.c_char_p(attributes), size, ctypes.c_uint32(0))


def _add(ruleset: int, grant: Grant, handled: int) -> None:
    rights = grant.rights & handled
    if not stat.S_ISDIR(os.fstat(grant.fd).st_mode):
        rights &= _FOR_FILES
    attributes = ctypes.c_char_p(struct.pack("=Qi", rights, grant.fd))
    _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_RULE_PATH_BENEATH), attributes, ctypes.c_uint32(0))


def _call(number: int, *arguments: object) -> int:
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _failed()
    return result


def _failed() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
