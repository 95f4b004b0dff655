"""Is this server fit to keep tasks? `examine` asks it, and says what to change, why and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyadeq import Adeq
from pyadeq.ext.operate.doctor import events, nouns, service, storage, webhooks
from pyadeq.ext.operate.doctor.facts import Facts, gather
from pyadeq.ext.operate.doctor.repair import Damage, Inspection, inspect
from pyadeq.ext.operate.doctor.report import Check, Finding, Report
from pyadeq.ext.shared.finding import Found, find_domains, find_names, find_queues

__all__ = [
    "CHECKS",
    "Check",
    "Damage",
    "Facts",
    "Found",
    "Inspection",
    "Report",
    "check",
    "examine",
    "find_domains",
    "find_names",
    "find_queues",
    "gather",
    "inspect",
]

CHECKS: Mapping[str, Callable[[Facts], Finding]] = {
    "engine": service.engine,
    "rights": service.rights,
    "eviction": storage.eviction,
    "memory": storage.memory,
    "append-only file": storage.persistence,
    "snapshots": storage.snapshots,
    "replicas": storage.replicas,
    "cluster": service.cluster,
    "scripts": service.scripts,
    "layout": service.layout,
    "tasks": service.tasks,
    "locks": service.locks,
    "clock": service.clock,
    "slow log": service.slow_log,
    "clients": service.clients,
    "connections": service.connections,
}


def examine(adeq: Adeq, queues: Sequence[str] = ()) -> Report:
    """Look at a server and its queues, all that are found unless some are named. Nothing is changed.

    Raises what redis-py raises if the server does not answer.
    """
    return check(gather(adeq, queues))


def check(facts: Facts) -> Report:
    """What these facts mean."""
    checks = []
    for name, look in CHECKS.items():
        finding = look(facts)
        how = [_as_command(facts, line) for line in finding.how]
        checks.append(Check(name=name, **{**finding._asdict(), "how": list(filter(None, how))}))
    if facts.wrong:
        checks.append(Check(name="stored data", **nouns.check_damaged(facts.wrong)._asdict()))
    for noun, stored in facts.others.items():
        about = nouns.others()[noun]
        may = _may(facts, about)
        checks.append(Check(name=about["plural"], **nouns.check(about, stored, facts.layouts[noun], may)._asdict()))
    if facts.groups:
        checks.append(Check(name="event groups", **events.check(facts.groups)._asdict()))
    if facts.webhooks:
        refused = facts.webhooks_refused or 0
        found = webhooks.check(facts.webhooks, facts.groups or (), facts.webhooks_stuck, refused=refused)
        checks.append(Check(name="webhooks", **found._asdict()))
    if facts.posts and facts.posts.endpoints:
        checks.append(Check(name="posts", **webhooks.check_posts(facts.posts, facts.groups or ())._asdict()))
    return Report(engine=facts.engine, checks=checks)


def _may(facts: Facts, noun: Mapping[str, Any]) -> str:
    """What this user may do with a noun, if that is not all."""
    roles = facts.other_roles.get(noun["word"])
    if roles is None or len(roles) == len(noun["roles"]):
        return ""
    return f"user {facts.user} may {', '.join(['look', *roles])}"


def _as_command(facts: Facts, line: str) -> str:
    """A line to copy. Where the server has no CONFIG, a service's settings take its place."""
    before, is_command, command = line.partition("> ")
    if not is_command:
        return line
    if command == "CONFIG REWRITE" and facts.info.get("config_file") == "":
        return "and give it the same settings when it is started: it has no configuration file to store them"
    if facts.settings is None and (setting := re.fullmatch(r"CONFIG (?:SET (\S+) (.+)|GET (\S+)|REWRITE)", command)):
        name, value, asked = setting.groups()
        where = "in the settings of the service that runs the server"
        return f"set {name} to {value} {where}" if name else f"look for {asked} {where}" if asked else ""
    return f"{before}{facts.tool} {command}"
