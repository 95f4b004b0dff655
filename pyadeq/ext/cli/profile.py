"""`adeq profile`: the servers that a user has named."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyadeq.ext.cli.common import Format, Output, print_json, print_lines, shown_url
from pyadeq.ext.cli.profiles import KEYS, config_path, load, profile
from pyadeq.ext.cli.tables import print_rows
from pyadeq.ext.cli.tree import NOUNS, noun

app = noun(NOUNS["profile"])


@app.command()
def ls(output: Output = Format.table) -> None:
    """List the profiles of your configuration file, without passwords.

    The file is ~/.config/adeq/config.toml, or that of ADEQ_CONFIG. It is yours to edit.
    """
    profiles, default = load()
    rows = [{"profile": name, "default": name == default, **_shown(one)} for name, one in profiles.items()]
    if output != Format.table:
        print_lines(rows, output)
    elif rows:
        heads = ["profile", "default", *KEYS]
        print_rows(heads, [[str(row.get(head, "")) for head in heads] for row in rows], spare=[*KEYS[:0:-1]])
    else:
        print(f"{config_path()} has no profiles")


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The profile.")], output: Output = Format.table
) -> None:
    """Show a profile, without its password."""
    found = _shown(profile(name))
    if output != Format.table:
        print_json({"profile": name, **found}, output)
    else:
        print_rows(["field", "value"], [(key, str(value)) for key, value in found.items()])


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, **({"url": shown_url(one["url"])} if "url" in one else {})}
