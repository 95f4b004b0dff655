"""`adeq bindings`: a client of the scripts in another language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyadeq.ext.bindings import generate, languages
from pyadeq.ext.cli.common import Format, print_json


def bindings(
    language: Annotated[
        str, typer.Argument(metavar="LANGUAGE", help=f"{', '.join(languages())}.", autocompletion=lambda: languages())
    ],
    directory: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", file_okay=False, help="Where to write it.")
    ],
    package: Annotated[
        str,
        typer.Option("--package", metavar="NAME", help="What programs import it by: npm package, crate, Go module."),
    ] = "pyadeq",
    shape: Annotated[Format, typer.Option("--format", help="How to tell what was written.")] = Format.table,
) -> None:
    """Write a client for another language: a typed function for each script, and the scripts.

    It is made of the manifest of this release, and the same release writes the same bytes. Files of the same names are
    replaced, all others are left. Asks no server.
    """
    written = generate(language, directory, package)
    changed = [one.path for one in written if not one.same]
    if shape != Format.table:
        print_json({"directory": str(directory), "files": [one.path for one in written], "changed": changed}, shape)
    else:
        print(f"{directory}: {len(written)} files, {len(changed)} of them new or changed")
