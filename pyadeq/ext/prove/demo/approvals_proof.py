"""The proof of the demo of approvals: events, records and keys of the server, against what was planned and applied."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from pyadeq import Adeq, Change
from pyadeq.ext.prove.demo.approvals_applier import APPLIED
from pyadeq.ext.prove.demo.approvals_plan import (
    AGENTS,
    AUTOMATIC,
    DOMAIN,
    ESCALATED,
    FOLLOW_QUEUE,
    HELD,
    LOCK_DOMAIN,
    PROPOSALS,
    REVISED,
    VETOED,
)
from pyadeq.ext.prove.demo.history import read_events
from pyadeq.ext.prove.demo.proof import Check, first_fault

FINISHED = {"completed", "failed", "rejected", "cancelled"}
STEPS = ("approved", "rejected", "completed")  # that a task follows


class Event(NamedTuple):
    """An entry of an event stream: its name without the noun, and its details."""

    name: str
    id: str
    at: int
    detail: dict[str, str]


class Done(NamedTuple):
    """A follow-up task that has run."""

    kind: str
    step: str
    id: str
    digest: str


class Vote(NamedTuple):
    """An approval, as the server's own keys have it."""

    principal: str
    rev: int
    digest: str


@dataclass
class Facts:
    """All that is known at the end.

    votes: the approvals of the last round of each change. applied: what the appliers have done to the world, in order.
    stats: how many changes are in each state, as the domain counts them. records: the same, counted in the records.
    """

    changes: dict[str, Change]
    events: list[Event]
    lock_events: list[Event]
    task_events: list[Event]
    votes: dict[str, list[Vote]]
    applied: list[dict[str, Any]]
    done: list[Done]
    stats: dict[str, int]
    records: Counter[str]

    @classmethod
    def read(cls, adeq: Adeq, done: list[Done]) -> Facts:
        """Read them through pyadeq, and straight from the server."""
        changes, client = adeq.changes(DOMAIN), adeq.client
        ids = [one.id for one in PROPOSALS]
        found = [one for one in changes.get_many(ids, requests=True) if one]
        applied: Any = client.lrange(APPLIED, 0, -1)
        keys = client.scan_iter(f"{changes.base}:change:*", count=1000)
        records: list[Any] = [client.hget(key, "state") for key in keys]
        return cls(
            changes={one.id: one for one in found},
            events=_events(client, changes.base),
            lock_events=_events(client, adeq.locks(LOCK_DOMAIN).base),
            task_events=_events(client, adeq.queue(FOLLOW_QUEUE).base),
            votes={one.id: _votes(client, changes.base, one) for one in found},
            applied=[json.loads(entry) for entry in applied],
            done=done,
            stats=changes.stats().states,
            records=Counter(state.decode() for state in records),
        )

    def of(self, id: str, *names: str) -> list[Event]:
        """The events of a change with these names, in order."""
        return [event for event in self.events if event.id == id and event.name in names]


def prove(facts: Facts, victim: str) -> list[Check]:
    """Check all that must hold."""
    return [
        story_was_told(facts),
        enough_people_approved(facts),
        applied_as_approved(facts),
        one_applier_at_a_time(facts),
        killed_one_was_replaced(facts, victim),
        tasks_ran_once(facts),
        counts_equal_records(facts),
    ]


def story_was_told(facts: Facts) -> Check:
    """Each special thing has happened to the change that it was planned for."""
    automatic, vetoed, revised = (facts.changes[id] for id in (AUTOMATIC, VETOED, REVISED))
    delegated = [
        request
        for one in facts.changes.values()
        for request in one.requests or ()
        if request.reviewer == "user:bob" and request.status == "approved" and request.reviewed_by == "dan"
    ]
    happened = {
        "1 approved itself": (automatic.decided_by or "").startswith("policy:"),
        "1 vetoed": vetoed.state == "rejected" and vetoed.why == "rejections",
        "1 revised": revised.rev == 2 and bool(facts.of(REVISED, "outdated")),
        "1 escalated": bool(facts.of(ESCALATED, "escalated")),
        f"{len(delegated)} answered by a delegate": bool(delegated),
    }
    wrong = first_fault(("did not happen", [what for what, so in happened.items() if not so]))
    claim = f"{len(facts.changes)} changes are decided"
    return Check(claim=claim, holds=not wrong, detail=wrong or ", ".join(happened))


def enough_people_approved(facts: Facts) -> Check:
    """Each change that people have approved has enough votes, each of another person, and none of its authors."""
    by_people = [one for one in facts.changes.values() if one.approved and one.id != AUTOMATIC]
    contributors = {one.id: {one.agent, AGENTS[one.agent]} for one in PROPOSALS}
    people = {one.id: [vote.principal for vote in facts.votes[one.id]] for one in by_people}
    wrong = first_fault(
        (
            "with too few approvals",
            [one.id for one in by_people if len(set(people[one.id])) < (one.votes.required or 1)],
        ),
        ("approved twice by one person", [id for id, names in people.items() if len(set(names)) < len(names)]),
        ("approved by a contributor", [id for id, names in people.items() if contributors[id] & set(names)]),
        ("approved, though vetoed", [VETOED] if facts.of(VETOED, "approved", "applying") else []),
    )
    claim = f"each of {len(by_people)} changes was approved by enough different people, and by no contributor"
    return Check(claim=claim, holds=not wrong and bool(by_people), detail=wrong)


