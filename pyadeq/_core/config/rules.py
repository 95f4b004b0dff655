"""Targeting rules of flags: JsonLogic with the operators of flagd, checked and compiled to functions.

A rule is compiled once for each version of a flag. Each part of it becomes a function of the scope of one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyadeq._core.config import values, versions
from pyadeq._core.config.murmur3 import murmur3
from pyadeq.errors import BadArgument

MAX_DEPTH: Final = 32
"""How deep operators and lists may be nested."""
MAX_PARTS: Final = 2_000
"""How many operators, lists and literals a rule may have."""
MAX_WEIGHT: Final = 2**31 - 1
"""The sum of all weights of a `fractional` is at most this."""


class Scope(NamedTuple):
    """What one evaluation knows. now: seconds since 1970."""

    attributes: Mapping[str, Any]
    targeting_key: str | None
    now: int


Rule = Callable[[Scope], Any]


def refuse(where: str, what: str) -> BadArgument:
    """The error for a flag that is not accepted."""
    return BadArgument("ADEQ_ARG", "pyadeq", f"{where}: {what}")


def shown(value: Any) -> str:
    """A value in an error, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Compiler:
    """Checks and compiles the rule of one flag.

    flag: the name of the flag.
    variants: the names that a rule may choose.
    """

    def __init__(self, flag: str, variants: Mapping[str, Any]) -> None:
        self._flag = flag
        self._variants = variants
        self._parts = 0

    def compile(self, node: Any, where: str, depth: int = 0, *, chooses: bool = False) -> Rule:
        """Return the function of a part of a rule. chooses: its result is the name of a variant."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise refuse(where, f"the rule is too large; allowed: at most {MAX_PARTS} operators, lists and literals")
        if depth > MAX_DEPTH:
            raise refuse(where, f"the rule is too deep; allowed: at most {MAX_DEPTH} levels")
        if isinstance(node, list):
            parts = [self.compile(one, f"{where}[{index}]", depth + 1) for index, one in enumerate(node)]
            return lambda scope: [part(scope) for part in parts]
        if not isinstance(node, dict):
            if chooses and node is not None and values.as_text(node) not in self._variants:
                allowed = ", ".join(map(repr, self._variants))
                raise refuse(where, f"variant {shown(node)} does not exist; allowed: {allowed}")
            return lambda scope: node
        if len(node) != 1:
            raise refuse(where, f"{shown(node)} is not accepted; allowed: an object with one operator")
        ((operator, given),) = node.items()
        found = OPERATORS.get(operator)
        if found is None:
            raise refuse(where, f"operator {shown(operator)} is not accepted; allowed: {', '.join(OPERATORS)}")
        build, least, most = found
        arguments = given if isinstance(given, list) else [given]
        where = f"{where}.{operator}"
        if not least <= len(arguments) <= (most or MAX_PARTS):
            wanted = str(least) if least == most else f"{least} to {most}" if most else f"{least} or more"
            raise refuse(where, f"{len(arguments)} arguments are not accepted; allowed: {wanted}")
        return build(self, arguments, where, depth + 1, chooses)

    def compile_all(self, nodes: Sequence[Any], where: str, depth: int) -> list[Rule]:
        """Return the functions of all arguments of an operator."""
        return [self.compile(node, f"{where}[{index}]", depth) for index, node in enumerate(nodes)]

    def var(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """A property of the context, by its path, and what holds if there is none."""
        path = nodes[0]
        if not isinstance(path, str) or not path:
            raise refuse(where, f"{shown(path)} is not accepted; allowed: the name of a property, such as 'user.email'")
        default = self.compile(nodes[1], f"{where}[1]", depth, chooses=chooses) if len(nodes) > 1 else None
        if path == "$flagd.flagKey":
            return lambda scope: self._flag
        if path == "$flagd.timestamp":
            return lambda scope: scope.now
        if path.split(".")[0] == "$flagd":
            raise refuse(where, f"{path!r} is not accepted; allowed: '$flagd.flagKey' and '$flagd.timestamp'")
        if path == "targetingKey":
            if default is None:
                return lambda scope: scope[1]
            return lambda scope: default(scope) if scope[1] is None else scope[1]
        first, *rest = path.split(".")
        if default is None and not rest:
            return lambda scope: scope[0].get(first)

        def look_up(scope: Scope) -> Any:
            found = scope[0].get(first)
            for name in rest:
                found = _member(found, name)
            return default(scope) if found is None and default is not None else found

        return look_up

    def choose(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """`if`: the value behind the first condition that holds; the last value if none does."""
        last = len(nodes) - 1
        parts = [
            # Conditions are at even positions. A last one without a value behind it is the "else".
            self.compile(node, f"{where}[{index}]", depth, chooses=chooses and (index % 2 == 1 or index == last))
            for index, node in enumerate(nodes)
        ]
        otherwise = parts[-1] if len(parts) % 2 else _nothing
        pairs = list(zip(parts[0::2], parts[1::2], strict=False))
        is_true = values.is_true
        if len(pairs) == 1:
            ((when, then),) = pairs
            return lambda scope: then(scope) if is_true(when(scope)) else otherwise(scope)

        def chosen(scope: Scope) -> Any:
            for when, then in pairs:
                if is_true(when(scope)):
                    return then(scope)
            return otherwise(scope)

        return chosen

    def all_of(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """`and`: the first value that is false, or the last value."""
        return self._first(nodes, where, depth, False)

    def any_of(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """`or`: the first value that is true, or the last value."""
        return self._first(nodes, where, depth, True)

    def _first(self, nodes: Sequence[Any], where: str, depth: int, wanted: bool) -> Rule:
        parts = self.compile_all(nodes, where, depth)

        def first(scope: Scope) -> Any:
            value = None
            for part in parts:
                value = part(scope)
                if values.is_true(value) is wanted:
                    break
            return value

        return first

    def negate(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """`!`: whether a value is false."""
        part = self.compile(nodes[0], where, depth)
        return lambda scope: not values.is_true(part(scope))

    def concatenate(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """`cat`: one text of all values. With it, `fractional` gets a key of a flag and of any attribute."""
        parts = self.compile_all(nodes, where, depth)
        return lambda scope: "".join(values.as_text(part(scope)) or "" for part in parts)

    def is_in(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """`in`: whether a list or a text contains a value."""
        value, place = self.compile_all(nodes, where, depth)
        if isinstance(nodes[1], list) and all(isinstance(one, str) for one in nodes[1]):
            members = frozenset(nodes[1])

            def is_member(scope: Scope) -> bool:
                found = value(scope)
                return isinstance(found, str) and found in members

            return is_member
        return lambda scope: values.contains(place(scope), value(scope))

    def sem_ver(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """Compare two versions; null if one of them is no version."""
        operator = nodes[1]
        if operator not in versions.OPERATORS:
            allowed = " ".join(versions.OPERATORS)
            raise refuse(f"{where}[1]", f"{shown(operator)} is not accepted; allowed: {allowed}")
        left, right = (self._version(nodes[index], f"{where}[{index}]", depth) for index in (0, 2))

        def compare(scope: Scope) -> bool | None:
            one, other = left(scope), right(scope)
            return None if one is None or other is None else versions.compare_versions(one, operator, other)

        return compare

    def _version(self, node: Any, where: str, depth: int) -> Rule:
        if isinstance(node, (dict, list)):
            part = self.compile(node, where, depth)
            return lambda scope: versions.parse_version(part(scope))
        if (version := versions.parse_version(node)) is None:
            raise refuse(where, f"{shown(node)} is not accepted; allowed: a semantic version, such as '1.2.3'")
        return lambda scope: version

    def fractional(self, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        """Choose a variant by a hash, in proportion to the weights. The same key always gets the same variant."""
        by: Rule | None = None
        if not isinstance(nodes[0], list):
            by = self.compile(nodes[0], f"{where}[0]", depth)
        first = 0 if by is None else 1
        if len(nodes) == first:
            raise refuse(where, "no variants; allowed: one or more of [variant] or [variant, weight]")
        variants, weights = [], []
        for index, node in enumerate(nodes[first:], first):
            place = f"{where}[{index}]"
            if not isinstance(node, list) or not 1 <= len(node) <= 2:
                raise refuse(place, f"{shown(node)} is not accepted; allowed: [variant] or [variant, weight]")
            variants.append(self.compile(node[0], f"{place}[0]", depth + 1, chooses=chooses))
            weights.append(self._weight(node[1] if len(node) > 1 else 1, f"{place}[1]", depth + 1))
        known = [weight for weight in weights if isinstance(weight, int)]
        if sum(known) > MAX_WEIGHT:
            raise refuse(where, f"the weights sum to {sum(known)}; allowed: at most {MAX_WEIGHT}")
        fixed = known if len(known) == len(weights) else None
        seed = self._flag

        def pick(scope: Scope) -> Any:
            key = by(scope) if by is not None else None
            if not isinstance(key, str):
                key = scope[1]
                if not isinstance(key, str) or not key:
                    return None
                key = seed + key
            shares = fixed if fixed is not None else _shares(weights, scope)
            if shares is None:
                return None
            place = murmur3(key.encode("utf-8", "surrogatepass")) * sum(shares) >> 32
            for variant, share in zip(variants, shares, strict=True):
                place -= share
                if place < 0:
                    return variant(scope)
            return None  # all weights are 0

        return pick

    def _weight(self, node: Any, where: str, depth: int) -> int | Rule:
        if isinstance(node, (dict, list)):
            return self.compile(node, where, depth)
        if (weight := _as_weight(node)) is None:
            raise refuse(where, f"{shown(node)} is not accepted; allowed: an integer of at most {MAX_WEIGHT}")
        return weight


def _nothing(scope: Scope) -> None:
    return None


def _member(place: Any, name: str) -> Any:
    """A property of an object, or an item of a list by its number."""
    if isinstance(place, Mapping):
        return place.get(name)
    if isinstance(place, (list, tuple)) and name.isdecimal() and len(name) < 10 and int(name) < len(place):
        return place[int(name)]
    return None


def _as_weight(value: Any) -> int | None:
    """A weight as an integer; a negative one is 0. None: it is none."""
    if not values.is_number(value) or value > MAX_WEIGHT:
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return max(0, int(value))


def _shares(weights: Sequence[int | Rule], scope: Scope) -> list[int] | None:
    """All weights of one evaluation. None: one of them is no weight, or their sum is too large."""
    shares = []
    for weight in weights:
        share = weight if isinstance(weight, int) else _as_weight(weight(scope))
        if share is None:
            return None
        shares.append(share)
    return shares if sum(shares) <= MAX_WEIGHT else None


Build = Callable[[Compiler, Sequence[Any], str, int, bool], Rule]


def _compare(test: Callable[[Any, Any], bool], *, swapped: bool = False, negated: bool = False) -> Build:
    """A comparison of two values, or of three in a row."""

    def build(compiler: Compiler, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        parts = compiler.compile_all(nodes, where, depth)
        if swapped:
            parts.reverse()
        if len(parts) == 3:
            low, middle, high = parts

            def between(scope: Scope) -> bool:
                value = middle(scope)
                return test(low(scope), value) and test(value, high(scope))

            return between
        left, right = parts
        if negated:
            return lambda scope: not test(left(scope), right(scope))
        return lambda scope: test(left(scope), right(scope))

    return build


def _ends(test: Callable[[str, str], bool]) -> Build:
    """Whether a text begins or ends with another; null if one of them is no text."""

    def build(compiler: Compiler, nodes: Sequence[Any], where: str, depth: int, chooses: bool) -> Rule:
        text, part = compiler.compile_all(nodes, where, depth)

        def check(scope: Scope) -> bool | None:
            one, other = text(scope), part(scope)
            return test(one, other) if isinstance(one, str) and isinstance(other, str) else None

        return check

    return build


# name -> how it is built, and how many arguments it has: at least, at most (None: any number)
OPERATORS: Final[dict[str, tuple[Build, int, int | None]]] = {
    "var": (Compiler.var, 1, 2),
    "==": (_compare(values.loosely_equal), 2, 2),
    "!=": (_compare(values.loosely_equal, negated=True), 2, 2),
    "<": (_compare(values.less), 2, 3),
    "<=": (_compare(values.at_most), 2, 3),
    ">": (_compare(values.less, swapped=True), 2, 2),
    ">=": (_compare(values.at_most, swapped=True), 2, 2),
    "and": (Compiler.all_of, 1, None),
    "or": (Compiler.any_of, 1, None),
    "!": (Compiler.negate, 1, 1),
    "if": (Compiler.choose, 1, None),
    "in": (Compiler.is_in, 2, 2),
    "cat": (Compiler.concatenate, 1, None),
    "starts_with": (_ends(str.startswith), 2, 2),
    "ends_with": (_ends(str.endswith), 2, 2),
    "sem_ver": (Compiler.sem_ver, 3, 3),
    "fractional": (Compiler.fractional, 1, None),
}
