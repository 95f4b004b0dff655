"""The reference of the scripts, from lua/manifest.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import sources

from pyadeq._settings import facts
from pyadeq._worker.health import Health
from pyadeq._worker.metrics import HealthCollector
from pyadeq.errors import SCRIPT_ERRORS
from pyadeq.ext.operate.metrics.rules import ALERTS, all_records
from pyadeq.ext.operate.metrics.table import LABELS, TABLE
from pyadeq.models.setting import Setting
from pyadeq.models.settings import SETTINGS

Manifest = dict[str, Any]
DESCRIBED = ("queue", "lock")  # by the pages themselves
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "s"))
REPLAYS = {
    "read": "it changes nothing",
    "rid": "recognised by its `rid`, or by the `rid` of each item; without one it takes effect again",
    "slot": "recognised by `worker`, `incarnation`, `slot` and `n`",
    "token": "recognised by the `token` of each item",
    "idempotent": "it has the same effect, and returns the same answer as the last call",
    "state": "it has the same effect as one call, but the answer says what was left to do",
    "goes_on": "each call does the next part",
}


@cache
def load_manifest() -> Manifest:
    """The manifest as it stands in the repository."""
    manifest: Manifest = json.loads((sources.ROOT / "lua/manifest.json").read_text(encoding="utf-8"))
    return manifest


def of(noun: str) -> list[dict[str, Any]]:
    """The scripts of a noun, such as `queue`."""
    if noun not in (nouns := load_manifest()["nouns"]):
        raise ValueError(f"noun: {noun!r} is not accepted; allowed: {', '.join(nouns)}")
    return [script for script in load_manifest()["scripts"] if script["noun"] == noun]


def index(noun: str) -> str:
    """A table of a noun's scripts, each with what it does and whether it may write."""
    rows = [
        (f"[`{script['id']}`]({script['id']}.md)", _first_sentence(script["doc"]), _kind(script)) for script in of(noun)
    ]
    return table(("script", "does", ""), rows)


def others() -> list[dict[str, Any]]:
    """The nouns that the pages do not describe by hand."""
    return [noun for word, noun in load_manifest()["nouns"].items() if word not in DESCRIBED]


def error_codes(_: str = "") -> str:
    """A table of the codes that open error replies, each with the exception that it becomes."""
    codes = load_manifest()["errors"].items()
    return table(
        ("code", "means", "raised as"),
        [(f"`{code}`", error["doc"], f"[{(name := SCRIPT_ERRORS[code].__name__)}](#{name})") for code, error in codes],
    )


def server_errors(_: str = "") -> str:
    """A table of the errors of the server, and what a client does after each."""
    rows = [
        (
            f"`{error['code']}`" if "code" in error else ", ".join(f"`{text}`" for text in error.get("text", [])),
            error["doc"],
            error["retry"],
            "maybe" if error["may_have_applied"] else "no",
        )
        for error in load_manifest()["server_errors"]
    ]
    return table(("reply begins with, or has", "means", "retry", "applied"), rows)


def event_names(noun: str) -> str:
    """A table of a noun's events, each with the scripts that write it."""
    writers: dict[str, list[str]] = {}
    means = load_manifest()["nouns"][noun]["events"]
    for script in load_manifest()["scripts"]:
        knows = noun in (script["noun"], *script.get("uses", ()))
        for event in (one for one in script["events"] if knows and one in means):
            writers.setdefault(event, []).append(f"[{script['verb']}](scripts/{script['id']}.md)")
    rows = [(f"`{event}`", means[event], ", ".join(writers[event])) for event in sorted(writers)]
    return table(("event", "means", "written by"), rows)


