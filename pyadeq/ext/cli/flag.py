"""`adeq flag`: feature flags, which are values of a config with names `flag:<name>`."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import typer

from pyadeq import Adeq, Config, ConfigValue, ConfigVersion, Flag
from pyadeq.errors import AdeqError, BadArgument, ConfigConflict
from pyadeq.ext.cli.change_put import FILES, content_of
from pyadeq.ext.cli.change_who import Actor, actor_of
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
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
from pyadeq.ext.cli.resolve import existing, refuse_own
from pyadeq.ext.cli.tables import print_fields, print_rows
from pyadeq.ext.cli.tree import NOUNS, WITH_VALUE, Group
from pyadeq.models.base import flaw, given

PREFIX = "flag:"
TRIES = 5
"""How often a state is set again if somebody else changes the flag at the same time."""
COLUMNS = ("flag", "state", "default", "rule", "variants", "version", "set at", "by", "reason")
OF_HISTORY = ("version", *(name for name in COLUMNS[1:] if name != "version"))


class FlagGroup(Group):
    """The commands of flags. Their options may come before the verb, too."""

    with_value = (*WITH_VALUE, "--namespace")


app = typer.Typer(cls=FlagGroup, help=NOUNS["flag"], no_args_is_help=True)
app.callback()(lambda: None)

Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        metavar="NAME",
        envvar="ADEQ_FLAG_NAMESPACE",
        help="The config namespace that has the flags.",
        autocompletion=names_of("config"),
    ),
]
Name = Annotated[str, typer.Argument(metavar="FLAG", help="The flag, without `flag:`.")]
Reason = Annotated[str, typer.Option("-m", "--reason", metavar="TEXT", help="Why, for the history.")]


@app.command()
def ls(namespace: Namespace = "flags", url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """List the flags of a namespace."""
    with connected(url) as adeq:
        values = _existing(adeq, namespace).all()
    found = [value for name, value in sorted(values.items()) if name.startswith(PREFIX)]
    if output != Format.table:
        print_lines(map(_plain, found), output)
    else:
        rows = [[*_row(_name(value), value).values()] for value in found]
        print_rows(COLUMNS, rows, right=["version"], spare=("variants", "version", "reason", "by", "rule"))


@app.command()
def show(name: Name, namespace: Namespace = "flags", url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Show a flag with its variants and its rule."""
    with connected(url) as adeq:
        found = _found(_existing(adeq, namespace), namespace, name)
    if output != Format.table:
        print_json({"namespace": namespace, **_plain(found)}, output)
        return
    print_fields([(word, text) for word, text in _row(name, found).items() if text and word != "variants"])
    print(safe(found.value.decode(errors="replace") if flaw(found.value) else as_json(found.json(), 2)))


@app.command("set")
def set_(
    name: Name,
    value: Annotated[str, typer.Argument(metavar="FLAG|enabled|disabled", help=f"The flag in flagd's format. {FILES}")],
    expect: Annotated[
        int | None,
        typer.Option(min=0, metavar="VERSION", help="Only if the flag has this version; 0: a new flag."),
    ] = None,
    reason: Reason = "",
    actor: Actor = None,
    namespace: Namespace = "flags",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Set a flag, if it is correct; otherwise the error says where it is not. The namespace is created at need.

    `enabled` and `disabled` stand for a boolean flag of that state, which is true if it is enabled.
    """
    refuse_own("--namespace", namespace)
    content = content_of("FLAG", value) or b""
    data = Flag(name, content).data
    with connected(url) as adeq:
        config = adeq.config(namespace)
        version = config.set(PREFIX + name, data, expect=expect, actor=actor_of(actor), reason=reason)
    _told(namespace, name, "set", version, output)


@app.command()
def on(
    name: Name,
    reason: Reason = "",
    actor: Actor = None,
    namespace: Namespace = "flags",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Set the state of a flag to ENABLED. All else stays."""
    _switch(name, "ENABLED", reason, actor, namespace, url, output)


@app.command()
def off(
    name: Name,
    reason: Reason = "",
    actor: Actor = None,
    namespace: Namespace = "flags",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Set the state of a flag to DISABLED: programs use their own default values. All else stays."""
    _switch(name, "DISABLED", reason, actor, namespace, url, output)


@app.command()
def rm(
    name: Name,
    reason: Reason = "",
    actor: Actor = None,
    namespace: Namespace = "flags",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Remove a flag: programs use their own default values. Exits with 1 if there is none of that name."""
    refuse_own("--namespace", namespace)
    with connected(url) as adeq:
        config = _existing(adeq, namespace)
        if not config.remove(PREFIX + name, actor=actor_of(actor), reason=reason):
            raise _missing(namespace, name)
    if output != Format.table:
        print_json({"namespace": namespace, "flag": name, "status": "removed"}, output)
    else:
        print(f"removed {safe(name)}")


@app.command()
def history(
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="At most this number.")] = 20,
    namespace: Namespace = "flags",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List what a flag was, newest first: who set it, when and why."""
    with connected(url) as adeq:
        versions = list(islice(_existing(adeq, namespace).history(PREFIX + name), limit))
    if not versions:
        raise _missing(namespace, name)
    if output != Format.table:
        print_lines(({"flag": name, **_of_version(one)} for one in versions), output)
    else:
        rows = [[_row(name, one)[column] for column in OF_HISTORY] for one in versions]
        print_rows(OF_HISTORY, rows, right=["version"], spare=("variants", "rule", "default", "by"))


def _switch(name: str, state: str, reason: str, actor: str | None, namespace: str, url: str, output: Format) -> None:
    refuse_own("--namespace", namespace)
    word = "on" if state == "ENABLED" else "off"
    with connected(url) as adeq:
        config, who = _existing(adeq, namespace), actor_of(actor)
        for tries_left in reversed(range(TRIES)):
            found = _found(config, namespace, name)
            data = Flag(name, found.value).data
            if data["state"] == state:
                _told(namespace, name, f"is {word} already", found.version, output)
                return
            try:
                changed = {**data, "state": state}
                version = config.set(PREFIX + name, changed, expect=found.version, actor=who, reason=reason)
                break
            except ConfigConflict:
                if not tries_left:
                    raise
    _told(namespace, name, word, version, output)


def _told(namespace: str, name: str, status: str, version: int, output: Format) -> None:
    if output != Format.table:
        print_json({"namespace": namespace, "flag": name, "status": status, "version": version}, output)
    else:
        print(f"{safe(name)} {status}, version {version}")


def _existing(adeq: Adeq, namespace: str) -> Config:
    config: Config = existing(adeq, "config", namespace, "adeq config namespaces", "adeq flag set")
    return config


def _found(config: Config, namespace: str, name: str) -> ConfigValue:
    if (found := config.get(PREFIX + name)) is None:
        raise _missing(namespace, name)
    return found


def _missing(namespace: str, name: str) -> AdeqError:
    return AdeqError(f"there is no flag {name} in {namespace}; see adeq flag ls")


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
