from __future__ import annotations

from typing import Any

from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench


def test_each_record_of_a_call_has_the_tier_once(bench: Workbench) -> None:
    bench.run(bench.calls.configure(tier="restricted"))
    client: Any = bench.client
    with client.monitor() as monitor:
        bench.run(bench.calls.enqueue([(f"t{number}", Task(payload=b"x")) for number in range(20)], "of-many"))
        client.echo("the end")
        said: list[str] = []
        while not said or said[-1] != "ECHO the end":
            said.append(monitor.next_command()["command"])
    written = [command for command in said if command.startswith("HSET") and ":task:t" in command]
    assert [command.count("restricted") for command in written] == [1] * 20
