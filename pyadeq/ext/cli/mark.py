"""`adeq mark`: moments that charts show, such as a deployment."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, iso, print_json, print_lines
from pyadeq.ext.cli.config import Actor
from pyadeq.ext.cli.tables import print_rows


def mark(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="What happened, such as a version.")] = None,
    actor: Actor = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Record a moment that charts show, such as the deployment of a version. Without TEXT, list the marks.

    Marks belong to the installation. The last 100 are kept, in the config namespace _marks.
    """
    with connected(url) as adeq:
        if text is not None:
            adeq.mark(text, actor=actor)
        found = adeq.marks()
    rows = [{"time": one.at, "time_iso": iso(one.at), "text": one.text, "actor": one.actor} for one in found]
    if text is not None:
        print_json(rows[-1], output) if output != Format.table else print(f"marked: {text}")
    elif output != Format.table:
        print_lines(rows, output)
    else:
        print_rows(["time", "mark", "by"], [(row["time_iso"], row["text"], row["actor"]) for row in rows])
