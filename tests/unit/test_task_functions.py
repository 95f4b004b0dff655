"""Functions as tasks, without a server: their payloads, what is refused, and the registry as a handler."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NoReturn
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, Field, PlainSerializer, SecretStr, field_validator

from pyadeq import Lease, Task, TaskContext, TaskFailed, Tasks, library
from pyadeq._tasks.context import running
from pyadeq._tasks.functions import OF_THE_CALL, TaskOptions
from pyadeq.errors import BadArgument, ConfigError
from pyadeq.models.queue import TaskFilter

SECRET = "hunter2"


class Address(BaseModel):
    street: str = Field(alias="str")
    number: int = 1

    @field_validator("street")
    @classmethod
    def check(cls, value: str) -> str:
        if value == SECRET:
            raise ValueError(f"{value} is no street")
        return value


class Login(BaseModel):
    """Its only field has the name of a part of pydantic's schemas."""

    default: SecretStr


@dataclass
class Parcel:
    weight: float
    to: Address


def lease(kind: str | None, payload: Any = b"", **record: bytes) -> Lease:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    named = {} if kind is None else {"kind": kind.encode()}
    return Lease("t", "token", 7, 2, 3, 0.0, data, {**named, **record})


def payload(task: Task) -> Any:
    return json.loads(task.payload)


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


def test_the_payload_is_an_object_of_the_arguments_by_name(tasks: Tasks) -> None:
    @tasks.task
    def send(to: str, copies: int = 1, *, at: datetime | None = None) -> None: ...

    task = send.item("ann", at=datetime(2030, 1, 2, tzinfo=UTC))
    assert (task.kind, payload(task)) == ("send", {"to": "ann", "at": "2030-01-02T00:00:00Z"})
    assert payload(send.item(copies=3, to="bob")) == {"to": "bob", "copies": 3}


async def test_what_is_sent_arrives(tasks: Tasks) -> None:
    seen: list[Any] = []

    @tasks.task
    async def post(
        parcel: Parcel, id: UUID, tags: set[str], how: Literal["fast", "slow"], _n: Annotated[int, Field(gt=0)] = 4
    ) -> Parcel:
        seen.extend([parcel, id, tags, how, _n])
        return parcel

    given = [Parcel(1.5, Address(str="High", number=3)), UUID(int=1), {"a"}, "fast"]
    item = post.item(*given)  # type: ignore[arg-type]
    result = await tasks(lease("post", item.payload))
    assert seen == [*given, 4]
    assert json.loads(result or b"") == {"weight": 1.5, "to": {"str": "High", "number": 3}}


async def test_a_plain_function_runs_in_a_thread(tasks: Tasks) -> None:
    @tasks.task
    def where(n: int) -> list[Any]:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return [n, TaskContext.current().fence]

    assert await tasks(lease("where", {"n": 1})) == b"[1,7]"


def test_it_still_is_the_function(tasks: Tasks) -> None:
    @tasks.task(name="sums.add", timeout=5)
    def add(a: int, b: int = 2) -> int:
        """Adds."""
        return a + b

    assert add(1) == 3
    assert (add.__name__, add.__doc__, add.kind) == ("add", "Adds.", "sums.add")
    assert repr(add) == f"<TaskFunction 'sums.add': {__name__}.test_it_still_is_the_function.<locals>.add>"
    assert (len(tasks), list(tasks), tasks.get("sums.add"), "sums.add" in tasks, "add" in tasks) == (
        *(1, [add], add),
        *(True, False),
    )


def test_options_are_those_of_the_function_and_of_the_call(tasks: Tasks) -> None:
    @tasks.task(priority=2, lane="group/g")
    def work() -> None: ...

    assert work.item() == Task(kind="work", payload=b"{}", priority=2, lane="group/g")
    changed = work.options(priority=1, delay=60)
    assert changed.item() == Task(kind="work", payload=b"{}", priority=1, lane="group/g", delay=60)
    assert work.item().priority == 2


def test_the_options_are_all_that_can_be_said_of_a_task() -> None:
    assert set(TaskOptions.__annotations__) == set(Task.model_fields) - {"payload", "kind"} | set(OF_THE_CALL)


def test_a_filter_has_all_conditions_that_a_list_takes() -> None:
    known = {one.name for one in library()["queue.list.v1"].args}
    assert set(TaskFilter.__annotations__) == known - {"state", "cursor", "limit", "now_ms"}


