"""The actor of a command for changes: a person, or an agent and the person who answers for it."""

from __future__ import annotations

from enum import StrEnum
from getpass import getuser
from typing import Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.running import Options, Read
from pyadeq.keys import check_name

KindName = StrEnum("KindName", ["person", "agent"])
"""What an actor is."""


Actor = Annotated[
    str | None,
    typer.Option("--as", envvar="ADEQ_ACTOR", metavar="ID", help="Who acts. [default: your user name on this system]"),
]
Principal = Annotated[
    str | None,
    typer.Option(
        envvar="ADEQ_PRINCIPAL", metavar="ID", help="The person who answers for the actor, which is an agent then."
    ),
]
Kind = Annotated[KindName | None, typer.Option(help="What the actor is. [default: agent with --principal, or person]")]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", envvar="ADEQ_GROUPS", metavar="NAME", help="A group of the actor; repeat it for more."),
]


def actor_of(given: str | None) -> str:
    """The actor that is named, or the user of this system."""
    if given is None:
        try:
            given = getuser()
        except (KeyError, OSError, ImportError):  # a container may have no name for its user
            raise ConfigError("--as: this system has no name for you; give --as ID, or set ADEQ_ACTOR") from None
    return check_name("--as", given, "label")


By = Annotated[str, Actor.__metadata__[0], Read(actor_of, str | None)]
YOU: Any = None  # the default of By and of Acting


def who(actor: Actor = None, principal: Principal = None, kind: Kind = None) -> dict[str, Any]:
    """The arguments of a call that say who acts."""
    name = actor_of(actor)
    another = None if principal in (None, "", name) else check_name("--principal", str(principal), "label")
    if kind == KindName.agent and another is None:
        raise ConfigError(
            f"--principal: {name!r} is an agent; name the person who answers for it, or set ADEQ_PRINCIPAL"
        )
    if kind == KindName.person and another is not None:
        raise ConfigError(f"--principal: {name!r} is a person, who answers alone; leave it out, or say --kind agent")
    return {"actor": name, "principal": another, "kind": "agent" if another else "person"}


Acting = Annotated[dict[str, Any], Options(who)]


def groups_of(given: list[str] | None) -> list[str]:
    """The groups that are named, each once."""
    return [check_name("--group", name, "label") for name in dict.fromkeys(given or ())]


GroupsOf = Annotated[list[str], Groups.__metadata__[0], Read(groups_of, list[str] | None)]
