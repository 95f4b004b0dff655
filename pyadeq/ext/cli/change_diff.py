"""`adeq change diff`: what is new in a change since a revision."""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.change_asking import ChangeId, Domain, existing_changes, read
from pyadeq.ext.cli.change_log import entry_as_json
from pyadeq.ext.cli.change_words import plain, text_of
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json, safe, stdout
from pyadeq.ext.cli.tables import print_rows

CONTENT = ("type", "version", "description", "parameters", "resources", "rollback_strategy", "timeout", "priority")
NO_CONTENT = (
    "\nThe server keeps no content of earlier revisions. To compare it later, save what you review: "
    "adeq change show {id} -o json > {id}.json, then adeq change diff {id} --from {id}.json"
)


def diff(
    id: ChangeId,
    since: Annotated[int | None, typer.Option(min=1, metavar="REV", help="The revision that you have seen.")] = None,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="What adeq change show -o json printed of it.")
    ] = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show what is new in a change since a revision: each revision after it, by whom, and which fields it has changed.

    The server keeps the content of the current revision only. With --from and the saved output of adeq change show -o
    json, the contents are compared, too.
    """
    saved = None if file is None else _load(file, id)
    if since is None and saved is None:
        raise ConfigError("--since: name the revision that you have seen, or --from a saved one")
    with connected(url) as adeq:
        found = read(adeq, existing_changes(adeq, domain), id, with_log=1000)
    start, now = int(saved["rev"] if saved else since or 0), found.change["rev"]
    if since not in (None, start):
        raise ConfigError(f"--since: {file} has revision {start}, not {since}; leave --since out")
    if start > now:
        raise AdeqError(f"change: {id!r} has revision {now}, and no revision {start} yet; see adeq change show {id}")
    entries = [entry_as_json(one.entry) for one in found.log]
    steps = [one for one in entries if one["event"] == "change.revised" and one["rev"] > start]
    content = {name: plain(found.change.get(name)) for name in CONTENT} | {"parameters": plain(found.parameters)}
    changed = _changed(steps, start, now)
    if output != Format.table:
        known = {"before": {name: saved.get(name) for name in changed}} if saved else {}
        new = {name: content[name] for name in changed}
        print_json(
            {"domain": domain, "id": id, "since": start, "rev": now, "steps": steps, **known, "now": new}, output
        )
        return
    if start == now:
        print(f"{id} has revision {now} still; nothing is new")
        return
    print_rows(
        ("rev", "time", "by", "changed"),
        [(str(one["rev"]), one["time_iso"][:19] + "Z", one["by"], one["changed"].replace(",", " ")) for one in steps],
        right=["rev"],
    )
    if len(steps) < now - start:
        typer.echo("\nThe log has not all of these revisions any more: all fields are shown", err=True)
    for name in changed:
        _print(name, content[name], saved, start, now)
    if saved is None:
        typer.echo(NO_CONTENT.format(id=id), err=True)


def _load(file: Path, id: str) -> dict[str, Any]:
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--from: {str(file)!r} cannot be read: {error.strerror}") from None
    except ValueError:
        saved = None
    if not isinstance(saved, dict) or not isinstance(saved.get("rev"), int) or saved.get("id") != id:
        raise ConfigError(f"--from: {str(file)!r} is not what adeq change show {id} -o json prints")
    return saved


def _changed(steps: list[dict[str, Any]], start: int, now: int) -> list[str]:
    """The fields that these revisions have changed; all, if the log has lost one of them."""
    if len(steps) < now - start:
        return list(CONTENT)
    named = {name for one in steps for name in one["changed"].split(",")}
    return [name for name in CONTENT if name in named]


def _print(name: str, value: Any, saved: dict[str, Any] | None, start: int, now: int) -> None:
    console = stdout()
    console.print(Text(f"\n{name.replace('_', ' ')}", style="bold"))
    if saved is None:
        console.print(Text(safe("\n".join(_lines(value)))), soft_wrap=True)
        return
    for line in unified_diff(
        _lines(saved.get(name)), _lines(value), f"revision {start}", f"revision {now}", lineterm=""
    ):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        console.print(Text(safe(line), style=style), soft_wrap=True)


def _lines(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value]
    return text_of(value).splitlines() or ["(empty)"]
