"""`adeq change diff`: what is different in a change since a revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.change.asking import ChangeId, Domain, existing_changes, read
from pyadeq.ext.cli.change.log import entry_as_json
from pyadeq.ext.cli.shared.running import Document, with_client
from pyadeq.ext.cli.shared.shown import decoded
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.shared.change_text import CONTENT, actor_of, diff_of, lines_of, parts_that_differ, raw
from pyadeq.ext.shared.terminal import safe, stdout

if TYPE_CHECKING:
    from pyadeq import Adeq

STYLES = {"+": "green", "-": "red", "@": "cyan"}
NOT_KEPT = (
    "\nThe content of revision {rev} is not kept any more, so this is what the fields have now. The server keeps the "
    "10 revisions before the current one, for 30 days"
)


@with_client
def diff(
    adeq: Adeq,
    id: ChangeId,
    since: Annotated[int | None, typer.Option(min=1, metavar="REV", help="The revision that you have seen.")] = None,
    domain: Domain = "default",
) -> Document:
    """Show what is different in a change since a revision: who wrote each revision after it, and the changed lines.

    Lines with - are those of the revision that you have seen, and lines with + those of the current one. Parameters
    that are JSON are compared one value a line. The server keeps the 10 revisions before the current one, for 30 days.
    """
    if since is None:
        raise ConfigError(f"--since: name the revision that you have seen: adeq change diff {id} --since REV")
    changes = existing_changes(adeq, domain)
    found = read(adeq, changes, id, with_log=1000)
    now = found.change["rev"]
    if since > now:
        raise AdeqError(f"--since: {id!r} has revision {now}, and no revision {since} yet; see adeq change show {id}")
    before, after = (changes.get_revision(id, rev) for rev in (since, now))
    steps = [one for one in map(entry_as_json, (one.entry for one in found.log)) if _is_step(one, since)]
    changed = _changed(before, after, steps, now - since)
    value = {
        "domain": domain,
        "id": id,
        "since": since,
        "rev": now,
        "state": found.change["state"],
        "steps": steps,
        "before": before and {name: _value(before, name) for name in changed},
        "now": {name: _value(after, name) for name in changed},
        "diff": before and {name: list(diff_of(before, after, name)) for name in changed},
    }
    if since == now:
        return Document(value, f"{id} has revision {now} still; nothing is different")
    return Document(value, lambda: _print(since, now, before, after, steps, changed))


def _print(since: int, now: int, before: Any, after: Any, steps: list[dict[str, Any]], changed: list[str]) -> None:
    print_rows(("rev", "time", "by", "changed"), map(_row, steps), right=["rev"])
    if len(steps) < now - since:
        typer.echo("\nThe log has not all of these revisions any more", err=True)
    if not changed:
        print(f"\nRevision {now} has the content of revision {since} again")
    elif before:
        _print_lines(["", f"--- revision {since}", f"+++ revision {now}"])
    for name in changed:
        stdout().print(Text(f"\n{name.replace('_', ' ')}", style="bold"))
        if before:
            _print_lines(diff_of(before, after, name))
        else:
            stdout().print(Text(safe("\n".join(lines_of(raw(after, name)) or ["(empty)"]))), soft_wrap=True)
    if before is None:
        typer.echo(NOT_KEPT.format(rev=since), err=True)


def _row(step: dict[str, Any]) -> tuple[str, ...]:
    by = actor_of(step["by"], step.get("caller"))
    return str(step["rev"]), step["time_iso"][:19] + "Z", by, step["changed"].replace(",", " ")


def _is_step(entry: dict[str, Any], since: int) -> bool:
    return entry["event"] == "change.revised" and int(entry["rev"]) > since


def _changed(before: Any, after: Any, steps: list[dict[str, Any]], count: int) -> list[str]:
    """The parts that differ; if the earlier content is not kept, those that any of these revisions has changed."""
    if before is not None:
        return parts_that_differ(before, after)
    if len(steps) < count:
        return list(CONTENT)
    named = {name for one in steps for name in one["changed"].split(",")}
    return [name for name in CONTENT if name in named]


def _value(content: Any, name: str) -> Any:
    return decoded(raw(content, name))


def _print_lines(lines: Any) -> None:
    for line in lines:
        stdout().print(Text(safe(line), style=STYLES.get(line[:1], "")), soft_wrap=True)
