"""The figures as text: one row for each framework, in four parts that fit a page."""

from collections.abc import Callable, Mapping
from typing import Any

Found = Mapping[str, Any]
Cell = Callable[[Found], str]

DASH = "-"
NAME = 18  # characters of the first column
DEPTHS = {"loop": "what its loop or server calls for a tool call", "tool": "the tool alone"}


def printed(found: Mapping[str, Found]) -> str:
    """All four parts, and below them what was measured of each framework."""
    parts = [
        "One call: times the floor, and microseconds of CPU. The floor is bare pydantic-core and the call.",
        *block(found, {name: ratio(name) for name in CALLS}, 18),
        "",
        "Calls that are refused, with the text of the error; and 10,000 calls at once.",
        *block(found, {**{name: ratio(name) for name in REFUSED}, **LOAD}, 18),
        "",
        "Registering so many different tools, and listing them for a model; starting. Seconds of CPU.",
        *block(found, SETTING_UP, 9),
        "",
        "What becomes of a call that shows what a path checks.",
        *block(found, {question: figure("probes", question, "") for question in QUESTIONS}, 13),
        "",
        *(f"{question}: {meaning}" for question, meaning in QUESTIONS.items()),
        "",
        *footnotes(found),
    ]
    return "\n".join(line.rstrip() for line in parts)


def block(found: Mapping[str, Found], columns: Mapping[str, Cell], wide: int) -> list[str]:
    """A heading, and a line for each framework; dashes and the reason for one that there is nothing of."""
    widths = [max(wide, len(column) + 2) for column in columns]
    heading = "".join(f"{column:>{width}}" for column, width in zip(columns, widths, strict=True))
    lines = ["", " " * NAME + heading]
    for name, one in found.items():
        texts = [DASH if "reason" in one else cell(one) for cell in columns.values()]
        line = "".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))
        lines.append(f"{name:{NAME}}{line}  {one.get('reason', '')}")
    return lines


def ratio(name: str) -> Cell:
    """One row of the calls: times its floor, and microseconds."""

    def cell(one: Found) -> str:
        row = one.get("calls", {}).get("rows", {}).get(name)
        return DASH if row is None else ratio_and_time(row)

    return cell


def ratio_and_time(row: Found) -> str:
    return f"{row['ratio']:.1f}x {row['us']:7.1f} us"


def at_once(one: Found) -> str:
    return ratio_and_time(one["calls"]["at_once"]) if "calls" in one else DASH


def figure(part: str, key: str, form: str) -> Cell:
    """One figure of another part."""

    def cell(one: Found) -> str:
        return format(one[part][key], form) if part in one else DASH

    return cell


def per_second(one: Found) -> str:
    return f"{one['calls']['at_once']['per_second']:,.0f}" if "calls" in one else DASH


def registered(part: str) -> Cell:
    """How long so many tools took; the number is there because a slow framework gets fewer."""

    def cell(one: Found) -> str:
        return f"{one[part]['number']:,}: {one[part]['register_s']:.2f}" if part in one else DASH

    return cell


def growth(one: Found) -> str:
    """What one of many tools took, in what one of few took: 1 is linear."""
    if "few" not in one or "many" not in one:
        return DASH
    few, many = (one[part]["register_s"] / one[part]["number"] for part in ("few", "many"))
    return f"{many / few:.1f}"


CALLS = ("add, sync", "add, async", "order, sync", "order, async", "sync tool, async call")
REFUSED = ("invalid arguments", "unknown tool")
LOAD: dict[str, Cell] = {"at once, each": at_once, "per second of CPU": per_second}
SETTING_UP: dict[str, Cell] = {
    "few": registered("few"),
    "          many": registered("many"),
    "growth": growth,
    "listed": figure("many", "list_s", ".2f"),
    "both": figure("many", "both_s", ".2f"),
    "x floor": figure("many", "ratio", ".1f"),
    "again": figure("many", "again_s", ".3f"),
    "MB": figure("many", "mb", ".0f"),
    "import": figure("start", "import_s", ".2f"),
    "modules": figure("start", "import_modules", "d"),
    "1st call": figure("start", "first_call_s", ".2f"),
}
QUESTIONS = {
    "text for int": 'the text "3" for a parameter that is an int',
    "extra key": "a key that the function has no parameter for",
    "key twice": "the same key twice in the JSON text",
    "bound": "an item with 0 of something whose field says at least 1",
    "wrong result": "a tool that gives text and has promised an int",
    "error says": "whether the error names the argument that is wrong",
    "cancel": "whether the tool hears that the task of its call was cancelled",
}


def footnotes(found: Mapping[str, Found]) -> list[str]:
    """What was measured of each, and what went wrong."""
    lines: list[str] = []
    for name, one in found.items():
        calls = one.get("calls")
        if calls is not None:
            lines.append(f"{name} {one['version']}: {calls['entry']}, {DEPTHS[calls['level']]}")
        failed: dict[str, str] = {**one.get("failed", {}), **(calls["failed"] if calls else {})}
        lines += [f"{name}, {what}: {reason}" for what, reason in failed.items()]
    return lines
