"""`callboard doctor`: what works here, what does not, and the next step."""

from callboard.cli.exits import DONE, FAILED
from callboard.cli.flags import AsJson, ConfigPath
from callboard.cli.output import print_json, print_text

EXAMPLES = """\
Examples:
  callboard doctor
  callboard doctor --json

It looks at the configuration, the tools and profiles, the store, models and
keys (their names only), extras and the kernel. Nothing is changed; the modules
that `tools` names are executed, as by every command.

Exit codes: 0 no problem was found, 1 there is one.
"""


def doctor(*, json: AsJson = False, config: ConfigPath = None) -> int:
    """Look over this installation and folder: a line for each thing, with the next step."""
    from callboard.host.checkup import check_up  # noqa: PLC0415 - for this command only

    found = check_up(config)
    problems = sum(finding.level == "problem" for finding in found)
    if json:
        print_json({"ok": not problems, "findings": [finding.to_json() for finding in found]})
        return FAILED if problems else DONE
    for finding in found:
        first, *rest = finding.text.split("\n")
        print_text(f"{finding.level:<8} {finding.area:<14} {first}")
        for line in (*rest, *([] if finding.hint is None else [f"next: {finding.hint}"])):
            print_text(f"{'':<23} {line}")
    warnings = sum(finding.level == "warning" for finding in found)
    print_text(f"{problems} problem{'s' * (problems != 1)}, {warnings} warning{'s' * (warnings != 1)}")
    return FAILED if problems else DONE
