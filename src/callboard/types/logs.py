"""The logger of a call that was delivered secrets."""

import logging
import traceback
from copy import copy
from typing import Any

from callboard.types.redaction import Redaction

_ITS_OWN = frozenset(vars(logging.makeLogRecord({})))


def redacting(logger: logging.Logger, redaction: Redaction | None) -> logging.Logger:
    """The logger, or where there are secrets one that hands its records on without them."""
    return RedactingLogger(logger, redaction) if redaction else logger


class RedactingLogger(logging.Logger):
    """Hands each record on to the logger it stands for: no secret in its text, traceback or extra fields."""

    def __init__(self, real: logging.Logger, redaction: Redaction) -> None:
        super().__init__(real.name)
        self.parent = real
        self._real = real
        self._redaction = redaction

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's name
        """What the logger it stands for says."""
        return self._real.isEnabledFor(level)

    def getChild(self, suffix: str) -> logging.Logger:  # noqa: N802 - logging's name
        """A child of the logger it stands for, redacted alike."""
        return RedactingLogger(self._real.getChild(suffix), self._redaction)

    def handle(self, record: logging.LogRecord) -> None:
        """Hand it on."""
        self._real.handle(self._redacted(record))

    def _redacted(self, record: logging.LogRecord) -> logging.LogRecord:
        text, made = self._redaction.text, copy(record)
        made.msg, made.args = text(_message(record)), None
        if record.exc_info and record.exc_info[1] is not None:
            # the exception itself would be formatted again, and its frames hold the secret
            made.exc_text = text("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
            made.exc_info = None
        if record.stack_info:
            made.stack_info = text(record.stack_info)
        for name, value in vars(record).items():
            if name not in _ITS_OWN:
                setattr(made, name, self._extra(value))
        return made

    def _extra(self, value: Any) -> Any:
        try:
            return self._redaction.value(value)
        except Exception:  # noqa: BLE001 - what holds itself, or odd classes: a line of a log fails no tool
            return f"a {type(value).__name__} that can't be shown"


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a wrong format must not let through what it was to format
        return f"a record of {record.name} that can't be formatted"
