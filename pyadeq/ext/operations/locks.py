"""Lock domains: acquire, renew, release; and look at who holds and who waits."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import LockAdmin, LockCapacities, LockInspect, Locks
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /locks/{domain}", Locks.stats, "observe"),
    Operation("GET /locks/{domain}/requests", Locks.list, "observe"),
    Operation("GET /locks/{domain}/edges", LockInspect.edges, "observe", "inspect"),
    Operation("GET /locks/{domain}/resources/{resource}", Locks.get, "observe"),
    Operation("PATCH /locks/{domain}/settings", Locks.configure, "operate", create=True, without=("clock",)),
    Operation(
        "PUT /locks/{domain}/resources/{resource}/capacity", LockCapacities.set, "operate", "capacities", create=True
    ),
    Operation("POST /locks/{domain}/resources/{resource}:heartbeat", LockCapacities.heartbeat, "work", "capacities"),
    Operation("POST /locks/{domain}/resources/{resource}:drain", LockCapacities.drain, "operate", "capacities"),
    Operation("POST /locks/{domain}/resources/{resource}:force_release", LockAdmin.force_release, "operate", "admin"),
    Operation("DELETE /locks/{domain}/resources/{resource}", LockCapacities.remove, "operate", "capacities"),
    Operation("POST /locks/{domain}:detect", LockAdmin.detect, "work", "admin"),
    Operation("POST /locks/{domain}:reap", LockAdmin.reap, "work", "admin"),
    Operation("POST /locks/{domain}/requests", needs="work", create=True, name="lock_acquire"),
    Operation("GET /locks/{domain}/requests/{id}", needs="work", create=True, name="lock_poll"),
    Operation("POST /locks/{domain}/requests/{id}:renew", needs="work", create=True, name="lock_renew"),
    Operation("POST /locks/{domain}/requests/{id}:release", needs="work", create=True, name="lock_release"),
)
