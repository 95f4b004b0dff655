"""Random arguments for the scripts of a noun, from their declarations alone: few values, so that calls meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pyadeq._core.kernel.manifest import Argument, Group, Script
from pyadeq._core.kernel.nouncalls import CONTEXT

LEFT_OUT = {*CONTEXT, "rid", "cursor", "clock"}
TIMES = (0, 1, 1000, 60_000, 86_400_000)  # ms


def arguments(script: Script) -> st.SearchStrategy[dict[str, Any]]:
    """What `NounCalls.build` takes. A rid is for the caller to add."""
    values = {one.name: value(one) for one in script.args if one.name not in LEFT_OUT}
    items = {one.name: st.lists(item(one), min_size=one.min, max_size=min(one.max, 3)) for one in script.groups}
    return st.fixed_dictionaries({**values, **items})


def item(group: Group) -> st.SearchStrategy[dict[str, Any]]:
    pairs = {one.name: value(one) for one in group.pairs}
    return st.fixed_dictionaries({one.name: value(one) for one in group.fields}, optional=pairs)


def value(argument: Argument) -> st.SearchStrategy[Any]:
    given = _value(argument)
    return given if argument.default is None else st.none() | given


def _value(argument: Argument) -> st.SearchStrategy[Any]:
    low, high = argument.min, argument.max
    match argument.type:
        case "int" if argument.name.endswith("_ms"):
            return st.sampled_from([one for one in TIMES if low <= one <= high] or [low, high])
        case "int":
            return st.integers(low, min(high, low + 3)) | st.just(high)
        case "bytes":
            return st.binary(min_size=low, max_size=min(high, low + 4))
        case "enum":
            return st.sampled_from(argument.words)
        case "bool":
            return st.booleans()
        case "lane":
            return st.sampled_from(["any", "group/a"])
        case "limit":
            return st.sampled_from(["all", "user:a", "key:a"])
        case "ids" | "labels":
            return st.lists(st.sampled_from("abc"), min_size=low, max_size=min(high, 3), unique=True)
        case "lanes":
            return st.lists(st.sampled_from(["any", "group/a"]), min_size=low, max_size=min(high, 2), unique=True)
    return st.sampled_from("abc")
