"""The options of a client, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import update_wrapper
from inspect import signature
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from pyadeq._core.kernel.durability import Durability
from pyadeq._core.kernel.options import checked_options
from pyadeq.codec import Codec
from pyadeq.errors import ConfigError
from pyadeq.keys import check_name
from pyadeq.models.base import Seconds

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

LONGEST_RETRY: Final = 45.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a client; `Adeq` describes them.

    A new one is a field here, and a parameter of `from_url`, whose further options are those of redis-py.
    """

    prefix: str = "ade"
    slot: str | None = None
    source: str = ""
    clock: Callable[[], int] | None = None
    trace: Callable[[], str | None] | None = None
    retry_for: float | None = None
    durability: str | None = None
    replicas: int = 1
    durability_timeout: Seconds = 1.0
    codec: Codec | None = field(default=None, repr=False)
    batch: bool = False

    def __post_init__(self) -> None:
        if self.retry_for is not None:
            check_retry_for(self.retry_for)
        check_name("prefix", self.prefix)
        if self.slot is not None:
            check_name("slot", self.slot)
        _ = self.confirmed

    @property
    def confirmed(self) -> Durability:
        """What a client waits for after its writes."""
        return Durability.checked(self.durability, self.replicas, self.durability_timeout)

    def given(self, **changed: Any) -> dict[str, Any]:
        """Return the options by their names, some of them changed, to make another client with them."""
        return {name: getattr(self, name) for name in NAMES} | changed


NAMES: Final = tuple(one.name for one in fields(Options))


def takes(options: Callable[P, T]) -> Callable[[Callable[[S, T], None]], Callable[Concatenate[S, P], None]]:
    """Let a constructor take the fields of a dataclass by their names. Type checkers see each of them."""
    own = signature(options).parameters.values()

    def decorate(init: Callable[[S, T], None]) -> Callable[Concatenate[S, P], None]:
        def call(self: S, /, *args: P.args, **given: P.kwargs) -> None:
            checked_options(given, [one.name for one in own])
            init(self, options(*args, **given))

        update_wrapper(call, init)
        vars(options)["__init__"].__qualname__ = init.__qualname__  # for the error if `client` is missing
        self, *_ = signature(init).parameters.values()
        call.__signature__ = signature(init).replace(parameters=[self, *own])  # type: ignore[attr-defined]
        return call

    return decorate


def check_retry_for(seconds: float) -> None:
    """Refuse a time that is too long to send a call again."""
    if not 0 <= seconds <= LONGEST_RETRY:
        raise ConfigError(
            f"retry_for: {seconds!r} is not accepted; allowed: 0 to {LONGEST_RETRY:g} seconds, for a script may take a "
            "call that is sent again later for a new one"
        )
