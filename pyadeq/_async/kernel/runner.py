"""The part of a client that nouns use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyadeq._async.kernel.pipeline import Pipeline
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.tracing import Tracing
from pyadeq.codec import Codec

if TYPE_CHECKING:  # which imports redis-py
    from pyadeq._async.kernel.batching import Batching
    from pyadeq._async.kernel.hints import Hints

T = TypeVar("T")

LONGEST_BLOCK = 10.0
"""The longest wait for a wake-up token, in seconds."""


class Runner(Protocol):
    """Sends calls to one server."""

    source: str
    prefix: str
    slot: str | None
    hints: Hints
    closed: bool

    @property
    def address(self) -> str: ...

    @property
    def codec(self) -> Codec | None: ...

    def now_ms(self) -> int: ...

    def trace(self) -> str | None: ...

    @property
    def tracing(self) -> Tracing | None: ...

    def batching(self) -> Batching | None: ...

    async def send(self, call: Call[T], retry_for: float | None = None) -> T: ...

    def retry_until(self, until: float) -> float: ...

    def node_of(self, key: str) -> object: ...

    def noun(self, noun: str, name: str) -> Any: ...

    def pipeline(self) -> Pipeline: ...

    async def send_apart(self, call: Call[T]) -> T: ...

    async def block(self, keys: Sequence[str], seconds: float) -> str | None: ...

    async def block_on(self, stream: str, last: str, seconds: float) -> None: ...

    async def block_then(self, keys: Sequence[str], seconds: float, call: Call[T]) -> tuple[str | None, T | None]: ...
