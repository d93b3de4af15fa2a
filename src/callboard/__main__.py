"""The command `callboard`, also as `python -m callboard`."""

import os
import sys

STOPPED = 130  # as a shell reports Ctrl-C


def main() -> None:
    """Run the terminal; the version is answered without loading it."""
    _open_missing_streams()
    try:
        if sys.argv[1:] == ["--version"]:
            from callboard import __version__  # noqa: PLC0415 - the only thing this answer needs

            print(f"callboard {__version__}")  # noqa: T201
            return
        from callboard.cli import main as command  # noqa: PLC0415 - loaded for real commands only

        code = command()
    except KeyboardInterrupt:  # while all that is still being loaded
        code = STOPPED
    sys.exit(code)


def _open_missing_streams() -> None:
    """`callboard ... >&-`: what is written there goes nowhere, and no other file takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


if __name__ == "__main__":
    main()
