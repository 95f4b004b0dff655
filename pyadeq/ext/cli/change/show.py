"""`adeq change show`: the state of a change, who has voted, who is awaited and until when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from pyadeq import Adeq, Change
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.change.asking import ChangeId, ThisDomain, read
from pyadeq.ext.cli.change.log import entry_as_json, log_line
from pyadeq.ext.cli.change.refusals import in_domain
from pyadeq.ext.cli.change.words import STYLES, change_as_json, rules_of, text_of, title_of, with_iso
from pyadeq.ext.cli.shared.arguments import many, time_option
from pyadeq.ext.cli.shared.common import Format, Output
from pyadeq.ext.cli.shared.live import again, watched
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT
from pyadeq.ext.cli.shared.running import Document, with_client
from pyadeq.ext.cli.shared.shown import ago, ahead, decoded
from pyadeq.ext.cli.shared.tables import print_fields, print_rows
from pyadeq.ext.shared.change_text import follow_ids, path_of, shown
from pyadeq.ext.shared.columns import columns
from pyadeq.ext.shared.terminal import safe, stdout
from pyadeq.models import TaskView

ENDED = ("completed", "failed", "rejected", "cancelled")
AFTER_REVIEW = ("applying", "completed", "failed")  # why they have ended, is said by their run
HEADS = ("request", "reviewer", "status", "answered", "by", "reason")
OF_TASKS = ("id", "kind", "state", "reason")
TEXTS = ("parameters", "preview", "output", "risk_factors", "error", "error_details")
TAMPERED = "the stored content does not have this digest, so somebody has changed it without a call"
SHORTEST = 0.1  # seconds between two looks
KEPT = 1000  # entries of the log


@with_client
def show(
    adeq: Adeq,
    id: ChangeId,
    log: Annotated[int, typer.Option("--log", min=0, max=KEPT, metavar="N", help="How many entries of its log.")] = 5,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again when it changes, until it has ended. Ctrl-C ends it.")
    ] = False,
    interval: Annotated[float, time_option("With --watch: time between two reads.")] = "1",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("With --watch: end after this time.", "--for")] = None,
    domain: ThisDomain = DEFAULT,
    output: Output = Format.table,
) -> Document | None:
    """Show a change: its state, who has voted, who is awaited and until when, its risk, its resources, its log.

    It has the newest entries of the log; adeq change log has all. adeq change diff compares with an earlier revision.
    """
    options = {"with_texts": True, "with_requests": True, "with_log": log}
    if watch:
        return watched(
            again(lambda: read(adeq, domain, id, **options), max(interval, SHORTEST), seconds, _has_ended),
            output,
            lambda found: _picture(domain.name, id, found),
            lambda found: _line(id, found),
            lambda found: {"domain": domain.name, "id": id, **as_fields(found)},
        )
    found, checked = read(adeq, domain, id, **options), domain.get(id, log=KEPT)
    tasks = _tasks(adeq, domain, checked) if checked and found.change.get("p_follows") else []
    intact = checked is None or checked.rev != found.change["rev"] or checked.intact
    follow = [one.model_dump(include=set(OF_TASKS)) for one in tasks]
    return Document(
        {"domain": domain.name, "id": id, **as_fields(found), "tasks": follow, "intact": intact},
        lambda: _print(domain.name, id, found, tasks),
        note="" if intact else f"Do not approve it: {TAMPERED}",
    )


def _tasks(adeq: Adeq, changes: Any, change: Change) -> list[TaskView]:
    """The tasks that follow its steps, as far as they are kept; none for those who may not see them."""
    with suppress(AdeqError):
        queue = changes.stats().settings.get("follow_queue")
        if queue not in (None, "none"):
            found = adeq.queue(queue).get_many(follow_ids(changes.name, change))
            return [task for task in found if task is not None]
    return []


def as_fields(found: Any) -> dict[str, Any]:
    """A change as JSON has it."""
    texts = {name: decoded(getattr(found, name)) for name in ("parameters", "preview", "output")}
    counts = {"approvals": found.approved, "rejections": found.rejected, "pending": found.pending}
    requests = [{**with_iso(one.request), "slot": one.slot, "assignee": one.reviewer} for one in found.requests]
    entries = [entry_as_json(one.entry) for one in found.log]
    about = {**change_as_json(found.change), **texts, "overdue": bool(found.overdue), "counts": counts}
    return {**about, "requests": requests, "log": entries, "log_left_out": _left_out(found)}


def state_of(found: Any) -> str:
    """The state in upper case; OVERDUE is a review whose time is over."""
    return "OVERDUE" if found.overdue else str(found.change["state"]).upper()


def _drawn(change: dict[str, Any]) -> Text:
    text = Text()
    submitted, approved = bool(change.get("submitted")), bool(change.get("approved"))
    for number, state in enumerate(path_of(change["state"], submitted, approved)):
        text.append(" ── " if number else "")
        here = state == change["state"]
        text.append(f"[{state.upper()}]" if here else state.upper(), f"bold {STYLES.get(state, '')}" if here else "dim")
    return text


def _print(domain: str, id: str, found: Any, tasks: Sequence[TaskView]) -> None:
    console, change = stdout(), found.change
    console.print(Text(f"{id} is {state_of(found)}: {_place(change)}"), soft_wrap=True)
    console.print(_drawn(change), soft_wrap=True)
    console.print(Text(f"\n{safe(text_of(change['description']).strip())}\n"), soft_wrap=True)
    print_fields(_fields(found))
    if found.requests:
        console.print()
        print_rows(HEADS, _requests(found), right=["request"], spare=["answered", "by"], styles=STYLES)
    if tasks:
        console.print()
        rows = [(one.id, one.kind or "", one.state.upper(), one.reason or "") for one in tasks]
        print_rows(("task that follows", *OF_TASKS[1:]), rows, spare=["reason"], styles=STYLES)
    texts = {name: getattr(found, name) if name in TEXTS[:3] else change.get(name) for name in TEXTS}
    for name, text in texts.items():
        if text:
            console.print(Text(f"\n{name.replace('_', ' ')}", style="bold"))
            console.print(Text(safe(shown(text))), soft_wrap=True)
    if found.log:
        console.print(Text("\nlog", style="bold"))
        for line in _log(domain, id, found):
            console.print(Text(line), soft_wrap=True)
    if change["state"] == "reviewing" and not found.overdue and console.is_terminal:
        answer = f"adeq change approve {id} --rev {change['rev']}{in_domain(domain)}"
        console.print(Text(f"\nTo answer: {answer}, or reject, request-changes", style="dim"), soft_wrap=True)


def _left_out(found: Any) -> int:
    """How many older entries of its log were not read."""
    return max(0, min(int(found.change["seq"]), KEPT) - len(found.log))


def _log(domain: str, id: str, found: Any) -> Iterator[str]:
    """The newest entries of its log, and how to see the others."""
    if left := _left_out(found):
        yield f"({many(left, 'older entry')}: adeq change log {id}{in_domain(domain)})"
    yield from (log_line(one.entry) for one in found.log)


def _place(change: dict[str, Any]) -> str:
    return f"revision {change['rev']}" + (f", round {change['round']}" if change.get("round") else "")


def _fields(found: Any) -> list[tuple[str, str]]:
    change, now = found.change, found.now
    rows = {
        "type": " ".join(filter(None, [change["type"], text_of(change.get("version"))])),
        "author": " ".join(filter(None, [change["author"], _in_brackets(change.get("author_name"))])),
        "principal": change["principal"] if change["principal"] != change["author"] else "",
        "team": change.get("team"),
        "ticket": change.get("ticket_ref"),
        "tags": " ".join(change.get("tags") or ()),
        "created": ago(now, change["created"]),
        "resources": " ".join(change.get("resources") or ()),
        "rollback": str(change.get("rollback_strategy", "")).upper(),
        "digest": change["digest"],
        "risk": _risk(change, now),
        **(_review(found) if change.get("policy") and change["state"] != "draft" else {}),
        **(_run(change, now) if change.get("started") else {}),
    }
    return [(name, safe(" ".join(text_of(value).split()))) for name, value in rows.items() if value]


def _in_brackets(value: Any) -> str:
    return f"({text_of(value)})" if value else ""


def _risk(change: dict[str, Any], now: float) -> str:
    if change.get("risk_score") is None:
        return ""
    by = f" by {text_of(change['assessed_by'])}" if change.get("assessed_by") else ""
    old = "" if change["risk_rev"] == change["rev"] else ", of an earlier revision"
    return f"{text_of(change['risk_level']).upper()} {change['risk_score']}{by}, {ago(now, change['assessed'])}{old}"


def _review(found: Any) -> dict[str, Any]:
    """What its policy wants, what there is, who is awaited and until when."""
    change, rules, now = found.change, rules_of(found.change), found.now
    blocked = [one for one in found.requests if status_of(one) == "changes_requested"]
    votes = f"{found.approved} of {many(rules['required'], 'approval')}"
    votes += f", {many(found.rejected, 'rejection')}" if found.rejected else ""
    votes += f", {many(len(blocked), 'request')} for changes" if blocked else ""
    fields = {"policy": change["policy"], "priority": str(change.get("review_priority", "")).upper(), "votes": votes}
    if change["state"] == "submitted":
        fields["awaited"] = {"both": "risk and preview"}.get(rules["needs"], rules["needs"])
    if change["state"] == "reviewing":
        fields["awaited"] = " ".join(
            one.reviewer for one in found.requests if status_of(one) in ("pending", "changes_requested")
        )
    if change["state"] in ("submitted", "reviewing"):
        fields["due"] = f"{ahead(now, change['timeout_at'])}; then {rules['on_timeout']}"
        if change.get("escalate_at"):
            fields["escalates"] = ahead(now, change["escalate_at"])
    if blocked:
        names = " ".join(one.reviewer for one in blocked)
        fields["blocked"] = f"until {names} answers again, or there is another revision"
    if change.get("decided_by"):
        why = _in_brackets(change.get("why")) if change["state"] not in AFTER_REVIEW else ""
        fields["decided"] = f"by {text_of(change['decided_by'])} {why}".strip()
    if change.get("overridden_by"):
        fields["overridden"] = f"by {change['overridden_by']}, revision {change['overridden_rev']}"
    if change["state"] == "approved":
        over = "" if change["until"] > now else "; the next call begins another round"
        fields["until"] = f"{ahead(now, change['until'])}{over}"
    return fields


def _run(change: dict[str, Any], now: float) -> dict[str, Any]:
    over = f", ended {ago(now, change['ended'])}" if change.get("ended") and change["state"] != "applying" else ""
    fields = {
        "run": f"by {change['agent']}, fence {change['fence']}, begun {ago(now, change['started'])}{over}",
        "attempts": str(change["attempts"]) if change.get("attempts") else "",
    }
    if change["state"] == "applying":
        fields["lease"] = ahead(now, change["deadline"]) + (", asked to stop" if change.get("cancelling") else "")
    elif change.get("result"):
        fields["result"] = text_of(change["result"]).upper()
    return fields


def status_of(one: Any) -> str:
    """The status of a request."""
    return str(one.request.get("status", ""))


def _requests(found: Any) -> Iterator[tuple[str, ...]]:
    """A row for each request, after one for each who has delegated it."""
    for one in found.requests:
        request = one.request
        people = [*(f"user:{person}" for person in request.get("delegation_chain") or ()), one.reviewer]
        for place, person in enumerate(people[:-1]):
            yield str(one.slot), person, "DELEGATED", "", "", f"to {people[place + 1]}"
        name = _in_brackets(request.get("reviewer_name")) if len(people) == 1 else ""
        answered = ago(found.now, request["responded"]) if request.get("responded") else ""
        who, reason = " ".join(filter(None, [one.reviewer, name])), title_of(request.get("response_reason"))
        by, principal = request.get("reviewed_by") or "", request.get("principal") or ""
        by += f" for {principal}" if principal not in ("", by) else ""
        yield str(one.slot), who, status_of(one).upper(), answered, by, reason


# Live


def _has_ended(found: Any) -> bool:
    return found.change["state"] in ENDED


def _line(id: str, found: Any) -> str:
    answers = [f"{one.reviewer}={status_of(one).upper()}" for one in found.requests]
    return " ".join([id, state_of(found), f"revision {found.change['rev']}", *answers])


def _picture(domain: str, id: str, found: Any) -> RenderableType:
    change = found.change
    parts: list[RenderableType] = [
        Text.assemble((id, "bold"), f"  {_place(change)}"),
        _drawn(change),
        Text(),
        columns(("field", "value"), [[Text(name), Text(value)] for name, value in _fields(found)]),
    ]
    if found.requests:
        rows = [[Text(cell, STYLES.get(cell.lower(), "")) for cell in row] for row in _requests(found)]
        parts += [Text(), columns(HEADS, rows, right=["request"])]
    if found.log:
        parts += [Text(), *(Text(line, overflow="ellipsis", no_wrap=True) for line in _log(domain, id, found))]
    return Group(*parts, Text("\nCtrl-C ends it", style="dim"))
