"""How a failed attempt ends: from an exception to its failure class, and from there to the rule for the task.

| class             | cause                                            | what happens to the task                 |
|-------------------|--------------------------------------------------|------------------------------------------|
| `crash`           | the process that ran it died                     | retried                                  |
| `bad_input`       | ValidationError, SyntaxError, JSONDecodeError, … | dead at once                             |
| `timeout`         | it ran for longer than its timeout               | retried, with twice the timeout          |
| `rate_limited`    | RateLimited                                      | retried, after the delay in the error    |
| `out_of_memory`   | MemoryError                                      | dead at once, with an event `task.alert` |
| `connection_lost` | TransportError, ConnectionError                  | retried                                  |
| `error`           | anything else; its exception is the reason       | retried                                  |

"Retried" means: after the task's backoff, as long as attempts are left.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from pydantic_core import ValidationError

from pyadeq._core.queue.items import Failure
from pyadeq.errors import AdeqError, CannotApply, ConfigError, RateLimited, TransportError
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Lease

LONGEST = 315_360_000.0  # seconds: the scripts take no more, ten years


class TaskFailed(Exception):
    """Raise it in a handler to say how the attempt failed.

    reason: a failure class, for instance `bad_input`, or a word of your own.
    retryable: None: as the class says; with a word of your own, True.
    delay: seconds before the next run; None: as the class says.
    """

    def __init__(
        self,
        message: str = "",
        *,
        reason: str = "error",
        retryable: bool | None = None,
        delay: Seconds | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.retryable = retryable
        self.delay = delay

    __reduce__ = AdeqError.__reduce__

    def failure(self, lease: Lease, failures: Failures) -> Failure:
        """Return how it fails an attempt."""
        reason = word(str(self.reason))
        return failures.failure(reason, lease, self, retryable=self.retryable, delay=_possible(self.delay))


class UnknownKind(TaskFailed):
    """The worker does not know the kind of a task, or its version. what: for people, such as `the kind 'fax'`."""

    def __init__(self, message: str, what: str, reason: str) -> None:
        super().__init__(message, reason=reason, retryable=False)
        self.what = what


class ProcessDied(Exception):
    """The process that ran the task died. exit_code: from the system, -9 for a SIGKILL."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Rule:
    """What happens to an attempt of a failure class.

    retry: run again while attempts are left.
    delay: seconds until then; None: the task's backoff.
    longer_timeout: the factor for the task's timeout in the next run.
    alert: write an event `task.alert`.
    """

    retry: bool = True
    delay: Seconds | None = None
    longer_timeout: float = 1.0
    alert: bool = False

    def __post_init__(self) -> None:
        if self.delay is not None and not 0 <= to_ms("delay", self.delay) <= LONGEST * 1000:
            raise ConfigError(f"delay: {self.delay!r} is not accepted; allowed: 0 s to ten years, or None")
        if not 0 < self.longer_timeout < math.inf:
            raise ConfigError(f"longer_timeout: {self.longer_timeout!r} is not accepted; allowed: more than 0")


RULES = {
    "crash": Rule(),
    "bad_input": Rule(retry=False),
    "timeout": Rule(longer_timeout=2.0),
    "rate_limited": Rule(),
    "out_of_memory": Rule(retry=False, alert=True),
    "connection_lost": Rule(),
    "error": Rule(),
}
CLASSES: dict[type[BaseException], str] = {
    ProcessDied: "crash",
    BrokenExecutor: "crash",
    ValidationError: "bad_input",
    SyntaxError: "bad_input",
    json.JSONDecodeError: "bad_input",
    UnicodeDecodeError: "bad_input",
    RateLimited: "rate_limited",
    MemoryError: "out_of_memory",
    TransportError: "connection_lost",
    ConnectionError: "connection_lost",
}


