"""Whatever waits for what, all comes to its end, and to the one that follows from what the tasks say."""

from __future__ import annotations

from functools import cache
from itertools import count
from random import Random
from typing import NamedTuple

import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.driver import Driver
from tests.property.link import Scripts, load_scripts
from tests.property.records import ENDED, Answer, Backoff, Spec
from tests.quick import examples

EXAMPLES = examples(40, 200)
STEP = 16_000  # ms; beyond a lease
# How a task ends that is let, and those that end before they are taken.
WAYS = {
    "ack": "completed", "fail": "dead", "crash": "dead", "stop": "cancelled", "cancel": "cancelled", "expire": "dead",
}  # fmt: skip
DETOURS = ("release", "snooze", "retry", "reap")
bases = count()


class Node(NamedTuple):
    after: list[int]  # how many before it they are
    parent: int  # likewise; 0: none
    some: bool
    when: str
    way: str


nodes = st.builds(
    Node, st.lists(st.integers(1, 9), max_size=3), st.sampled_from([0, 0, 0, 0, 1, 2, 5]), st.booleans(),
    st.sampled_from(["completed", "completed", "failed", "ended", "ended"]),
    st.sampled_from(["ack", "ack", "ack", *WAYS]),
)  # fmt: skip


class Graph:
    """Numbered tasks; each waits for earlier ones and, as a parent, for later ones, but never in a circle."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.waits: list[list[int]] = []
        self.parents: list[int | None] = []
        for number, node in enumerate(nodes):
            self.waits.append([number - at for at in sorted({*node.after}) if at <= number])
            parent = number - node.parent
            circle = parent < 0 or parent in self._reached(number)
            self.parents.append(None if circle else parent)
            if not circle:
                self.waits[parent].append(number)

    def _reached(self, number: int) -> set[int]:
        """It, and all that it waits for."""
        found, left = set[int](), [number]
        while left:
            at = left.pop()
            left += [] if at in found else self.waits[at]
            found.add(at)
        return found

    def spec(self, number: int, now: int) -> Spec:
        node, waits = self.nodes[number], self.waits[number]
        late = node.way == "expire"
        return Spec(
            f"t{number}", lane="group/nobody" if late else "any", expires=now + number * STEP // 2 if late else 0,
            parent=None if self.parents[number] is None else f"t{self.parents[number]}", max_attempts=1000,
            after=tuple(f"t{at}" for at in waits if at < number), gather=sum(at > number for at in waits),
            after_any=node.some and bool(waits), after_when=node.when if waits else "completed",
        )  # fmt: skip

    def ends(self) -> list[str]:
        """How each of them ends, by what it says and by the ends of those that it waits for."""

        @cache
        def end(number: int) -> str:
            node = self.nodes[number]
            others = [end(at) for at in self.waits[number]]
            good = [node.when == "ended" or (one == "completed") == (node.when == "completed") for one in others]
            if others and not (any(good) if node.some else all(good)):
                return "cancelled" if node.when == "failed" else "dead"
            return WAYS[node.way]

        return [end(number) for number in range(len(self.nodes))]


graphs = st.integers(1, 40).flatmap(lambda n: st.lists(nodes, min_size=n, max_size=n)).map(Graph)


class Run:
    """Makes a graph's tasks and has them done, in any order, with what may come between."""

    def __init__(self, queue: Driver, graph: Graph, random: Random) -> None:
        self.queue, self.graph, self.random = queue, graph, random
        self.rids, self.made = count(1), 0
        self.lost: set[str] = set()  # by their workers, once each

    def finish(self) -> None:
        self.queue.do("configure", max_crashes=3, backoff=Backoff(1000, 1.0, 1000, 0.0))
        self.queue.do("register", "w", "i")
        rounds = 0
        while self.made < len(self.graph.nodes) or [t for t in self.queue.model.tasks.values() if t.state not in ENDED]:
            self._enqueue(self.random.choice([0, 1, 5, 40]))
            for lease in self._claim():
                self._settle(*lease)
            self.queue.model.now += self.random.choice([0, 1, 1500, STEP])
            self.queue.check()
            rounds += 1
            assert rounds < 1000, "tasks are still on their way"

    def _enqueue(self, number: int) -> None:
        numbers = range(self.made, min(self.made + number, len(self.graph.nodes)))
        self.made += len(numbers)
        if numbers:
            specs = [self.graph.spec(number, self.queue.model.now) for number in numbers]
            answers = self.queue.do("enqueue", f"rid-{next(self.rids)}", specs)
            assert {status for status, _ in answers} == {"created"}
        if cancelled := [f"t{number}" for number in numbers if self.graph.nodes[number].way == "cancel"]:
            self.queue.do("cancel", cancelled, f"rid-{next(self.rids)}")

    def _claim(self) -> list[Answer]:
        limit, verb = self.random.choice([1, 3, 40]), self.random.choice(["claim", "settle"])
        leases = self.queue.do(verb, "w", "i", 0, next(self.rids), limit=limit, lanes=["any"])[4]
        return [(id, token) for id, token, *_ in leases]

    def _settle(self, id: str, token: str) -> None:
        do, way = self.queue.do, self.graph.nodes[int(id[1:])].way
        detour = self.random.choice(DETOURS) if self.random.random() < 0.3 else None
        if detour == "reap":
            detour = None if id in self.lost else detour
            self.lost.add(id)
        if way == "stop":
            do("cancel", [id], f"rid-{next(self.rids)}")
        match detour or way:
            case "ack":
                do("ack", [(id, token, b"")])
            case "fail":
                do("fail", [(id, token, False, "error", "", 500_000, {})])
            case "retry" | "stop":
                do("fail", [(id, token, True, "error", "", 500_000, {"delay": 1000})])
            case "release":
                do("release", [(id, token)])
            case "snooze":
                do("snooze", [(id, token, 1000)])


def test_a_graph_comes_to_its_end(client: redis.Redis) -> None:
    scripts: Scripts = load_scripts(client)

    @settings(max_examples=EXAMPLES, deadline=None, print_blob=True)
    @given(graphs, st.integers(0, 1_000_000))
    def run(graph: Graph, seed: int) -> None:
        queue = Driver(client, f"ade:{{queue:graph-{next(bases)}}}", scripts)
        try:
            Run(queue, graph, Random(seed)).finish()
            for number, expected in enumerate(graph.ends()):
                early = graph.nodes[number].way in ("cancel", "expire")  # it may be so before its turn
                state = queue.model.tasks[f"t{number}"].state
                assert state == expected or (early and {state, expected} == {"dead", "cancelled"}), f"t{number}"
            assert not [name for name in queue.read() if name.startswith(("blocked", "ends", "dependents:"))]
        finally:
            queue.close()

    run()
