"""Rules about groups that read events: each event comes or is counted as lost, and the bound of memory holds."""

from __future__ import annotations

from math import inf

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.events.recorder import BOUND

MOST = BOUND + 200  # the server deletes whole blocks of usually 100 events


def events_delivered(case: Case, found: Finding) -> None:
    """A group has acknowledged each event of the stream, or counts it as lost, and never both.

    After a server has lost something, nothing is said of that.
    """
    records = case.history.nouns.get("events")
    if records is None or case.calls.marked:
        return
    added = records.final["added"]
    for name, own in records.final["groups"].items():
        if own["left"]:
            continue  # they were not read to their end
        found.checks += added
        acks = [op for op in case.history.ops if op.verb == "events.ack" and op.asked["group"] == name]
        ids = {item["id"] for op in acks for item in op.asked["item"]} | set(own["acked"])
        if (missing := added - own["lost"] - len(ids)) > 0:
            found.convict(name, f"{missing} of {added} events were not delivered, and are not counted as lost")
        acked = own["count"] + sum(op.answer.get("acked", 0) for op in acks if op.outcome == "ok")
        if (more := acked + own["lost"] - added) > 0:
            found.convict(name, f"{more} of {added} events were acknowledged, and are counted as lost or counted twice")


def gaps_reported_once(case: Case, found: Finding) -> None:
    """A read reports at most one gap, and none that was acknowledged before it began."""
    acked: dict[tuple[str, int], float] = {}
    for op in case.history.ops:
        if op.verb == "events.ack" and op.outcome == "ok" and op.asked.get("gap"):
            key = op.asked["group"], op.asked["gap"]
            acked[key] = min(acked.get(key, inf), inf if op.ended is None else op.ended)
    for op in case.history.ops:
        if op.verb != "events.read" or op.outcome != "ok":
            continue
        gaps = op.answer.get("gaps", [])
        found.checks += 1
        if len(gaps) > 1:
            found.convict(op.asked["group"], f"{op.client} was told of {len(gaps)} gaps at once")
        for number, _ in gaps:
            if acked.get((op.asked["group"], number), inf) < op.began and not case.calls.marked:
                found.convict(op.asked["group"], f"gap {number} was acknowledged, and reported to {op.client} again")


def events_bounded(case: Case, found: Finding) -> None:
    """The stream never has many more events than its bound, whatever groups have read."""
    for op in case.history.ops:
        if op.verb == "events.groups" and op.outcome == "ok":
            found.checks += 1
            if (length := op.answer["length"]) > MOST:
                found.convict("stream", f"it had {length} events, and its bound is {BOUND}")
