"""`adeq change log`, the audit record of a change; `adeq change watch`, the events of all, as they come."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.text import Text

from pyadeq.errors import ConfigError
from pyadeq.ext.change_text import actor_of
from pyadeq.ext.cli.arguments import time_option
from pyadeq.ext.cli.change_asking import ChangeId, Domain, existing_changes, read
from pyadeq.ext.cli.change_words import STYLES, plain, text_of
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, as_json, connected, iso, print_lines, safe, stdout
from pyadeq.ext.cli.complete import change_ids
from pyadeq.ext.cli.follow import follow
from pyadeq.keys import check_name

SHORTEST = 0.05  # seconds between two looks
WORD = re.compile(r"(\w+)=(\S*)")


def log(
    id: ChangeId,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many, the newest.")] = 1000,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show the log of a change, the oldest entry first: each step, answer and comment, with its revision."""
    with connected(url) as adeq:
        found = read(adeq, existing_changes(adeq, domain), id, with_log=limit)
    if output != Format.table:
        print_lines((entry_as_json(one.entry) for one in found.log), output)
        return
    console = stdout()
    for one in found.log:
        console.print(Text(log_line(one.entry)), soft_wrap=True)


def entry_as_json(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the log; its details are fields."""
    fields = {name: plain(value) for name, value in entry.items() if name not in ("event", "timestamp", "detail")}
    time = entry["timestamp"] / 1000
    about = {"time": time, "time_iso": iso(time), "event": entry["event"]}
    return {**about, **fields, **dict(WORD.findall(text_of(entry.get("detail"))))}


def log_line(entry: dict[str, Any]) -> str:
    """An entry of the log for people."""
    time, event = iso(entry["timestamp"] / 1000)[:19], str(entry["event"]).removeprefix("change.")
    by = f"by {actor_of(entry['by'], entry.get('caller'))}" if entry["by"] else ""
    head = "  ".join(filter(None, [f"{time}Z", f"rev {entry['rev']}", event, by, text_of(entry["detail"])]))
    return safe("\n".join([head, *(f"    {line}" for line in text_of(entry["reason"]).splitlines())]))


def watch(
    id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="Only this change. [default: the whole domain]", autocompletion=change_ids),
    ] = None,
    interval: Annotated[float, time_option("Time between two reads.")] = "200ms",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("End after this time.", "--for")] = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Follow events from now on: new changes, answers, decisions and runs. Ctrl-C ends it.

    There is one line for each event, in the order of the domain's event stream; none is left out. With -o json, the
    events are one array, at the end.
    """
    if id is not None:
        check_name("change", id)
    console, kept = stdout(), []
    with connected(url) as adeq, suppress(KeyboardInterrupt):
        changes = existing_changes(adeq, domain)
        client: Any = adeq.client
        if client.hget(f"{changes.base}:config", "events_max") == b"0":
            raise ConfigError(f"{domain} writes no events: adeq change configure --domain {domain} --events-max 100000")
        for event in map(_event, follow(adeq, f"{changes.base}:events", max(interval, SHORTEST), seconds)):
            if id not in (None, event["id"]):
                continue
            if output == Format.json:
                kept.append(event)
            elif output == Format.jsonl:
                print(as_json(event), flush=True)
            else:
                console.print(_line(event), soft_wrap=True)
    if output == Format.json:
        print_lines(kept, output)


def _event(texts: dict[str, str]) -> dict[str, Any]:
    time = int(texts["timestamp"]) / 1000
    about = {"time": time, "time_iso": iso(time), "event": texts["event"], "id": texts["id"]}
    found = {**about, **dict(WORD.findall(texts.get("payload", "")))}
    return found | {name: texts[name] for name in ("source", "trace") if name in texts}


def _line(event: dict[str, Any]) -> Text:
    known = ("time", "time_iso", "event", "id", "rev", "round", "by", "caller", "source", "trace")
    more = [f"{name}={value}" for name, value in event.items() if name not in known]
    about = [
        f"revision {event['rev']}" if "rev" in event else "",
        f"by {actor_of(event['by'], event.get('caller'))}" if event.get("by") else "",
        *more,
    ]
    name = event["event"].removeprefix("change.")
    return Text.assemble(
        f"{event['time_iso']}  ",
        (f"{name:10}", STYLES.get(name, "")),
        safe(f"  {event['id']}  {' '.join(filter(None, about))}"),
    )
