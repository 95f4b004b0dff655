"""What the pages say between backticks works as printed: `adeq task show QUEUE ID`."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from pyadeq.ext.cli.app import app
from tests.integration.examples import ROOT

INLINE = re.compile(r"`adeq ([^`…]+)`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
OLD_NAMES = ROOT / "docs/operations/upgrades.md"
PAGES = [
    path
    for path in (ROOT / "docs").rglob("*.md")
    if path.parent.name not in ("decisions", "releases") and path != OLD_NAMES  # which may speak of what has gone
]


def commands() -> Iterator[tuple[str, list[str]]]:
    for page in sorted(PAGES):
        for found in INLINE.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
            yield page.name, shlex.split(found.replace("\n", " "))


def fault(words: list[str]) -> str:
    """Why the command line refuses these words. A command may stand alone, or with options alone, as a name."""
    command: Any = typer.main.get_command(app)
    context = typer.Context(command)
    while words and hasattr(command, "list_commands") and not words[0].startswith("-"):
        name, *words = words
        if (command := command.get_command(context, name)) is None:
            return f"there is no {name}"
        context = typer.Context(command, parent=context, info_name=name)
    if not words or hasattr(command, "list_commands"):
        return ""
    try:
        command.make_context(context.info_name, [*words], parent=context.parent)
    except typer.Exit:
        return ""
    except Exception as error:  # the classes are typer's own
        faults = {"NoSuchOption", "UsageError"} | ({"MissingParameter"} if not words[0].startswith("-") else set())
        return str(error) if type(error).__name__ in faults else ""
    return ""


def test_commands_in_sentences_are_complete() -> None:
    found = list(commands())
    assert len(found) > 200
    assert [(page, *words, fault(words)) for page, words in found if fault(words)] == []


@pytest.mark.parametrize("words", ["task show x", "nosuch", "worker ls --nosuch", "lock graph x"])
def test_an_incomplete_command_is_found(words: str) -> None:
    assert fault(words.split())
