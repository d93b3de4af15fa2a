import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

LOCKS = ["requirements/dev.txt", "requirements/uv.txt", "requirements/bfcl.txt"]


def pins(text: str) -> dict[str, tuple[Version, int]]:
    """From the name of each locked package to its version and the number of its hashes."""
    found: dict[str, tuple[Version, int]] = {}
    for entry in re.sub(r"\\\n\s*", " ", text).splitlines():
        match = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", entry)
        if match:
            found[canonicalize_name(match[1])] = Version(match[2]), entry.count("--hash=sha256:")
    return found


@pytest.fixture(scope="module")
def wanted(root: Path) -> list[Requirement]:
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
        project["build-system"]["requires"],
    ]
    found = [Requirement(text) for each in lists for text in each]
    return [requirement for requirement in found if requirement.name != "callboard"]


def test_the_lock_holds_what_the_project_asks_for(root: Path, wanted: list[Requirement]) -> None:
    locked = pins((root / "requirements/dev.txt").read_text())
    missing = [
        str(requirement)
        for requirement in wanted
        if (name := canonicalize_name(requirement.name)) not in locked
        or not requirement.specifier.contains(locked[name][0], prereleases=True)
    ]
    assert not missing, "run `make lock`"
    assert len(wanted) > 20


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_hashes_and_no_address(root: Path, lock: str) -> None:
    text = (root / lock).read_text()
    locked = pins(text)
    assert locked
    assert not [name for name, (_, hashes) in locked.items() if not hashes]
    assert "://" not in text
    assert not re.search(r"^\s*-(-index-url|-extra-index-url|-find-links|i |f )", text, re.MULTILINE)


def test_the_extra_all_is_every_other_extra(root: Path) -> None:
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert Requirement(extras["all"][0]).extras == set(extras) - {"all"}
