"""`adeq change log`, the audit record of a change; `adeq change watch`, the events of all, as they come."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change.asking import ChangeId, ThisDomain, read
from pyadeq.ext.cli.change.words import STYLES, text_of
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import Format, Output, iso
from pyadeq.ext.cli.shared.complete import change_ids
from pyadeq.ext.cli.shared.follow import follow, printed
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT
from pyadeq.ext.cli.shared.running import Lines, Read, with_client
from pyadeq.ext.cli.shared.shown import decoded
from pyadeq.ext.shared.change_text import actor_of
from pyadeq.ext.shared.terminal import safe, stdout
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

SHORTEST = 0.05  # seconds between two looks
WORD = re.compile(r"(\w+)=(\S*)")


@with_client
def log(
    adeq: Adeq,
    id: ChangeId,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many, the newest.")] = 1000,
    domain: ThisDomain = DEFAULT,
    output: Output = Format.table,
) -> Lines | None:
    """Show the log of a change, the oldest entry first: each step, answer and comment, with its revision."""
    found = read(adeq, domain, id, with_log=limit)
    if output != Format.table:
        return Lines((entry_as_json(one.entry) for one in found.log), ())
    for one in found.log:
        stdout().print(Text(log_line(one.entry)), soft_wrap=True)
    return None


def entry_as_json(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the log; its details are fields."""
    fields = {name: decoded(value) for name, value in entry.items() if name not in ("event", "timestamp", "detail")}
    time = entry["timestamp"] / 1000
    about = {"time": time, "time_iso": iso(time), "event": entry["event"]}
    return {**about, **fields, **dict(WORD.findall(text_of(entry.get("detail"))))}


def log_line(entry: dict[str, Any]) -> str:
    """An entry of the log for people."""
    time, event = iso(entry["timestamp"] / 1000)[:19], str(entry["event"]).removeprefix("change.")
    by = f"by {actor_of(entry['by'], entry.get('caller'))}" if entry["by"] else ""
    head = "  ".join(filter(None, [f"{time}Z", f"rev {entry['rev']}", event, by, text_of(entry["detail"])]))
    return safe("\n".join([head, *(f"    {line}" for line in text_of(entry["reason"]).splitlines())]))


@with_client
def watch(
    adeq: Adeq,
    id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="Only this change. [default: the whole domain]", autocompletion=change_ids),
        Read(lambda id: id if id is None else check_name("change", id)),
    ] = None,
    interval: Annotated[float, time_option("Time between two reads.")] = "200ms",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("End after this time.", "--for")] = None,
    domain: ThisDomain = DEFAULT,
    output: Output = Format.table,
) -> Lines | None:
    """Follow events from now on: new changes, answers, decisions and runs. Ctrl-C ends it.

    There is one line for each event, in the order of the domain's event stream; none is left out. With -o json, the
    events are one array, at the end.
    """
    client: Any = adeq.client
    if client.hget(f"{domain.base}:config", "events_max") == b"0":
        name = domain.name
        raise ConfigError(f"{name} writes no events: adeq change configure --domain {name} --events-max 100000")
    events = map(_event, follow(adeq, f"{domain.base}:events", max(interval, SHORTEST), seconds))
    return printed((one for one in events if id in (None, one["id"])), output, _line)


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
