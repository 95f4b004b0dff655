"""`adeq profile`: the servers that a user has named."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyadeq.ext.cli.shared.common import Format, Output, shown_url
from pyadeq.ext.cli.shared.profiles import KEYS, config_path, load, profile
from pyadeq.ext.cli.shared.running import Answer, Document, Lines, Table, without_client
from pyadeq.ext.cli.shared.tree import NOUNS, noun

app = noun(NOUNS["profile"])


@app.command()
@without_client
def ls(output: Output = Format.table) -> Answer:
    """List the profiles of your configuration file, without passwords.

    The file is ~/.config/adeq/config.toml, or that of ADEQ_CONFIG. It is yours to edit.
    """
    profiles, default = load()
    rows = [{"profile": name, "default": name == default, **_shown(one)} for name, one in profiles.items()]
    if not rows and output == Format.table:
        return Document(rows, f"{config_path()} has no profiles")
    heads = ["profile", "default", *KEYS]
    return Lines(rows, heads, lambda row: [row.get(head, "") for head in heads], spare=[*KEYS[:0:-1]])


@app.command()
@without_client
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="The profile.")]) -> Document:
    """Show a profile, without its password."""
    found = _shown(profile(name))
    return Document({"profile": name, **found}, Table(["field", "value"], found.items()))


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, **({"url": shown_url(one["url"])} if "url" in one else {})}
