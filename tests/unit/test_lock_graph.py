"""What is a deadlock among the edges of several domains, and what only looks like one."""

from typing import Any

from pyadeq import CycleEdge, Edge, LockGraph
from pyadeq._core.lock.graph import deadlocks, steady, told, victim


def edge(owner: str, blocker: str, *, mode: Any = "exclusive", held: bool = True, domain: str = "d") -> Edge:
    """A wait under the rid `<owner>`, for a resource that has the name of the blocker."""
    return Edge(
        owner=owner,
        rid=owner,
        resource=f"r:{blocker}",
        mode=mode,
        blocker=blocker,
        blocker_rid=f"{blocker}-holds",
        held=held,
        domain=domain,
    )


def owners(cycles: list[list[Edge]]) -> list[list[str]]:
    return [[one.owner for one in cycle] for cycle in cycles]


def test_a_cycle_is_found_and_what_leads_to_it_is_no_part_of_it() -> None:
    edges = [edge("a", "b"), edge("b", "c", domain="e"), edge("c", "b"), edge("c", "free")]
    assert owners(deadlocks(edges)) == [["b", "c"]]
    assert deadlocks(edges[:2]) == []
    assert deadlocks([]) == []


def test_each_cycle_has_one_victim_the_same_for_all_who_look() -> None:
    edges = [edge("a", "b"), edge("b", "a"), edge("x", "y"), edge("y", "x"), edge("b", "x")]
    found = deadlocks(edges)
    assert [victim(cycle).rid for cycle in found] == ["b", "y"]
    assert [victim(cycle).rid for cycle in deadlocks(reversed(edges))] == ["b", "y"]


def test_a_knot_takes_as_many_victims_as_it_needs() -> None:
    edges = [edge(one, other) for one in "abc" for other in "abc" if one != other]
    assert [victim(cycle).rid for cycle in deadlocks(edges)] == ["b", "c"]


def test_permits_may_come_from_any_who_holds_some() -> None:
    wait = edge("a", "b", mode="permit")
    assert deadlocks([wait, edge("a", "c", mode="permit"), edge("b", "a")]) == []
    assert owners(deadlocks([wait, edge("a", "c", mode="permit"), edge("b", "a"), edge("c", "a")])) == [["a", "b"]]
    # Who is ahead in line has to go first in any case.
    assert owners(deadlocks([edge("a", "b", mode="permit", held=False), edge("a", "c", mode="permit"), edge("b", "a")]))


def test_only_what_two_readings_have_in_common_counts() -> None:
    before = [edge("a", "b"), edge("b", "a")]
    assert steady(before, before) == before
    assert steady(before, [edge("a", "b")]) == [edge("a", "b")]
    assert deadlocks(steady(before, [edge("a", "b"), edge("b", "a").model_copy(update={"rid": "another"})])) == []
    # One more who holds permits may give some: then the wait is not counted at all.
    permits = [edge("a", "b", mode="permit"), edge("b", "a")]
    assert deadlocks(permits)
    assert steady(permits, [*permits, edge("a", "c", mode="permit")]) == [edge("b", "a")]
    assert steady([*permits, edge("a", "c", mode="permit")], permits) == [edge("b", "a")]


def test_a_cycle_as_its_members_are_told() -> None:
    assert told([edge("a", "b"), edge("b", "a", mode="permit")]) == [
        CycleEdge("a", "exclusive", "r:b"),
        CycleEdge("b", "permit", "r:a", 1),
    ]


def test_pictures() -> None:
    graph = LockGraph((edge("task-7", "b"), edge("b", "c", mode="shared", held=False)))
    assert graph.cycles() == []
    assert graph.mermaid() == (
        'flowchart LR\n  n0["b"]\n  n1["c"]\n  n2["task-7"]\n  n2 -->|"exclusive r:b"| n0\n  n0 -.->|"shared r:c"| n1\n'
    )
    assert graph.dot() == (
        "digraph locks {\n"
        "  rankdir=LR;\n"
        '  "b";\n'
        '  "c";\n'
        '  "task-7";\n'
        '  "task-7" -> "b" [label="exclusive r:b"];\n'
        '  "b" -> "c" [label="shared r:c", style=dashed];\n'
        "}\n"
    )
    assert LockGraph(()).mermaid() == "flowchart LR\n"
