"""The runs of a task: how each has ended, and what is kept of them."""

from __future__ import annotations

from dataclasses import replace

from pyadeq._core.queue.items import Failure
from tests.nouns.queue.workbench import Workbench


def test_a_sealed_error_is_kept_whole_or_not_at_all(bench: Workbench) -> None:
    class Reversed:
        def seal(self, data: bytes, context: bytes) -> bytes:
            return data[::-1]

        open = seal

    sealed = replace(bench.calls, codec=Reversed())
    short, long = bench.lease(2)
    errors = [Failure(short, "ab" * 512), Failure(long, "ab" * 513)]
    bench.run(sealed.fail(errors, [0, 0]))
    assert [bench.run(sealed.runs(lease.id))[0].error for lease in (short, long)] == ["ab" * 512, None]
