"""What keeps the tasks: memory, disk and other machines."""

from __future__ import annotations

from pyadeq.ext.operate.doctor.facts import Facts
from pyadeq.ext.operate.doctor.report import Finding, fail, ok, unknown, warn

NEARLY_FULL = 0.8  # of maxmemory
MOST = 0.75  # of the machine's memory, for maxmemory
CUT_OFF = "A primary that is cut off continues to accept tasks; they are lost when it comes back as a replica."
REWRITE = "> CONFIG REWRITE"


def eviction(facts: Facts) -> Finding:
    """Does the server delete keys when its memory is full?"""
    policy = facts.setting("maxmemory-policy") or facts.info.get("maxmemory_policy")
    if not policy:
        return unknown(
            "maxmemory-policy is unknown",
            "With any policy but noeviction, a server that runs out of memory deletes tasks.",
            "> CONFIG GET maxmemory-policy",
        )
    evicted = int(facts.info.get("evicted_keys", 0))
    lost = f"; {evicted:,} keys were deleted since the server started" if evicted else ""
    if policy == "noeviction" and not evicted:
        return ok("maxmemory-policy is noeviction")
    if policy == "noeviction":
        return warn(
            f"maxmemory-policy is noeviction{lost}",
            "They were deleted before the policy was changed. They may include tasks, or parts of tasks.",
            "compare with the tasks that producers have sent, and enqueue the missing ones again; then",
            "> CONFIG RESETSTAT",
        )
    how = ("> CONFIG SET maxmemory-policy noeviction", REWRITE)
    if policy.startswith("volatile"):
        return warn(
            f"maxmemory-policy is {policy}{lost}",
            "When memory is full, the server deletes keys with an expiry. Tasks have none, but the tokens that wake "
            "idle workers, and the stubs that recognize repeated calls, have one and are lost.",
            *how,
        )
    why = "When memory is full, the server deletes any key to make room: tasks are lost without a message."
    if policy == "allkeys-lru":
        why += " Some guides recommend allkeys-lru; that is for caches, and here it deletes tasks."
    if not int(facts.info.get("maxmemory", 0)):
        why += " There is no maxmemory yet: the deletions begin when it is set."
    return fail(f"maxmemory-policy is {policy}{lost}", why, *how)


def memory(facts: Facts) -> Finding:
    """Is there a limit, and room under it?"""
    if "used_memory" not in facts.info:
        return unknown("INFO is not allowed", "A full server refuses new tasks.", "> INFO memory")
    used, limit = int(facts.info["used_memory"]), int(facts.info.get("maxmemory", 0))
    if not limit:
        whole = int(facts.info.get("total_system_memory", 0))
        return ok(
            f"{_size(used)} used, maxmemory is 0: no limit",
            "Its memory grows until the operating system kills it"
            + (f" (the machine has {_size(whole)})" if whole else "")
            + ". "
            "With a limit, it refuses new tasks instead, and workers finish the existing ones.",
            f"> CONFIG SET maxmemory {_advised(whole, used)}"
            if not whole or used < MOST * whole
            else "move to a machine with more memory, then set maxmemory",
        )
    found = f"{_size(used)} used of {_size(limit)} ({used / limit:.0%})"
    if used < NEARLY_FULL * limit:
        return ok(found)
    how = "raise maxmemory, or keep fewer ended tasks: adeq queue configure QUEUE --finished-max 1000"
    if used < limit:
        return warn(found, "When it is full, it refuses new tasks; workers still finish the existing ones.", how)
    return fail(found, "It refuses new tasks; workers still finish the existing ones.", how)