@pytest.mark.parametrize(
    ("result", "kept"),
    [(None, None), (b"\xff", b"\xff"), ({"a": [1]}, b'{"a":[1]}'), (Address(str="x"), b'{"str":"x","number":1}')],
)
async def test_results_are_written_by_their_types(tasks: Tasks, result: Any, kept: bytes | None) -> None:
    @tasks.task
    async def work() -> Any:
        return result

    assert await tasks(lease("work")) == kept


async def test_the_return_annotation_says_what_is_kept(tasks: Tasks) -> None:
    class Short(BaseModel):
        a: int

    class Long(Short):
        b: int

    @tasks.task
    async def work() -> Short:
        return Long(a=1, b=2)

    assert await tasks(lease("work")) == b'{"a":1}'


async def test_a_context_is_given_where_it_is_asked_for(tasks: Tasks) -> None:
    @tasks.task
    async def first(context: TaskContext, n: int) -> Any:
        return [context.run_id, context.attempt, context.kind, context.trace, n]

    @tasks.task
    async def last(n: int, context: TaskContext | None = None) -> Any:
        assert context is TaskContext.current()
        return n

    assert payload(first.item(5)) == {"n": 5}
    assert json.loads(await tasks(lease("first", {"n": 5}, trace=b"00-1")) or b"") == ["t:7", 2, "first", "00-1", 5]
    assert await tasks(lease("last", {"n": 5})) == b"5"
    with pytest.raises(BadArgument, match="context"):
        last.item(5, context=None)


async def test_what_is_known_of_a_function_stays_its_own(tasks: Tasks) -> None:
    async def work() -> NoReturn:
        raise ValueError(TaskContext.current().id)

    work.kind = "its own"  # type: ignore[attr-defined]
    assert tasks.task(work).kind == "work"
    with running(TaskContext(Lease("other", "token", 1, 1, 1, 0.0, b"", {}))), pytest.raises(ValueError, match=r"^t$"):
        await tasks(lease("work"))


def later(tasks: Tasks) -> Callable[..., Any]:
    @tasks.task
    async def work(of: "Later") -> "Later":  # type: ignore[name-defined]  # noqa: F821
        return of

    return work


async def test_annotations_may_name_what_stands_further_down(tasks: Tasks) -> None:
    later(tasks)
    globals()["Later"] = int
    try:
        assert await tasks(lease("work", {"of": 3})) == b"3"
    finally:
        del globals()["Later"]


def test_an_annotation_that_nobody_knows_is_refused_when_it_is_used(tasks: Tasks) -> None:
    work = later(tasks)
    with pytest.raises(ConfigError, match=r"work: an annotation is not accepted: name 'Later' is not defined; allowed"):
        work.item(3)  # type: ignore[attr-defined]


def positional_free(a: int) -> None: ...
def positional(a: int, /) -> None: ...
def variable(*args: int) -> None: ...
def keywords(**kwargs: int) -> None: ...
def method(self, a: int) -> None: ...  # type: ignore[no-untyped-def]
def generates() -> Iterator[int]:
    yield 1


async def generates_too() -> AsyncIterator[int]:
    yield 1


