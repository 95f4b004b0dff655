"""`adeq bindings`: a client of the scripts in another language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.bindings import generate, languages
from pyadeq.ext.cli.shared.common import Format, print_json


def bindings(
    language: Annotated[
        str, typer.Argument(metavar="LANGUAGE", help=f"{', '.join(languages())}.", autocompletion=languages)
    ],
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", file_okay=False, help="Where to write it.", show_default=False)
    ] = None,
    package: Annotated[
        str,
        typer.Option("--package", metavar="NAME", help="Its name for programs: npm package, crate or Go module."),
    ] = "pyadeq",
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", envvar="ADEQ_OUTPUT", metavar="<table|json|jsonl>", help="The form of the answer."
        ),
    ] = Format.table.value,
    shape: Annotated[Format | None, typer.Option("--format", hidden=True)] = None,
) -> None:
    """Write a client for another language: a typed function for each script, and the scripts.

    It is generated from the manifest of this release. The same release always writes the same bytes. Files with the
    same names are replaced, and other files stay. This command needs no server.
    """
    if output not in list(Format) and directory is None:  # `-o DIR --format json`, as in earlier builds
        directory, output = Path(output), (shape or Format.table).value
    if directory is None:
        raise ConfigError("DIR: name the directory to write to, for instance `adeq bindings typescript src/pyadeq`")
    if output not in list(Format):
        raise ConfigError(f"--output: {output!r} is not accepted; allowed: {', '.join(Format)}")
    written = generate(language, directory, package)
    changed = [one.path for one in written if not one.same]
    if output in (Format.json, Format.jsonl):
        files = [one.path for one in written]
        print_json({"directory": str(directory), "files": files, "changed": changed}, Format(output))
    else:
        print(f"{directory}: {len(written)} files, {len(changed)} of them new or changed")
