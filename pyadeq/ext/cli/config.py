"""`adeq config`: versioned values of names."""

from __future__ import annotations

import base64
import sys
from contextlib import suppress
from threading import Timer
from typing import Annotated, Any

import typer

from pyadeq import Adeq, Config, ConfigConflict, ConfigValue
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.arguments import time_option
from pyadeq.ext.cli.change_put import content_of
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    FAILED,
    Format,
    Output,
    Url,
    as_json,
    connected,
    iso,
    print_json,
    print_lines,
    safe,
)
from pyadeq.ext.cli.complete import names_of
from pyadeq.ext.cli.generated import Commands
from pyadeq.ext.cli.resolve import existing, refuse_own
from pyadeq.ext.cli.tables import print_fields, print_rows
from pyadeq.ext.cli.tree import NOUNS, WITH_VALUE, Group
from pyadeq.keys import check_name, hint

COLUMNS = ("name", "value", "set", "by", "version")
OF_HISTORY = ("version", "value", "at", "by", "reason")


class ConfigGroup(Group):
    """The commands of configs. Their options may come before the verb, too."""

    with_value = (*WITH_VALUE, "--namespace")


app = typer.Typer(cls=ConfigGroup, help=NOUNS["config"], no_args_is_help=True)
app.callback()(lambda: None)

Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        metavar="NAME",
        envvar="ADEQ_CONFIG_NAMESPACE",
        help="The config namespace.",
        autocompletion=names_of("config"),
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name.")]
Expect = Annotated[
    int | None,
    typer.Option(min=0, metavar="VERSION", help="Only if the name has this version; 0: only if it has no value."),
]
Actor = Annotated[str | None, typer.Option("--as", metavar="ACTOR", help="Who does it.")]
Reason = Annotated[str, typer.Option("-m", "--reason", metavar="TEXT", help="Why.")]