def odd(a: "asyncio.Event") -> None: ...
async def waits() -> None: ...
def secret(to: str, keys: list[Login] | None = None) -> None: ...


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (positional, {}, r"positional: the parameter 'a' is not accepted; allowed: .* by name"),
        (variable, {}, r"variable: the parameter '\*args' is not accepted"),
        (keywords, {}, r"keywords: the parameter '\*\*kwargs' is not accepted"),
        (method, {}, r"method: the parameter 'self' is not accepted"),
        (generates, {}, r"task: <function generates .* allowed: a function, plain or async"),
        (generates_too, {}, r"task: .* allowed: a function"),
        (3, {}, r"task: 3 is not accepted; allowed: a function"),
        (Parcel, {}, r"task: .* allowed: a function"),
        (odd, {}, r"odd: an annotation is not accepted; allowed: types of pydantic"),
        (
            secret,
            {},
            r"secret: the parameter 'keys' .*, for its secret would be stored as asterisks; allowed: the name",
        ),
        (waits, {"name": "a b"}, r"name: 'a b' is not accepted"),
        (waits, {"executor": "thread"}, r"executor: waits is an async function"),
        (positional_free, {"executor": "cloud"}, r"executor: 'cloud' is not accepted; allowed: 'thread', 'process'"),
        (lambda: 1, {"name": "f", "executor": "process"}, r"executor: .* allowed for 'process': functions of a module"),
        (waits, {"colour": "red"}, r"waits: the option 'colour' is not accepted; allowed: .*priority"),
    ],
)
def test_what_cannot_be_a_task_is_refused(tasks: Tasks, function: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        tasks.task(**options)(function)
    assert len(tasks) == 0


async def test_a_secret_with_a_serializer_of_its_own_arrives(tasks: Tasks) -> None:
    @tasks.task
    async def login(token: Annotated[SecretStr, PlainSerializer(SecretStr.get_secret_value)]) -> str:
        return f"{token} {token.get_secret_value()}"

    call = login.item(SecretStr(SECRET))
    assert payload(call) == {"token": SECRET}
    assert await tasks(lease("login", call.payload)) == b'"********** hunter2"'


def test_a_kind_has_one_function(tasks: Tasks) -> None:
    tasks.task(waits)
    with pytest.raises(ConfigError, match=rf"^name: 'waits' is not accepted, for {__name__}.waits has it; give one"):
        tasks.task(name="waits")(positional_free)
    other = Tasks()
    other.task(name="waits")(positional_free)
    with pytest.raises(ConfigError, match=r"^name: 'waits'"):
        tasks.include(other)


def test_registries_can_be_put_together(tasks: Tasks) -> None:
    other = Tasks()
    other.task(waits)
    tasks.task(positional_free)
    tasks.include(other)
    tasks.include(other)
    assert [task.kind for task in tasks] == ["positional_free", "waits"]


# Arguments that do not fit


def deliver(to: Address, counts: dict[str, int], how: Literal["a", "b"] = "a", n: float = 1) -> None: ...


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "deliver: to: it is missing; counts: it is missing"),
        ({"to": {"str": "x"}, "counts": {}, "n": SECRET}, "deliver: n: Input should be a valid number, .*, got str"),
        ({"to": {}, "counts": {}}, "deliver: to.str: it is missing"),
        (
            {"to": {"str": SECRET}, "counts": {}},
            r"deliver: to.str: it is refused by the annotation \(value_error\), got str",
        ),
        ({"to": {"str": "x"}, "counts": {SECRET: "x"}}, "deliver: counts.…: .*valid integer, .*, got str"),
        ({"to": {"str": "x"}, "counts": {}, "how": SECRET}, "deliver: how: Input should be 'a' or 'b', got str"),
        (
            {"to": {"str": "x"}, "counts": {}, "by": SECRET},
            "deliver: by: there is no such argument; allowed: to, counts, how",
        ),
        ([SECRET], "deliver: the payload: Input should be an object, got list"),
        (b'{"n": hunter2', "deliver: the payload: Invalid JSON: .*; allowed: a JSON object of the arguments$"),
        ({"to": {}, "counts": {str(n): "" for n in range(9)}}, "deliver: .*; and 5 more$"),
    ],
)
async def test_a_payload_that_does_not_fit_is_bad_input(tasks: Tasks, given: Any, message: str) -> None:
    tasks.task(strict=True)(deliver)
    with pytest.raises(TaskFailed, match=f"^{message}") as caught:
        await tasks(lease("deliver", given))
    assert caught.value.reason == "bad_input"
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("given", [b"", b"null", b" null\n", b"{}"])
async def test_no_payload_means_no_arguments(tasks: Tasks, given: bytes) -> None:
    tasks.task(strict=True)(deliver)
    tasks.task(name="tidy", strict=True, version=2)(lambda n=1: n).upgrade(1)(lambda old: {**old, "n": 2})
    assert await tasks(lease("tidy", given)) == b"2"
    with pytest.raises(TaskFailed, match=r"^deliver: to: it is missing; counts: it is missing"):
        await tasks(lease("deliver", given))


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"pyadeq: deliver: missing a required argument: 'to'; allowed: to, counts, how, n"),
        ((1, 2, 3, 4, 5), {}, r"pyadeq: deliver: too many positional arguments"),
        ((), {"x": SECRET}, r"pyadeq: deliver: "),
        ((1, {}), {"x": SECRET}, r"pyadeq: deliver: got an unexpected keyword argument 'x'; allowed: to, counts"),
        ((1, {}), {"to": SECRET}, r"pyadeq: deliver: multiple values for argument 'to'"),
        ((SECRET, {}), {}, r"pyadeq: deliver: to: Input should be a valid dictionary or instance of Address, got str"),
        (
            (Address(str="x"), {}),
            {"n": float("nan")},
            r"pyadeq: deliver: n: Input should be a finite number, got float",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_not_enqueued(tasks: Tasks, args: Any, kwargs: Any, message: str) -> None:
    task = tasks.task(deliver)
    with pytest.raises(BadArgument, match=f"^{message}") as caught:
        task.item(*args, **kwargs)
    assert SECRET not in str(caught.value)


class Measured(BaseModel):
    value: float
    unit: str | None = None


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (float("nan"), "x"),
        ({"a": [None, float("inf")]}, r"x\.a\[1\]"),
        (Measured(value=float("-inf")), r"x\.value"),
        ([Parcel(float("nan"), Address(str="x"))], r"x\[0\]\.weight"),
    ],
)
async def test_numbers_that_json_does_not_have_are_refused(tasks: Tasks, value: Any, where: str) -> None:
    """pydantic writes them as null. Then the function gets None, or its payload does not fit."""

    @tasks.task
    def plain(x: Any) -> None: ...

    @tasks.task(name="typed")
    def typed(x: type(value)) -> None: ...  # type: ignore[valid-type]

    @tasks.task
    def result() -> Any:
        return value

    message = rf"{where}(: Input should be a finite number| is -?(nan|inf), which JSON)"
    for task in (plain, typed):
        with pytest.raises(BadArgument, match=message):
            task.item(value)
    with pytest.raises(BadArgument, match=where.replace("x", "result: the result", 1)):
        await tasks(lease("result"))


