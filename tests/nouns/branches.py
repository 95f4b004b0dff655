"""Both ways of every decision of a script: its text rewritten so that each of them tells which way it went.

Decisions are the operands that a test looks at (of `if`, `elseif`, `while` and `until`, and what stands to the left of
`and` and `or`), comparisons and negations to the right of these, loops that may have no round, and functions that may
not be called. The lines, the values and the order of evaluation stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import redis
import tree_sitter_lua
from tree_sitter import Language, Node, Parser

from pyadeq._core.kernel.call import Reply
from pyadeq._core.kernel.manifest import Script
from tests.nouns.watched import WatchedClient

# A call of one of these stands in an expression or between two statements, and makes no local.
_RECORDER: Final = b"""
local went, entered = {}, {}
local function take()
  local taken = went
  went = {}
  return taken
end
local function test(way, value)
  went[value and way or -way] = true
  return value
end
local function pass(way) went[way] = true end
local function begin(loop) entered[loop] = false end
local function round(loop) entered[loop], went[loop] = nil, true end
local function past(loop)
  if entered[loop] == false then entered[loop], went[-loop] = nil, true end
end
return take, test, pass, begin, round, past
"""
_NAMES: Final = [b"branch_test", b"branch_pass", b"branch_begin", b"branch_round", b"branch_past"]
# What the recorder adds to the lines that a call may run.
_MORE_STEPS: Final = 8

_PARSER: Final = Parser(Language(tree_sitter_lua.language()))
_ALWAYS_TRUE: Final = {"string", "number", "true", "table_constructor", "function_definition"}
_ALWAYS_FALSE: Final = {"nil", "false"}
_COMPARISONS: Final = {"==", "~=", "<", "<=", ">", ">="}


@dataclass(frozen=True, order=True)
class Way:
    """One way of one decision: where it is, and what happened."""

    line: int
    column: int
    what: str


@dataclass(frozen=True)
class Instrumented:
    """`ways` has the two ways of decision n at n and at -n; a function has one."""

    text: str
    ways: dict[int, Way]


def instrument(text: str, first: int = 1) -> Instrumented:
    """The text with its decisions numbered from `first`."""
    source = text.replace("#!lua", "--!lua", 1).encode()
    root = _PARSER.parse(source).root_node
    assert not root.has_error, text
    rewriter = _Rewriter(first)
    rewriter.node(root)
    for at, what in sorted(rewriter.inserts, reverse=True):
        source = source[:at] + what + source[at:]
    return Instrumented(source.decode().replace("--!lua", "#!lua", 1), rewriter.ways)


class _Rewriter:
    def __init__(self, first: int) -> None:
        self.next = first
        self.ways: dict[int, Way] = {}
        self.inserts: list[tuple[int, bytes]] = []  # no two in one place

    def node(self, node: Node) -> None:
        """Look at a node whose value nothing tests."""
        match node.type:
            case "if_statement" | "elseif_statement" | "while_statement" | "repeat_statement":
                condition = _child(node, "condition")
                self.tested(condition)
                self.nodes(one for one in node.named_children if one != condition)
            case "for_statement":
                self.loop(node)
            case "function_declaration" | "function_definition":
                self.function(node)
            case _ if _operator(node) == "and":
                self.tested(_child(node, "left"))
                self.right(_child(node, "right"))
            case _ if _operator(node) == "or":
                self.chosen(_child(node, "left"))
                self.right(_child(node, "right"))
            case _:
                self.nodes(node.named_children)

    def nodes(self, nodes: Iterator[Node] | Sequence[Node]) -> None:
        for node in nodes:
            self.node(node)

    def tested(self, node: Node) -> None:
        """The same of one whose truth decides."""
        node = _inside(node)
        if _operator(node) == "not":
            self.tested(_child(node, "operand"))
        elif _operator(node) in ("and", "or"):
            self.tested(_child(node, "left"))
            self.tested(_child(node, "right"))
        else:
            self.nodes(node.named_children)
            if not _is_constant(node):
                shown = _shown(node)
                way = self.decision(node, f"`{shown}` is true", f"`{shown}` is false")
                self.inserts += [(node.start_byte, b"branch_test(%d, (" % way), (node.end_byte, b"))")]

    def chosen(self, node: Node) -> None:
        """The left operand of `or` as a value: in `a and b or c` it is a that decides, and b is what it chooses."""
        node = _inside(node)
        if _operator(node) == "or":
            self.chosen(_child(node, "left"))
            self.chosen(_child(node, "right"))
        elif _operator(node) == "and":
            self.node(node)
        else:
            self.tested(node)

    def right(self, node: Node) -> None:
        """The right operand of `and` or `or` as a value: true or false only where it is one of both."""
        if _operator(_inside(node)) in {"not", *_COMPARISONS}:
            self.tested(node)
        else:
            self.node(node)

    def loop(self, node: Node) -> None:
        clause = _child(node, "clause")
        self.nodes(node.named_children)
        over = _gone_over(clause)
        never = None if _has_a_round(clause) else f"no round over `{over}`"
        way = self.decision(node, f"a round over `{over}`", never)
        (do,) = (one for one in node.children if one.type == "do")
        self.inserts.append((node.start_byte, b"branch_begin(%d) " % way))
        self.inserts.append((do.end_byte, b" branch_round(%d)" % way))
        self.inserts.append((node.end_byte, b" branch_past(%d)" % way))

    def function(self, node: Node) -> None:
        self.nodes(node.named_children)
        parameters = _child(node, "parameters")
        name = node.child_by_field_name("name")
        shown = _shown(name) if name else "function"
        way = self.decision(node, f"a call of `{shown}`")
        self.inserts.append((parameters.end_byte, b" branch_pass(%d)" % way))

    def decision(self, node: Node, one: str, other: str | None = None) -> int:
        number, self.next = self.next, self.next + 1
        line, column = node.start_point
        self.ways[number] = Way(line + 1, column + 1, one)
        if other:
            self.ways[-number] = Way(line + 1, column + 1, other)
        return number


class BranchClient(WatchedClient):
    """Runs the instrumented texts."""

    def __init__(self, client: redis.Redis) -> None:
        super().__init__(client)
        self._instrumented: dict[str, Instrumented] = {}
        self._next = 1
        self._take, *functions = self._lua.execute(_RECORDER.replace(b"\n", b" "))
        self._given |= dict(zip(_NAMES, functions, strict=True))
        watch = self._watch
        self._watch = lambda chunk, limit, seen: watch(chunk, _MORE_STEPS * limit, seen)

    def take(self) -> set[int]:
        """The ways that calls went since this was asked before, of all texts."""
        return set(self._take().keys())

    def ways(self, text: str) -> dict[int, Way]:
        """The ways that there are in the text of a script."""
        return self._of(text).ways

    def run_text(self, script: Script, text: str, keys: Sequence[bytes], args: Sequence[bytes]) -> Reply:
        return super().run_text(script, self._of(text).text, keys, args)

    def _of(self, text: str) -> Instrumented:
        if text not in self._instrumented:
            self._instrumented[text] = instrument(text, self._next)
            self._next += len(self._instrumented[text].ways)
        return self._instrumented[text]


def _child(node: Node, field: str) -> Node:
    found = node.child_by_field_name(field)
    assert found is not None, node
    return found


def _inside(node: Node) -> Node:
    while node.type == "parenthesized_expression":
        (node,) = node.named_children
    return node


def _operator(node: Node) -> str:
    if node.type not in ("binary_expression", "unary_expression"):
        return ""
    return next(one.type for one in node.children if not one.is_named)


def _shown(node: Node) -> str:
    assert node.text is not None
    return " ".join(node.text.decode().split())


def _is_constant(node: Node) -> bool:
    """Whether it is true, or false, whatever happens."""
    if operator := _operator(node):
        return operator not in _COMPARISONS  # arithmetic, .. and #
    return node.type in _ALWAYS_TRUE | _ALWAYS_FALSE


def _gone_over(clause: Node) -> str:
    """What a loop goes over: the table of pairs or ipairs, the number up to which it counts, or what it calls."""
    if clause.type == "for_numeric_clause":
        return _shown(_child(clause, "end"))
    over = _shown(clause.named_children[-1])
    table = re.fullmatch(r"i?pairs\((.*)\)", over)
    return table[1] if table else over


def _has_a_round(clause: Node) -> bool:
    """Whether a loop goes over a table that is written there and not empty, or from a number up to a number."""
    over = _gone_over(clause)
    if clause.type == "for_numeric_clause":
        first = _shown(_child(clause, "start"))
        return first.isdigit() and over.isdigit() and int(first) <= int(over)
    return re.fullmatch(r"\{ .+ \}", over) is not None
