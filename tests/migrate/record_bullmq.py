"""Records jobs of real BullMQ for the tests that run without it: python -m tests.migrate.record_bullmq"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redis import Redis

from pyadeq.embedded import EmbeddedServer
from tests.migrate.node import MAJORS, bullmq

FILE = Path(__file__).parents[1] / "unit" / "bullmq_jobs.json"


def record(major: str) -> dict[str, Any]:
    """Return all keys that a major version has written, but for its events."""
    with EmbeddedServer() as old, Redis.from_url(old.url, decode_responses=True) as client:
        assert bullmq(major, old, "record").wait() == 0
        found: dict[str, Any] = {}
        for key in sorted(client.scan_iter()):
            if (kind := client.type(key)) == "hash":
                found[key] = client.hgetall(key)
            elif kind == "list":
                found[key] = client.lrange(key, 0, -1)
            elif kind == "zset":
                found[key] = {"scores": client.zrange(key, 0, -1, withscores=True)}
            elif kind == "string":
                found[key] = client.get(key)
        return found


if __name__ == "__main__":
    FILE.write_text(json.dumps({major: record(major) for major in MAJORS}, indent=1) + "\n", encoding="utf-8")