def applied_as_approved(facts: Facts) -> Check:
    """What the appliers did is the revision that was approved, byte for byte; each change once."""
    counts = Counter(one["id"] for one in facts.applied)
    approved = {id for id, one in facts.changes.items() if one.approved}
    wrong = first_fault(
        ("applied more than once", [id for id, times in counts.items() if times > 1]),
        ("applied or not, against its approval", counts.keys() ^ approved),
        ("approved in another revision", [id for id in approved if not _votes_agree(facts, id)]),
        ("applied with other content", [one["id"] for one in facts.applied if not _same_content(facts, one)]),
    )
    claim = f"what was applied {len(facts.applied)} times has the digest that was approved"
    return Check(claim=claim, holds=not wrong, detail=wrong)


def _votes_agree(facts: Facts, id: str) -> bool:
    change = facts.changes[id]
    return all((vote.rev, vote.digest) == (change.rev, change.digest) for vote in facts.votes[id])


def _same_content(facts: Facts, done: dict[str, Any]) -> bool:
    change = facts.changes[done["id"]]
    return change.intact and (done["rev"], done["sha256"]) == (change.rev, change.sha256)


def one_applier_at_a_time(facts: Facts) -> Check:
    """Fences rise from run to run, and a run begins only after the one before has ended."""
    begun = [event for event in facts.events if event.name == "applying"]
    fences = [int(event.detail["fence"]) for event in begun]
    overlap = []
    for id in facts.changes:
        runs = [event.name for event in facts.of(id, "applying", "released", "completed")]
        if any(name != "applying" for name in runs[::2]) or "applying" in runs[1::2]:
            overlap.append(id)
    written = defaultdict[str, list[int]](list)
    for done in facts.applied:
        written[done["id"]].append(done["fence"])
    last = {event.id: int(event.detail["fence"]) for event in begun}
    rising = all(first < second for first, second in pairwise(fences))
    wrong = first_fault(
        ("whose fence is not above the one before", [] if rising else [str(fence) for fence in fences]),
        ("applied by two at once", overlap),
        ("applied with an old fence", [id for id, used in written.items() if used != [last.get(id)]]),
    )
    claim = f"{len(begun)} runs, never two of one change at once"
    return Check(claim=claim, holds=not wrong and bool(begun), detail=wrong or f"fences {min(fences)} to {max(fences)}")


def killed_one_was_replaced(facts: Facts, victim: str) -> Check:
    """The change of the killed applier was applied by another, after the locks of the killed one had ended."""
    claim = "another applied the change of the killed applier, once its locks were free"
    runs = facts.of(HELD, "applying")
    locked = [event for event in facts.lock_events if event.detail.get("owner") == f"{DOMAIN}/{HELD}"]
    names = [(event.name, event.detail.get("agent")) for event in locked if event.name in ("acquired", "expired")]
    agents = [event.detail["by"] for event in runs]
    wrong = ""
    if len(agents) != 2 or agents[0] != victim or agents[1] == victim:
        wrong = f"applied by {', '.join(agents)}"
    elif names != [("acquired", victim), ("expired", victim), ("acquired", agents[1])]:
        wrong = f"its locks: {names}"
    elif facts.changes[HELD].state != "completed":
        wrong = f"it is {facts.changes[HELD].state}"
    after = (runs[1].at - locked[0].at) / 1000 if not wrong else 0.0
    return Check(claim=claim, holds=not wrong, detail=wrong or f"{agents[1]}, {after:.1f} s after the first began")


def tasks_ran_once(facts: Facts) -> Check:
    """A task has run for each step that one should follow, with the digest of the change."""
    wanted = Counter((event.name, event.id) for event in facts.events if event.name in STEPS)
    ran = Counter((one.step, one.id) for one in facts.done)
    completed = Counter(id for event in facts.task_events if event.name == "completed" for id in event.id.split())
    wrong = first_fault(
        (
            "not run as often as the step happened",
            [f"{step} of {id}" for step, id in {*(wanted - ran), *(ran - wanted)}],
        ),
        ("completed more than once", [id for id, times in completed.items() if times > 1]),
        ("with another digest", [one.id for one in facts.done if one.digest != facts.changes[one.id].digest]),
    )
    claim = f"{len(facts.done)} follow-up tasks ran once each"
    holds = not wrong and completed.total() == len(facts.done)
    return Check(claim=claim, holds=holds, detail=wrong or ("" if holds else f"{completed.total()} by the events"))


def counts_equal_records(facts: Facts) -> Check:
    """The counts of the domain are those of its records, and nothing is open."""
    counted = {state: count for state, count in facts.stats.items() if count}
    wrong = first_fault(("counted otherwise", [state for state, _ in counted.items() ^ dict(facts.records).items()]))
    wrong = wrong or first_fault(("not ended", counted.keys() - FINISHED))
    detail = ", ".join(f"{count} {state}" for state, count in counted.items())
    return Check(claim="the counts equal the records", holds=not wrong, detail=wrong or detail)


def _events(client: Any, base: str) -> list[Event]:
    return [
        Event(name.partition(".")[2], " ".join(ids), at, detail)
        for name, at, ids, detail in read_events(client, f"{base}:events")
    ]


def _votes(client: Any, base: str, change: Change) -> list[Vote]:
    found = []
    for request in change.requests or ():
        raw: Any = client.hmget(f"{base}:request:{change.id}/{request.slot}", "status", "principal", "rev", "digest")
        status, principal, rev, digest = ((value or b"").decode() for value in raw)
        if status == "approved":
            found.append(Vote(principal, int(rev), digest))
    return found
