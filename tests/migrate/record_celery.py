"""Records messages of real Celery for the tests that run without it: python -m tests.migrate.record_celery"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from celery import Celery, chord, group
from redis import Redis

from pyadeq.embedded import EmbeddedServer

FILE = Path(__file__).parents[1] / "unit" / "celery_messages.json"
AT = datetime(2030, 1, 31, 9, tzinfo=UTC)
TYPES = [b"text", b"\xff", AT, date(2030, 1, 31), Decimal("1.50"), uuid.UUID(int=7)]


def record(url: str) -> dict[str, str]:
    """Return one message of each kind by a name for it, as the broker stores it."""
    broker = url.replace("unix://", "redis+socket://")
    app = Celery("app", broker=broker)
    call: Any = app.signature
    found: dict[str, str] = {}

    def send(name: str, queue: str = "celery", kind: str = "app.add", **options: Any) -> None:
        app.send_task(kind, task_id=name, queue=queue, **options)
        keep(name, queue)

    def keep(name: str, queue: str = "celery") -> None:
        with Redis.from_url(url, decode_responses=True) as client:
            (key,) = (key for key in client.scan_iter(match=f"{queue}*") if client.type(key) == "list")
            message = json.loads(client.lrange(key, 0, 0)[0])
            if "origin" in message["headers"]:
                message["headers"]["origin"] = "gen1@host"
            found[name] = json.dumps(message)
            client.delete(key)

    send("plain", args=[1, 2], kwargs={"z": 3})
    send("priority", args=[1, 2], priority=4)
    send("later", args=[1, 2], eta=AT, expires=AT + timedelta(hours=1))
    send("zoneless", args=[1, 2], eta=AT.replace(tzinfo=None))
    send("limits", args=[1, 2], time_limit=60, soft_time_limit=50, ignore_result=True)
    send("soft", args=[1, 2], soft_time_limit=50)
    send("retried", args=[1, 2], retries=2)
    send("types", args=TYPES, kind="app.types")
    send("pickle", args=[1, 2], serializer="pickle")
    send("yaml", args=[1, 2], serializer="yaml")
    send("zlib", args=[1, 2], compression="zlib")
    send("bzip2", args=[1, 2], compression="bzip2")
    send("misfit", args=["one", [2]])
    send("unknown", kind="app.unknown")
    send("bad id", args=[1, 2])
    send("callback", args=[1, 2], link=call("app.add", (3,)))
    send("errback", args=[1, 2], link_error=call("app.add", (3,)))
    (call("app.add", (1, 2)) | call("app.add", (3,))).apply_async()
    keep("chain")
    group([call("app.add", (1, 2))]).apply_async(task_id="g1")
    keep("group")
    app = Celery("app", broker=broker, backend="cache+memory://")
    call = app.signature
    chord([call("app.add", (1, 2))], call("app.sum")).apply_async()
    keep("chord")
    app = Celery("app", broker=broker)
    app.conf.task_protocol = 1
    send("protocol-1", args=[1, 2], kwargs={"z": 3}, eta=AT)
    return found


if __name__ == "__main__":
    with EmbeddedServer() as server:
        FILE.write_text(json.dumps(record(server.url), indent=1) + "\n", encoding="utf-8")
