"""How the server serves: engine, rights, scripts, data, clock, speed and connections."""

from __future__ import annotations

from collections.abc import Sequence

from pyadeq.ext.operate.doctor.facts import ROLES, Facts
from pyadeq.ext.operate.doctor.report import Finding, fail, ok, unknown, warn

SLOTS = 16384
CLOCK_MAY_DIFFER = 1.0  # seconds
LARGEST_REPLY = 16 << 20  # bytes that a client may have to be sent at once
SHORTEST_IDLE = 60  # seconds without a command, below which idle clients are cut off all the time
BUSY = 0.8  # of maxclients
NEEDED = "install Redis 7.0 or Valkey 7.2, or newer"
STOPS = "If a command or key is denied, a script stops there, half-way."
LOAD = "adeq scripts load"
ACL = "adeq scripts acl shows the rights of each role"


def engine(facts: Facts) -> Finding:
    """Can it run the scripts at all?"""
    version = str(facts.info.get("redis_version", ""))
    old = version[:2] in ("2.", "3.", "4.", "5.", "6.")
    if "dragonfly_version" in facts.info:
        return warn(
            f"{facts.engine} is untested",
            "It needs scripts with another first line; the manifest has their hashes as sha1_dragonfly.",
            NEEDED,
        )
    if old or facts.shebang is False:
        return fail(
            f"{facts.engine} {'is too old' if old else 'does not run scripts that begin with #!lua'}",
            "The first line of a script says whether it may run on a replica, or on a server that is full.",
            NEEDED,
        )
    if facts.shebang is None and not version:
        return unknown("neither INFO nor EVAL_RO is allowed", "Older servers cannot run the scripts.", NEEDED)
    if facts.shebang is None:
        return ok(f"{facts.engine}, by its version: this user may not try a script with EVAL_RO")
    return ok(facts.engine + _aof(facts, version))


def _aof(facts: Facts, version: str) -> str:
    """Whether its WAITAOF is one that a client takes at its word, which no Valkey's is, and no older Redis's."""
    if facts.waitaof is None:
        return ""
    if not facts.waitaof:
        return "; durability='aof' is not possible"
    early = "valkey_version" in facts.info or version[:2] == "7."
    needs = early and facts.setting("appendfsync") == "everysec"
    return f"; durability='aof' is possible{' with appendfsync always' if needs else ''}"


def rights(facts: Facts) -> Finding:
    """May this user run what clients and scripts run, on the keys of a queue?"""
    who, queue = f"user {facts.user or 'unknown'}", f"queue {facts.probed!r}"
    if facts.denied is None and facts.reading:
        needed = _grant(facts, ["evalsha", "evalsha_ro", "script|load", "blpop", "@read", "@write"])
        return fail(f"reading {queue} fails: {facts.reading}", STOPS, needed)
    if facts.denied is None:
        return unknown(
            f"{who} can read {queue}; ACL DRYRUN, which would show the rest, is not allowed",
            STOPS,
            f"as an administrator: > ACL DRYRUN {facts.user or 'USER'} ZADD '{facts.base}:dead' 1 1",
        )
    if not facts.denied:
        return ok(f"{who} may {_may(facts.roles or (), queue)}")
    keys = [command for command, answer in facts.denied.items() if "access" in answer]
    commands = [command for command in facts.denied if command not in keys]
    parts = [f"may not run {', '.join(commands)}"] if commands else []
    parts += [f"may not touch the keys of {queue}"] if keys else []
    hint = ["if this user is for other queues, name them: adeq doctor QUEUE", ACL] if keys else [ACL]
    granted = _grant(facts, [command.lower().replace(" ", "|") for command in commands])
    return fail(f"{who} {' and '.join(parts)}", STOPS, granted, *hint)


def _may(roles: Sequence[str], queue: str) -> str:
    """What a user with these roles may do with a queue."""
    if len(roles) == len(ROLES):
        return f"run all that {queue} needs"
    return f"{', '.join(['look', *roles])}, and no more, with {queue}; adeq scripts acl shows the rights of each role"