NAN = float("nan")


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Annotated[int, PlainSerializer(lambda _: NAN)], 1),
        (Annotated[str, AfterValidator(lambda _: NAN)], "a"),
        (dict[str, list[Any]], {"a": [None, NAN]}),
        (tuple[int, Measured | None], (1, Measured(value=NAN))),
        (dict[str, Measured] | int, {"a": Measured.model_construct(value=1, unit=NAN)}),
    ],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_a_type_does_not_hide_such_numbers(tasks: Tasks, hint: Any, value: Any) -> None:
    @tasks.task
    def work(x: hint) -> None: ...

    @tasks.task
    def said() -> int:
        return NAN  # type: ignore[return-value]

    with pytest.raises(BadArgument, match="is nan, which JSON has no number for"):
        work.item(value)
    with pytest.raises(BadArgument, match="said: the result is nan, which JSON"):
        await tasks(lease("said"))


def test_none_and_texts_that_look_like_such_numbers_are_kept(tasks: Tasks) -> None:
    class Said(BaseModel, ser_json_inf_nan="strings"):
        value: float

    @tasks.task
    def work(a: Said, b: Any) -> None: ...

    task = work.item(Said(value=float("nan")), [None, "NaN", "Infinity"])
    assert payload(task) == {"a": {"value": "NaN"}, "b": [None, "NaN", "Infinity"]}


def test_arguments_are_stored_by_name_and_in_order(tasks: Tasks) -> None:
    @tasks.task
    def work(a: int, b: int = 1, *, c: int, d: int = 2) -> None: ...

    @tasks.task
    def rest() -> None: ...

    assert work.item(1, c=3).payload == work.item(c=3, a=1).payload == b'{"a":1,"c":3}'
    assert work.item(1, 2, d=4, c=3).payload == work.item(d=4, c=3, b=2, a=1).payload == b'{"a":1,"b":2,"c":3,"d":4}'
    assert rest.item().payload == b"{}"
    unchecked: Any = work
    with pytest.raises(BadArgument, match="too many positional arguments"):
        unchecked.item(1, 2, 3)
    with pytest.raises(BadArgument, match="missing a required argument: 'c'"):
        unchecked.item(1, 2)


def test_what_cannot_be_json_is_not_enqueued(tasks: Tasks) -> None:
    @tasks.task
    def work(data: bytes, anything: Any = None) -> None: ...

    with pytest.raises(BadArgument, match="work: an argument cannot be JSON"):
        work.item(b"\xff")
    with pytest.raises(BadArgument, match="work: an argument cannot be JSON"):
        work.item(b"", anything=object())


@pytest.mark.parametrize("kind", [None, "other"])
async def test_an_unknown_kind_is_never_tried_again(tasks: Tasks, kind: str | None) -> None:
    tasks.task(deliver)
    with pytest.raises(TaskFailed, match=f"^kind: {kind!r} is not known here; known: deliver$") as caught:
        await tasks(lease(kind))
    assert (caught.value.reason, caught.value.retryable) == ("unknown_kind", False)
