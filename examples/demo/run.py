"""The main job: a real language model on this machine calls governed tools on the files of a small shop.

No account and no key. It works on a fresh copy of `shop` in `build/demo`, asks the three questions of
`questions.txt` with `callboard run`, and then shows what was recorded. One leads to a write, which asks;
`answers.toml` answers, and what it does not list is denied.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHOP = HERE.parents[1] / "build" / "demo"
ANSWERS = HERE / "answers.toml"
# A key of a provider would choose another model.
KEYLESS = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}


def callboard(*arguments: str) -> None:
    """Run one command as a person would, in the shop's folder; a failing one ends the demo."""
    print(f"\n$ callboard {shlex.join(a.replace(str(ANSWERS), ANSWERS.name) for a in arguments)}", flush=True)
    command = [sys.executable, "-m", "callboard", *arguments]
    done = subprocess.run(command, cwd=SHOP, env=KEYLESS, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


def main() -> None:
    """Ask the questions, then look at the records."""
    shutil.rmtree(SHOP, ignore_errors=True)
    shutil.copytree(HERE / "shop", SHOP)
    print(f"The files: {SHOP}")
    print(f"Whoever is asked answers by {ANSWERS}:\n")
    print(ANSWERS.read_text(encoding="utf-8").strip())
    for question in (HERE / "questions.txt").read_text(encoding="utf-8").splitlines():
        callboard("run", question, "--answers", str(ANSWERS))
    callboard("runs", "list")
    callboard("calls")


if __name__ == "__main__":
    main()
