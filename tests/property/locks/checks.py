"""What must hold after each call: the store is the oracle's, nobody waits for nothing, nobody for ever."""

from __future__ import annotations

from itertools import combinations

from tests.property.locks.graph import reachable
from tests.property.locks.link import Plain, Store
from tests.property.locks.oracle import Rules
from tests.property.locks.records import Part, Request


def stored(rules: Rules, found: Store) -> Store:
    """What ought to be stored, as far as there is only one right way."""
    graph, requests, deadlines = {}, {}, {}
    counters = {
        "now": rules.now, "offset": rules.offset, "fence": rules.fence, "seq": int(found.counters.get("seq", 0)),
        "waiting": len(rules.line()), "due": int(found.counters.get("due", 0)),
        "detected": rules.detected,
    }  # fmt: skip
    config = {name: str(value) for name, value in rules.configured.items()}
    for one in rules.live.values():
        for part in one.parts:
            resource, code = part.resource, part.code
            if one.waiting and part.base == "covers":
                continue  # it stands in nobody's way but as the hold does
            if one.waiting:
                graph[f"r {resource} q {one.order} {code} {one.owner} {one.rid}"] = "0"
                graph[f"o {one.owner} w {resource} {one.order} {code} {one.rid}"] = "0"
            else:
                graph[f"r {resource} h {code} {one.owner} {one.rid}"] = "0"
                graph[f"o {one.owner} h {resource} {code} {one.rid}"] = "0"
        graph[f"a {one.agent} {one.rid}"] = "0"
        requests[one.rid] = record(one)
        deadlines[one.rid] = str(one.deadline)
    for rid, ended in rules.ended.items():
        requests[rid] = f"ended {ended.outcome}" + (f" {ended.detail}" if ended.detail else "")
    capacity = {
        name: f"{one.max} {one.status} {one.silent} {one.seen} {rules.used(name)}"
        for name, one in rules.capacity.items()
    }
    return Store(
        found.config | config,
        {name: str(value) for name, value in counters.items() if value or name in found.counters},
        requests,
        graph,
        deadlines,
        {rid: str(ended.until) for rid, ended in rules.ended.items()},
        capacity,
        {name: str(due) for name, due in rules.rates.items()},
        found.unchecked,
    )


def record(one: Request) -> str:
    leans = ["+" if one.waiting and part.base else "" for part in one.parts]
    parts = [f"{part.code}{mark}/{part.fence}={part.resource}" for part, mark in zip(one.parts, leans, strict=True)]
    times = f"{one.since} {one.born} {one.ttl} {one.until}"
    who = f"{one.state} {one.owner} {one.agent} {one.priority}"
    return f"{who} {times} {one.order} {one.granted} {','.join(parts)} {one.purpose}"


def check_state(rules: Rules, store: Store, excused: bool) -> None:
    picture = rules.picture()
    for one, other in combinations(picture.holders, 2):
        for part in one.parts:
            its = other.part(part.resource)
            assert its is None or may_share(one, part, other, its), f"{one} and {other} hold {part.resource}"
    first = min((one.deadline for one in rules.live.values()), default=None)
    assert first is None or int(store.counters.get("due", 0)) <= first, (
        f"{store.counters} looks away until after {first}"
    )
    grantable = [one for one in picture.line if rules.grantable(one, picture)]
    assert not grantable, f"nobody handed over to {grantable}"
    owners = [one.owner for one in picture.line]
    assert len(owners) == len(set(owners)), f"an owner waits twice: {picture.line}"
    assert store.unchecked.keys() <= {one.rid for one in picture.line}, f"unchecked: {store.unchecked}"
    assert rules.settings["detect_visits"] < 1000 or rules.fewer or not store.unchecked, (
        f"not looked at: {store.unchecked}"
    )
    assert excused or store.unchecked or not picture.stuck(), f"nobody found the deadlock of {picture.stuck()}"
    assert not rules.ended.keys() & rules.live.keys()


def may_share(one: Request, part: Part, other: Request, its: Part) -> bool:
    if part.mode == "p" or its.mode == "p":
        return part.mode == its.mode
    return one.owner == other.owner or part.mode == its.mode == "s"


def check_edges(rules: Rules, answer: Plain) -> None:
    """The edges that are told are real, and whoever is reachable by all of them is by these."""
    status, fields = answer
    assert status == "ok"
    assert not fields["cursor"]
    real = rules.picture().edges()
    known = {(edge.owner, edge.resource, edge.blocker, edge.held) for edge in real}
    told = [one for _, one in fields["edges"]]
    for one in told:
        assert (one["owner"], one["resource"], one["blocker"], bool(one["held"])) in known, f"no such edge: {one}"
        assert rules.live[one["rid"]].owner == one["owner"]
        assert rules.live[one["blocker_rid"]].owner == one["blocker"]
    all_of = reachable((edge.owner, edge.blocker) for edge in real if edge.owner != edge.blocker)
    assert reachable((one["owner"], one["blocker"]) for one in told) == all_of, f"told {told}, there are {real}"
