"""`adeq config`: versioned values of names."""

from __future__ import annotations

import sys
from contextlib import suppress
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import Format, Output, as_json, iso
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT, name_option, named, noun_with
from pyadeq.ext.cli.shared.running import Document, Read, with_client
from pyadeq.ext.cli.shared.shown import cell, plain
from pyadeq.ext.shared.terminal import safe
from pyadeq.keys import check_name, hint

if TYPE_CHECKING:
    from pyadeq import Config, ConfigValue


app = noun_with("config", "--namespace")


Namespace = Annotated["Config", name_option("config"), named("config", "adeq config namespaces")]
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name."), Read(lambda name: check_name("NAME", name, "id"))
]


@app.command()
@with_client
def get(name: Name, namespace: Namespace = DEFAULT) -> Document:
    """Print the value of a name, its bytes and nothing else. Exits with 1 if it has none."""
    found = _known(namespace, name)
    return Document({"namespace": namespace.name, **plain(found)}, lambda: _write(found.value))


@app.command()
@with_client
def watch(
    start: Annotated[str, typer.Argument(metavar="[START]", help="Only names that begin so.")] = "",
    seconds: Annotated[float | None, time_option("End after this time.", "--for")] = None,
    namespace: Namespace = DEFAULT,
    output: Output = Format.table,
) -> Document | None:
    """Follow changes from now on. Ctrl-C ends it.

    There is one line for each name that has changed. If a name changes several times at once, only the last value is
    shown. With -o json, the changes are one array, at the end.
    """
    kept: list[dict[str, Any]] = []
    with suppress(KeyboardInterrupt), namespace.watch() as snapshot:
        timer = Timer(seconds, snapshot.close) if seconds is not None else None
        if timer:
            timer.start()
        try:
            for changed in snapshot.changes():
                content = snapshot.content
                for name in sorted(one for one in changed if one.startswith(start)):
                    change = {"name": name, "status": "set" if name in content else "removed"}
                    change |= plain(content[name]) if name in content else {}
                    if output == Format.json:
                        kept.append(change)
                    elif output == Format.jsonl:
                        print(as_json(change), flush=True)
                    else:
                        print(_line(change, content.get(name)), flush=True)
        finally:
            if timer:
                timer.cancel()
    return Document(kept) if output == Format.json else None


def _known(config: Config, name: str) -> ConfigValue:
    """The value of a name. AdeqError with a hint if it has none."""
    found = config.get(name)
    if found is None:
        raise AdeqError(f"NAME: {name!r} has no value{hint(name, [*config.list()])} See adeq config ls")
    return found


def _write(value: bytes) -> None:
    """Print bytes as they are; on a terminal as a line of text."""
    if sys.stdout.isatty():
        print(cell("value", value))
        return
    try:
        print(value.decode(), end="")
    except UnicodeDecodeError:
        sys.stdout.flush()
        sys.stdout.buffer.write(value)


def _line(change: dict[str, Any], found: ConfigValue | None) -> str:
    if found is None:
        return f"removed {change['name']}"
    by = f" by {safe(found.actor)}" if found.actor else ""
    return f"set {found.name} at {iso(found.at)}{by}: {cell('value', found.value)}"
