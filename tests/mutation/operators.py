"""What a mutant is: one change of one source in lua/. All operators are here, each says what it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import NamedTuple

import tree_sitter_lua
from tree_sitter import Language, Node, Parser

from tests.rotation import number_of

_PARSER = Parser(Language(tree_sitter_lua.language()))

OPPOSITE = {"==": "~=", "~=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


class Change(NamedTuple):
    """Bytes `start` to `end` of a text become `text`."""

    operator: str
    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    source: str  # a path below lua/
    line: int  # in it, from 1
    change: Change
    shown: str  # the line as it is, and what becomes of the place

    @property
    def name(self) -> str:
        """Stays the same as long as the source does."""
        return f"{self.source}:{self.line} {self.change.operator} at {self.change.start}: {self.shown}"

    @property
    def lot(self) -> int:
        """Evenly spread: MUTANTS=10 runs the lots 0, 10, 20, …, and with DAY=3 the lots 3, 13, 23, …"""
        return number_of(self.name)


def always(node: Node) -> Iterator[Change]:
    """A guard that always holds. Not of a loop: it would have no end."""
    for condition in conditions(node, "if_statement", "elseif_statement"):
        yield put("always", condition, "true")


def never(node: Node) -> Iterator[Change]:
    """A guard that never holds, so that what it guards is gone; a loop that ends at once."""
    for condition in conditions(node, "if_statement", "elseif_statement", "while_statement"):
        yield put("never", condition, "false")
    for condition in conditions(node, "repeat_statement"):
        yield put("never", condition, "true")


def choose(node: Node) -> Iterator[Change]:
    """`a and b or c`, a guard within an expression, is always b, or always c."""
    both = node.child_by_field_name("left") if operator(node) == "or" else None
    if both is None or operator(both) != "and":
        return
    yield put("choose", both, operand(both, "right"))
    yield put("choose", node, operand(node, "right"))


def drop(node: Node) -> Iterator[Change]:
    """One operand of `and` or `or` goes, so that the other decides alone. Not in `a and b or c`, which is chosen from,
    nor the default in `a or b`, which is no guard.
    """
    if operator(node) not in ("and", "or") or is_choice(node) or (node.parent and is_choice(node.parent)):
        return
    if operator(node) == "or" and not decides(node):
        return
    yield put("drop", node, operand(node, "left"))
    yield put("drop", node, operand(node, "right"))


def invert(node: Node) -> Iterator[Change]:
    """A comparison says the opposite."""
    sign = node.child_by_field_name("operator")
    if operator(node) in OPPOSITE and sign:
        yield put("invert", sign, OPPOSITE[operator(node)])


def boundary(node: Node) -> Iterator[Change]:
    """A comparison is off by its boundary: what is equal falls on the other side, if that may matter."""
    sign = node.child_by_field_name("operator")
    if operator(node) in BOUNDARY and sign and not keeps_the_same(node):
        yield put("boundary", sign, BOUNDARY[operator(node)])


def affirm(node: Node) -> Iterator[Change]:
    """`not x` becomes x."""
    if node.type == "unary_expression" and operator(node) == "not":
        yield put("affirm", node, operand(node, "operand"))


def omit(node: Node) -> Iterator[Change]:
    """A statement that stands for what it does is not carried out: a call, which may write, or an assignment."""
    stands_alone = node.parent is not None and node.parent.type in ("block", "chunk")
    if node.type in ("function_call", "assignment_statement") and node.parent and stands_alone:
        after = (node.parent.text or b"")[node.end_byte - node.parent.start_byte :]
        yield put("omit", node, "do end" if after.startswith(b";") else "")  # Lua 5.1 has no lone `;`


def bound(node: Node) -> Iterator[Change]:
    """Of two values, the larger or the smaller one is always the first, or always the second."""
    name, values = node.child_by_field_name("name"), node.child_by_field_name("arguments")
    if node.type == "function_call" and name and values and source_of(name) in ("math.max", "math.min"):
        for value in values.named_children:
            yield put("bound", node, f"({source_of(value)})")


OPERATORS: tuple[Callable[[Node], Iterator[Change]], ...] = (
    always, never, choose, drop, invert, boundary, affirm, omit, bound,
)  # fmt: skip


def mutants(source: str, text: str) -> list[Mutant]:
    """All of a source, in the order of their places. None changes comments, which hold the header."""
    data = text.encode()
    lines = text.splitlines()
    found: dict[bytes, Mutant] = {}
    for node in nodes(_PARSER.parse(data).root_node):
        for make in OPERATORS:
            for change in make(node):
                mutated = data[: change.start] + change.text.encode() + data[change.end :]
                if mutated == data or mutated in found or _PARSER.parse(mutated).root_node.has_error:
                    continue
                line = data.count(b"\n", 0, change.start) + 1
                old = data[change.start : change.end].decode()
                shown = f"{lines[line - 1].strip()}  [{' '.join(old.split())} -> {' '.join(change.text.split())}]"
                found[mutated] = Mutant(source, line, change, shown)
    return sorted(found.values(), key=lambda one: (one.change.start, one.change.end, one.change.operator))


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from nodes(child)


def conditions(node: Node, *types: str) -> Iterator[Node]:
    condition = node.child_by_field_name("condition") if node.type in types else None
    if condition:
        yield condition


def keeps_the_same(node: Node) -> bool:
    """`if a < b then b = a end`, and `if a ~= b then return a < b end`: equal values change nothing, or do not come."""
    sides = {operand(node, "left"), operand(node, "right")}
    parent = node.parent
    if parent and parent.type == "if_statement" and parent.child_by_field_name("alternative") is None:
        return source_of(parent).split(" then ", 1)[-1] in {f"{a} = {b} end" for a, b in permutations(sides)}
    inner: Node = node
    while parent and parent.type != "if_statement":
        inner = parent
        parent = parent.parent
    condition = parent.child_by_field_name("condition") if parent else None
    if not (parent and condition and operator(condition) == "~="):
        return False
    is_guarded = inner == parent.child_by_field_name("consequence")
    return is_guarded and sides == {operand(condition, "left"), operand(condition, "right")}


def is_choice(node: Node) -> bool:
    left = node.child_by_field_name("left")
    return operator(node) == "or" and left is not None and operator(left) == "and"


def decides(node: Node) -> bool:
    """Whether the value is a condition: that of a statement, an operand of `not` or `and`, or what a function that asks
    a question returns, where both sides are comparisons or calls.
    """
    parent = node.parent
    while parent and (parent.type == "parenthesized_expression" or operator(parent) in ("and", "or", "not")):
        if operator(parent) in ("and", "not"):
            return True
        node, parent = parent, parent.parent
    return parent is not None and parent.child_by_field_name("condition") == node


def operator(node: Node) -> str:
    sign = node.child_by_field_name("operator")
    return sign.type if sign is not None and node.type in ("binary_expression", "unary_expression") else ""


def operand(node: Node, side: str) -> str:
    found = node.child_by_field_name(side)
    return source_of(found) if found else ""


def source_of(node: Node) -> str:
    return (node.text or b"").decode()


def put(name: str, node: Node, text: str) -> Change:
    return Change(name, node.start_byte, node.end_byte, text)
