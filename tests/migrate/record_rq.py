"""Records jobs of real RQ for the tests that run without it: python -m tests.migrate.record_rq"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redis import Redis
from rq import Callback, Queue, Repeat, Retry
from rq.serializers import JSONSerializer

from pyadeq.embedded import EmbeddedServer

FILE = Path(__file__).parents[1] / "unit" / "rq_jobs.json"


def record(url: str) -> dict[str, dict[str, str]]:
    """Return the hash of one job of each kind. Its bytes are written as Latin-1."""
    with Redis.from_url(url) as client:
        jobs, pickles = Queue(connection=client, serializer=JSONSerializer), Queue(connection=client)

        def send(name: str, queue: Queue = jobs, function: str = "app.add", **options: Any) -> None:
            queue.enqueue(function, args=(1, 2), kwargs={"z": 3}, job_id=name, **options)

        send("plain", description="")
        send("options", job_timeout=60, result_ttl=0, meta={"user": "ann"})
        send("retries", retry=Retry(max=3, interval=10))
        send("intervals", retry=Retry(max=3, interval=[10, 30, 60]))
        send("pickle", pickles)
        send("callback", on_success=Callback("app.done"))
        send("repeats", repeat=Repeat(times=3, interval=5))
        send("unknown", function="app.unknown")
        found: dict[str, dict[str, str]] = {}
        for key in client.scan_iter(match="rq:job:*"):
            if client.type(key) == b"hash":
                row: Any = client.hgetall(key)
                found[key.decode()[7:]] = {name.decode(): value.decode("latin-1") for name, value in row.items()}
        return dict(sorted(found.items()))


if __name__ == "__main__":
    with EmbeddedServer() as server:
        FILE.write_text(json.dumps(record(server.url), indent=1) + "\n", encoding="utf-8")