@dataclass(frozen=True)
class Failures:
    """A table from exception types to failure classes, and from failure classes to rules. `Failures()` is the default.

        failures = Failures().changed(crash=Rule(alert=True), flaky=Rule(delay=5)).when(OddError, "flaky")
        Worker(queue, handler, failures=failures)

    rules: class -> Rule.
    classes: type -> class. If several types match an exception, the most specific one counts.
    """

    rules: Mapping[str, Rule] = field(default_factory=lambda: MappingProxyType(RULES))
    classes: Mapping[type[BaseException], str] = field(default_factory=lambda: MappingProxyType(CLASSES))

    def __reduce__(self) -> tuple[Any, ...]:
        return Failures, (dict(self.rules), dict(self.classes))  # pickle takes no MappingProxyType

    def changed(self, **rules: Rule) -> Failures:
        """Return a table with other rules, or with your own classes: `Failures().changed(timeout=Rule(delay=60))`."""
        return Failures(MappingProxyType({**self.rules, **rules}), self.classes)

    def when(self, error: type[BaseException] | tuple[type[BaseException], ...], to: str) -> Failures:
        """Return a table in which these exceptions and their subclasses are of the class `to`."""
        if to not in self.rules:
            raise ConfigError(
                f"to: {to!r} is not accepted; allowed: {', '.join(self.rules)}; make others with changed()"
            )
        types = error if isinstance(error, tuple) else (error,)
        return Failures(self.rules, MappingProxyType({**self.classes, **dict.fromkeys(types, to)}))

    def class_of(self, error: BaseException) -> str:
        """Return the class of an exception; for a group, the class of its parts, if all have the same."""
        for kind in type(error).__mro__:
            if kind in self.classes:
                return self.classes[kind]
        if isinstance(error, BaseExceptionGroup):
            found = {self.class_of(part) for part in error.exceptions}
            return found.pop() if len(found) == 1 else "error"
        return "error"

    def failure(
        self,
        name: str,
        lease: Lease,
        error: str | bytes | BaseException,
        *,
        reason: str | None = None,
        retryable: bool | None = None,
        delay: Seconds | None = None,
        exit_code: int | None = None,
        rule: Rule | None = None,
    ) -> Failure:
        """Return how an attempt of this class ends by its rule, or by the given one. Other arguments override it."""
        rule = rule or self.rules.get(name, Rule())
        return Failure(
            lease,
            error,
            reason or name,
            rule.retry if retryable is None else bool(retryable),
            delay=rule.delay if delay is None else delay,
            timeout=_longer(lease.timeout, rule.longer_timeout),
            alert=rule.alert,
            exit_code=exit_code,
        )


FAILURES = Failures()


def failure_of(lease: Lease, error: BaseException, failures: Failures = FAILURES, rule: Rule | None = None) -> Failure:
    """Return how an exception fails an attempt. Its traceback is kept. rule: what the task's function says of it."""
    if isinstance(error, TaskFailed):
        return error.failure(lease, failures)
    name = failures.class_of(error)
    says_when = name == "rate_limited" or isinstance(error, CannotApply)  # another try can help
    return failures.failure(
        name,
        lease,
        error,
        reason=word(type(error).__name__) if name == "error" else None,
        delay=_possible(getattr(error, "retry_after", None)) if says_when and rule is None else None,
        exit_code=error.exit_code if isinstance(error, ProcessDied) else None,
        rule=rule,
    )


def timed_out(lease: Lease, failures: Failures = FAILURES) -> Failure:
    """Return how an attempt ends that took longer than the task's timeout."""
    return failures.failure("timeout", lease, f"the run took longer than its timeout of {lease.timeout:g} s")


def word(text: str) -> str:
    """Return a text in the form of a reason: at most 100 of A-Z a-z 0-9 . _ @ + -"""
    return re.sub(r"[^A-Za-z0-9._@+-]+", "_", text)[:100] or "error"


def _longer(timeout: float | None, factor: float) -> float | None:
    return None if timeout is None or factor == 1.0 else min(max(timeout * factor, 0.001), LONGEST)


def _possible(seconds: object) -> float | None:
    """Return seconds that a script accepts, from the value of any exception; None if it is not a length of time."""
    try:
        value = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return min(value, LONGEST) if value >= 0 else None
