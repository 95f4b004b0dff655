"""What errors say: the field, the value in the units of whoever gave it, what is allowed, what to do."""

import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pyadeq import Adeq, Backoff, BadArgument, ConfigError, LockRequest, Task
from pyadeq._core.kernel.call import _encode_int, _Unfit
from pyadeq._core.kernel.manifest import Argument, library
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._sync.kernel.blocks import with_block
from pyadeq.models import encode, to_epoch_ms


class Thing:
    pass


circle: list[Any] = []
circle.append({"again": circle})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"user": {"created": Thing()}},
            r"payload\.user\.created is of the type [\w.]+\.Thing, which JSON",
        ),
        ([1, [2, Thing()]], r"payload\[1\]\[1\] is of the type"),
        (Thing(), r"payload is of the type"),
        ({"a": (1, float("nan"))}, r"payload\.a\[1\] is nan, which JSON has no number for"),
        ({"a": {(1, 2): 3}}, r"payload\.a has a key of the type tuple; allowed: str, int, float, bool or None"),
        ({"a": "\ud800"}, r"payload\.a has half of a surrogate pair"),
        ([{"\ud800": 1}], r"payload\[0\] has a key with half of a surrogate pair"),
        (circle, r"payload\[0\]\.again contains itself"),
        ({"a": {Thing()}}, r"payload\.a is of the type builtins\.set"),
    ],
)
def test_the_part_that_is_no_json_is_named(value: Any, message: str) -> None:
    with pytest.raises(BadArgument, match=f"payload must be bytes or JSON: {message}"):
        encode(value, "payload")


def test_what_json_can_hold() -> None:
    value = {
        "when": datetime(2026, 1, 1, tzinfo=UTC),
        "day": date(2026, 1, 1),
        "some": {1},
        "sum": Decimal("1.5"),
        1: 2,
    }
    assert encode(value) == (b'{"when":"2026-01-01T00:00:00Z","day":"2026-01-01","some":[1],"sum":"1.5","1":2}')


def test_a_payload_is_not_told() -> None:
    with pytest.raises(BadArgument) as caught:
        encode({"key": ["secret", Thing()]}, "payload")
    assert "secret" not in str(caught.value)


def integers() -> list[Argument]:
    found: dict[tuple[str, int, int], Argument] = {}
    for script in (library()[id] for id in library()):
        fields = [*script.args, *(field for group in script.groups for field in (*group.fields, *group.pairs))]
        found |= {(one.name, one.min, one.max): one for one in fields if one.type == "int"}
    return list(found.values())


@pytest.mark.parametrize("argument", integers(), ids=lambda argument: f"{argument.name}-{argument.max}")
def test_no_error_speaks_of_milliseconds(argument: Argument) -> None:
    """The units of Python are seconds; only the clock of tests is in milliseconds."""
    with pytest.raises(_Unfit) as caught:
        _encode_int(argument)(argument.max + 1)
    text = f"{caught.value.name} {caught.value.allowed}"
    assert argument.name == "now_ms" or ("_ms" not in text and "_pct" not in text)
    assert not argument.name.endswith("_ms") or argument.name == "now_ms" or text.endswith(" seconds")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lease": 0.01}, "lease: 0.01 is not accepted; allowed: 1 to 86400 seconds"),
        ({"lease": timedelta(days=2)}, "lease: 172800 is not accepted; allowed: 1 to 86400 seconds"),
        ({"backoff": Backoff(base=1e9)}, "backoff.base: 1000000000 is not accepted; allowed: 0 to 86400 seconds"),
    ],
)
def test_settings_are_told_in_the_units_of_the_user(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        QueueCalls("ade:{queue:q}", lambda: 0, "", lambda: None, None).configure("r", **settings)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Task(prio=3), "prio: Task has no such field; did you mean priority? Allowed: payload, id, kind, "),  # type: ignore[call-arg]
        (lambda: Task(max_retries=3), "max_retries: Task has no such field; did you mean max_attempts?"),  # type: ignore[call-arg]
        (lambda: Task(priority="x"), "priority: 'x' is not accepted for Task; input should be a valid integer"),  # type: ignore[arg-type]
        (lambda: Backoff(multiplier=1000), "multiplier: 1000 is not accepted for Backoff; input should be less than"),
        (lambda: Backoff(base=-1), "base: -1 is not accepted for Backoff; input should be greater than or equal to 0"),
        (lambda: LockRequest(resource="x", moed="shared"), "moed: LockRequest has no such field; did you mean mode?"),  # type: ignore[call-arg]
        (LockRequest, "resource: LockRequest needs it"),
    ],
)
def test_a_model_that_does_not_fit_is_a_bad_argument(make: Callable[[], object], message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        make()
    assert message in str(caught.value)


def test_a_moment_is_a_datetime_with_a_zone() -> None:
    with pytest.raises(BadArgument, match=r"run_after must be a datetime with a time zone.*got '2026-01-01'; read "):
        to_epoch_ms("run_after", "2026-01-01")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"run_after must have a time zone, got 2026-01-01T00:00:00; add one: "):
        to_epoch_ms("run_after", datetime(2026, 1, 1))


def test_an_option_of_from_url_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match=r"^prefx: from_url has no such option; did you mean prefix\? Allowed: "):
        Adeq.from_url("redis://localhost", prefx="x")
    with pytest.raises(ConfigError, match=r"for a URL, Adeq\.from_url"):
        Adeq("redis://localhost")  # type: ignore[arg-type]


def test_a_block_says_how_it_is_used() -> None:
    entered = []

    @with_block("with hold() as it")
    def hold() -> Any:
        entered.append(1)
        yield 1

    with hold() as it:
        assert it == 1
    assert entered == [1]
    block = hold()
    with pytest.raises(AttributeError, match="there is no 'fence' outside of a with block: with hold\\(\\) as it"):
        block.fence  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(TypeError, match="there is no 'a' outside of a with block"):
        block["a"]  # type: ignore[index]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del block
    assert [str(one.message) for one in caught] == ["nothing was done, for no with block began: with hold() as it"]
    assert entered == [1]
