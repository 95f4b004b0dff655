"""What a queue's calls carry: tasks, leases, results and failures in the form that the scripts take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeVar

from pyadeq._core.kernel.options import checked_list, checked_options, unfit
from pyadeq._core.kernel.tracebacks import traceback_of
from pyadeq.errors import BadArgument
from pyadeq.keys import ALLOWED, PATTERNS, check_name, shown
from pyadeq.models.base import Seconds, encode, to_epoch_ms, to_ms
from pyadeq.models.option import Declared
from pyadeq.models.queue import OPTIONS, Backoff, Lease, Receipt, Task

T = TypeVar("T")

MAX_ITEMS = 1000
MAX_BATCH_BYTES = 8 * 1024 * 1024  # payloads or results of one call; the script accepts 16 MiB in total
MAX_PARTS = 8000  # tags, limits and ids of `after` that the tasks of one call have together
MAX_ERROR_BYTES = 8192
MAX_NOTE_BYTES = 1000

Held = Lease | tuple[str, str]
"""A lease, or the id and token of one."""

EnqueueItem = tuple[str, bytes, dict[str, Any]]
"""An id, the payload's bytes and the name/value pairs of the rest."""


class Sealed(bytes):
    """Bytes that the codec has already encoded."""


@dataclass(frozen=True)
class Failure:
    """How an attempt ended. error: text, bytes, or an exception with its traceback; the last 8 KiB are kept.

    reason: one word for lists. retryable: False sends the task to the dead set at once. delay: seconds until the retry;
    None: the backoff. timeout: seconds for the next run, None: as before. alert: tell people, by an event.
    exit_code: of the program that failed. run_trace: the traceparent of the run, for the next one.
    """

    lease: Held
    error: str | bytes | BaseException = field(default=b"", repr=False)
    reason: str = "error"
    retryable: bool = True
    delay: Seconds | None = None
    timeout: Seconds | None = None
    alert: bool = False
    exit_code: int | None = None
    run_trace: str | None = None

    @property
    def error_text(self) -> str:
        """The error as it is stored; of an exception, the traceback from the user's code on."""
        return error_bytes(self.error).decode(errors="replace")

    def pairs(self) -> dict[str, Any]:
        """Return all fields after the first four that differ from their defaults."""
        pairs: dict[str, Any] = {}
        if self.delay is not None:
            pairs["delay_ms"] = to_ms("delay", self.delay)
        if self.timeout is not None:
            pairs["timeout_ms"] = to_ms("timeout", self.timeout)
        if self.alert:
            pairs["alert"] = True
        if self.exit_code is not None:
            pairs["exit_code"] = self.exit_code
        if self.run_trace:
            pairs["run_trace"] = self.run_trace
        return pairs


def item(id: str, task: Task) -> EnqueueItem:
    """A task as the enqueue script takes it."""
    return id, encode(task.payload, "payload"), envelope(task)


def item_of(id: str, payload: Any, options: Mapping[str, Any]) -> EnqueueItem:
    """Encode a task from the options of `enqueue`: making a Task first would take a tenth of the whole call."""
    return id, encode(payload, "payload"), pairs_of(options)


_PLAIN = frozenset(("id", "payload", "kind", "user"))


def envelope(task: Task) -> dict[str, Any]:
    """The name/value pairs of a task; what is at its default is left out."""
    given = vars(task)
    if type(task) is not Task:  # a subclass may have other defaults
        return pairs_of({name: given[name] for name in OPTIONS})
    named = task.model_fields_set
    pairs: dict[str, Any] = {}
    if named <= _PLAIN:  # most tasks: the loop below would take three times as long
        if task.kind is not None:
            pairs["kind"] = task.kind
        if task.user is not None:
            pairs["user"] = task.user
        return pairs
    for name in _in_order(frozenset(named)):
        if (value := given[name]) is not None:
            _WRITERS[name](pairs, value, given)
    return pairs


@lru_cache(maxsize=1024)
def _in_order(named: frozenset[str]) -> tuple[str, ...]:
    """The options among these fields of a task."""
    return tuple(name for name in OPTIONS if name in named)


def pairs_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The name/value pairs for options of `enqueue`. Only the given ones are looked at: most tasks have few."""
    pairs: dict[str, Any] = {}
    for name, value in given.items():
        if (write := _WRITERS.get(name)) is None:
            checked_options(given, OPTIONS)
        elif value is not None:
            write(pairs, value, given)
    return pairs


def changed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options that are not at their defaults."""
    return {name: value for name, value in given.items() if name not in OPTIONS or value != OPTIONS[name].default}


