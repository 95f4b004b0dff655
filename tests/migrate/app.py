"""The old application: python -m celery -A tests.migrate.app worker"""

from __future__ import annotations

import os
import time

from celery import Celery
from redis import Redis

URL = os.environ["ADEQ_FROM"]
app = Celery("app", broker=URL.replace("unix://", "redis+socket://"))
app.conf.task_default_queue = "work"
app.conf.timezone = "America/New_York"
app.conf.accept_content = ["json", "yaml"]
app.conf.broker_connection_retry_on_startup = True
ran = Redis.from_url(URL)
PAUSE = float(os.environ.get("ADEQ_MIGRATE_PAUSE", "0.05"))


@app.task(name="app.note")
def note(number: int, size: int = 0) -> None:
    """Record that a task has run."""
    time.sleep(PAUSE)
    ran.rpush("ran", number)
