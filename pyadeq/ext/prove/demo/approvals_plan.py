"""The people of the demo of approvals: three agents, their ten changes, and the people who review them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyadeq import Adeq

SLOT = "demo"
DOMAIN = "infra"
FOLLOW_QUEUE = "follow"
LOCK_DOMAIN = "infra"
LOCK_LEASE = 3.0  # seconds; that of a run never ends later than its locks
ESCALATE = 1.0  # seconds without an answer

AGENTS = {"web-bot": "mia", "net-bot": "noah", "data-bot": "bob"}  # and who answers for them
ASSESSOR: dict[str, Any] = {"actor": "risk-bot", "principal": "rita"}
ON_CALL = ["on-call"]  # the group of dan and eve

AUTOMATIC, VETOED, REVISED, ESCALATED, HELD = "log-level", "open-ssh", "kernel", "restore-test", "split-orders"
OF_BOB = "add-index"  # by an agent of bob, who is a reviewer


@dataclass(frozen=True)
class Proposal:
    """A change that an agent proposes, and its risk."""

    id: str
    agent: str
    description: str
    risk: int
    resources: tuple[str, ...]
    policy: str = "two-people"

    @property
    def by(self) -> dict[str, Any]:
        """The agent, as calls name it."""
        return {"actor": self.agent, "principal": AGENTS[self.agent]}


PROPOSALS = [
    Proposal(AUTOMATIC, "web-bot", "Log less on the web servers", 5, ("service:web",)),
    Proposal("more-web", "web-bot", "Run 12 web servers instead of 8", 30, ("service:web",)),
    Proposal("cache-size", "web-bot", "Double the cache", 35, ("service:cache",)),
    Proposal(REVISED, "web-bot", "Update the kernel on all hosts at once", 70, ("pool:hosts",)),
    Proposal("dns", "net-bot", "Move the name servers", 60, ("zone:example",)),
    Proposal(VETOED, "net-bot", "Open port 22 to the world", 95, ("firewall:edge",)),
    Proposal("new-cert", "net-bot", "Renew the certificate", 40, ("firewall:edge",)),
    Proposal(OF_BOB, "data-bot", "Add an index to orders", 45, ("database:orders",)),
    Proposal(HELD, "data-bot", "Move old orders to the archive", 80, ("database:orders", "database:archive")),
    Proposal(ESCALATED, "data-bot", "Restore last night's backup into staging", 50, ("database:staging",), "ann-first"),
]
REVISION = "Update the kernel on one host after the other"


def configure(adeq: Adeq) -> None:
    """Store settings and policies, with short times."""
    adeq.locks(LOCK_DOMAIN).configure(lease=LOCK_LEASE)
    changes = adeq.changes(DOMAIN)
    changes.configure(auto_approve_low_risk=True, follow_queue=FOLLOW_QUEUE, lock_domain=LOCK_DOMAIN)
    common: dict[str, Any] = {
        "needs": "risk",
        "auto_below": 20,
        "follow": {"approved": "announce", "rejected": "announce", "completed": "report"},
    }
    changes.policies.set("two-people", required=2, reviewers=["user:ann", "user:bob", "group:on-call"], **common)
    changes.policies.set(
        "ann-first", required=1, reviewers=["user:ann"], escalate=ESCALATE, escalate_to=["group:on-call"], **common
    )