def _grant(facts: Facts, commands: list[str]) -> str:
    return " ".join(
        [
            "> ACL SETUSER",
            facts.user or "USER",
            f"'~{facts.base.partition(':')[0]}:*'",
            *(f"+{command}" for command in commands),
        ]
    )


def scripts(facts: Facts) -> Finding:
    """Has the server got them?"""
    why = (
        "Clients load missing scripts themselves, which makes their first calls slower. A deploy should load them all."
    )
    if facts.missing is None:
        return unknown("SCRIPT EXISTS is not allowed", why, LOAD)
    if facts.missing:
        return warn(f"{len(facts.missing)} of {facts.scripts} are not loaded", why, LOAD)
    return ok(f"all {facts.scripts} are loaded")


def layout(facts: Facts) -> Finding:
    """Is the stored data of a form that these scripts know?"""
    if facts.queues is None:
        return unknown(
            "SCAN or HMGET is not allowed",
            "These scripts refuse data of a newer layout.",
            f"> HGET '{facts.base}:config' layout_min",
        )
    newer = [one for one in facts.queues if one.layout_min > facts.layouts["queue"]]
    older = [one for one in facts.queues if one.layout < facts.layouts["queue"]]
    if newer:
        return fail(
            f"{_named([one.queue for one in newer])}: layout {max(one.layout_min for one in newer)} is needed, this "
            f"release has {facts.layouts['queue']}",
            "These scripts must not change that data, and refuse to.",
            "pip install --upgrade pyadeq",
        )
    if older:
        return warn(
            f"{_named([one.queue for one in older])}: layout {min(one.layout for one in older)}, this release has "
            f"{facts.layouts['queue']}",
            "This release reads both, and writes the old one until a migration.",
            "adeq scripts migrate, when every client has this release",
        )
    absent = [one.queue for one in facts.queues if not one.exists]
    if absent:
        return warn(
            f"there is no {_named(absent)}",
            "A name may be mistyped, or --prefix or --slot may be different. A queue is created by its first task.",
            "adeq queue ls",
        )
    if not facts.queues:
        return ok("no queue yet" if facts.all_queues else "no queue found in time; name some: adeq doctor QUEUE")
    many = f"{len(facts.queues)} queue{'' if len(facts.queues) == 1 else 's'} of layout {facts.layouts['queue']}"
    return ok(many if facts.all_queues else f"{many}; there may be more, name them: adeq doctor QUEUE")


def tasks(facts: Facts) -> Finding:
    """Is each task where workers, or those who look, can find it?"""
    why = "No worker can find a task that is in no set. A call that failed half-way may leave such tasks."
    found = facts.inspection
    if found is None:
        return unknown("SCAN is not allowed", why, "as an operator: adeq doctor --repair --dry-run")
    ill = [one for one in found.damages if one.found]
    failed = [one for one in found.damages if one.error]
    unseen = f"{_named([one.queue for one in failed])}: {failed[0].error}" if failed else ""
    if ill:
        lost = sum(one.lost for one in ill)
        entries = sum(one.found for one in ill) - lost
        many = [f"{lost:,} task{'' if lost == 1 else 's'} in no set"] if lost else []
        many += [f"{entries:,} wrong entr{'y' if entries == 1 else 'ies'}"] if entries else []
        said = f"{_named([one.queue for one in ill])}: {', '.join(many)}"
        return fail("; ".join(filter(None, [said, unseen])), why, "adeq doctor --repair")
    looked = sum(one.tasks for one in found.damages)
    many_tasks = f"{looked:,} task{'' if looked == 1 else 's'}"
    if failed:
        return unknown(unseen, why, "as an operator: adeq doctor --repair --dry-run")
    if not found.complete:
        return ok(f"{many_tasks} checked in time, each in one set; to check all: adeq doctor --repair --dry-run")
    return ok(f"{many_tasks}, each in one set" if looked else "no tasks")


