"""An installation with something on each page of the board: what the tests open, and what the documents show.

Nothing works in it. `adeq demo --board` adds workers.
"""

from __future__ import annotations

from typing import Any, Final

from pyadeq import Adeq, Backoff, Cron, Every, Task
from pyadeq.ext.prove.demo.past import Past, live_through
from pyadeq.ids import new_ulid

MAIL: Final = "mail"
"""The queue with tasks in each state."""
IMPORTS: Final = "imports"
"""The queue that is stuck: a limit lets one task run at a time, and that one takes long."""
REPORTS: Final = "reports"
"""The queue with schedules and chains. It is paused."""
LOCKS: Final = "repos"
CHANGES: Final = "infra"
REALM: Final = "web"
RATES: Final = "api"
CONFIG: Final = "shop"
FLAGS: Final = "flags"
CHANGE: Final = "add-index"
"""The change that waits for a second person."""
ODD: Final = "a/b..c:d"
"""A task id that paths must encode. Its payload is markup."""
LONG: Final = 3600.0
"""Seconds that leases last and workers count as live here: they renew nothing."""

PAST: Final = {
    MAIL: Past("mailer-1", "welcome", 12, fails=(21, 9)),
    IMPORTS: Past("importer-1", "import", 4, until=14),
    REPORTS: Past("reporter-1", "report", 2, until=6),
}
"""Mails failed after a deployment, until the next one."""
MARKS: Final = {21: "v2.0", 9: "v2.1"}

_DEAD: Final = (
    ("newsletter", "mailbox_full", "552 5.2.2 mailbox full", 4),
    ("invoice", "smtp_timeout", "no answer from smtp.example.org within 30 s", 7),
    ("invoice", "bad_address", "'ann@@example.org' is not an address", 2),
)
_REQUESTS: Final = (
    ("run-1", "repo:web"),
    ("run-2", "repo:api"),
    ("run-4", "repo:docs"),
    ("run-1", "repo:api"),
    ("run-2", "repo:web"),
    ("run-3", "repo:web"),
)
_RULE: Final = {
    "state": "ENABLED",
    "variants": {"new": True, "old": False},
    "defaultVariant": "old",
    "targeting": {"if": [{"ends_with": [{"var": "email"}, "@example.org"]}, "new", "old"]},
}


def fill(adeq: Adeq) -> None:
    """Put all of it on the server."""
    live_through(adeq, PAST, MARKS)
    _mail(adeq)
    _imports(adeq)
    _reports(adeq)
    _locks(adeq)
    _changes(adeq)
    _others(adeq)


def _mail(adeq: Adeq) -> None:
    queue = adeq.queue(MAIL)
    queue.configure(lease=LONG, presence=LONG, max_attempts=3, backoff=Backoff(base=600, cap=LONG))
    for number in (1, 2):
        queue.workers.register(
            f"mailer-{number}", capacity=4, group="eu", capabilities=["smtp"], instance=f"host-{number}"
        )
    for kind, reason, error, count in _DEAD:
        queue.enqueue_many([Task(id=f"{kind}-{reason}-{n}", kind=kind, user=f"user-{n}") for n in range(count)])
        for lease in queue.claim("mailer-1", limit=count):
            queue.fail(lease, error, reason=reason, retryable=False)
    queue.enqueue_many(
        [
            Task(payload={"to": f"user-{n}@example.org"}, id=f"welcome-{n}", kind="welcome", result_ttl=LONG)
            for n in range(6)
        ]
    )
    for number, lease in enumerate(queue.claim("mailer-2", limit=6)):
        if number < 4:
            queue.ack(lease, {"message": f"<{number}@example.org>"})
        else:
            queue.fail(lease, "421 try again later", reason="smtp_timeout")
    queue.enqueue_many(
        [Task(payload={"to": "all"}, id=f"digest-{n}", kind="digest", tags=["weekly"]) for n in range(3)]
    )
    for number, lease in enumerate(queue.claim("mailer-1", limit=3)):
        queue.progress(lease, number / 4, f"{number} of 4 parts", log="connected to smtp.example.org")
    queue.enqueue_many(
        [
            *(
                Task(payload={"n": n}, id=f"invoice-{n}", kind="invoice", user=f"user-{n % 3}", tags=["paid"])
                for n in range(30)
            ),
            *(Task(payload={"n": n}, id=f"reminder-{n}", kind="reminder", delay=LONG * (n + 1)) for n in range(4)),
            Task(payload="<script>document.title = 'taken over'</script>", id=ODD, kind="welcome", user="zoë"),
            Task(payload={"diagnosis": "secret"}, id="letter-1", kind="letter", tier="confidential", user="user-1"),
        ]
    )
    queue.limits.set("user:*", concurrency=2)
    queue.limits.set("tag:weekly", starts=100, period=60)