@app.command()
def ls(
    start: Annotated[str, typer.Argument(metavar="[START]", help="Only names that begin so.")] = "",
    namespace: Namespace = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the names of a namespace and their values."""
    with connected(url) as adeq:
        values = _existing(adeq, namespace).all()
    found = [values[name] for name in sorted(values) if name.startswith(start)]
    if output != Format.table:
        print_lines(map(_plain, found), output)
        return
    rows = [(one.name, _shown(one.value), iso(one.at), safe(one.actor), one.version) for one in found]
    print_rows(COLUMNS, rows, right=["version"], spare=["version", "by", "set"])


@app.command()
def show(name: Name, namespace: Namespace = "default", url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Show the value of a name, and who set it. Exits with 1 if it has none."""
    with connected(url) as adeq:
        found = _known(_existing(adeq, namespace), name)
    if output != Format.table:
        print_json({"namespace": namespace, **_plain(found)}, output)
    else:
        fields = {**_plain(found), "value": _shown(found.value)}
        print_fields([(field, safe(str(value))) for field, value in fields.items() if value != ""])


@app.command()
def get(name: Name, namespace: Namespace = "default", url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Print the value of a name, its bytes and nothing else. Exits with 1 if it has none."""
    with connected(url) as adeq:
        found = _known(_existing(adeq, namespace), name)
    if output != Format.table:
        print_json({"namespace": namespace, **_plain(found)}, output)
    else:
        _write(found.value)


@app.command("set")
def set_(
    name: Name,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="The value as it is; @FILE reads it from a file, @- from stdin.")
    ],
    expect: Expect = None,
    actor: Actor = None,
    reason: Reason = "",
    namespace: Namespace = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Set the value of a name. The namespace is created if it does not exist.

    Exits with 1, and changes nothing, if the name has another version than --expect.
    """
    refuse_own("--namespace", namespace)
    data = content_of("VALUE", value)
    with connected(url) as adeq:
        config = adeq.config(namespace)
        version = _unless_changed(lambda: config.set(_checked(name), data, expect=expect, actor=actor, reason=reason))
    _print_done(namespace, name, "set", version, output)


@app.command()
def rm(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The names.")],
    expect: Expect = None,
    actor: Actor = None,
    reason: Reason = "",
    namespace: Namespace = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Remove names. Exits with 1 if one of them has no value, or another version than --expect."""
    refuse_own("--namespace", namespace)
    wanted = [_checked(name) for name in dict.fromkeys(names)]
    with connected(url) as adeq:
        config = _existing(adeq, namespace)
        done = {
            name: _unless_changed(lambda name=name: config.remove(name, expect=expect, actor=actor, reason=reason))
            for name in wanted
        }
    rows = [{"name": name, "status": "removed" if removed else "not_found"} for name, removed in done.items()]
    if output != Format.table:
        print_json({"namespace": namespace, "names": rows}, output)
    else:
        print_rows(["name", "status"], [[*row.values()] for row in rows])
    if not all(done.values()):
        raise typer.Exit(FAILED)


@app.command()
def history(
    name: Name, namespace: Namespace = "default", url: Url = DEFAULT_URL, output: Output = Format.table
) -> None:
    """List the versions of a name, newest first: who set it, and why."""
    with connected(url) as adeq:
        found = list(_existing(adeq, namespace).history(_checked(name)))
    if output != Format.table:
        rows = ({**one._asdict(), "value": _text(one.value), "at": iso(one.at)} for one in found)
        print_lines(rows, output)
        return
    print_rows(
        OF_HISTORY,
        [
            (
                one.version,
                "(removed)" if one.value is None else _shown(one.value),
                iso(one.at),
                safe(one.actor),
                safe(one.reason),
            )
            for one in found
        ],
        right=["version"],
        spare=["at", "by"],
    )


@app.command()
def revert(
    name: Name,
    version: Annotated[int, typer.Argument(min=1, metavar="VERSION", help="The version, as history shows it.")],
    expect: Expect = None,
    actor: Actor = None,
    reason: Annotated[str | None, typer.Option("-m", "--reason", metavar="TEXT", help="Why.")] = None,
    namespace: Namespace = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Set a name to what it was in an earlier version."""
    refuse_own("--namespace", namespace)
    with connected(url) as adeq:
        config = _existing(adeq, namespace)
        new = _unless_changed(lambda: config.revert(_checked(name), version, expect=expect, actor=actor, reason=reason))
    _print_done(namespace, name, "reverted", new, output)


@app.command()
def watch(
    start: Annotated[str, typer.Argument(metavar="[START]", help="Only names that begin so.")] = "",
    seconds: Annotated[float | None, time_option("End after this time.", "--for")] = None,
    namespace: Namespace = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Follow changes from now on. Ctrl-C ends it.

    There is one line for each name that has changed. If a name changes several times at once, only the last value is
    shown. With -o json, the changes are one array, at the end.
    """
    kept: list[dict[str, Any]] = []
    with connected(url) as adeq, suppress(KeyboardInterrupt), _existing(adeq, namespace).watch() as snapshot:
        timer = Timer(seconds, snapshot.close) if seconds is not None else None
        if timer:
            timer.start()
        try:
            for changed in snapshot.changes():
                content = snapshot.content
                for name in sorted(one for one in changed if one.startswith(start)):
                    change = {"name": name, "status": "set" if name in content else "removed"}
                    change |= _plain(content[name]) if name in content else {}
                    if output == Format.json:
                        kept.append(change)
                    elif output == Format.jsonl:
                        print(as_json(change), flush=True)
                    else:
                        print(_line(change, content.get(name)), flush=True)
        finally:
            if timer:
                timer.cancel()
    if output == Format.json:
        print_json(kept)


@app.command()
def namespaces(url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """List the config namespaces of the server.

    A server has no list of them, so all its keys are scanned. This takes about a second for a million keys.
    """
    with connected(url) as adeq:
        names = sorted(adeq.config_namespaces())
    if output != Format.table:
        print_lines(({"namespace": name} for name in names), output)
    else:
        print_rows(["namespace"], [[name] for name in names])


app.command("configure", help="Show or change the settings of a namespace.")(
    Commands("config", "adeq config namespaces").function("configure")
)


def _existing(adeq: Adeq, name: str) -> Config:
    """The namespace. AdeqError, with those that exist, if there is none of that name."""
    found: Config = existing(adeq, "config", name, "adeq config namespaces")
    return found


def _checked(name: str) -> str:
    return check_name("NAME", name, "id")


def _known(config: Config, name: str) -> ConfigValue:
    """The value of a name. AdeqError with a hint if it has none."""
    found = config.get(_checked(name))
    if found is None:
        raise AdeqError(f"NAME: {name!r} has no value{hint(name, [*config.all()])} See adeq config ls")
    return found


def _unless_changed(write: Any) -> Any:
    """What a write returns. AdeqError if somebody has changed the name."""
    try:
        return write()
    except ConfigConflict as conflict:
        raise AdeqError(f"{conflict}. See adeq config history NAME") from None


def _print_done(namespace: str, name: str, status: str, version: int, output: Format) -> None:
    if output != Format.table:
        print_json({"namespace": namespace, "name": name, "status": status, "version": version}, output)
    else:
        print(f"{status} {name}: version {version}")


def _write(value: bytes) -> None:
    """Print bytes as they are; on a terminal as a line of text."""
    if sys.stdout.isatty():
        print(_shown(value))
        return
    try:
        print(value.decode(), end="")
    except UnicodeDecodeError:
        sys.stdout.flush()
        sys.stdout.buffer.write(value)


def _text(value: bytes | None) -> Any:
    """A value as JSON can have it: a text, if it is one."""
    try:
        return value if value is None else value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value or b"").decode()}


def _shown(value: bytes) -> str:
    return safe(value.decode(errors="replace")).replace("\n", " ")


def _plain(one: ConfigValue) -> dict[str, Any]:
    return {**one._asdict(), "value": _text(one.value), "at": iso(one.at)}


def _line(change: dict[str, Any], found: ConfigValue | None) -> str:
    if found is None:
        return f"removed {change['name']}"
    by = f" by {safe(found.actor)}" if found.actor else ""
    return f"set {found.name} at {iso(found.at)}{by}: {_shown(found.value)}"
