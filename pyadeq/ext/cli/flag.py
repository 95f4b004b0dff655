"""`adeq flag`: feature flags, which are values of a config with names `flag:<name>`."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq import Flag
from pyadeq.errors import AdeqError, BadArgument, ConfigConflict
from pyadeq.ext.cli.change.put import FILES, content_of
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.shared.common import as_json, iso
from pyadeq.ext.cli.shared.noun_arguments import name_option, named, not_own, noun_with
from pyadeq.ext.cli.shared.running import Document, Found, Lines, Read, with_client
from pyadeq.ext.cli.shared.tables import print_fields
from pyadeq.ext.shared.terminal import safe
from pyadeq.models.base import flaw, given

if TYPE_CHECKING:
    from pyadeq import Config, ConfigValue, ConfigVersion

PREFIX = "flag:"
TRIES = 5
"""How often a state is set again if somebody else changes the flag at the same time."""
COLUMNS = ("flag", "state", "default", "rule", "variants", "version", "set at", "by", "reason")
OF_HISTORY = ("version", *(name for name in COLUMNS[1:] if name != "version"))


app = noun_with("flag", "--namespace")

NAMESPACE = name_option("config", "The config namespace that has the flags.", "ADEQ_FLAG_NAMESPACE")
CONFIG = named("config", "adeq config namespaces", "adeq flag set")
FLAGS: Any = "flags"
Namespace = Annotated["Config", NAMESPACE, CONFIG]
OwnNamespace = Annotated["Config", NAMESPACE, not_own("config"), CONFIG]
NewNamespace = Annotated["Config", NAMESPACE, not_own("config"), Found(lambda adeq, name: adeq.config(name))]
Name = Annotated[str, typer.Argument(metavar="FLAG", help="The flag, without `flag:`.")]
Reason = Annotated[str, typer.Option("-m", "--reason", metavar="TEXT", help="Why, for the history.")]


@app.command()
@with_client
def ls(namespace: Namespace = FLAGS) -> Lines:
    """List the flags of a namespace."""
    return Lines(
        (value for name, value in sorted(namespace.list().items()) if name.startswith(PREFIX)),
        COLUMNS,
        lambda value: [*_row(_name(value), value).values()],
        _plain,
        right=["version"],
        spare=("variants", "version", "reason", "by", "rule"),
    )


@app.command()
@with_client
def show(name: Name, namespace: Namespace = FLAGS) -> Document:
    """Show a flag with its variants and its rule."""
    found = _found(namespace, name)
    return Document({"namespace": namespace.name, **_plain(found)}, lambda: _print(name, found))


def _print(name: str, found: ConfigValue) -> None:
    print_fields([(word, text) for word, text in _row(name, found).items() if text and word != "variants"])
    print(safe(found.value.decode(errors="replace") if flaw(found.value) else as_json(found.json(), 2)))


@app.command("set")
@with_client
def set_(
    name: Name,
    value: Annotated[
        bytes | None,
        typer.Argument(metavar="FLAG|enabled|disabled", help=f"The flag in flagd's format. {FILES}"),
        Read(partial(content_of, "FLAG"), str),
    ],
    expect: Annotated[
        int | None,
        typer.Option(min=0, metavar="VERSION", help="Only if the flag has this version; 0: a new flag."),
    ] = None,
    reason: Reason = "",
    actor: By = YOU,
    namespace: NewNamespace = FLAGS,
) -> Document:
    """Set a flag, if it is correct; otherwise the error says where it is not. The namespace is created at need.

    `enabled` and `disabled` stand for a boolean flag of that state, which is true if it is enabled.
    """
    data = Flag(name, value or b"").data
    version = namespace.set(PREFIX + name, data, expect=expect, actor=actor, reason=reason)
    return _done(namespace, name, "set", version)


@app.command()
@with_client
def on(name: Name, reason: Reason = "", actor: By = YOU, namespace: OwnNamespace = FLAGS) -> Document:
    """Set the state of a flag to ENABLED. All else stays."""
    return _switch(namespace, name, "ENABLED", reason, actor)


@app.command()
@with_client
def off(name: Name, reason: Reason = "", actor: By = YOU, namespace: OwnNamespace = FLAGS) -> Document:
    """Set the state of a flag to DISABLED: programs use their own default values. All else stays."""
    return _switch(namespace, name, "DISABLED", reason, actor)


@app.command()
@with_client
def rm(name: Name, reason: Reason = "", actor: By = YOU, namespace: OwnNamespace = FLAGS) -> Document:
    """Remove a flag: programs use their own default values. Exits with 1 if there is none of that name."""
    if not namespace.remove(PREFIX + name, actor=actor, reason=reason):
        raise _missing(namespace, name)
    return Document({"namespace": namespace.name, "flag": name, "status": "removed"}, f"removed {safe(name)}")


@app.command()
@with_client
def history(
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="At most this number.")] = 20,
    namespace: Namespace = FLAGS,
) -> Lines:
    """List what a flag was, newest first: who set it, when and why."""
    versions = list(islice(namespace.history(PREFIX + name), limit))
    if not versions:
        raise _missing(namespace, name)
    return Lines(
        versions,
        OF_HISTORY,
        lambda one: [_row(name, one)[column] for column in OF_HISTORY],
        lambda one: {"flag": name, **_of_version(one)},
        right=["version"],
        spare=("variants", "rule", "default", "by"),
    )


def _switch(namespace: Config, name: str, state: str, reason: str, actor: str) -> Document:
    word = "on" if state == "ENABLED" else "off"
    for tries_left in reversed(range(TRIES)):
        found = _found(namespace, name)
        data = Flag(name, found.value).data
        if data["state"] == state:
            return _done(namespace, name, f"is {word} already", found.version)
        try:
            changed = {**data, "state": state}
            version = namespace.set(PREFIX + name, changed, expect=found.version, actor=actor, reason=reason)
            break
        except ConfigConflict:
            if not tries_left:
                raise
    return _done(namespace, name, word, version)


def _done(namespace: Config, name: str, status: str, version: int) -> Document:
    about = {"namespace": namespace.name, "flag": name, "status": status, "version": version}
    return Document(about, f"{safe(name)} {status}, version {version}")


def _found(namespace: Config, name: str) -> ConfigValue:
    if (found := namespace.get(PREFIX + name)) is None:
        raise _missing(namespace, name)
    return found


def _missing(namespace: Config, name: str) -> AdeqError:
    return AdeqError(f"there is no flag {name} in {namespace.name}; see adeq flag ls")


def _name(value: ConfigValue) -> str:
    return value.name.removeprefix(PREFIX)


def _plain(value: ConfigValue) -> dict[str, Any]:
    return {"flag": _name(value), **_of_version(value)}


def _of_version(one: ConfigValue | ConfigVersion) -> dict[str, Any]:
    value = {name: of for name, of in given("value", one.value).items() if of or name == "value"}
    return {"version": one.version, **value, "at": iso(one.at), "actor": one.actor, "reason": one.reason}


def _row(name: str, one: ConfigValue | ConfigVersion) -> dict[str, str]:
    """A version of a flag for people: what it is, and who has set it."""
    state, default, rule, variants = "removed", "", "", ""
    if one.value is not None:
        try:
            flag = Flag(name, one.value)
        except BadArgument:
            state = "invalid"
        else:
            state, default = flag.data["state"], flag.default_variant or "none"
            rule = "yes" if flag.data.get("targeting") else "no"
            variants = " ".join(flag.variants)
    texts = (name, state, default, rule, variants, str(one.version), iso(one.at), one.actor, one.reason)
    return dict(zip(COLUMNS, map(safe, texts), strict=True))
