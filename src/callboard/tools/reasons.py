"""What somebody else's exception says, in one line."""


def reason_of(failure: BaseException) -> str:
    """Its class and its message; the class alone where it has no message, or fails to tell it."""
    named = type(failure).__name__
    try:
        text = str(failure).strip()
    except Exception:  # noqa: BLE001 - the message is the author's code, too
        return named
    return f"{named}: {text.splitlines()[0]}" if text else named
