"""The options of a client: `Options` declares them, and both ways to make a client take them."""

from inspect import Parameter, signature
from typing import Any

import pytest

import pyadeq
import pyadeq.asyncio
from pyadeq._core.kernel.client_options import Options
from pyadeq.errors import ConfigError

TWIN = pytest.mark.parametrize("twin", [pyadeq, pyadeq.asyncio], ids=lambda twin: twin.__name__)
OWN = list(signature(Options).parameters.values())


@TWIN
@pytest.mark.parametrize(
    ("way", "more"), [("__init__", {"self", "client"}), ("from_url", {"url", "cluster", "options"})]
)
def test_both_ways_take_the_options_with_their_types_and_defaults(twin: Any, way: str, more: set[str]) -> None:
    taken = signature(getattr(twin.Adeq, way)).parameters
    assert [one for name, one in taken.items() if name not in more] == OWN
    assert all(taken[one.name].kind is Parameter.KEYWORD_ONLY for one in OWN)


@TWIN
def test_an_unknown_option_is_named(twin: Any) -> None:
    client = twin.Adeq.from_url("redis://localhost").client
    assert twin.Adeq(client=client).client is client
    with pytest.raises(TypeError, match=r"^prefx: there is no such option; did you mean prefix\? Allowed: client, pre"):
        twin.Adeq(client, prefx="a")


@pytest.mark.parametrize(
    "wrong",
    [
        {"retry_for": 46},
        {"prefix": "a b"},
        {"slot": ""},
        {"durability": "disk"},
        {"replicas": 0},
        {"durability_timeout": 0},
    ],
)
def test_options_are_checked_before_anything_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"^{next(iter(wrong))}: "):
        Options(**wrong)


def test_a_client_is_copied_with_another_option() -> None:
    one = Options(prefix="a", batch=True)
    assert Options(**one.given(source="me")) == Options(prefix="a", batch=True, source="me")
