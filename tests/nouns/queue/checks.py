"""What holds of every queue at every time, and what is left of one whose tasks have all gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.audit import Audit

if TYPE_CHECKING:
    from tests.nouns.queue.workbench import Workbench

MONTH = 31 * 86_400_000  # ms, longer than anything is kept by default
QUEUE = (
    ":config",
    ":counters",
    ":events",
    ":history:",
    ":limits",
    ":weights",
    ":shares:",
)  # what stays as long as the queue


def tasks(bench: Workbench) -> dict[str, dict[str, str]]:
    """The records of the tasks that there are."""
    return Audit(bench.client, bench.base).tasks


def check_indexes(bench: Workbench, audit: Audit | None = None) -> None:
    """The indexes hold the tasks that there are, each at its time of creation, and no other."""
    expected: dict[str, dict[str, float]] = {}
    audit = audit or Audit(bench.client, bench.base)
    for id in audit.links:  # at a time of their own: they may have taken another's place
        parent = audit.records[id]["link"]
        expected.setdefault(f"children:{parent}", {})[id] = audit.stored.zset(f"children:{parent}")[id]
    for id, record in audit.tasks.items():
        for field, index in (("user", "by:user:"), ("tags", "by:tag:"), ("parent", "children:")):
            for name in record.get(field, "").split(","):
                if name:
                    expected.setdefault(index + name, {})[id] = int(record["created_ms"])
    found = {name: audit.stored.zset(name) for name in audit.names if name.startswith(("by:", "children:"))}
    assert found == expected


def check_queue(bench: Workbench) -> None:
    """All that must hold of a queue that nobody has damaged."""
    audit = Audit(bench.client, bench.base)
    audit.now_ms = bench.now
    assert list(audit.problems()) == []
    check_indexes(bench, audit)
    payloads = {key.partition(":")[2] for key in audit.names if key.startswith("payload:")}
    goes_on = {id: record for id, record in audit.tasks.items() if audit.places[id][0] not in ("finished", "dead")}
    assert payloads <= audit.tasks.keys()
    # Where the setting is stored, a completed task may have lost its payload.
    assert payloads >= (goes_on if "payload_ms" in audit.stored.hash("config") else audit.tasks).keys()
    waiting = {id: record for id, record in goes_on.items() if audit.places[id] != ["leases"]}
    once = audit.stored.hash("once")
    for kind, ids in (("unique", goes_on), ("scope", {id: one for id, one in waiting.items() if "ran" not in one})):
        for id, record in ids.items():
            assert kind not in record or once[f"{kind}:{record[kind]}"] == id, f"{id} does not hold its {kind}"
    due = {
        id
        for id, record in waiting.items()
        if ("fallback_after_ms" in record and audit.places[id] != ["blocked"])
        or ("expires_at_ms" in record and "deliveries" not in record)
    }
    assert audit.stored.zset("deadlines").keys() == due
    stubs = audit.records.keys() - audit.tasks.keys()
    assert all(audit.stored.ttls[f"task:{id}"] <= 60_000 for id in stubs)


def let_all_pass(bench: Workbench) -> None:
    """No schedule is left, the longest times go by, everything is swept and passed on, and all tasks are purged."""
    for name in bench.ask("ZRANGE", ":schedules", 0, -1):
        bench.real(bench.calls.remove_schedule(name.decode(), f"remove/{name.decode()}"))
    for _ in range(3):
        bench.pass_time(MONTH)
        for call in (bench.calls.reap(1000), bench.calls.expire(1000), bench.calls.promote(1000)):
            bench.real(call)
        while bench.real(bench.calls.purge(all=True))[1]:
            pass
        while bench.real(bench.calls.trim())[1]:
            pass
        bench.settle()
        while bench.ask("EXISTS", ":limit:lines", ":rates"):
            bench.pass_time(1_000)
            bench.sweep()
    while bench.real(bench.calls.stats()).workers or bench.ask("ZCARD", ":workers"):
        bench.real(bench.calls.reap())


def left_over(bench: Workbench) -> dict[str, Any]:
    """The keys that would stay for ever, but for those of the queue itself."""
    found = {key: value for key, value in bench.dump().items() if not key.startswith(QUEUE)}
    return {key: found[key] for key in bench.lasting(found)}
