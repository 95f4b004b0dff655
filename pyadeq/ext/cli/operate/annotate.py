"""`adeq annotate`: moments that charts show, such as a deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.running import Answer, Document, Lines, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq


@with_client
def annotate(
    adeq: Adeq,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="What happened, such as a version.")] = None,
    actor: By = YOU,
) -> Answer:
    """Record a moment that charts show, such as the deployment of a version. Without TEXT, list the annotations.

    Annotations belong to the installation. The last 100 are kept, in the config namespace _marks.
    """
    if text is not None:
        adeq.annotate(text, actor=actor)
    rows = [
        {"time": one.at, "time_iso": iso(one.at), "text": one.text, "actor": one.actor} for one in adeq.annotations()
    ]
    if text is not None:
        return Document(rows[-1], f"annotated: {text}")
    return Lines(rows, ["time", "annotation", "by"], lambda row: (row["time_iso"], row["text"], row["actor"]))
