"""Tickets: what a claim or an acquire prints, and the commands after it read, as one line of JSON.

A ticket holds the token of a lease. So it comes from a file or standard input: arguments are seen by all users of a
machine.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import STDIN, content_of_file
from pyadeq.ext.cli.shared.common import Format, as_json, print_json

OPTION = typer.Option("--ticket", metavar="PATH", help="The file with what was printed; - for standard input.")
TicketFile = Annotated[Path, OPTION]


def give(ticket: dict[str, Any], path: Path | None, output: Format) -> None:
    """Print a ticket, or write it to a file that only its owner can read."""
    if path is None:
        _print(ticket, output)
        return
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(as_json(ticket) + "\n")
    except OSError as error:
        raise ConfigError(f"--ticket: {str(path)!r} cannot be written: {error.strerror}") from None


def _print(ticket: dict[str, Any], output: Format) -> None:
    if sys.stdout is None:
        raise ConfigError("--ticket: standard output is closed; name a file")
    try:
        print_json(ticket, Format.json if output == Format.json else Format.jsonl)
        sys.stdout.flush()  # not at the end of the process, where nobody gives back what the ticket is for
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in its buffer goes nowhere
        raise ConfigError(f"--ticket: standard output cannot be written: {error.strerror}") from None


def read(path: Path, *fields: str) -> dict[str, Any]:
    """The ticket in a file. ConfigError if it does not have these fields, each a text."""
    where = "standard input" if path == STDIN else f"{str(path)!r}"
    try:
        found = json.loads(content_of_file("--ticket", path))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(found.get(field), str) for field in fields):
        raise ConfigError(f"--ticket: {where} is no ticket; allowed: one line, as it was printed")
    return found
