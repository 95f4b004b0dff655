"""The screens of the board, and where the scene has something on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import time
from typing import Final

from starlette.routing import Route

from pyadeq import Adeq
from pyadeq.ext.outgoing.webhooks import Webhooks
from pyadeq.ext.outgoing.webhooks.endpoints import QUEUE
from pyadeq.ext.prove.demo import scene
from pyadeq.ext.prove.demo.scene import CHANGE, ODD, RATES, REALM
from pyadeq.ext.server.api.bulk_runs import NAMESPACE, Stored
from pyadeq.ext.server.application import BOARD
from pyadeq.ext.server.paths import segment

BULK: Final = "retried"
"""A bulk that has ended."""
PARTITIONED: Final = "parcels"
SCREENS: Final = {
    "/": "/",
    "/login": "/login",
    "/queues/{queue}": "/queues/mail",
    "/queues/{queue}/tasks": "/queues/mail/tasks?state=ready",
    "/queues/{queue}/tasks/{id}": f"/queues/mail/tasks/{segment(ODD)}",
    "/queues/{queue}/enqueue": f"/queues/mail/enqueue?like={segment(ODD)}",
    "/queues/{queue}/dead": "/queues/mail/dead",
    "/queues/{queue}/bulks": "/queues/mail/bulks",
    "/queues/{queue}/bulks/new": "/queues/mail/bulks/new?verb=retry&kind=invoice",
    "/queues/{queue}/bulks/{id}": f"/queues/mail/bulks/{BULK}",
    "/act/{verb}/{queue}/{id}": "/act/retry/mail/invoice-smtp_timeout-0",
    "/workers": "/workers",
    "/schedules": "/schedules",
    "/queues/{queue}/schedules/{name}": "/queues/reports/schedules/monthly",
    "/limits": "/limits",
    "/rates": "/rates",
    "/rates/{namespace}": f"/rates/{RATES}?subject=user-1",
    "/sessions": "/sessions",
    "/sessions/{realm}": f"/sessions/{REALM}",
    "/admin/queue": "/admin/queue",
    "/locks": "/locks",
    "/locks/{domain}": "/locks/repos",
    "/locks/{domain}/resources/{resource}": "/locks/repos/resources/repo%3Aweb",
    "/inbox": "/inbox?principal=ann",
    "/changes": "/changes",
    "/changes/{domain}": "/changes/infra",
    "/changes/{domain}/{id}": f"/changes/infra/{CHANGE}",
    "/webhooks": "/webhooks",
    "/webhooks/{endpoint}": "/webhooks/orders",
    "/tokens": "/tokens",
    "/configs": "/configs",
    "/configs/{namespace}": "/configs/flags",
    "/configs/{namespace}/{name}": "/configs/flags/flag%3Anew-checkout",
}
"""The path of each route that shows a page, and the path of one such page."""
ALSO: Final = (
    "/?q=imp",
    "/queues/reports",
    "/workers?queue=imports",
    "/schedules?queue=reports",
    "/limits?queue=imports&key=key%3Apartner-api",
    "/queues/mail?past=24h",
    "/queues/imports/dead",
    "/queues/mail/tasks?state=dead&kind=invoice",
    "/queues/imports/tasks?state=blocked",
    "/queues/mail/tasks/invoice-smtp_timeout-0",
    "/queues/mail/tasks/letter-1",
    "/queues/reports/tasks/render",
    "/changes/infra/open-ssh",
    f"/queues/{PARTITIONED}",
    f"/limits?queue={PARTITIONED}&key=all",
)
"""Further states of them: filtered, paused, dead, hidden, in a chain, rejected, in partitions."""
LOST: Final = ("/queues/none", "/nothing")
"""What does not exist."""
NO_SCREENS: Final = frozenset(
    {"/static/{digest}/{name}", "/robots.txt", "/queues/{queue}/tasks/{id}/reveal", "/{path}"}
)
PATHS: Final = (*SCREENS.values(), *ALSO, *LOST)


def fill(adeq: Adeq) -> None:
    """Put the scene on the server, and a bulk, which only a service can make."""
    scene.fill(adeq)
    bulk = Stored(id=BULK, queue="mail", verb="retry", filter={}, actor="ann", created=time() - 2, owner="")
    bulk = bulk.model_copy(update={"matched": 7, "changed": 6, "skipped": 1}).with_end("done")
    adeq.config(NAMESPACE).set(BULK, bulk.model_dump_json().encode())
    hooks(adeq)
    partitions(adeq)


def partitions(adeq: Adeq) -> None:
    """A queue with partitions, and with a group that reads its events."""
    queue = adeq.partitioned(PARTITIONED)
    queue.repartition(3)
    queue.events.add("audit")
    queue.limits.set("user:*", concurrency=1)
    queue.limits.set("all", concurrency=1)
    for number in range(20):
        queue.enqueue(number, kind="pack", user=f"user-{number % 3}")
    for lease in queue.claim("packer", 4)[:2]:
        queue.fail(lease, "too heavy", reason="too_heavy", retryable=False)


def hooks(adeq: Adeq) -> None:
    """Two endpoints, one of them with messages that were delivered, have failed and are to be tried again."""
    webhooks = Webhooks(adeq)
    for id in ("orders", "audit"):
        webhooks.add(id, "https://1.1.1.1/hook", secret="env:HOOK_SECRET", events=["task.*"])
    webhooks.disable("audit", why="the receiver has answered 410 Gone")
    queue = adeq.queue(QUEUE)
    for number in range(3):
        payload = {
            "type": "task.dead",
            "at": time(),
            "stream": "queue:mail",
            "seq": f"{number}-0",
            "ids": ["invoice-7"],
        }
        queue.enqueue(payload, id=f"wh:orders:mail:{number}-0", user="orders", max_attempts=10)
        (lease,) = queue.claim(limit=1)
        if number:
            queue.fail(lease, "the receiver has answered 500", reason="http_500", retryable=number > 1, delay=3000)
        else:
            queue.ack(lease, {"status": 204})


def routes() -> Iterator[str]:
    """The paths of the board that a browser can open."""
    for part in BOARD:
        for route in part.router.routes:
            if isinstance(route, Route) and "GET" in (route.methods or ()):
                yield re.sub(r":\w+}", "}", route.path)
