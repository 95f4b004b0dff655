"""`adeq config`: versioned values of names."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigConflict
from pyadeq.ext.cli.arguments import time_option
from pyadeq.ext.cli.change_put import content_of
from pyadeq.ext.cli.common import Format, Output, as_json, iso, safe
from pyadeq.ext.cli.generated import Commands
from pyadeq.ext.cli.noun_arguments import DEFAULT, name_option, named, not_own, noun_with
from pyadeq.ext.cli.running import Document, Found, Lines, Read, each, with_client
from pyadeq.keys import check_name, hint

if TYPE_CHECKING:
    from pyadeq import Adeq, Config, ConfigValue

COLUMNS = ("name", "value", "set", "by", "version")
OF_HISTORY = ("version", "value", "at", "by", "reason")


app = noun_with("config", "--namespace")


def checked(name: str) -> str:
    """A name. BadArgument if it cannot be one."""
    return check_name("NAME", name, "id")


NAMESPACE, CONFIG = name_option("config"), named("config", "adeq config namespaces")
Namespace = Annotated["Config", NAMESPACE, CONFIG]
OwnNamespace = Annotated["Config", NAMESPACE, not_own("config"), CONFIG]
NewNamespace = Annotated["Config", NAMESPACE, not_own("config"), Found(lambda adeq, name: adeq.config(name))]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name."), Read(checked)]
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="The names."),
    Read(lambda names: [checked(name) for name in dict.fromkeys(names)]),
]
Value = Annotated[
    bytes,
    typer.Argument(metavar="VALUE", help="The value as it is; @FILE reads it from a file, @- from stdin."),
    Read(partial(content_of, "VALUE"), str),
]
Expect = Annotated[
    int | None,
    typer.Option(min=0, metavar="VERSION", help="Only if the name has this version; 0: only if it has no value."),
]
Actor = Annotated[str | None, typer.Option("--as", metavar="ACTOR", help="Who does it.")]
Reason = Annotated[str, typer.Option("-m", "--reason", metavar="TEXT", help="Why.")]


@app.command()
@with_client
def ls(
    start: Annotated[str, typer.Argument(metavar="[START]", help="Only names that begin so.")] = "",
    namespace: Namespace = DEFAULT,
) -> Lines:
    """List the names of a namespace and their values."""
    return Lines(
        (value for name, value in sorted(namespace.all().items()) if name.startswith(start)),
        COLUMNS,
        lambda one: (one.name, _shown(one.value), iso(one.at), safe(one.actor), one.version),
        _plain,
        right=["version"],
        spare=["version", "by", "set"],
    )


@app.command()
@with_client
def show(name: Name, namespace: Namespace = DEFAULT) -> Document:
    """Show the value of a name, and who set it. Exits with 1 if it has none."""
    found = _known(namespace, name)
    fields = {**_plain(found), "value": _shown(found.value)}
    return Document(
        {"namespace": namespace.name, **_plain(found)},
        {field: safe(str(value)) for field, value in fields.items() if value != ""},
    )


@app.command()
@with_client
def get(name: Name, namespace: Namespace = DEFAULT) -> Document:
    """Print the value of a name, its bytes and nothing else. Exits with 1 if it has none."""
    found = _known(namespace, name)
    return Document({"namespace": namespace.name, **_plain(found)}, lambda: _write(found.value))


@app.command("set")
@with_client
def set_(
    name: Name,
    value: Value,
    expect: Expect = None,
    actor: Actor = None,
    reason: Reason = "",
    namespace: NewNamespace = DEFAULT,
) -> Document:
    """Set the value of a name. The namespace is created if it does not exist.

    Exits with 1, and changes nothing, if the name has another version than --expect.
    """
    with _unless_changed():
        version = namespace.set(name, value, expect=expect, actor=actor, reason=reason)
    return _done(namespace, name, "set", version)


@app.command()
@with_client
def rm(
    names: Names, expect: Expect = None, actor: Actor = None, reason: Reason = "", namespace: OwnNamespace = DEFAULT
) -> Document:
    """Remove names. Exits with 1 if one of them has no value, or another version than --expect."""
    with _unless_changed():
        done = {name: namespace.remove(name, expect=expect, actor=actor, reason=reason) for name in names}
    rows = [{"name": name, "status": "removed" if removed else "not_found"} for name, removed in done.items()]
    return each({"namespace": namespace.name, "names": rows}, "removed")


@app.command()
@with_client
def history(name: Name, namespace: Namespace = DEFAULT) -> Lines:
    """List the versions of a name, newest first: who set it, and why."""
    return Lines(
        [*namespace.history(name)],
        OF_HISTORY,
        lambda one: (
            one.version,
            "(removed)" if one.value is None else _shown(one.value),
            iso(one.at),
            safe(one.actor),
            safe(one.reason),
        ),
        lambda one: {**one._asdict(), "value": _text(one.value), "at": iso(one.at)},
        right=["version"],
        spare=["at", "by"],
    )


@app.command()
@with_client
def revert(
    name: Name,
    version: Annotated[int, typer.Argument(min=1, metavar="VERSION", help="The version, as history shows it.")],
    expect: Expect = None,
    actor: Actor = None,
    reason: Annotated[str | None, typer.Option("-m", "--reason", metavar="TEXT", help="Why.")] = None,
    namespace: OwnNamespace = DEFAULT,
) -> Document:
    """Set a name to what it was in an earlier version."""
    with _unless_changed():
        new = namespace.revert(name, version, expect=expect, actor=actor, reason=reason)
    return _done(namespace, name, "reverted", new)


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
    return Document(kept) if output == Format.json else None


@app.command()
@with_client
def namespaces(adeq: Adeq) -> Lines:
    """List the config namespaces of the server.

    A server has no list of them, so all its keys are scanned. This takes about a second for a million keys.
    """
    return Lines(({"namespace": name} for name in sorted(adeq.config_namespaces())), ["namespace"])


app.command("configure", help="Show or change the settings of a namespace.")(
    Commands("config", "adeq config namespaces").function("configure")
)


def _known(config: Config, name: str) -> ConfigValue:
    """The value of a name. AdeqError with a hint if it has none."""
    found = config.get(name)
    if found is None:
        raise AdeqError(f"NAME: {name!r} has no value{hint(name, [*config.all()])} See adeq config ls")
    return found


@contextmanager
def _unless_changed() -> Iterator[None]:
    """AdeqError if somebody has changed the name."""
    try:
        yield
    except ConfigConflict as conflict:
        raise AdeqError(f"{conflict}. See adeq config history NAME") from None


def _done(namespace: Config, name: str, status: str, version: int) -> Document:
    about = {"namespace": namespace.name, "name": name, "status": status, "version": version}
    return Document(about, f"{status} {name}: version {version}")


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
