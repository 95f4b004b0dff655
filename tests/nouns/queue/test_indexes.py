"""The indexes of users, tags and parents hold exactly the tasks that there are."""

from __future__ import annotations

import pytest

from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


@pytest.mark.parametrize(("number", "times"), [(250, 16), (1000, 8)])
def test_a_tag_given_twice_is_one(bench: Workbench, number: int, times: int) -> None:
    items = [(f"t{at}", Task(payload=b"", tags=["t"] * times, user="u")) for at in range(number)]
    bench.run(bench.calls.enqueue(items, "r"))
    assert bench.ask("ZCARD", ":by:tag:t") == number
    check_queue(bench)
    while bench.run(bench.calls.purge())[1]:  # more
        pass
    assert bench.ask("EXISTS", ":by:tag:t", ":by:user:u") == 0
