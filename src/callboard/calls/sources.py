"""Where secrets come from when the host does not say: the environment, then the keyring."""

import asyncio
import os
from functools import partial
from importlib.util import find_spec

from callboard.types import Principal
from callboard.workers import shared_pool

SERVICE = "callboard"


async def system_secrets(name: str, principal: Principal | None = None, /) -> str | None:  # noqa: ARG001 - the protocol's
    """The environment variable of that name, else what the keyring holds for it; the same for everybody.

    Args:
        name: the secret's; in the keyring, that of the user of the service ``callboard``.
        principal: makes no difference.

    Raises:
        keyring.errors.KeyringError: the keyring is locked, or broken.
    """
    found = os.environ.get(name)
    if found or find_spec("keyring") is None:
        return found
    if asyncio._get_running_loop() is None:  # noqa: SLF001 - the public form raises
        return _in_keyring(name)
    # a keyring may ask its user for the password
    return await shared_pool().submit(partial(_in_keyring, name)).outcome(writes=False)


def _in_keyring(name: str) -> str | None:
    import keyring  # noqa: PLC0415 - an extra, looked for when it is needed
    from keyring.errors import NoKeyringError  # noqa: PLC0415 - same

    try:
        return keyring.get_password(SERVICE, name)
    except NoKeyringError:  # installed, on a machine that has none
        return None