def persistence(facts: Facts) -> Finding:
    """Does the server write every task to its disk?"""
    if "aof_enabled" not in facts.info:
        return unknown(
            "INFO is not allowed",
            "Without the append-only file, a restart loses all changes since the last snapshot.",
            "> CONFIG GET append*",
        )
    if not facts.info["aof_enabled"]:
        on = ("> CONFIG SET appendonly yes", REWRITE)
        if facts.setting("save") == "":
            return fail("appendonly is no", "Nothing is written to the disk: a restart loses all tasks.", *on)
        return warn(
            "appendonly is no", "A restart loses all changes since the last snapshot, so ended tasks run again.", *on
        )
    if facts.info.get("aof_last_write_status", "ok") != "ok":
        return fail(
            "appendonly is yes, but the last write to the file failed",
            "The server refuses writes until it can write to its disk again.",
            "read the server's log, and free disk space",
            "> INFO persistence",
        )
    match facts.setting("appendfsync"):
        case "always":
            return ok("appendfsync is always: a crash loses nothing")
        case "everysec":
            return ok("appendfsync is everysec: a crash loses a second at most")
        case "no":
            return warn(
                "appendfsync is no",
                "The operating system decides when to write: a crash of the machine loses about half a minute.",
                "> CONFIG SET appendfsync everysec",
                REWRITE,
            )
    return unknown(
        "appendonly is yes, appendfsync is unknown",
        "It decides what a crash of the machine loses: nothing (always), a second (everysec), half a minute (no).",
        "> CONFIG GET appendfsync",
    )


def snapshots(facts: Facts) -> Finding:
    """Do snapshots work, if there are any?"""
    save = facts.setting("save")
    if facts.info.get("rdb_last_bgsave_status", "ok") != "ok":
        return Finding(
            "fail" if save else "warn",
            "the last snapshot failed",
            "With stop-writes-on-bgsave-error, the default, the server refuses all writes until a snapshot succeeds.",
            ("read the server's log, and free disk space or memory", "> BGSAVE"),
        )
    if save is None:
        return unknown(
            "save is unknown",
            "If the append-only file is off, snapshots are the only copy on the disk.",
            "> CONFIG GET save",
        )
    if not save and not facts.info.get("aof_enabled", 1):
        return warn("off, as the append-only file is", "Nothing is written to the disk.", "> CONFIG SET appendonly yes")
    return ok(f"save is {save!r}" if save else "off; the append-only file needs no snapshots")


def replicas(facts: Facts) -> Finding:
    """Is there another machine that has the tasks, and does the primary notice when it has none?"""
    info = facts.info
    if "role" not in info:
        return unknown(
            "INFO is not allowed", "Without a replica, the tasks are on one machine only.", "> INFO replication"
        )
    if info["role"] != "master":
        primary = f"{info.get('master_host')}:{info.get('master_port')}"
        return fail(
            f"this is a replica of {primary}",
            "A replica refuses every script that writes.",
            f"use the primary: --url redis://{primary}",
        )
    count = int(info.get("connected_slaves", 0))
    if not count:
        return ok(
            "none",
            "The tasks are lost with this machine's disk; durability='replica' is not possible. Changes and tokens "
            f"wait for no replica: a crash of the machine loses {_lost_by_a_crash(facts)}.",
        )
    behind = [index for index in range(count) if info.get(f"slave{index}", {}).get("state") != "online"]
    if behind:
        return warn(f"{len(behind)} of {count} do not follow", "A failover to one loses tasks.", "> INFO replication")
    least = facts.setting("min-replicas-to-write")
    if least is None:
        found = f"{count} follow; min-replicas-to-write is unknown"
        return unknown(found, f"At 0: {CUT_OFF}", "> CONFIG GET min-replicas-*")
    if least == "0":
        return warn(
            f"{count} follow; min-replicas-to-write is 0",
            CUT_OFF,
            "> CONFIG SET min-replicas-to-write 1",
            "> CONFIG SET min-replicas-max-lag 10",
            REWRITE,
        )
    return ok(f"{count} follow; min-replicas-to-write is {least} within {facts.setting('min-replicas-max-lag')} s")


def _lost_by_a_crash(facts: Facts) -> str:
    """Return which writes a crash of the machine loses, as words for a report."""
    if not facts.info.get("aof_enabled"):
        return "those since the last snapshot"
    second = {"always": "none of them", "everysec": "those of about the last second"}
    return second.get(facts.setting("appendfsync") or "", "those of about the last half minute")


def _size(count: float) -> str:
    """Return a number of bytes as text, in a fitting unit."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1000 and len(units) > 1:
        count /= 1024
        del units[0]
    return f"{count:.3g} {units[0]}"


def _advised(whole: int, used: int) -> str:
    """Half of the machine, as a rewrite of the append-only file takes memory too; or twice what is used, if it fits."""
    wanted = max(whole // 2, 2 * used, 100 << 20)
    return f"{(min(wanted, int(MOST * whole)) if whole else wanted) >> 20}mb"
