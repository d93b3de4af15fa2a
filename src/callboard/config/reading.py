"""Reading a TOML file of the operator: whatever is wrong with it is said with its name."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from callboard.errors import ConfigError


def read_toml(file: Path, *, missing: str | None = None) -> dict[str, Any]:
    """The table in the file; `missing` is the hint where there is none.

    Raises:
        ConfigError: there is no such file, it is no regular one, can't be read, or is no TOML in UTF-8.
    """
    content = _content(file, missing)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{file}: is not valid TOML: {error}", hint="see https://toml.io/en/v1.0.0"
        ) from None
    except RecursionError:
        raise ConfigError(f"{file}: its tables and arrays are nested too deeply") from None
    except ValueError as error:  # a number with thousands of digits
        raise ConfigError(f"{file}: holds a value that can't be read: {error}") from None


def _content(file: Path, missing: str | None) -> bytes:
    try:
        # not waiting: a named pipe that nobody writes to would hold up the command for ever
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"{file}: is not a regular file")
            return opened.read()
    except FileNotFoundError:
        if file.is_symlink():
            raise ConfigError(f"{file}: is a link that leads nowhere") from None
        raise ConfigError(f"{file}: there is no such file", hint=missing) from None
    except IsADirectoryError:
        raise ConfigError(f"{file}: is not a regular file") from None
    except OSError as error:
        raise ConfigError(f"{file}: can't be read: {error.strerror}") from error