def _imports(adeq: Adeq) -> None:
    queue = adeq.queue(IMPORTS)
    queue.configure(lease=LONG, presence=LONG)
    queue.limits.set("key:partner-api", concurrency=1)
    queue.workers.register("importer-1", capacity=8, group="us", instance="host-3")
    queue.enqueue_many(
        [Task(payload={"page": n}, id=f"page-{n}", kind="import", limits=["partner-api"]) for n in range(12)]
    )
    for lease in queue.claim("importer-1", limit=8):
        queue.progress(lease, 0.1, "waits for the partner's answer")


def _reports(adeq: Adeq) -> None:
    queue = adeq.queue(REPORTS)
    queue.configure(lease=LONG, presence=LONG)
    queue.workers.register("reporter-1", capacity=2, group="eu", instance="host-1")
    queue.schedules.set("monthly", Cron("0 8 1 * *", tz="Europe/Berlin"), {"of": "month"}, kind="report")
    queue.schedules.set("hourly", Every(3600, offset=300), {"of": "hour"}, kind="report", overlap="skip")
    queue.schedules.set("old", Every(60), kind="report")
    queue.schedules.pause("old")
    queue.chain([Task(id="collect", kind="collect"), Task(id="render", kind="render"), Task(id="send", kind="send")])
    queue.enqueue(id="close-month", kind="close", after=["send"])
    queue.admin.pause()


def _locks(adeq: Adeq) -> None:
    """Two runs that wait for each other, and one behind them: nothing looks for deadlocks here."""
    locks = adeq.locks(LOCKS)
    locks.configure(detection=False, waiter=LONG, lease=LONG)
    locks.capacities.set("runners", 4)
    for owner, resource in _REQUESTS:
        rid = new_ulid()
        issued = round(locks.admin.poll([rid])[0].now * 1000)  # on the domain's clock
        adeq.send(locks.calls.acquire(rid, resource, owner, issued_ms=issued, ttl=LONG, wait=LONG, purpose="merge"))


def _changes(adeq: Adeq) -> None:
    changes = adeq.changes(CHANGES)
    changes.policies.set("two-people", required=2, reviewers=["user:ann", "user:bob", "group:on-call"])
    for id, description, by, risk, resource in (
        (CHANGE, "Add an index to orders", "data-bot", 45, "database:orders"),
        ("more-web", "Run 12 web servers instead of 8", "web-bot", 30, "service:web"),
        ("open-ssh", "Open port 22 to the world", "net-bot", 95, "firewall:edge"),
        ("dns", "Move the name servers", "net-bot", 60, "zone:example"),
    ):
        who: dict[str, Any] = {"actor": by, "principal": "mia"}
        draft = changes.put(
            id, type="migration", description=description, parameters={"by": by}, resources=[resource], **who
        )
        changes.submit(draft, policy="two-people", **who)
        changes.assess(draft, score=risk, assessed_by="rules 1", actor="risk-bot", principal="rita")
    for id, person, vote in ((CHANGE, "bob", "approve"), ("open-ssh", "bob", "reject"), ("dns", "bob", "approve")):
        found = changes.get(id)
        if found:
            getattr(changes, vote)(found, reason="measured" if vote == "approve" else "never", actor=person)
    changes.put("draft-1", type="deploy", description="Deploy 2.2", actor="ann")


def _others(adeq: Adeq) -> None:
    for number in range(3):
        adeq.sessions(REALM).create(f"user-{number}", address="192.0.2.7", agent="Firefox", roles=["reader"])
    rates = adeq.rates(RATES)
    rates.set("requests", algorithm="gcra", limit=600, period=60)
    rates.set("login", algorithm="log", limit=5, period=60)
    rates.hit("login", "192.0.2.7")
    shop = adeq.config(CONFIG)
    shop.set("page-size", 20, actor="ann", reason="as it was")
    shop.set("page-size", 50, actor="bob", reason="fewer pages")
    shop.set("banner", "<b>Sale</b>", actor="ann")
    flags = adeq.config(FLAGS)
    flags.set("flag:new-checkout", _RULE, actor="ann", reason="for our own people")
    flags.set("flag:dark-mode", "enabled", actor="bob")
