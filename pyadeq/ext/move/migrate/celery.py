"""Celery with a Redis broker, as kombu stores its messages. Celery itself is not needed."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import re
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from redis import Redis

from pyadeq import Task, Tasks
from pyadeq.errors import BadArgument, ConfigError
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Unmovable, check_id, escaped

SEPARATOR: Final = "\x06\x16"
"""The separator in the names of lists with a priority and in the members of bindings, unless Celery's `sep` differs."""
DIRECT: Final = re.compile(r"(?P<queue>.+?)(?P<separator>[^\w\s]{1,8}?)(?P=separator)(?P=queue)")
"""A member of a binding whose routing key is the name of its queue, as Celery makes it: key, pattern and queue."""
STEPS: Final = 10
"""The number of priorities of a list, from 0. Celery uses 0, 3, 6 and 9, unless `priority_steps` says otherwise."""
BINDING: Final = "_kombu.binding."
CONTROL: Final = re.compile(r"(^|\.)(celeryev|pidbox)(\.|$)")
"""Exchanges of Celery itself: remote control and events. Their messages are no tasks."""
MOST_INFLATED: Final = 1 << 20
"""Bytes of a body that was compressed. A payload of pyadeq has at most 1 MiB."""
GZIP: Final = frozenset({"application/x-gzip", "gzip", "zlib"})
TYPES: Final[Mapping[str, Any]] = {
    "bytes": str.encode,
    "base64": base64.b64decode,
    "datetime": datetime.fromisoformat,
    "date": lambda text: date.fromisoformat(text[:10]),
    "time": time.fromisoformat,
    "decimal": Decimal,
    "uuid": lambda value: uuid.UUID(**value),
}
"""Values that kombu marks in JSON as {"__type__": …, "__value__": …}."""


