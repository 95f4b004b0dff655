"""The screens of the board, and where the scene has something on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import time
from typing import Final

from starlette.routing import Route

from pyadeq import Adeq
from pyadeq.ext.demo import scene
from pyadeq.ext.demo.scene import CHANGE, ODD, RATES, REALM
from pyadeq.ext.server.api.bulk_runs import NAMESPACE, Stored
from pyadeq.ext.server.application import BOARD
from pyadeq.ext.server.paths import segment

BULK: Final = "retried"
"""A bulk that has ended."""
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
)
"""Further states of them: filtered, paused, dead, hidden, in a chain, rejected."""
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


def routes() -> Iterator[str]:
    """The paths of the board that a browser can open."""
    for part in BOARD:
        for route in part.router.routes:
            if isinstance(route, Route) and "GET" in (route.methods or ()):
                yield re.sub(r":\w+}", "}", route.path)
