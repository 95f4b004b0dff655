"""Operations on changes: propose, review, assess, apply; policies, delegations and the inbox.

Who acts is the `actor` of the body, by default the principal. A token for one user acts as that user only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter

from pyadeq.ext.operations import changes
from pyadeq.ext.outgoing.patterns import QUEUES
from pyadeq.ext.server.api.routes import add
from pyadeq.ext.server.gate import OWN, Access
from pyadeq.ext.server.problems import Refused


def _check_settings(access: Access, given: Mapping[str, Any]) -> None:
    """A domain puts tasks into a queue, and reads locks: both are of the caller, too, and not of the service itself."""
    for setting, right in (("follow_queue", "queue.produce"), ("lock_domain", "lock.observe")):
        name = given.get(setting)
        if not isinstance(name, str) or name == "none":
            continue
        if name in QUEUES or name.startswith(OWN) or not access.principal.may(right, name):
            raise Refused(403, "FORBIDDEN", f"#/{setting}: you do not have the right {right} in {name!r}")


router = APIRouter()
add(router, changes.OPERATIONS, check={"change_configure": _check_settings})
