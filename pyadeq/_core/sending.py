"""How calls are sent, as far as that needs no I/O: what goes out next, and what each reply means for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

from hiredis import pack_command

from pyadeq._core.call import Call, Reply, Wire
from pyadeq._core.manifest import Script
from pyadeq._core.refusals import Loss, Refusal, is_passing, loss_error, refusal_error
from pyadeq.errors import AdeqError

T = TypeVar("T")
Outcome = Reply | AdeqError

BATCH_CALLS: Final = 100
BATCH_BYTES: Final = 4 * 1024 * 1024
_BACKOFF_S: Final = 0.02
_BACKOFF_CAP_S: Final = 1.0


class Sending:
    """Calls on their way to an outcome each, with the scripts that have to be loaded for them.

    In turn: send what `commands` gives, hand the replies to `take`, until `commands` is empty. When `take`
    says that something is in the way, wait and go on, or `give_up`. Every call is replay-safe, so what got no
    reply goes out again as it is. A call that is sent again may run after later ones.
    """

    def __init__(self, calls: Sequence[Call[Any]], load: Iterable[Script] = ()) -> None:
        self.load_errors: dict[str, AdeqError] = {}
        self.hopeless = False
        self._calls = calls
        self._packed = [pack(*call.command()) for call in calls]
        self._outcomes: dict[int, Outcome] = {}
        self._waiting = list(range(len(calls)))
        self._maybe_applied: set[int] = set()
        self._to_load = {script.id: script for script in load}
        self._loads: list[Script] = []
        self._batch: list[int] = []
        self._obstacle: Loss | Refusal | None = None

    @property
    def outcomes(self) -> list[Outcome]:
        """Per call, in order: its raw reply, or the error that ended it."""
        return [self._outcomes[index] for index in range(len(self._calls))]

    def commands(self) -> list[bytes]:
        """What to send next: the loads, then at most 100 calls or 4 MiB of them, but at least one."""
        self._loads = list(self._to_load.values())
        self._batch = []
        size = 0
        for index in self._waiting[:BATCH_CALLS]:
            size += len(self._packed[index])
            if self._batch and size > BATCH_BYTES:
                break
            self._batch.append(index)
        loads = [pack("SCRIPT", "LOAD", script.text) for script in self._loads]
        return loads + [self._packed[index] for index in self._batch]

    def take(self, replies: Sequence[Any], loss: Loss | None) -> bool:
        """Take the replies to `commands`, fewer after a loss; False if something is in the way."""
        self._obstacle = loss
        self.hopeless = loss is not None and not loss.retryable
        for script, reply in zip(self._loads, replies, strict=False):
            self._take_load(script, reply)
        answers = replies[len(self._loads) :]
        for index, reply in zip(self._batch, answers, strict=False):
            self._take_answer(index, reply)
        if loss is not None and loss.sent:
            self._maybe_applied.update(self._batch[len(answers) :])
        self._waiting = [index for index in self._waiting if index not in self._outcomes]
        return self._obstacle is None

    def give_up(self) -> None:
        """End what is left with the error of the obstacle."""
        for script_id in self._to_load:
            self.load_errors[script_id] = self._obstacle_error(f"SCRIPT LOAD {script_id}", False)
        for index in self._waiting:
            subject = self._calls[index].script.id
            self._outcomes[index] = self._obstacle_error(subject, index in self._maybe_applied)
        self._to_load, self._waiting = {}, []

    def _take_load(self, script: Script, reply: Any) -> None:
        if isinstance(reply, Refusal) and is_passing(reply):
            self._obstacle = reply
            return
        del self._to_load[script.id]
        if isinstance(reply, Refusal):
            self.load_errors[script.id] = refusal_error(f"SCRIPT LOAD {script.id}", reply, False)
        elif reply != script.sha1.encode():
            # Its calls would be answered NOSCRIPT for ever.
            self.load_errors[script.id] = AdeqError(
                f"{script.id}: the sum is {reply!r}, the manifest says {script.sha1}; install pyadeq again"
            )

    def _take_answer(self, index: int, reply: Any) -> None:
        script = self._calls[index].script
        if not isinstance(reply, Refusal):
            self._outcomes[index] = reply
        elif reply.code == "NOSCRIPT" and script.id in self.load_errors:
            self._outcomes[index] = self.load_errors[script.id]
        elif reply.code == "NOSCRIPT":
            self._to_load[script.id] = script
            if script in self._loads:
                self._obstacle = reply
        elif is_passing(reply):
            self._obstacle = reply
        else:
            self._outcomes[index] = refusal_error(script.id, reply, index in self._maybe_applied)

    def _obstacle_error(self, subject: str, maybe_applied: bool) -> AdeqError:
        if isinstance(self._obstacle, Loss):
            return loss_error(subject, self._obstacle, maybe_applied)
        assert self._obstacle is not None
        return refusal_error(subject, self._obstacle, maybe_applied)


def pack(*command: Wire) -> bytes:
    # Not redis-py's packer: this one takes str as UTF-8 whatever encoding the client has.
    packed: bytes = pack_command(command)  # type: ignore[arg-type]
    return packed


def backoff(failures: int, chance: float) -> float:
    """Seconds to wait after so many failures in a row; chance is a random number from 0 to 1."""
    return chance * min(_BACKOFF_CAP_S, _BACKOFF_S * 2.0 ** min(failures, 10))


class Deferred(Generic[T]):
    """The result of one call in a pipeline."""

    __slots__ = ("_call", "_error", "_value")

    def __init__(self, call: Call[T]) -> None:
        self._call = call
        self._value: list[T] = []
        self._error: AdeqError | None = AdeqError(
            f"{call.script.id}: no value yet; leave the pipeline's with block or call its execute() first"
        )

    @property
    def value(self) -> T:
        """What the call returned. Raises the error of the call, or AdeqError before the pipeline has run."""
        if self._error is not None:
            raise self._error
        return self._value[0]

    def settle(self, outcome: Outcome) -> None:
        """Take the outcome of the call; for the pipeline only."""
        if isinstance(outcome, AdeqError):
            self._error = outcome
            return
        try:
            self._value, self._error = [self._call.decode(outcome)], None
        except AdeqError as error:
            self._error = error
