"""Text from other places in the repository, and the help of the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")
IN_DOCS = re.compile(r"\]\(docs/")
ELSEWHERE = re.compile(r"(?<!!)\[([^]]+)\]\((?!https?:|#|docs/)[^)]+\)")
INLINE = re.compile(r"`[^`\n]+`")


def contract(_: str = "") -> str:
    """lua/README.md without its title; links into the folder are shown as names."""
    return _without_links(_lua_readme().partition("\n")[2])


def data_model(thing: str) -> str:
    """The stored data of a `queue` or a `lock domain`: the chapter of lua/README.md, then a table of the keys."""
    found = re.search(
        rf"^## Stored data of a {thing}\b[^\n]*\n(.*?)(?=^## |\Z)", _lua_readme(), re.MULTILINE | re.DOTALL
    )
    if not found:
        raise ValueError(f"lua/README.md has no chapter 'Stored data of a {thing}'")
    word = thing.split(maxsplit=1)[0]
    table = keys(word)
    own_file = f"The keys and their content: [`{word}/keys.toml`]({word}/keys.toml).\n"
    return _without_links(found[1].replace(own_file, f"{table}\n"))


def keys(word: str) -> str:
    """A table of the keys of a noun."""
    found = _keys(word)
    rows = [f"| `{_shown(name, key)}` | {key['type']} | {_in_a_cell(key['doc'])} |" for name, key in found.items()]
    return "\n".join(["| key | type | what |", "|---|---|---|", *rows])


def place(word: str, name: str) -> str:
    """A key of a noun without its base, as the docs name it. Raises KeyError if there is none."""
    return _shown(name, _keys(word)[name])


@cache
def _keys(word: str) -> dict[str, dict[str, str]]:
    """All keys of a noun by their names: its own in their order, then those of the kernel that its scripts use."""
    shared, own = (
        tomllib.loads((ROOT / "lua" / folder / "keys.toml").read_text(encoding="utf-8")) for folder in ("kernel", word)
    )
    scripts = json.loads((ROOT / "lua/manifest.json").read_text(encoding="utf-8"))["scripts"]
    taken = {key["name"] for script in scripts if script["noun"] == word for key in script["data"]}
    found = {name: {**shared.get(name, {}), **key} for name, key in own.items()}
    return found | {name: key for name, key in shared.items() if name in taken - found.keys()}


def _shown(name: str, key: Mapping[str, str]) -> str:
    place = key.get("at", name)
    return f"{place}:<{key.get('shown', key['suffix'])}>" if "suffix" in key else place


def _in_a_cell(text: str) -> str:
    return " ".join(text.split())


def _lua_readme() -> str:
    """Return lua/README.md. GitHub needs escaped bars in the code of tables; the site needs plain ones."""
    text = (ROOT / "lua/README.md").read_text(encoding="utf-8")
    return INLINE.sub(lambda match: match[0].replace("\\|", "|"), text)


def changelog(_: str = "") -> str:
    """CHANGELOG.md without its title."""
    return IN_DOCS.sub("](", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n")[2])


def readme(_: str = "") -> str:
    """README.md without its title; what is not a page of the documentation is shown as a name."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n")[2]
    text = text.replace("Documentation: `make docs` builds the site; [docs](docs) has the sources · ", "")
    text = text.replace("(CHANGELOG.md)", "(docs/changelog.md)").replace("(examples/README.md)", "(examples)")
    return IN_DOCS.sub("](", ELSEWHERE.sub(r"\1", text.replace("(docs/decisions)", "(decisions)")))


def command_line(_: str = "") -> str:
    """Return every command with its arguments and options, as typer describes them."""
    command = [sys.executable, "-m", "typer", "pyadeq.ext.cli.app", "utils", "docs", "--name", "adeq"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ValueError(f"the command line does not describe itself: {ran.stderr}")
    return ran.stdout.partition("\n")[2].replace("```console\n$ ", "```text\n")


def _without_links(text: str) -> str:
    return LINK.sub("]", text).replace("[`", "`").replace("`]", "`")