class CeleryQueues:
    """The waiting tasks of Celery.

    tasks: task functions by the names of Celery's tasks. The payload is then an object of the arguments by name, and
    arguments that do not fit are found before anything moves. None: the payload is {"args": […], "kwargs": {…}}.
    prefix: of the keys, `global_keyprefix` in Celery.
    trust_pickle: load pickles. A pickle may run any code, so do that only if nobody else can write to the old server.
    """

    def __init__(
        self,
        client: Redis,
        *,
        tasks: Tasks | None = None,
        prefix: str = "",
        trust_pickle: bool = False,
    ) -> None:
        self.client = client
        self.name = f"celery:{prefix}" if prefix else "celery"
        self._prefix, self._tasks, self._trusted = prefix, tasks, trust_pickle

    def places(self, queues: Sequence[str]) -> list[Place]:
        """Return the lists of these queues, or of all that an exchange is bound to."""
        names = sorted(dict.fromkeys(queues)) or sorted({one.rpartition(self._separator)[2] for one in self._bindings})
        keys = [(name, step) for name in names for step in range(STEPS)]
        with self.client.pipeline(transaction=False) as pipe:
            for name, step in keys:
                pipe.type(self._key(name, step))
            kinds = pipe.execute()
        found = [pair for pair, kind in zip(keys, kinds, strict=True) if kind == b"list"]
        return [Place(self._key(name, step), name, step) for name, step in found]

    def read(self, place: Place, messages: Sequence[bytes]) -> list[Moving | Left]:
        """Return what each message is."""
        return [self._read(place, message) for message in messages]

    def others(self) -> dict[str, int]:
        """Return the number of tasks that workers have fetched: they run, or wait for their time in the worker."""
        return {"fetched by workers": int(self.client.hlen(f"{self._prefix}unacked"))}

    def _key(self, queue: str, step: int) -> str:
        return f"{self._prefix}{queue}{self._separator}{step}" if step else f"{self._prefix}{queue}"

    @cached_property
    def _bindings(self) -> list[str]:
        """The members of all bindings: routing key, pattern and queue, with the separator between them."""
        start, found = f"{self._prefix}{BINDING}", []
        for key in self.client.scan_iter(match=f"{escaped(start)}*", count=1000):
            if not CONTROL.search(key.decode(errors="replace").removeprefix(start)):
                found += [one.decode(errors="replace") for one in self.client.sscan_iter(key, count=1000)]
        return found

    @cached_property
    def _separator(self) -> str:
        """What `sep` in Celery's `broker_transport_options` is."""
        if not self._bindings or any(SEPARATOR in one for one in self._bindings):
            return SEPARATOR
        found = {match["separator"] for one in self._bindings if (match := DIRECT.fullmatch(one))}
        if len(found) != 1:
            raise ConfigError(
                "--from: the separator in the names of Celery's lists cannot be told; set 'sep' in its "
                "broker_transport_options to one or more of ':', '|' and the like, or leave it out"
            )
        return found.pop()

    def _read(self, place: Place, message: bytes) -> Moving | Left:
        id = ""
        try:
            envelope = json.loads(message)
            headers, properties = envelope["headers"], envelope["properties"]
            id = str(headers.get("id") or properties.get("correlation_id") or "")
            loads = self._loader(str(envelope["content-type"]))
            body = _body(envelope, headers, properties)
            if "task" in headers:
                about, (args, kwargs, embed) = headers, loads(body)
            else:  # protocol 1
                about = embed = loads(body)
                args, kwargs, id = about["args"], about["kwargs"], str(about["id"])
            # a message that is delivered again keeps its tag; a second call with the same id has another one
            told = f"{properties.get('delivery_tag')}\0".encode() + body
            return self._moving(place, id, about, args, kwargs, embed, told)
        except Unmovable as error:
            return Left(id, str(error))
        except BadArgument as error:
            return Left(id, error.message)
        except Exception:  # whatever a body raises that was made on purpose
            return Left(id, "it is no task message of Celery")

    def _loader(self, kind: str) -> Callable[[bytes], Any]:
        if kind == "application/json":
            return json.loads
        if kind == "application/x-python-serialize":
            if self._trusted:
                return pickle.loads
            raise Unmovable("it is a pickle, which is only loaded with --trust-pickle")
        raise Unmovable(f"its body is {kind[:60]}; only JSON is read")

    def _moving(
        self, place: Place, id: str, about: Any, args: Any, kwargs: Any, embed: Any, delivery: bytes
    ) -> Moving | Left:
        kind, retries, limits = (
            str(about["task"]),
            int(about.get("retries") or 0),
            about.get("timelimit") or (None, None),
        )
        check_id(id)
        for what in ("chord", "chain", "callbacks", "errbacks"):
            if embed.get(what) or about.get(what):
                raise Unmovable(f"other tasks depend on it ({what})")
        function = None
        if self._tasks is None:
            task = Task(payload={"args": args, "kwargs": kwargs})
        else:
            if (function := self._tasks.get(kind)) is None:
                raise Unmovable(f"its task {kind!r} is not in --tasks")
            task = function.item(*map(_value, args), **{name: _value(value) for name, value in kwargs.items()})
        changes: dict[str, Any] = {"id": id, "kind": kind, "priority": place.priority}
        if eta := about.get("eta"):
            changes["run_after"] = _moment(eta)
        if expires := about.get("expires"):
            changes["expires_at"] = _moment(expires)
        if timeout := limits[0] or limits[1]:
            changes["timeout"] = float(timeout)
        if about.get("ignore_result"):
            changes["result_ttl"] = 0.0
        if retries and task.max_attempts is not None:
            changes["max_attempts"] = max(1, task.max_attempts - retries)
        origin = {"retries": retries, "group": about.get("group"), "parent": about.get("parent_id")}
        if (root := about.get("root_id")) != id:
            origin["root"] = root
        if origin := {name: value for name, value in origin.items() if value}:
            changes["headers"] = {**(task.headers or {}), "celery": origin}
        told = [kind, str(retries), str(eta), str(expires)]
        digest = hashlib.sha1("\0".join(told).encode() + b"\0" + delivery, usedforsecurity=False).hexdigest()
        return Moving(task.model_copy(update=changes), digest)


def _moment(text: str) -> float:
    """Return a time as seconds since the epoch. Workers of Celery read one without a zone as UTC, always."""
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _body(envelope: Any, headers: Any, properties: Any) -> bytes:
    """Return the body as it was serialized."""
    body: bytes = (
        base64.b64decode(envelope["body"], validate=True)
        if properties.get("body_encoding") == "base64"
        else envelope["body"].encode()
    )
    if packed := headers.get("compression"):
        if packed not in GZIP:
            raise Unmovable(f"its body is compressed with {str(packed)[:60]}; only zlib is read")
        unpacking = zlib.decompressobj()
        body = unpacking.decompress(body, MOST_INFLATED)
        if unpacking.unconsumed_tail:
            raise Unmovable("its body is larger than 1 MiB")
    return body


def _value(found: Any) -> Any:
    """Return a value of JSON with the types that kombu has marked."""
    if isinstance(found, list):
        return [_value(one) for one in found]
    if isinstance(found, dict):
        if found.keys() == {"__type__", "__value__"} and (read := TYPES.get(str(found["__type__"]))) is not None:
            return read(found["__value__"])
        return {name: _value(value) for name, value in found.items()}
    return found
