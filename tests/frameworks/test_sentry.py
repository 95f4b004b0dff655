"""Failures of handlers in Sentry, by its transport in memory: no payload is in them."""

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.transport import Transport

from pyadeq.asyncio import Adeq, TaskDead, Worker
from pyadeq.ext.connect.sentry import HIDDEN, Sentry
from tests.waiting import DEADLINE


class InMemory(Transport):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Any] = []

    def capture_envelope(self, envelope: Any) -> None:
        if event := envelope.get_event():
            self.sent.append(event)


@pytest.fixture
def sentry() -> Iterator[InMemory]:
    transport = InMemory()
    sentry_sdk.init(
        dsn="https://key@sentry.invalid/1", transport=transport, send_default_pii=True, traces_sample_rate=1.0
    )
    yield transport
    sentry_sdk.init()


class Told(Exception):
    pass


@pytest.mark.filterwarnings("ignore:The send_default_pii")
async def test_failures_are_reported_without_what_tasks_contain(url: str, base_name: str, sentry: InMemory) -> None:
    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)

        @queue.task(max_attempts=1)
        async def pay(card: str, hidden: bool = False) -> None:
            number = card * 2
            await queue.enqueue(number, kind="other")  # Sentry notes commands of Redis
            logging.getLogger("mine").warning("pays")
            try:
                raise Told(number if hidden else "its cause")
            except Told as error:
                raise LookupError(number if hidden else "no account") from error

        @queue.task(max_attempts=1)
        async def known() -> None:
            raise Told

        worker = Worker(queue, queue.tasks, name="w1", middleware=[Sentry(ignore=(Told,))], unknown_for=0)
        working = asyncio.create_task(worker.run())
        for id, hidden in (("a", False), ("b", True)):
            call = pay.options(id=id, tier="restricted" if hidden else "confidential", wait=DEADLINE)
            with pytest.raises(TaskDead):
                await call.run("sesame", hidden=hidden)
        for kind in ("known", "nobody"):
            with pytest.raises(TaskDead):
                await queue.run({}, kind=kind, max_attempts=1, wait=DEADLINE)
        worker.stop()
        await working

    shown, restricted = sentry.sent
    assert "sesame" not in json.dumps(sentry.sent, default=str)
    cause, error = shown["exception"]["values"]
    assert [one["value"] for one in (cause, error)] == ["its cause", "no account"]
    assert error["stacktrace"]["frames"][-1]["function"] == "pay"
    assert shown["contexts"]["task"].items() >= {"id": "a", "attempt": 1}.items()
    assert shown["tags"] == {"adeq.queue": base_name, "adeq.kind": "pay", "adeq.worker": "w1"}
    assert [one["message"] for one in shown["breadcrumbs"]["values"] if one["category"] == "mine"] == ["pays"]
    assert [one["value"] for one in restricted["exception"]["values"]] == [HIDDEN, HIDDEN]
