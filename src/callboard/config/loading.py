"""Finding and reading the configuration."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from callboard.config.explaining import explain
from callboard.config.models import Config
from callboard.errors import ConfigError

CONFIG = "callboard.toml"
PROFILES = "profiles"


def load(path: str | Path | None = None, cwd: str | Path | None = None) -> Config:
    """Read `path`, or `callboard.toml` in `cwd` where there is one; no file means the defaults.

    Files in `profiles/`, beside it, take the place of ``[profiles.NAME]``.

    Args:
        path: the file, or the folder that holds `callboard.toml`.
        cwd: the folder to look in without a path; the process's own where it is None. Its parents are not
            looked at: what a folder allows should be seen in that folder.

    Raises:
        ConfigError: for a file that can't be read or used; names file, key and legal values.
    """
    if path is None:
        folder = Path.cwd() if cwd is None else Path(cwd)
        file = folder / CONFIG
        raw = _read(file) if file.is_file() else None
    else:
        file = Path(path) / CONFIG if Path(path).is_dir() else Path(path)
        folder = file.parent
        raw = _read(file)
    origins: dict[str, Path] = {}
    table = _with_profiles(raw or {}, folder, file, origins)
    try:
        config = Config.model_validate(table)
    except ValidationError as error:
        raise explain(error, file, origins) from None
    return config.located(folder, None if raw is None else file)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(
            f"{file}: there is no such file",
            hint="leave the path away to use callboard.toml of this folder, or the defaults",
        ) from None
    except OSError as error:
        raise ConfigError(f"{file}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{file}: is not valid TOML: {error}", hint="see https://toml.io/en/v1.0.0"
        ) from None


def _with_profiles(
    raw: dict[str, Any],
    folder: Path,
    file: Path,
    origins: dict[str, Path],
) -> dict[str, Any]:
    files = sorted((folder / PROFILES).glob("*.toml"))
    profiles: Any = raw.get(PROFILES, {})
    if not isinstance(profiles, dict):
        raise ConfigError(f"{file}: profiles: must be tables, [profiles.NAME]")
    if not files:
        return raw
    merged: dict[str, Any] = dict(profiles)  # pyright: ignore[reportUnknownArgumentType] - a TOML table
    for found in files:
        merged[found.stem] = _read(found)
        origins[found.stem] = found
    return {**raw, PROFILES: merged}