def apart(payload: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the payload and the options of a task. A Task in the place of the payload has its options itself.

    Raises BadArgument for options beside a Task.
    """
    if not isinstance(payload, Task):
        return payload, options
    if names := [name for name in options if name != "rid"]:
        raise BadArgument(
            "ADEQ_ARG",
            "pyadeq",
            f"{', '.join(names)}: not accepted beside a Task; allowed: rid; give the Task itself the other options",
        )
    named = payload.model_fields_set if type(payload) is Task else OPTIONS
    return payload.payload, {name: getattr(payload, name) for name in OPTIONS if name in named} | options


def size_of(payload: bytes, envelope: Mapping[str, Any]) -> int:
    """Return the size of a task for `by_bytes`: its payload, and a share for each part, so that a batch exceeds neither
    limit.
    """
    if not envelope:
        return len(payload)
    parts = sum([len(envelope.get(name) or ()) for name in ("tags", "limits", "after")])
    return len(payload) + parts * -(-MAX_BATCH_BYTES // MAX_PARTS)


def by_limits(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split items that end leases into batches of at most 1,000 items and 8,000 limits: each limit costs the server
    time.

    Items are leases, failures, or tuples that begin with a lease. An item without a Lease, only with an id and a token,
    counts as one limit.
    """
    start = limits = 0
    for at, one in enumerate(items):
        more = _limits_of(one)
        if at - start == MAX_ITEMS or (at > start and limits + more > MAX_PARTS):
            yield items[start:at]
            start, limits = at, 0
        limits += more
    if items:
        yield items[start:]


def _limits_of(one: Any) -> int:
    """How many limits a lease may hold: of all, of its user, tags and keys."""
    lease = one.lease if isinstance(one, Failure) else one[0] if isinstance(one, tuple) else one
    if not isinstance(lease, Lease):
        return 1
    lists = [lease.record.get(name) for name in ("user", "tags", "limits")]
    return 1 + sum(found.count(b",") + 1 for found in lists if found)


def by_bytes(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Split into batches of at most 8 MiB. A single larger item is a batch of its own."""
    batch: list[T] = []
    size = 0
    for one in items:
        size += size_of(one)
        if batch and size > MAX_BATCH_BYTES:
            yield batch
            batch, size = [], size_of(one)
        batch.append(one)
    if batch:
        yield batch


def fallback_pairs(fallback: Any, lane: str) -> dict[str, Any]:
    """Encode the fallback lanes. The last may be `fail`. `wider`: all lanes that are wider than the task's lane."""
    if fallback == "wider":
        group, _, _ = lane.partition("/inst/")
        wider = [name for name in (group, "any") if name != lane]
        if not wider:
            allowed = "it for a task of a group or an instance"
            raise BadArgument(
                "ADEQ_ARG", "pyadeq", f"fallback: 'wider' of lane 'any' is not accepted; allowed: {allowed}"
            )
        return {"fallback": wider}
    names = [fallback] if isinstance(fallback, str) else checked_list("fallback", fallback)
    lanes = names[:-1] if names[-1:] == ["fail"] else names
    for one in lanes:
        if not isinstance(one, str) or not PATTERNS["lane"].fullmatch(one):
            what = f"fallback: {shown(one)} is not accepted; allowed: 'wider', or lanes ({ALLOWED['lane']})"
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{what}, the last of which may be 'fail'")
    return {"fallback": lanes or None, "unclaimed": "fail" if len(lanes) < len(names) else None}


def after_pairs(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a task waits for before it starts."""
    ids, gather = earlier_ids(given.get("after") or ()), given.get("gather")
    after_any, after_when = given.get("after_any") or None, given.get("after_when")
    if not ids and gather is None:
        named = "after_any" if after_any else "after_when"
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{named}: it says how tasks are waited for; name them with after")
    return {
        "after": ids or None,
        "after_any": after_any,
        "after_when": None if after_when == "completed" else after_when,
        "gather": gather,
    }


def earlier_ids(after: Any, name: str = "after") -> list[str]:
    """Return the ids in `after`: an id, a receipt, or a list of them."""
    several = [after] if isinstance(after, str | Receipt) else checked_list(name, after)
    ids = [one.id if isinstance(one, Receipt) else one for one in several]
    for id in ids:
        if not isinstance(id, str):
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{name}: ids or receipts of tasks, got {type(id).__name__}")
    return ids


def backoff_pairs(backoff: Any) -> dict[str, Any]:
    if backoff is None:
        return {}
    if not isinstance(backoff, Backoff):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"backoff must be a Backoff, got {type(backoff).__name__}")
    return {
        "backoff_base_ms": to_ms("backoff.base", backoff.base),
        "backoff_multiplier_pct": round(backoff.multiplier * 100),
        "backoff_cap_ms": to_ms("backoff.cap", backoff.cap),
        "jitter_pct": round(backoff.jitter * 100),
    }


Writer = Callable[[dict[str, Any], Any, Mapping[str, Any]], None]
"""Adds the pairs of a value that is not the default. It sees all given options, because some depend on others."""


def _writer(option: Declared) -> Writer:
    name, wire, default = option.name, option.wire, option.default
    convert: Callable[[str, Any], Any] | None = {
        "seconds": to_ms,
        "moment": to_epoch_ms,
        "flag": lambda _, value: bool(value),
        "list": checked_list,
    }.get(option.kind)

    def write_any(pairs: dict[str, Any], value: Any, _: Mapping[str, Any]) -> None:
        pairs[wire] = value

    def write(pairs: dict[str, Any], value: Any, _: Mapping[str, Any]) -> None:
        if value != default:
            pairs[wire] = value

    def write_converted(pairs: dict[str, Any], value: Any, _: Mapping[str, Any]) -> None:
        if value or default is None:
            assert convert is not None
            pairs[wire] = convert(name, value)

    if convert is not None:
        return write_converted
    return write_any if default is None else write


def _write_fallback(pairs: dict[str, Any], value: Any, given: Mapping[str, Any]) -> None:
    pairs |= fallback_pairs(value, given.get("lane") or "any")


def _write_after(pairs: dict[str, Any], value: Any, given: Mapping[str, Any]) -> None:
    if value:
        pairs |= after_pairs(given)


def _write_after_when(pairs: dict[str, Any], value: Any, given: Mapping[str, Any]) -> None:
    if value != "completed":
        pairs |= after_pairs(given)


def _write_gather(pairs: dict[str, Any], _: Any, given: Mapping[str, Any]) -> None:
    pairs |= after_pairs(given)


def _write_backoff(pairs: dict[str, Any], value: Any, _: Mapping[str, Any]) -> None:
    pairs |= backoff_pairs(value)


def _write_headers(pairs: dict[str, Any], value: Any, _: Mapping[str, Any]) -> None:
    if value:
        pairs["headers"] = encode(value, "headers")


def _write_nothing(pairs: dict[str, Any], value: Any, _: Mapping[str, Any]) -> None:
    pass


_WRITERS: Final[dict[str, Writer]] = {name: _writer(option) for name, option in OPTIONS.items()} | {
    "id": _write_nothing,  # a field of the item
    "fallback": _write_fallback,
    "after": _write_after,
    "after_any": _write_after,
    "after_when": _write_after_when,
    "gather": _write_gather,
    "backoff": _write_backoff,
    "headers": _write_headers,
}


def checked_lanes(lanes: Any) -> list[str]:
    """The names of lanes, one at least."""
    names = checked_list("lanes", lanes)
    if not names:
        raise BadArgument("ADEQ_ARG", "pyadeq", "lanes must name one lane at least, got none")
    return [check_name("lanes", name, "lane") for name in names]


def held(one: Held) -> tuple[str, str]:
    if isinstance(one, Lease):
        return one.id, one.token
    if isinstance(one, tuple) and len(one) == 2:
        return one
    raise BadArgument("ADEQ_ARG", "pyadeq", f"a lease must be a Lease or (id, token), got {type(one).__name__}")


def note(fraction: float | None, text: str | None, log: str | None, output: str | None) -> dict[str, Any]:
    """What is said of a task's progress, in the form that the script takes."""
    said: dict[str, Any] = {}
    if fraction is not None:
        if not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
            raise unfit("fraction", fraction, "0 to 1")
        said["ppm"] = round(fraction * 1_000_000)
    for name, words in (("text", text), ("line", log), ("output", output)):
        if words is not None:
            said[name] = str(words).encode(errors="backslashreplace")[:MAX_NOTE_BYTES]
    return said


def acked(ack: tuple[Held, Any]) -> tuple[Held, Any]:
    """Return a lease and its result. Raises BadArgument for a lease without a result, a common mistake."""
    if isinstance(ack, tuple | list) and len(ack) == 2:
        return ack[0], ack[1]
    wanted = "each of acks must be (lease, result), with None for no result"
    raise BadArgument("ADEQ_ARG", "pyadeq", f"{wanted}, got {type(ack).__name__}")


def ack_items(acks: Sequence[tuple[Held, Any]]) -> list[tuple[str, str, bytes]]:
    return [(*held(lease), _result_bytes(result)) for lease, result in map(acked, acks)]


def failed(failure: Failure) -> Held:
    """The lease of a failure, or BadArgument: a lease alone is easily given instead."""
    if isinstance(failure, Failure):
        return failure.lease
    wanted = "each of fails must be a Failure(lease, error)"
    raise BadArgument("ADEQ_ARG", "pyadeq", f"{wanted}, got {type(failure).__name__}")


def _result_bytes(result: Any) -> bytes:
    if isinstance(result, Sealed):
        return result
    return b"" if result is None else encode(result, "result")


def error_bytes(error: str | bytes | BaseException) -> bytes:
    """Return the last 8 KiB of an error: the end of a traceback says what went wrong."""
    if isinstance(error, Sealed):
        return error
    if isinstance(error, BaseException):
        error = traceback_of(error)
    data = error.encode(errors="backslashreplace") if isinstance(error, str) else error
    if not isinstance(data, bytes):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"error must be text, bytes or an exception, got {type(data).__name__}")
    return data[-MAX_ERROR_BYTES:]


def fail_items(fails: Sequence[Failure], jitters: Sequence[int]) -> list[tuple[Any, ...]]:
    if len(fails) != len(jitters):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"jitters: {len(jitters)} of them for {len(fails)} fails")
    return [
        (*held(failed(fail)), fail.retryable, fail.reason, error_bytes(fail.error), jitter, fail.pairs())
        for fail, jitter in zip(fails, jitters, strict=True)
    ]