def script_page(script: dict[str, Any], manifest: Manifest) -> str:
    """Return the page of one script, from the manifest."""
    groups = [part for group in script["groups"] for part in _group(group)]
    parts = [
        f"# {script['id']}",
        _capital(script["doc"]),
        table(("", ""), _facts(script)),
        "## Keys",
        table(("", "name", "type", "template"), [_key(n, key) for n, key in enumerate(script["keys"], 1)]),
        "## Data",
        "The keys that the script may read or write. It makes them from the bases of the keys above.",
        table(("name", "type", "template"), [_key(n, key)[1:] for n, key in enumerate(script["data"], 1)]),
        "## Arguments",
        "In this order, all of them, then the groups. An empty string means the default." if script["args"] else "",
        _arguments(script["args"]) if script["args"] else "None before the groups.",
        *groups,
        "## Replies",
        table(("status", "fields", "means"), [_status(one) for one in script["returns"]]),
        *(part for name, statuses in script["shapes"].items() for part in _shape(name, statuses)),
        "## Errors",
        table(("code", "means"), [(f"`{code}`", manifest["errors"][code]["doc"]) for code in script["errors"]]),
        "## Events",
        ", ".join(f"`{event}`" for event in script["events"]) or "None.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(script: dict[str, Any]) -> list[tuple[str, str]]:
    flags = ", ".join(f"`{flag}`" for flag in script["flags"])
    return [
        ("file", f"`lua/{script['file']}`, made from `lua/{script['source']}`"),
        ("SHA-1", f"`{script['sha1']}`"),
        ("on Dragonfly", f"`{script['sha1_dragonfly']}`"),
        ("call it with", "`EVALSHA_RO` or `EVALSHA`" if script["read_only"] else "`EVALSHA`"),
        ("role", _role(script["role"])),
        ("flags", flags or "none: refused on a replica, and when memory is full"),
        *_uses(script),
        ("sent again", REPLAYS[script["replay"]]),
        ("cost", script["cost"]),
    ]


def _uses(script: dict[str, Any]) -> list[tuple[str, str]]:
    """The layouts of the data that it knows, and which other nouns have some of it."""
    if "uses" not in script:
        return [("layout", str(script["layout"]))]
    layouts = ", ".join(f"`{noun}` {layout}" for noun, layout in script["layouts"].items())
    others = ", ".join(f"`{noun}`" for noun in script["uses"])
    return [("uses", f"{others}: replace `{{<noun>}}` by a base in the same hash slot"), ("layouts", layouts)]


def _role(role: str) -> str:
    whose = {"observe": "every role: it only reads", "any": "every role that may write"}
    return whose.get(role, f"`{role}`: see [Access control](../../operations/access-control.md)")


def _key(number: int, key: dict[str, Any]) -> tuple[str, str, str, str]:
    suffix = f"`{key['template']}`*{key['suffix']}*" if key["kind"] == "prefix" else f"`{key['template']}`"
    return (str(number), f"`{key['name']}`", key["type"], suffix)


def _group(group: dict[str, Any]) -> Iterable[str]:
    yield f"### Group `{group['name']}`, {group['min']:,} to {group['max']:,} times"
    yield _arguments(group["fields"])
    if group["pairs"]:
        yield "Then the number of name/value pairs, and the pairs, each name at most once:"
        yield _arguments(group["pairs"])


def _arguments(arguments: Sequence[dict[str, Any]]) -> str:
    return table(("name", "type", "default"), [_argument(argument) for argument in arguments])


def _argument(argument: dict[str, Any]) -> tuple[str, str, str]:
    default = argument.get("default")
    shown = "" if "default" not in argument else "empty" if default == "" else json.dumps(default).strip('"')
    return (f"`{argument['name']}`", _type(argument), shown)


def _type(argument: dict[str, Any]) -> str:
    if argument["type"] == "enum":
        return "one of " + ", ".join(f"`{value}`" for value in argument["values"])
    if "max" not in argument:
        return str(argument["type"])
    low, high = argument.get("min", 0), argument["max"]
    unit = " bytes" if argument["type"] == "bytes" else ""
    name = "" if unit else f"{argument['type']} "
    return f"{name}{_number(low)} to {_number(high)}{unit}"


def _number(value: int) -> str:
    return "2^53 − 1" if value == 2**53 - 1 else f"{value:,}".replace("-", "−")


def _shape(name: str, statuses: list[dict[str, Any]]) -> Iterable[str]:
    yield f"### Each `{name}`"
    yield table(("status", "fields", "means"), [_status(one) for one in statuses])


def _status(status: dict[str, Any]) -> tuple[str, str, str]:
    fields = [f"`{field['name']}` {_kind_of(field)}" for field in status["fields"]]
    return (f"`{status['status']}`", ", ".join(fields), status["doc"])


def _kind_of(field: dict[str, Any]) -> str:
    if field["type"] == "list":
        return f"list of {field['of']}"
    if "values" in field:
        return " or ".join(f"`{value}`" for value in field["values"])
    return str(field["type"])


def settings(noun: str) -> str:
    """A table of a noun's settings."""
    found = load_manifest()["nouns"][noun]["settings"]
    shown = {one["name"]: "none" if one["default"] == "" else json.dumps(one["default"]).strip('"') for one in found}
    rows = [(f"`{one['name']}`", _type(one), shown[one["name"]], one["doc"]) for one in found]
    return table(("setting", "accepts", "default", "means"), rows)


def configure(noun: str) -> str:
    """A table of a noun's settings as Python has them."""
    more = {name: of.get("more", "") for name, of in facts(noun).items()}
    rows = [
        (
            f"`{one.name}`",
            _allowed(one),
            one.otherwise if one.default is None else _amount(one, one.default),
            f"{one.doc}. {more[one.wire]}" if more[one.wire] else one.doc,
        )
        for one in SETTINGS[noun]
    ]
    return table(("setting", "accepts", "default", "means"), rows)


def _allowed(setting: Setting) -> str:
    if setting.kind == "bool":
        return "`True`, `False`"
    if setting.words:
        return ", ".join(f"`{word}`" for word in setting.words)
    return f"{_amount(setting, setting.least)} to {_amount(setting, setting.most)}"


def _amount(setting: Setting, value: float | str) -> str:
    """`15 s`, `7 days`, `100,000`."""
    if isinstance(value, str | bool):
        return f"`{value}`"
    if setting.kind != "seconds" or not value:
        return f"{value:,g}" if value % 1 else f"{value:,.0f}"
    size, unit = next((size, unit) for size, unit in UNITS if value % size == 0 or unit == "s")
    count = value / size
    return f"{count:,g} {unit}{'s' if count != 1 and unit != 's' else ''}"


def metrics(of: str) -> str:
    """A table of the metrics of an installation (`server`) or of a worker."""
    if of == "server":
        rows = [(f"`{one.name}`", one.kind, ", ".join(f"`{label}`" for label in one.labels), one.help) for one in TABLE]
    else:
        health = asdict(Health(0.0, 0.0, 0, 0, "run", 0, 0))
        rows = []
        for family in HealthCollector(health).collect():
            labels = sorted(family.samples[0].labels)
            name = family.samples[0].name
            rows.append((f"`{name}`", family.type, ", ".join(f"`{label}`" for label in labels), family.documentation))
    return table(("metric", "kind", "labels", "means"), rows)


def labels(_: str) -> str:
    """A table of the labels of an installation's metrics, with the metrics that have them."""
    rows = [
        (f"`{label}`", meaning, ", ".join(f"`{one.name}`" for one in TABLE if label in one.labels))
        for label, meaning in LABELS.items()
    ]
    return table(("label", "means", "metrics"), rows)


def alerts(_: str) -> str:
    """A table of the alerts."""
    rows = [(f"`{one.name}`", f"`{one.expression}`", one.lasts, one.severity) for one in ALERTS]
    return table(("alert", "expression", "for", "severity"), rows)


def records(_: str) -> str:
    """A table of the recording rules."""
    return table(("metric", "expression"), [(f"`{name}`", f"`{of}`") for name, of in all_records()])


def _kind(script: dict[str, Any]) -> str:
    return "reads" if script["read_only"] else "writes, also when memory is full" if script["flags"] else "writes"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _first_sentence(text: str) -> str:
    return _capital(text.partition(". ")[0].rstrip(".")) + "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
