"""Finding and reading the configuration."""

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from callboard.config.explaining import explain
from callboard.config.models import Config
from callboard.config.reading import read_toml
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
        raw = read_toml(file) if os.path.lexists(file) else None
    else:
        file = Path(path) / CONFIG if Path(path).is_dir() else Path(path)
        folder = file.parent
        raw = read_toml(
            file, missing="leave the path away to use callboard.toml of this folder, or the defaults"
        )
    origins: dict[str, Path] = {}
    table = _with_profiles(raw or {}, folder, file, origins)
    try:
        config = Config.model_validate(table)
    except ValidationError as error:
        raise explain(error, file, origins) from None
    config = config.located(folder, None if raw is None else file)
    _check_state(config, file)
    return config


def _check_state(config: Config, file: Path) -> None:
    try:
        folder = config.state_folder.resolve()
    except (RuntimeError, OSError, ValueError) as error:
        raise ConfigError(f"{file}: state.folder: can't be used: {error}") from None
    if config.folder.resolve().is_relative_to(folder):
        raise ConfigError(
            f"{file}: state.folder: must be a folder of its own, not the configuration's or one around it",
            hint='such as ".callboard": what is in it is kept from all file tools',
        )


def _with_profiles(
    raw: dict[str, Any],
    folder: Path,
    file: Path,
    origins: dict[str, Path],
) -> dict[str, Any]:
    files = _profiles(folder / PROFILES)
    profiles: Any = raw.get(PROFILES, {})
    if not isinstance(profiles, dict):
        raise ConfigError(f"{file}: profiles: must be tables, [profiles.NAME]")
    if not files:
        return raw
    merged: dict[str, Any] = dict(profiles)  # pyright: ignore[reportUnknownArgumentType] - a TOML table
    for found in files:
        merged[found.stem] = read_toml(found)
        origins[found.stem] = found
    return {**raw, PROFILES: merged}


def _profiles(folder: Path) -> list[Path]:
    if not os.path.lexists(folder):
        return []
    try:
        return sorted(found for found in folder.iterdir() if found.suffix == ".toml")
    except OSError as error:
        raise ConfigError(f"{folder}: can't be read: {error.strerror}") from error
