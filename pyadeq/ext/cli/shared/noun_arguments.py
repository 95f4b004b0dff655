"""The nouns of the manifest on the command line: the option that names one, and the group of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq import library
from pyadeq.ext.cli.shared.arguments import Domain
from pyadeq.ext.cli.shared.complete import names_of
from pyadeq.ext.cli.shared.resolve import existing, existing_domain, refuse_own
from pyadeq.ext.cli.shared.running import Found, Read
from pyadeq.ext.cli.shared.tree import NOUNS, WITH_VALUE, Group

if TYPE_CHECKING:
    from pyadeq import Locks

DEFAULT: Any = "default"
"""A name. The command gets what has this name."""
ThisDomain = Annotated["Locks", Domain.__metadata__[0], Found(existing_domain)]


def name_option(noun: str, help: str = "", variable: str = "") -> Any:
    """The option for a name of a noun. variable: with its default, if it is not the one of the noun."""
    facts = library().manifest["nouns"][noun]
    field = facts["field"]
    return typer.Option(
        *(f"--{field}", "-d")[: 2 if field == "domain" else 1],
        metavar="NAME",
        envvar=variable or f"ADEQ_{noun}_{field}".upper(),
        help=help or f"The {facts['title']}.",
        autocompletion=names_of(noun),
    )


def named(noun: str, listing: str, first: str = "") -> Found:
    """The command gets what has the name. listing, first: commands for the error if nothing has it, see `existing`."""
    return Found(lambda adeq, name: existing(adeq, noun, name, listing, first))


def not_own(noun: str) -> Read:
    """Make an annotation that refuses names with records of a service."""
    option = f"--{library().manifest['nouns'][noun]['field']}"

    def read(name: str) -> str:
        refuse_own(option, name)
        return name

    return Read(read, str)


def noun_with(word: str, *options: str) -> typer.Typer:
    """A noun, to which verbs are added. These options may also come before the verb."""

    class Own(Group):
        with_value = (*WITH_VALUE, *options)

    app = typer.Typer(cls=Own, help=NOUNS[word], no_args_is_help=True)
    app.callback()(lambda: None)  # a noun with one verb stays a group
    return app
