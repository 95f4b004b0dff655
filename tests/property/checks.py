"""The keys of a queue, held against the model: all that is there, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from tests.property.link import Key
from tests.property.records import Reply, Stub, Task
from tests.property.views import Views

MARGIN = 1000  # ms; what the server is about to delete by its own clock is deleted so much earlier
HOUR = 3_600_000
NONE = Key({}, -1)
SETS = {
    "delayed": ["delayed"], "leases": ["running"],
    "finished": ["completed", "cancelled"], "dead": ["dead"],
}  # fmt: skip


def result_ttl(task: Task) -> int:
    """The server keeps a result for longer than it is shown."""
    return max(2 * ((task.result_ends or 0) - task.at), 60_000)


def reply_ttl(left: Reply) -> int:
    return max(2 * (left.until - left.since), 60_000)


class Checks(Views):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._checked: set[Stub] = set()
        self._last_event = "-"
        self._noted = 0

    def let_go(self) -> None:
        """What the server deletes by a clock of its own goes when the test's clock has come so far."""
        model = self.model
        stubs = [id for id, stub in model.stubs.items() if stub.until - MARGIN <= model.now]
        results = [task for task in model.tasks.values() if task.result and self._result_gone(task)]
        replies = [id for id, left in model.replies.items() if left.since + reply_ttl(left) - MARGIN <= model.now]
        for id in stubs:
            del model.stubs[id]
        for id in replies:
            del model.replies[id]
        for task in results:
            task.result = None
        names = [f"task:{id}" for id in stubs] + [f"result:{task.id}" for task in results]
        if names := names + [f"reply:{id}" for id in replies]:
            self.client.delete(*[f"{self.base}:{name}" for name in names])

    def _result_gone(self, task: Task) -> bool:
        return task.result_ends is not None and task.at + result_ttl(task) - MARGIN <= self.model.now

    def check(self) -> None:
        """Every task is in one set, the one that the model says, and what goes with it is true."""
        self.let_go()
        model, found = self.model, self.read(self._last_event)

        def zset(name: str) -> dict[str, int]:
            return {id: int(score) for id, score in found.get(name, NONE).value.items()}

        def below(prefix: str) -> set[str]:
            return {name.removeprefix(prefix) for name in found if name.startswith(prefix)}

        members = {name: zset(name) for name in SETS}
        assert members == {name: {task.id: task.at for task in model.of(*states)} for name, states in SETS.items()}
        assert zset("deadlines") == model.deadlines()
        lanes = {task.lane for task in model.of("ready")}
        assert below("ready:") == lanes
        assert {lane.decode() for lane in found.get("lanes", NONE).value} == lanes
        for lane in lanes:
            assert zset(f"ready:{lane}") == {task.id: task.score for task in model.line(lane)}
        self._check_chains(found, {name: zset(name) for name in found if name.startswith("dependents:")})
        held = {id: lease.split(b" ")[0].decode() for id, lease in found.get("running", NONE).value.items()}
        assert held == {task.id: task.lease.token for task in model.of("running") if task.lease}
        assert model.wake - model.perhaps <= below("wake:") <= model.wake
        model.wake, model.perhaps = below("wake:"), set()
        assert all(found[f"wake:{lane}"].value == [b"1"] for lane in model.wake)
        assert below("control:") == model.control
        assert all(found[f"control:{name}"].value == [b"1"] for name in model.control)
        assert all(0 < found[f"control:{name}"].ttl <= 60_000 for name in model.control)
        assert zset("workers") == {name: worker.seen for name, worker in model.workers.items()}
        assert below("worker:") >= set(model.workers)
        assert {field: value.decode() for field, value in found.get("once", NONE).value.items()} == model.once()
        assert zset("once:due") == {field: until for field, (_, until) in model.timed.items()}
        indexes = {name: zset(name) for name in found if name.startswith(("by:", "children:"))}
        for id, stub in model.stubs.items():
            if stub.parent and id in indexes.get(f"children:{stub.parent}", {}):  # the order of a call decides
                model.stubs[id] = replace(stub, score=indexes[f"children:{stub.parent}"][id])
        assert indexes == self._indexes()
        self._check_records(found)
        self._check_events(found["events"].value if "events" in found else [])
        self.compare_stats()

    def _check_chains(self, found: dict[str, Key], dependents: dict[str, dict[str, int]]) -> None:
        """Who waits for whom, in its place in line, and what has ended and is not told yet."""
        model = self.model
        blocked = {id: int(score) for id, score in found.get("blocked", NONE).value.items()}
        assert blocked == {task.id: task.score for task in model.of("blocked")}
        assert dependents == {f"dependents:{id}": places for id, places in model.dependents.items()}
        lines = {name.removeprefix("order:"): list(found[name].value) for name in found if name.startswith("order:")}
        assert lines == model.orders
        assert {text: int(at) for text, at in found.get("ends", NONE).value.items()} == {
            note.text: at for note, at in model.notes.items()
        }
        assert ("chains" in found["config"].value) == model.chains
        for task in model.tasks.values():
            record = found[f"task:{task.id}"].value
            of_it = {"gathered": task.gathered, "awaited": int(task.awaited) or None, "pruned": task.pruned}
            assert {name: int(record[name]) for name in of_it.keys() & record} == {
                name: value for name, value in of_it.items() if value is not None
            }, task.id
            assert task.state != "blocked" or int(record["awaits"]) == task.awaits

    def _check_records(self, found: dict[str, Key]) -> None:
        """Records, payloads and results: those of the tasks that are there, and stubs, which go by themselves."""
        model = self.model
        kinds: dict[str, dict[str, Key]] = {kind: {} for kind in ("task", "payload", "result", "log", "reply")}
        for name, key in found.items():
            kind, _, id = name.partition(":")
            if kind in kinds:
                kinds[kind][id] = key
        stubs = {id: kinds["task"].pop(id) for id in model.stubs if id in kinds["task"]}
        assert set(stubs) == set(model.stubs)
        assert set(kinds["task"]) == set(kinds["payload"]) == set(model.tasks)
        assert {key.ttl for kind in ("task", "payload") for key in kinds[kind].values()} <= {-1}
        assert set(kinds["result"]) == {task.id for task in model.tasks.values() if task.result}
        for id, key in kinds["result"].items():
            task = model.tasks[id]
            right = key.ttl == -1 if task.result_ends is None else 0 < key.ttl <= result_ttl(task)
            assert right, f"result:{id} goes in {key.ttl} ms"
        logs = {task.id: task.log for task in model.tasks.values() if task.log}
        assert {id: [one.decode().partition(" ")[2] for one in key.value] for id, key in kinds["log"].items()} == logs
        self._check_replies(kinds["reply"])
        for id, stub in model.stubs.items():
            if stub.parent:
                record = stubs[id].value
                assert (stubs[id].ttl, record["link"].decode()) == (-1, stub.parent), f"the link of {id}: {record}"
                assert int(record.get("pruned", 0)) == (stub.pruned or 0)
            elif stub not in self._checked:
                assert 0 < stubs[id].ttl <= stub.until - model.now, f"stub of {id} goes in {stubs[id].ttl} ms"
                self._checked.add(stub)
                self.client.pexpire(f"{self.base}:task:{id}", HOUR)

    def _check_replies(self, found: dict[str, Key]) -> None:
        assert set(found) == set(self.model.replies)
        for id, left in self.model.replies.items():
            assert found[id].value == f"{left.until} {' '.join(left.how)}\n".encode() + left.value
            assert 0 < found[id].ttl <= reply_ttl(left)

    def _indexes(self) -> dict[str, dict[str, int]]:
        indexes: dict[str, dict[str, int]] = {}
        for task in self.model.tasks.values():
            for index, prefix in (("user", "by:user:"), ("tag", "by:tag:"), ("parent", "children:")):
                for value in task.has(index):
                    indexes.setdefault(prefix + value, {})[task.id] = task.created
        for id, stub in self.model.stubs.items():
            if stub.parent:
                indexes.setdefault(f"children:{stub.parent}", {})[id] = stub.score
        return indexes

    def _check_events(self, entries: list[Any]) -> None:
        new: Counter[tuple[str, str, int]] = Counter()
        for stamp, flat in entries:
            entry = dict(zip(flat[::2], flat[1::2], strict=True))
            event, ids = entry[b"event"].decode(), entry[b"id"].decode()
            # How many are removed in one go is the server's affair.
            for id in ids.split(" ") if event == "task.removed" else [ids]:
                new[event, id, int(entry[b"timestamp"])] += 1
            self._last_event = f"({stamp.decode()}"
        assert new == Counter(self.model.events[self._noted :])
        self._noted = len(self.model.events)
