"""The command `callboard`, also as `python -m callboard`."""

import sys


def main() -> None:
    """Run the terminal; the version is answered without loading it."""
    if sys.argv[1:] == ["--version"]:
        from callboard import __version__  # noqa: PLC0415 - the only thing this answer needs

        print(f"callboard {__version__}")  # noqa: T201
        return
    from callboard.cli import main as command  # noqa: PLC0415 - loaded for real commands only

    sys.exit(command())


if __name__ == "__main__":
    main()
