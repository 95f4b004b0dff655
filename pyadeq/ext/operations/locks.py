"""Lock domains: acquire, renew, release; and look at who holds and who waits."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import LockAdmin, LockInspect, Locks
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /locks/{domain}", LockInspect.stats, "observe", "inspect"),
    Operation("GET /locks/{domain}/requests", LockInspect.list, "observe", "inspect"),
    Operation("GET /locks/{domain}/edges", LockInspect.edges, "observe", "inspect"),
    Operation("GET /locks/{domain}/resources/{resource}", LockInspect.show, "observe", "inspect"),
    Operation("PATCH /locks/{domain}/settings", Locks.configure, "operate", create=True, without=("clock",)),
    Operation(
        "PUT /locks/{domain}/resources/{resource}/capacity", LockAdmin.set_capacity, "operate", "admin", create=True
    ),
    Operation("POST /locks/{domain}/resources/{resource}:heartbeat", LockAdmin.heartbeat, "work", "admin"),
    Operation("POST /locks/{domain}/resources/{resource}:drain", LockAdmin.drain, "operate", "admin"),
    Operation("POST /locks/{domain}/resources/{resource}:force_release", LockAdmin.force_release, "operate", "admin"),
    Operation("DELETE /locks/{domain}/resources/{resource}", LockAdmin.remove, "operate", "admin"),
    Operation("POST /locks/{domain}:detect", LockAdmin.detect, "work", "admin"),
    Operation("POST /locks/{domain}:reap", LockAdmin.reap, "work", "admin"),
    Operation("POST /locks/{domain}/requests", needs="work", create=True, name="lock_acquire"),
    Operation("GET /locks/{domain}/requests/{id}", needs="work", create=True, name="lock_poll"),
    Operation("POST /locks/{domain}/requests/{id}:renew", needs="work", create=True, name="lock_renew"),
    Operation("POST /locks/{domain}/requests/{id}:release", needs="work", create=True, name="lock_release"),
)