def _named(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"queue{'' if len(names) == 1 else 's'} {', '.join(names[:5])}{more}"


def locks(facts: Facts) -> Finding:
    """Does a client look for the deadlocks of all waiters?"""
    why = "Some may wait for each other until their wait is over, because a deadlock search exceeded its budget."
    if facts.domains is None:
        return unknown("this user may not look for lock domains", why, "adeq lock domains")
    if newer := [one for one in facts.domains if one.layout_min > facts.layouts["lock"]]:
        return fail(
            f"domain {newer[0].domain}: layout {newer[0].layout_min} is needed, this release has "
            f"{facts.layouts['lock']}",
            "These scripts must not change that data, and refuse to.",
            "pip install --upgrade pyadeq",
        )
    if older := [one for one in facts.domains if one.layout < facts.layouts["lock"]]:
        return warn(
            f"domain {older[0].domain}: layout {older[0].layout}, this release has {facts.layouts['lock']}",
            "This release reads both, and writes the old one until a migration.",
            "adeq scripts migrate, when every client has this release",
        )
    if unchecked := [one for one in facts.domains if one.unchecked]:
        worst = max(unchecked, key=lambda one: one.unchecked)
        many = "1 waiter has" if worst.unchecked == 1 else f"{worst.unchecked:,} waiters have"
        return warn(
            f"domain {worst.domain}: {many} not been searched for deadlocks for a minute",
            why,
            f"adeq lock graph --domain {worst.domain}",
            f"adeq lock configure --domain {worst.domain} --detect-visits 2000",
        )
    if not facts.domains:
        return ok("no lock domain to check")
    many = f"{len(facts.domains)} domain{'' if len(facts.domains) == 1 else 's'}"
    waiting = sum(one.waiting for one in facts.domains)
    return ok(f"{many}, {sum(one.live for one in facts.domains) - waiting:,} held, {waiting:,} waiting")


def cluster(facts: Facts) -> Finding:
    """Does it serve all slots?"""
    why = "Queues in slots without a node refuse every call."
    if "cluster_enabled" not in facts.info:
        return unknown("INFO is not allowed", why, "> CLUSTER INFO")
    if not facts.info["cluster_enabled"]:
        return ok("off")
    if facts.cluster is None:
        return unknown("on; CLUSTER INFO is not allowed", why, "> CLUSTER INFO")
    state, served = facts.cluster.get("cluster_state"), int(facts.cluster.get("cluster_slots_ok", 0))
    nodes = int(facts.cluster.get("cluster_known_nodes", 1))
    found = f"{nodes} node{'' if nodes == 1 else 's'}, state {state}, {served:,} of {SLOTS:,} slots served"
    if state != "ok" or served != SLOTS:
        return fail(found, why, "> CLUSTER SHARDS", "> --cluster fix HOST:PORT")
    return _idle_shards(facts) or ok(found)


def _idle_shards(facts: Facts) -> Finding | None:
    """Nodes that have no share in the work of a queue with partitions."""
    for queue in facts.queues or ():
        idle = [
            node
            for node, ranges in (facts.shards or {}).items()
            if queue.slots and not any(slot in some for some in ranges for slot in queue.slots)
        ]
        if idle:
            nodes = ", ".join(sorted(idle)[:5]) + (f" and {len(idle) - 5} more" if len(idle) > 5 else "")
            return warn(
                f"queue {queue.queue} has {len(queue.slots)} partitions, and none on {nodes}",
                "These nodes do no work for it.",
                f"adeq queue partitions {queue.queue} --set {2 * len(queue.slots)}",
            )
    return None


def clock(facts: Facts) -> Finding:
    """Do the server and this machine agree on the time?"""
    if facts.clock is None:
        return unknown("TIME is not allowed", "Every script reads it.", _grant(facts, ["time"]))
    offset, unsure = facts.clock
    if abs(offset) - unsure <= CLOCK_MAY_DIFFER:
        return ok(f"agrees with this machine's within {abs(offset) + unsure:.3f} s")
    return warn(
        f"the server is {abs(offset):,.1f} s {'ahead of' if offset > 0 else 'behind'} this machine",
        "Only the server's clock counts, but a run_after or expires_at computed on this machine is wrong by this much.",
        "on the machine that is wrong: timedatectl set-ntp true",
    )


def slow_log(facts: Facts) -> Finding:
    """Do scripts take long?"""
    why = "While a script runs, the server does nothing else."
    if facts.slow is None:
        return unknown("SLOWLOG is not allowed", why, "> SLOWLOG GET 128")
    threshold = facts.setting("slowlog-log-slower-than")
    if threshold and int(threshold) < 0:
        return ok("off", f"{why} Nothing would show it.", "> CONFIG SET slowlog-log-slower-than 10000")
    above = f" above {int(threshold) / 1000:g} ms" if threshold else ""
    if not facts.slow:
        return ok(f"no scripts{above}")
    worst = max(facts.slow, key=lambda entry: entry.seconds)
    many = f"{len(facts.slow)} script{'' if len(facts.slow) == 1 else 's'}"
    return warn(
        f"{many}{above}; the slowest: {worst.script or 'a script of another release'}, {worst.seconds * 1000:,.1f} ms",
        f"{why} Large batches, swapped memory and a shared machine make scripts slow.",
        "> SLOWLOG GET 128",
        f"on the server's machine: {facts.tool.split()[0]} --intrinsic-latency 30",
        "> SLOWLOG RESET",
    )


def clients(facts: Facts) -> Finding:
    """Is there room for more connections?"""
    why = "A worker uses two connections, one of them for waiting. Clients above maxclients are refused."
    if "connected_clients" not in facts.info:
        return unknown("INFO is not allowed", why, "> INFO clients")
    connected, most = int(facts.info["connected_clients"]), int(facts.info.get("maxclients", 0))
    refused = int(facts.info.get("rejected_connections", 0))
    found = f"{connected:,} connected" + (f" of {most:,}" if most else "")
    if not refused and (not most or connected < BUSY * most):
        return ok(found)
    refusals = f"; {refused:,} were refused since the server started" if refused else ""
    return warn(
        found + refusals, why, "> CLIENT LIST", f"> CONFIG SET maxclients {max(2 * most, 10_000)}", "> CONFIG REWRITE"
    )


def connections(facts: Facts) -> Finding:
    """Does the server cut connections that are well?"""
    if facts.settings is None:
        return unknown(
            "timeout, tcp-keepalive and client-output-buffer-limit are unknown",
            "They should be 0, 300 and, for normal clients, 0 0 0. Otherwise clients may be cut off while they work.",
            "> CONFIG GET timeout",
            "> CONFIG GET tcp-keepalive",
            "> CONFIG GET client-output-buffer-limit",
        )
    wrong, how = [], []
    idle, alive = int(facts.settings["timeout"] or 0), facts.settings["tcp-keepalive"]
    if 0 < idle < SHORTEST_IDLE:
        wrong.append(f"timeout is {idle} s")
        how.append("> CONFIG SET timeout 0")
    if alive == "0":
        wrong.append("tcp-keepalive is 0")
        how.append("> CONFIG SET tcp-keepalive 300")
    limits = facts.settings["client-output-buffer-limit"].split()
    normal = limits[limits.index("normal") + 1 :][:3] if "normal" in limits else []
    if any(0 < int(size) < LARGEST_REPLY for size in normal[:2]):
        wrong.append(f"client-output-buffer-limit is {' '.join(normal)} for normal clients")
        how.append("> CONFIG SET client-output-buffer-limit 'normal 0 0 0'")
    if not wrong:
        return ok(f"timeout {idle}, tcp-keepalive {alive}, replies may be large")
    why = "Live clients are cut off and have to connect again, or dead clients are not noticed."
    return warn("; ".join(wrong), why, *how, "> CONFIG REWRITE")
