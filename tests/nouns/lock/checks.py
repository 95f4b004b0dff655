"""What holds of every lock domain at every time, and what is left of one when all have gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.audit_locks import OWN

if TYPE_CHECKING:
    from tests.nouns.lock.workbench import LockBench

DAY = 86_400_000  # ms, longer than anybody holds or waits, and than a rid is known
DOMAIN = {":config", ":events", ":capacity"}  # what stays as long as the domain, besides its own fields of `requests`


def check_domain(bench: LockBench) -> None:
    """All that must hold of a domain that nobody has damaged."""
    problems = list(bench.audit().problems())
    assert not problems, "\n".join(problems)


def let_all_pass(bench: LockBench) -> None:
    """Nobody gives a sign of life any more, and the longest times go by."""
    for _ in range(3):
        bench.pass_time(DAY)
        while bench.real(bench.calls.reap(1000)).more:
            check_domain(bench)


def left_over(bench: LockBench) -> dict[str, Any]:
    """The keys that would stay for ever, but for those of the domain itself."""
    found = {key: value for key, value in bench.dump().items() if key not in DOMAIN}
    found = {key: found[key] for key in bench.lasting(found)}
    if found.get(":requests", ("", {}))[1].keys() <= OWN:
        found.pop(":requests", None)
    return found
