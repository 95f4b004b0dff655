"""`adeq change` and `adeq inbox`."""

import getpass
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pyadeq import Adeq, ChangeRef
from tests.integration.cli.run import Terminal, adeq, answer, complete, error, lines
from tests.integration.worker.watching import Watch
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

TITLE = "Raise the pool size of the orders service"


class Domain(NamedTuple):
    """A change domain with a policy `two`: two of bob, eve and a member of ops."""

    client: Adeq
    name: str
    url: str
    slot: str | None = None

    @property
    def there(self) -> dict[str, Any]:
        place = {"ADEQ_URL": self.url, "ADEQ_CHANGE_DOMAIN": self.name, "ADEQ_ACTOR": "ann"}
        return place if self.slot is None else {**place, "ADEQ_SLOT": self.slot}

    def run(self, *words: str, **changes: str) -> Any:
        """What `adeq change …` answers as JSON."""
        return answer("change", *words, **{**self.there, **changes})

    def said(self, *words: str, **changes: str) -> str:
        """What `adeq change …` prints."""
        ended = adeq("change", *words, **{**self.there, **changes})
        assert (ended.status, ended.stderr) == (0, ""), ended
        return ended.stdout

    def refused(self, *words: str, status: int = 1, **changes: str) -> str:
        """Why `adeq change …` does nothing."""
        return error(status, "change", *words, **{**self.there, **changes}).removeprefix("adeq: ")

    def draft(self, id: str, *words: str) -> None:
        given = ["--type", "deploy", "-m", TITLE] if "-m" not in words else ["--type", "deploy"]
        self.run("put", id, *given, *words)

    def reviewed(self, id: str = "c1", *words: str) -> None:
        """A change under review."""
        self.draft(id, *words)
        self.run("submit", id, "--policy", "two")

    def approved(self, id: str = "c1") -> None:
        self.reviewed(id)
        for person in ("bob", "eve"):
            self.run("approve", id, "--rev", "1", "--as", person)

    def inbox(self, *words: str, **changes: str) -> list[list[str]]:
        return lines("inbox", *words, **{**self.there, **changes})


@pytest.fixture
def domain(url: str, base_name: str) -> Iterator[Domain]:
    with Adeq.from_url(url) as client:
        domain = Domain(client, base_name, url)
        reviewers = ("--reviewer", "user:bob", "--reviewer", "user:eve", "--reviewer", "group:ops")
        domain.run("policy", "set", "two", "--required", "2", *reviewers, "--agents-may-vote")
        yield domain


# inbox


def test_inbox(domain: Domain) -> None:
    assert domain.inbox("bob") == [
        ["Nothing", "waits", "for", "bob.", "If", "you", "answer", "for", "a", "group,", "add", "--group", "NAME."]
    ]
    for id, priority, score in (("low", "low", None), ("risky", "NORMAL", 90), ("urgent", "urgent", 10)):
        domain.draft(id, "-m", f"{TITLE} of {id}\nmore")
        domain.run("submit", id, "--policy", "two", "--priority", priority)
        if score is not None:
            domain.run("assess", id, "--rev", "1", "--score", str(score), "--as", "scanner")
    found = domain.inbox("bob")
    assert [row[0] for row in found] == ["change", "urgent", "risky", "low"]
    assert found[0] == ["change", "priority", "age", "due", "risk", "title"]
    assert (found[2][1], found[2][4]) == ("NORMAL", "CRITICAL")
    assert found[2][3] in ("47h", "2d")
    wide = domain.inbox("bob", "-o", "wide")
    assert (wide[0][-4:], wide[2][-4:]) == (["score", "rev", "type", "author"], ["90", "1", "deploy", "ann"])
    assert all(len(" ".join(row)) <= 80 for row in found)
    assert [row[0] for row in domain.inbox(ADEQ_ACTOR="eve")] == [row[0] for row in found]
    assert len(domain.inbox("joe")) == 1
    assert [row[0] for row in domain.inbox("joe", "--group", "ops")][1:] == ["urgent", "risky", "low"]
    assert [row[0] for row in domain.inbox("joe", ADEQ_GROUPS="dev ops")][1:] == ["urgent", "risky", "low"]
    assert len(domain.inbox("ann", "--group", "ops")) == 1, "who has written a change does not review it"


def test_inbox_as_json(domain: Domain) -> None:
    domain.reviewed()
    (found,) = answer("inbox", "bob", **domain.there)
    assert (found["id"], found["rev"], found["slot"], found["review_priority"]) == ("c1", 1, 1, "normal")
    assert (found["author"], found["description"], found["risk_score"]) == ("ann", TITLE, None)
    assert found["due_iso"].endswith("Z")
    ended = adeq("inbox", "bob", "-o", "jsonl", **domain.there)
    assert json.loads(ended.stdout) == found
    both = answer("inbox", "bob", "--group", "ops", **domain.there)
    assert sorted(one["slot"] for one in both) == [1, 3]
    assert len(domain.inbox("bob", "--group", "ops")) == 2, "a line for each change"
    assert answer("inbox", "joe", **domain.there) == []


def test_inbox_has_pages(domain: Domain) -> None:
    changes = domain.client.changes(domain.name)
    for number in range(130):
        draft = changes.put(f"c{number}", type="deploy", description=TITLE, actor="ann")
        changes.submit(draft, policy="two", actor="ann")
    assert len(answer("inbox", "bob", "--all", **domain.there)) == 130
    ended = adeq("inbox", "bob", **domain.there)
    assert (len(ended.stdout.splitlines()), ended.stderr.strip()) == (101, "There are more: --limit N, or --all")


@pytest.mark.slow
def test_inbox_live(domain: Domain) -> None:
    domain.reviewed("c1", "-m", "Raise [/red] it")
    with Terminal("inbox", "bob", "--watch", "--interval", "100ms", **domain.there) as terminal:
        terminal.read_until("[/red]")
        domain.run("approve", "c1", "--rev", "1", "--as", "bob")
        terminal.read_until("Nothing waits for bob.")
        terminal.enter("\x03")
        assert terminal.wait() == 0
    ended = adeq("inbox", "eve", "--watch", "--for", "300ms", "--interval", "100ms", **domain.there)
    assert (ended.status, ended.stdout) == (0, "1 change for eve: c1\n")
    found = answer("inbox", "eve", "--watch", "--for", "100ms", **domain.there)
    assert [one["id"] for one in found] == ["c1"]


# put, submit, withdraw, cancel, reopen


def test_put(domain: Domain, tmp_path: Path) -> None:
    parameters = tmp_path / "parameters"
    parameters.write_bytes(b'{"pool": 40}')
    words = ["--resource", "service:orders", "--resource", "database:orders", "--tag", "infra", "--team", "pay"]
    words += ["--parameters", f"@{parameters}", "--timeout", "10m", "--priority", "70", "--rollback", "manual"]
    created = domain.run("put", "c1", "--type", "deploy", "-m", TITLE, *words)
    assert (created["status"], created["state"], created["rev"], len(created["digest"])) == ("created", "draft", 1, 40)
    assert domain.said("put", "c1", "--rev", "1", "--tag", "big") == "edited c1 revision 1 (DRAFT)\n"
    assert domain.said("put", "c1", "--rev", "1", "-m", "Less") == "revised c1 revision 2 (DRAFT)\n"
    found = domain.run("show", "c1")
    kept = {name: found[name] for name in ("type", "parameters", "timeout", "priority", "rollback_strategy", "team")}
    assert kept == {
        "type": "deploy",
        "parameters": '{"pool": 40}',
        "timeout": 600,
        "priority": 70,
        "rollback_strategy": "manual",
        "team": "pay",
    }
    assert (found["resources"], found["tags"]) == (["database:orders", "service:orders"], ["big"])
    assert found["description"] == "Less"
    assert domain.run("put", "c1", "--rev", "2", "--resource", "", "--team", "")["status"] == "revised"
    found = domain.run("show", "c1")
    assert (found["resources"], found["team"]) == ([], "")
    assert domain.said("put", "c1", "--rev", "3") == "unchanged c1 revision 3 (DRAFT)\n"


def test_put_makes_an_id_and_the_domain(url: str, base_name: str) -> None:
    place: dict[str, Any] = {"ADEQ_URL": url, "ADEQ_CHANGE_DOMAIN": base_name, "ADEQ_ACTOR": "ann"}
    made = answer("change", "put", "--type", "deploy", "-m", "@-", stdin=b"from stdin", **place)
    assert len(made["id"]) == 26
    assert answer("change", "show", made["id"], **place)["description"] == "from stdin"
    assert {"domain": base_name} in answer("change", "domains", **place)
    assert [base_name] in lines("change", "domains", **place)


def test_the_actor(domain: Domain) -> None:
    place = {name: value for name, value in domain.there.items() if name != "ADEQ_ACTOR"}
    assert adeq("change", "put", "c1", "--type", "t", "-m", "x", **place).status == 0
    assert domain.run("show", "c1")["author"] == getpass.getuser()
    domain.run("put", "c2", "--type", "t", "-m", "x", "--as", "bot", "--principal", "joe")
    found = domain.run("show", "c2")
    assert (found["author"], found["principal"], "principal  joe" in domain.said("show", "c2")) == ("bot", "joe", True)


def test_submit_and_moves(domain: Domain) -> None:
    domain.draft("c1")
    assert domain.said("submit", "c1", "--policy", "two") == "c1 revision 1 is REVIEWING\n"
    assert domain.said("withdraw", "c1", "-m", "not yet") == "c1 revision 1 is DRAFT\n"
    assert (
        domain.run("submit", "c1", "--policy", "two", "--rev", "1", "--reviewer", "user:max")["status"] == "reviewing"
    )
    assert [one["reviewer"] for one in domain.run("show", "c1")["requests"]][-1] == "user:max"
    domain.run("reject", "c1", "--rev", "1", "--as", "bob", "-m", "no")
    assert domain.said("reopen", "c1") == "c1 revision 1 is DRAFT\n"
    assert domain.said("cancel", "c1") == "c1 revision 1 is CANCELLED\n"
    domain.approved("c2")
    domain.run("begin", "c2")
    assert "its applier is asked to stop" in domain.said("cancel", "c2")


def test_assess(domain: Domain) -> None:
    domain.run("policy", "set", "careful", "--required", "1", "--needs", "both", "--reviewer", "user:bob")
    domain.draft("c1")
    assert "it waits for its risk or preview" in domain.said("submit", "c1", "--policy", "careful")
    assert "awaited" in domain.said("show", "c1")
    assert domain.run("assess", "c1", "--rev", "1", "--score", "30", "--as", "bot")["state"] == "submitted"
    said = domain.said("assess", "c1", "--rev", "1", "--preview", "+ 1 row", "--as", "bot", "--by", "v3")
    assert said == "c1 revision 1 is assessed, with this risk: NONE; the change is REVIEWING\n"
    assert "with this risk: CRITICAL" in domain.said("assess", "c1", "--rev", "1", "--score", "80", "--as", "bot")
    assert "\npreview\n+ 1 row\n" in domain.said("show", "c1")


# Answers


def test_answers(domain: Domain) -> None:
    domain.reviewed()
    said = domain.said("approve", "c1", "--rev", "1", "-m", "good", "--as", "bob")
    assert said == "c1 revision 1: the approval of bob counts; the change is REVIEWING\n"
    assert "nothing was changed" in domain.said("approve", "c1", "--rev", "1", "--as", "bob")
    assert "the request for changes of bob" in domain.said("request-changes", "c1", "--rev", "1", "--as", "bob")
    assert "the retraction of bob" in domain.said("retract", "c1", "--rev", "1", "--as", "bob")
    assert "the abstention of eve" in domain.said("abstain", "c1", "--rev", "1", "--as", "eve")
    assert domain.said("comment", "c1", "-m", "why?", "--as", "max") == "c1 revision 1: the comment is in the log\n"
    found = domain.run(
        "approve", "c1", "--rev", "1", "--as", "joe", "--group", "ops", "--request", "3", "--proof", "sso:1"
    )
    assert (found["status"], found["state"], found["actor"]) == ("recorded", "reviewing", "joe")
    said = domain.said("approve", "c1", "--rev", "1", "--as", "bob")
    assert said == "c1 revision 1: the approval of bob counts; the change is APPROVED\n"


def test_agents_answer_for_their_person(domain: Domain) -> None:
    domain.reviewed()
    domain.run("approve", "c1", "--rev", "1", "--as", "bob-bot", "--principal", "bob", "--group", "ops")
    found = {one["reviewed_by"]: one["principal"] for one in domain.run("show", "c1")["requests"]}
    assert (found["bob-bot"], "bob-bot for bob" in domain.said("show", "c1")) == ("bob", True)


def test_a_vote_that_comes_late_is_refused(domain: Domain) -> None:
    domain.reviewed()
    domain.run("put", "c1", "--rev", "1", "-m", "Another content")
    line = domain.refused("approve", "c1", "--rev", "1", "--as", "bob")
    assert line == (
        "change: 'c1' has revision 2 now, not 1: ann changed description. Nothing was done; see what is different: "
        "adeq change diff c1 --since 1"
    )
    assert domain.refused("approve", "c1", "--rev", "3", "--as", "bob").startswith(
        "change: 'c1' has revision 2, and no"
    )
    assert [one["status"] for one in domain.run("show", "c1")["requests"]] == ["pending"] * 3


REFUSED: list[tuple[list[str], int, str]] = [
    (["approve", "c1"], 2, "--rev: name the revision that you have seen; adeq change show c1 shows it"),
    (["approve", "c1", "--rev", "0"], 2, ""),
    (["approve", "nosuch", "--rev", "1"], 1, "change: there is no 'nosuch' in domain"),
    (["approve", "no such", "--rev", "1"], 2, "change: 'no such' is not accepted; allowed:"),
    (["approve", "c1", "--rev", "1", "--digest", "0" * 40], 1, f"--digest: {'0' * 40} is not that of revision 1"),
    (["approve", "c1", "--rev", "1", "--as", "max"], 1, "change: 'c1': max has no open request for it"),
    (["approve", "c1", "--rev", "1", "--as", "ann"], 1, "change: 'c1': ann has written it"),
    (["approve", "c1", "--rev", "1", "--as", "a b"], 2, "--as: 'a b' is not accepted"),
    (["approve", "c1", "--rev", "1", "--kind", "agent"], 2, "--principal: 'ann' is an agent; name the person"),
    (["approve", "c1", "--rev", "1", "--kind", "person", "--principal", "x"], 2, "--principal: 'ann' is a person"),
    (["approve", "draft", "--rev", "1"], 1, "change: 'draft' is DRAFT; adeq change submit draft asks for its review"),
    (["comment", "c1", "-m", ""], 2, "change.respond.v1: "),
    (["assess", "c1", "--rev", "1", "--score", "101"], 2, ""),
    (["assess", "c1", "--rev", "1"], 2, "change.assess.v1: score must be a number from 0 to 100, unless"),
    (["assess", "c1", "--rev", "1", "--score", "1"], 1, "change: 'c1': ann has written it"),
    (["put", "c1", "--type", "t", "-m", "x"], 1, "change: 'c1' exists, with revision 1; add --rev 1"),
    (["put", "c9", "-m", "x"], 2, "--type: a new change needs one"),
    (["put", "c9", "--rev", "1", "-m", "x"], 1, "change: there is no 'c9'"),
    (["put", "--rev", "1"], 2, "ID: name the change of --rev"),
    (["put", "c1", "--rev", "1", "-m", "x", "--as", "bob"], 1, "change: bob has request 1 of 'c1', and who reviews"),
    (["put", "c9", "--type", "t", "-m", "x", "--resource", "orders"], 2, "--resource: 'orders' is not accepted"),
    (["put", "c9", "--type", "t", "-m", "x", "--resource", "a:b", "--resource", "a:b"], 2, ""),
    (["put", "c9", "--type", "t", "-m", "@nosuch"], 2, "--description: 'nosuch' cannot be read"),
    (["submit", "draft", "--policy", "nosuch"], 1, "--policy: there is no policy of this name"),
    (
        ["submit", "draft", "--policy", "two", "--reviewer", "joe"],
        2,
        "--reviewer: 'joe' is not accepted; allowed: user:",
    ),
    (["submit", "draft", "--policy", "two", "--reviewer", "team:x"], 2, "--reviewer: 'team:x' is not accepted"),
    (["submit", "draft", "--policy", "two", "--as", "max"], 1, "change: max has not written 'draft'"),
    (["submit", "draft", "--policy", "nine"], 1, "--reviewer: 9 must approve, and 0 could answer"),
    (["submit", "c1", "--policy", "two"], 1, "change: 'c1' is REVIEWING; adeq change show c1 says who is awaited"),
    (["cancel", "c1", "--as", "max"], 1, "change: max has not written 'c1'"),
    (["reopen", "c1"], 1, "change: 'c1' is REVIEWING"),
    (["begin", "c1"], 1, "change: 'c1' is REVIEWING"),
    (["heartbeat", "c1", "nothing"], 1, "token: it is not that of a run of 'c1'"),
    (["finish", "c1", "nothing", "--result", "success"], 1, "token: it is not that of a run of 'c1'"),
    (["finish", "c1", "t", "--result", "success", "--retry"], 2, "--retry: it goes with --result failure or timeout"),
    (["ls", "--reviewer", "bob"], 2, "--reviewer: 'bob' is not accepted; allowed: user:ID for a person"),
    (["ls", "--team", "a", "--tag", "b"], 2, "--team and --tag: give one of them"),
    (["policy", "show", "nosuch"], 1, "policies: domain '"),
    (["policy", "set", "p", "--required", "1", "--escalate", "1h"], 2, "change.set_policies"),
    (["policy", "set", "p", "--required", "1", "--on-timeout", "approve"], 2, "change.set_policies"),
    (["diff", "c1"], 2, "--since: name the revision that you have seen"),
    (["diff", "c1", "--since", "2"], 1, "--since: 'c1' has revision 1, and no revision 2 yet"),
    (["delegate", "c1", "--to", "eve", "--as", "bob"], 1, "change: 'c1': eve has another request of it"),
    (["delegate", "c1", "--to", "bob", "--as", "bob"], 1, "--to: this person has the request"),
    (["take-back", "c1", "--as", "bob"], 1, "change: 'c1': bob has not delegated"),
    (["policy", "set", "p", "--required", "1", "--task", "begun=x"], 2, "--task: 'begun=x' is not accepted"),
    (["policy", "set", "p", "--required", "1", "--task", "failed=x,any,y"], 2, "--task: 'failed=x,any,y' is not"),
    (["delegation", "show", "nosuch"], 1, "delegations: ann in domain '"),
    (["delegation", "set", "x", "--to", "ann"], 1, "this person delegates to ann"),
    (
        ["delegation", "set", "x", "--to", "eve", "--from", "2d", "--until", "1d"],
        2,
        "change.set_delegations.v1: until_ms",
    ),
    (["reassign", "c1", "add", "-m", "x"], 2, "--reviewer: it goes with add and move, and is needed"),
    (["reassign", "c1", "remove", "-m", "x"], 2, "--request: name the request"),
    (["reassign", "c1", "dismiss", "--request", "1", "-m", "x"], 1, "change: 'c1': nobody has answered this request"),
    (["override", "c1", "--rev", "1", "-m", "x"], 2, "This approves 'c1' without its reviewers."),
    (["override", "c1", "-m", "x", "--yes"], 2, "--rev: name the revision"),
]


@pytest.mark.parametrize(("words", "status", "text"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_accepted_is_told(words: list[str], status: int, text: str, domain: Domain) -> None:
    domain.reviewed()
    domain.draft("draft")
    domain.run("policy", "set", "nine", "--required", "9")
    before = domain.run("log", "c1")
    ended = adeq("change", *words, **domain.there)
    assert (ended.status, ended.stdout) == (status, ""), ended
    assert ended.stderr.startswith(f"adeq: {text}" if text else "Usage:") or not text, ended.stderr
    assert "Traceback" not in ended.stderr
    assert domain.run("log", "c1") == before


def test_what_is_decided_is_closed(domain: Domain) -> None:
    domain.approved()
    line = domain.refused("reject", "c1", "--rev", "1", "--as", "joe", "--group", "ops")
    assert line == "change: 'c1' is APPROVED: eve has decided its review, and the request is closed"


# show, log, diff, watch


def test_show(domain: Domain) -> None:
    domain.reviewed("c1", "--resource", "database:orders", "--parameters", "\x1b[31mred[/red]")
    domain.run("assess", "c1", "--rev", "1", "--score", "60", "--as", "bot", "--by", "v3")
    domain.run("approve", "c1", "--rev", "1", "--as", "bob", "-m", "looks good")
    said = domain.said("show", "c1", "--log", "4")
    assert "c1 is REVIEWING: revision 1, round 1\n" in said
    assert "DRAFT ── SUBMITTED ── [REVIEWING] ── APPROVED ── APPLYING ── COMPLETED\n" in said
    assert "\ufffd[31mred[/red]" in said
    rows = {words[0]: words[1:] for line in said.splitlines() if (words := line.split())}
    assert rows["risk"][:4] == ["HIGH", "60", "by", "v3,"]
    assert rows["votes"] == ["1", "of", "2", "approvals"]
    assert rows["awaited"] == ["user:eve", "group:ops"]
    assert (rows["due"][0], rows["due"][2:]) == ("in", ["then", "reject"])
    assert rows["resources"] == ["database:orders"]
    assert [word for word in rows["1"] if word != "ago"][:2] == ["user:bob", "APPROVED"]
    assert rows["2"] == ["user:eve", "PENDING"]
    assert "answered  by bob  slot=1 action=approve" in said
    assert "\n    looks good\n" in said.partition("\n(1 older entry: adeq change log c1")[2]


def test_show_has_the_tasks_that_follow(domain: Domain) -> None:
    changes, queue = domain.client.changes(domain.name), domain.client.queue(domain.name)
    changes.configure(follow_queue=domain.name)
    changes.policies.set("two", required=1, reviewers=["user:bob"], follow={"approved": "apply", "cancelled": "tell"})
    domain.reviewed()
    queue.enqueue("x", id=f"{domain.name}/c1/5", kind="noop")
    domain.run("approve", "c1", "--rev", "1", "--as", "bob")
    (other,) = [task for task in domain.run("show", "c1")["tasks"] if task["kind"] == "apply"]
    assert other["id"].startswith(f"{domain.name}/c1/5/")
    (lease,) = [one for one in queue.claim(worker="w", limit=2) if one.kind == "apply"]
    queue.fail(lease, "no such argument", reason="bad_input", retryable=False)
    (row,) = [line.split() for line in domain.said("show", "c1").splitlines() if line.startswith(other["id"])]
    assert row[1:] == ["apply", "DEAD", "bad_input"]
    changes.cancel("c1", actor="ann")
    assert [(one["kind"], one["state"], one["reason"]) for one in domain.run("show", "c1")["tasks"]] == [
        ("apply", "dead", "bad_input"),
        ("tell", "ready", None),
    ]


def test_show_warns_of_stored_data_that_was_changed(domain: Domain) -> None:
    domain.reviewed()
    assert domain.run("show", "c1")["intact"] is True
    client: Any = domain.client.client
    client.hset(f"{domain.client.changes(domain.name).base}:change:c1", "description", "Something else")
    ended = adeq("change", "show", "c1", **domain.there)
    assert (ended.status, ended.stderr.startswith("\nDo not approve it: ")) == (0, True)
    assert domain.run("show", "c1")["intact"] is False


def test_show_as_json(domain: Domain) -> None:
    domain.reviewed()
    found = domain.run("show", "c1", "--log", "2")
    assert (found["domain"], found["id"], found["state"], found["counts"]["pending"]) == (
        domain.name,
        "c1",
        "reviewing",
        3,
    )
    assert found["rules"]["required"] == 2
    assert found["rules"]["approval"] == 604800
    assert [one["event"] for one in found["log"]] == ["change.submitted", "change.reviewing"]
    assert (found["log"][0]["policy"], found["log_left_out"]) == ("two@1", 1)
    assert found["requests"][2]["reviewer"] == "group:ops"


@pytest.mark.parametrize(
    ("words", "drawn"),
    [
        (["put"], "[DRAFT] ── SUBMITTED ── REVIEWING ── APPROVED ── APPLYING ── COMPLETED"),
        (["reject"], "DRAFT ── SUBMITTED ── REVIEWING ── [REJECTED]"),
        (["approve"], "DRAFT ── SUBMITTED ── REVIEWING ── [APPROVED] ── APPLYING ── COMPLETED"),
        (["approve", "failure"], "DRAFT ── SUBMITTED ── REVIEWING ── APPROVED ── APPLYING ── [FAILED]"),
        (["approve", "success"], "DRAFT ── SUBMITTED ── REVIEWING ── APPROVED ── APPLYING ── [COMPLETED]"),
        (["approve", "cancel"], "DRAFT ── SUBMITTED ── REVIEWING ── APPROVED ── [CANCELLED]"),
    ],
    ids=range(6),
)
def test_the_state_is_drawn(words: list[str], drawn: str, domain: Domain) -> None:
    if words == ["put"]:
        domain.draft("c1")
    elif words == ["reject"]:
        domain.reviewed()
        domain.run("reject", "c1", "--rev", "1", "--as", "bob")
    else:
        domain.approved()
    if words[1:] == ["cancel"]:
        domain.run("cancel", "c1")
    elif words[1:]:
        token = domain.run("begin", "c1")["token"]
        domain.run("finish", "c1", token, "--result", words[1])
    assert drawn in domain.said("show", "c1").splitlines()


@pytest.mark.slow
def test_show_live(domain: Domain) -> None:
    domain.reviewed()
    with Terminal("change", "show", "c1", "--watch", "--interval", "100ms", **domain.there) as terminal:
        terminal.read_until("PENDING")
        domain.run("reject", "c1", "--rev", "1", "--as", "bob")
        terminal.read_until("[REJECTED]")
        assert terminal.wait() == 0
    ended = adeq("change", "show", "c1", "--watch", "-o", "jsonl", **domain.there)
    assert json.loads(ended.stdout)["state"] == "rejected"
    assert domain.run("show", "c1", "--watch")["state"] == "rejected"
    assert domain.said("show", "c1", "--watch").startswith(
        "c1 REJECTED revision 1 user:bob=REJECTED user:eve=CANCELLED"
    )


def test_log(domain: Domain) -> None:
    domain.reviewed()
    domain.run("comment", "c1", "-m", "why?", "--as", "max", "--proof", "sso:7")
    found = domain.run("log", "c1")
    assert [one["event"] for one in found] == [
        "change.created",
        "change.submitted",
        "change.reviewing",
        "change.commented",
    ]
    assert {"by": "max", "reason": "why?", "proof": "sso:7"}.items() <= found[-1].items()
    said = domain.said("log", "c1", "--limit", "1")
    assert said.split()[1:] == ["rev", "1", "commented", "by", "max", "why?"]


def test_who_has_sent_a_call_is_in_all_that_shows_the_log(domain: Domain) -> None:
    changes = domain.client.changes(domain.name)
    by: dict[str, Any] = {"type": "x", "actor": "ann", "caller": "slackbot"}
    changes.put("c1", description="one", **by)
    changes.put("c1", description="two", expect_rev=1, **by)
    for words in (["show", "c1"], ["log", "c1"], ["diff", "c1", "--since", "1"]):
        assert "ann (sent by slackbot)" in domain.said(*words), words
    assert domain.run("log", "c1")[-1]["caller"] == "slackbot"


def test_diff(domain: Domain) -> None:
    domain.draft("c1", "--resource", "a:1", "--resource", "b:1", "--parameters", '{"pool": 20, "name": "orders"}')
    assert domain.said("diff", "c1", "--since", "1") == "c1 has revision 1 still; nothing is different\n"
    domain.run("put", "c1", "--rev", "1", "-m", "Less", "--as", "ann")
    lists = ("--resource", "b:1", "--resource", "c:1")
    more = ("--parameters", '{"name": "orders", "pool": 40}', "--timeout", "90")
    domain.run("put", "c1", "--rev", "2", *lists, *more, "--as", "bo")
    found = domain.run("diff", "c1", "--since", "1")
    assert [(one["rev"], one["by"], one["changed"]) for one in found["steps"]] == [
        (2, "ann", "description"),
        (3, "bo", "parameters,resources,timeout"),
    ]
    assert found["before"]["resources"] == ["a:1", "b:1"]
    assert found["now"] == {
        "description": "Less",
        "parameters": '{"name": "orders", "pool": 40}',
        "resources": ["b:1", "c:1"],
        "timeout": 90.0,
    }
    assert found["diff"]["resources"] == ["-a:1", "+c:1"]
    assert found["diff"]["parameters"][1:] == [" {", '   "name": "orders",', '-  "pool": 20', '+  "pool": 40', " }"]
    assert set(domain.run("diff", "c1", "--since", "2")["now"]) == {"parameters", "resources", "timeout"}
    said = domain.said("diff", "c1", "--since", "1")
    assert "\n--- revision 1\n+++ revision 3\n" in said
    assert f"\ndescription\n-{TITLE}\n+Less\n" in said
    assert said.endswith("\ntimeout\n-0 s\n+90 s\n")


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ('{"a":1}', '{ "a": 1 }', ["(the same JSON, with other spaces or another order of names)"]),
        ('{"a":1}', '{"a":1,"a":2}', ["-{", '-  "a": 1', "-}", '+{"a":1,"a":2}']),
        ("[1.5]", "[1.50]", ["-[", "-  1.5", "-]", "+[1.50]"]),
        ("one\ntwo", "one\ntwo\n", [" one", " two", "+"]),
        ("one", "", ["-one"]),
    ],
    ids=["same JSON", "a name twice", "a number that is rounded", "a last line", "nothing"],
)
def test_diff_hides_nothing(domain: Domain, before: str, after: str, lines: list[str]) -> None:
    domain.draft("c1", "--parameters", before)
    domain.run("put", "c1", "--rev", "1", "--parameters", after, "--as", "ann")
    found = domain.run("diff", "c1", "--since", "1")["diff"]["parameters"]
    assert [one for one in found if not one.startswith("@@")] == lines


def test_diff_of_a_revision_that_is_not_kept(domain: Domain) -> None:
    domain.draft("c1")
    changes = domain.client.changes(domain.name)
    domain.run("put", "c1", "--rev", "1", "-m", "Less \u202e", "--as", "ann")
    domain.client.client.delete(f"{changes.base}:revisions:c1")
    ended = adeq("change", "diff", "c1", "--since", "1", **domain.there)
    assert "\ndescription\nLess \N{REPLACEMENT CHARACTER}\n" in ended.stdout  # it would turn the text round
    assert "The content of revision 1 is not kept any more" in ended.stderr
    found = domain.run("diff", "c1", "--since", "1")
    assert (found["before"], found["diff"], found["now"]) == (None, None, {"description": "Less \u202e"})


@pytest.mark.slow
def test_watch(domain: Domain) -> None:
    changes = domain.client.changes(domain.name)

    def begin() -> None:
        for id in ("c1", "c2"):
            changes.put(id, type="deploy", description="beginner", actor="beginner")
            changes.comment(ChangeRef(id, 1, "0" * 40), "beginner", actor="beginner")

    place = ["--url", domain.url, "--domain", domain.name]
    with (
        Watch(begin, "change", "watch", "c1", "-o", "jsonl", *place) as c1,
        Watch(begin, "change", "watch", *place) as all,
    ):
        domain.reviewed("c3")
        domain.run("submit", "c1", "--policy", "two", "--as", "beginner")
        changes.comment(ChangeRef("c3", 1, "0" * 40), "why?", actor="bob", caller="slackbot")
        domain.run("approve", "c1", "--rev", "1", "--as", "bob")
        found = [json.loads(line) for line in c1.until("change.answered")]
        assert [(one["event"], one["by"]) for one in found] == [("change.answered", "bob")]
        assert (found[0]["action"], found[0]["id"], found[0]["round"]) == ("approve", "c1", "1")
        said = [line.split("Z", 1)[1] for line in all.until("answered")]
        assert "  created     c3  revision 1 by ann" in said
        assert "  submitted   c3  revision 1 by ann policy=two@1" in said
        assert "  commented   c3  revision 1 by bob (sent by slackbot)" in said
        assert (c1.interrupt(), all.interrupt()) == (0, 0)
    assert answer("change", "watch", "--for", "100ms", **domain.there) == []
    domain.run("configure", "--events-max", "0")
    line = domain.refused("watch", status=2)
    assert line.endswith(f"adeq change configure --domain {domain.name} --events-max 100000")


# ls, stats, sweep, policies, settings


def test_ls(domain: Domain) -> None:
    domain.reviewed("c1", "--team", "pay", "--tag", "infra", "--resource", "database:orders")
    domain.draft("c2", "--as", "joe", "--tag", "infra")
    domain.approved("c3")
    ids = {
        "": ["c1", "c3", "c2"],
        "--state REVIEWING": ["c1"],
        "--author joe": ["c2"],
        "--reviewer user:bob": ["c3", "c1"],
        "--reviewer group:ops --state approved": ["c3"],
        "--resource database:orders": ["c1"],
        "--team pay": ["c1"],
        "--tag infra": ["c2", "c1"],
        "--tag nothing": [],
    }
    assert {words: [one["id"] for one in domain.run("ls", *words.split())] for words in ids} == ids
    rows = lines("change", "ls", "--author", "joe", **domain.there)
    assert rows[1][:3] == ["c2", "DRAFT", "1"]
    ended = adeq("change", "ls", "--limit", "2", **domain.there)
    assert (len(ended.stdout.splitlines()), ended.stderr.strip()) == (3, "There are more than 2: --limit N, or --all")
    assert adeq("change", "ls", "--state", "nosuch", **domain.there).status == 2


def test_stats(domain: Domain) -> None:
    domain.approved()
    domain.draft("c2")
    found = domain.run("stats")
    assert (found["states"]["approved"], found["states"]["draft"], found["due_now"]) == (1, 1, 0)
    assert ["APPROVED", "1"] in lines("change", "stats", **domain.there)
    found = domain.run("stats", "--user", "bob")
    assert (found["approved_today"], found["approved_31_days"], found["rejected_today"], found["answers"]) == (
        1,
        1,
        0,
        1,
    )
    assert ["pending", "0"] in lines("change", "stats", "--user", "bob", **domain.there)
    assert domain.run("stats", "--user", "nobody")["last"] is None


def test_policies(domain: Domain) -> None:
    words = ["--required", "1", "--reviewer", "user:bob", "--timeout", "2h", "--remind", "30m", "--escalate", "1h"]
    words += ["--escalate-to", "user:cto", "--needs", "risk", "--auto-below", "20", "--deny-tag", "db"]
    words += ["--task", "approved=apply,group/infra,2", "--task", "changes-requested=tell", "--delegation-depth", "1"]
    assert domain.said("policy", "set", "one", *words) == "stored one@2\n"
    assert domain.said("policy", "set", "one", *words) == "unchanged one@2\n"
    (found,) = [one for one in domain.run("policy", "ls") if one["name"] == "one"]
    assert (found["timeout"], found["escalate_to"], found["needs"], found["deny_tags"]) == (
        7200,
        ["user:cto"],
        "risk",
        ["db"],
    )
    apply = {"kind": "apply", "lane": "group/infra", "priority": 2}
    tell = {"kind": "tell", "lane": "any", "priority": 5}
    assert found["follow"] == {"approved": apply, "changes_requested": tell}
    assert domain.run("policy", "show", "one") == {"domain": domain.name, **found}
    tasks = "approved=apply,group/infra,2 changes_requested=tell,any,5"
    assert ["follow", *tasks.split()] in lines("change", "policy", "show", "one", **domain.there)
    assert ["remind", "30m00s"] in lines("change", "policy", "show", "one", **domain.there)
    assert ["one", "1", "1", "risk", "2h00m", "user:bob", "2"] in lines("change", "policy", "ls", **domain.there)
    assert domain.run("policy", "rm", "one")["policies"] == [{"policy": "one", "status": "removed"}]
    assert adeq("change", "policy", "rm", "one", **domain.there).status == 1
    nowhere = adeq("change", "policy", "ls", **{**domain.there, "ADEQ_PREFIX": "nowhere"})
    assert "see adeq change policy set, which makes one" in nowhere.stderr


def test_configure_and_sweep(domain: Domain) -> None:
    assert domain.run("configure", "--lease", "9s", "-d", domain.name)["settings"]["lease"] == 9
    assert domain.run("configure")["settings"]["lease"] == 9
    assert domain.run("sweep") == {"domain": domain.name, "taken": 0, "removed": 0}
    domain.reviewed()
    domain.run("cancel", "c1")
    domain.run("configure", "--keep", "0")
    time.sleep(0.01)
    assert domain.said("sweep") == "0 changes had something due; 1 ended change removed\n"


# Applying


def test_apply(domain: Domain) -> None:
    domain.approved()
    begun = domain.run("begin", "c1", "--as", "deployer", "--lease", "20s")
    assert (begun["fence"], begun["rev"], begun["content"]["type"]) == (1, 1, "deploy")
    token = begun["token"]
    assert domain.refused("begin", "c1") == "change: deployer applies 'c1' already; see adeq change show c1"
    assert ["lease", "in"] in [line.split()[:2] for line in domain.said("show", "c1").splitlines()]
    assert domain.run("heartbeat", "c1", token)["status"] == "renewed"
    domain.run("cancel", "c1")
    ended = adeq("change", "heartbeat", "c1", token, **domain.there)
    assert (ended.status, "stop, then adeq change finish with --result cancelled" in ended.stdout) == (1, True)
    output = "x" * 20000 + "end"
    said = domain.said("finish", "c1", token, "--result", "SUCCESS", "--text", output)
    assert said == "c1 is COMPLETED\n"
    found = domain.run("show", "c1")
    assert (len(found["output"]), found["output"][-4:], found["output_cut"], found["result"]) == (
        16384,
        "xend",
        True,
        "success",
    )
    assert ["result", "SUCCESS"] in [line.split() for line in domain.said("show", "c1").splitlines()]


def test_apply_with_locks(domain: Domain) -> None:
    domain = Domain(domain.client, domain.name, domain.url, domain.name)
    domain.run("policy", "set", "two", "--required", "1", "--reviewer", "user:bob")
    domain.run("configure", "--lock-domain", "locks")
    domain.reviewed("c1", "--resource", "database:orders")
    domain.run("approve", "c1", "--rev", "1", "--as", "bob")
    with Adeq.from_url(domain.url, slot=domain.name) as client:
        locks = client.locks("locks")
        line = domain.refused("begin", "c1")
        assert line.startswith(f"--lock-rid: it does not hold database:orders alone for {domain.name}/c1")
        grant = locks.take_many(["database:orders"], owner=f"{domain.name}/c1", agent="ann")
        token = domain.run("begin", "c1", "--lock-rid", grant.rid)["token"]
        assert domain.run("heartbeat", "c1", token)["status"] == "renewed"
        grant.release()
    assert domain.refused("heartbeat", "c1", token).startswith("token: the lock of database:orders is lost")


def test_a_failed_run_is_tried_again(domain: Domain) -> None:
    domain.approved()
    token = domain.run("begin", "c1")["token"]
    said = domain.said("finish", "c1", token, "--result", "failure", "--retry", "--error", "no disk")
    assert said == "c1 is APPROVED; 1 of its attempts failed\n"
    assert "\nfence      2\n" in domain.said("begin", "c1")


def test_tasks_that_follow(domain: Domain) -> None:
    domain.run("policy", "set", "two", "--required", "1", "--reviewer", "user:bob", "--task", "approved=apply")
    domain.run("configure", "--follow-queue", domain.name)
    domain.reviewed()
    domain.run("approve", "c1", "--rev", "1", "--as", "bob")
    assert domain.run("deliver") == {"domain": domain.name, "delivered": 0, "left": 0}
    assert domain.said("deliver") == "0 tasks enqueued, 0 left\n"
    (task,) = domain.client.queue(domain.name).list("ready").tasks
    assert (task.kind, task.id.startswith(f"{domain.name}/c1/")) == ("apply", True)


def test_a_vote_and_its_task_in_one_slot(domain: Domain) -> None:
    domain = Domain(domain.client, domain.name, domain.url, domain.name)
    domain.run("policy", "set", "two", "--required", "1", "--reviewer", "user:bob", "--task", "approved=apply")
    domain.run("configure", "--follow-queue", "jobs")
    domain.reviewed()
    domain.run("approve", "c1", "--rev", "1", "--as", "bob")
    with Adeq.from_url(domain.url, slot=domain.name) as client:
        assert [task.kind for task in client.queue("jobs").list("ready").tasks] == ["apply"]
    assert domain.run("deliver")["delivered"] == 0


# Delegation, reassignment, override


def test_delegate(domain: Domain) -> None:
    domain.reviewed()
    assert domain.said("delegate", "c1", "--to", "max", "--as", "bob") == "c1: user:max answers request 1 now\n"
    assert [row[0] for row in domain.inbox("max")] == ["change", "c1"]
    said = domain.said("show", "c1")
    assert ["1", "user:bob", "DELEGATED", "to", "user:max"] in [line.split() for line in said.splitlines()]
    assert domain.run("take-back", "c1", "--as", "bob")["reviewer"] == "user:bob"
    assert "DELEGATED" not in domain.said("show", "c1")


def test_delegations(domain: Domain) -> None:
    domain.reviewed()
    words = ["--to", "max", "--from", "2026-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z", "--type", "deploy"]
    said = domain.said("delegation", "set", "leave", *words, "--cascade", "--as", "bob")
    assert said == "stored leave: max answers for bob\n"
    assert domain.said("delegation", "set", "leave", *words, "--cascade", "--user", "bob").startswith("unchanged leave")
    assert [row[0] for row in domain.inbox("max")] == ["change", "c1"]
    (found,) = domain.run("delegation", "ls", "--user", "bob")
    assert (found["name"], found["to"], found["types"], found["cascade"]) == ("leave", "max", ["deploy"], True)
    assert domain.run("delegation", "show", "leave", "--as", "bob") == {"domain": domain.name, **found}
    ended = adeq("change", "delegation", "ls", "--as", "bob", **domain.there)
    row = ["leave", "max", "2026-01-01T00:00:00.000Z", "2100-01-01T00:00:00.000Z", "deploy"]
    assert ended.stdout.splitlines()[1].split()[:5] == row
    assert ended.stderr.strip() == "Others answer 1 open requests of bob"
    shown = lines("change", "delegation", "show", "leave", "--user", "bob", **domain.there)
    assert ["until", "2100-01-01T00:00:00.000Z"] in shown
    assert domain.run("delegation", "rm", "leave", "--as", "bob")["delegations"] == [
        {"delegation": "leave", "status": "removed"}
    ]
    assert len(domain.inbox("max")) == 1
    before = time.time()
    domain.run("delegation", "set", "leave", "--to", "max", "--until", "14d", "--as", "bob")
    (found,) = domain.run("delegation", "ls", "--user", "bob")
    assert before - 1 <= found["until"] - 14 * 86400 <= time.time() + 1
    domain.run("delegation", "rm", "leave", "--as", "bob")
    assert adeq("change", "delegation", "rm", "leave", "--as", "bob", **domain.there).status == 1


def test_a_person_has_up_to_16_delegations(domain: Domain) -> None:
    for number in range(16):
        assert domain.run("delegation", "set", f"d{number}", "--to", f"u{number}")["status"] == "stored"
    assert domain.refused("delegation", "set", "d16", "--to", "u16").startswith("ann has 16 delegations")
    assert len(domain.run("delegation", "ls")) == 16


def test_reassign(domain: Domain) -> None:
    domain.reviewed()
    domain.run("approve", "c1", "--rev", "1", "--as", "bob")
    said = domain.said("reassign", "c1", "dismiss", "--request", "1", "-m", "too quick")
    assert said == "c1: request 1 is open again; the change is REVIEWING\n"
    assert "request 4 is added" in domain.said("reassign", "c1", "add", "--reviewer", "user:max", "-m", "expert")
    assert "request 2 is that of user:zoe now" in domain.said(
        "reassign", "c1", "move", "--request", "2", "--reviewer", "user:zoe", "-m", "away"
    )
    assert domain.run("reassign", "c1", "remove", "--request", "3", "-m", "away")["slot"] == 3
    domain.run("reassign", "c1", "remove", "--request", "2", "-m", "away")
    line = domain.refused("reassign", "c1", "remove", "--request", "1", "-m", "away")
    assert line == "--reviewer: 2 must approve, and 1 could answer, and contributors do not count; name more"


def test_override(domain: Domain) -> None:
    domain.reviewed()
    said = domain.said("override", "c1", "--rev", "1", "-m", "the site is down", "--as", "cto", "--yes")
    assert said == "c1 revision 1 is APPROVED by override of cto\n"
    assert "overridden  by cto, revision 1" in domain.said("show", "c1")
    domain.reviewed("c2")
    line = domain.refused("override", "c2", "--rev", "1", "-m", "x", "--as", "ann", "--yes")
    assert line == "change: 'c2': ann has written it, and another person must do this"


# Completion


def test_completion(domain: Domain) -> None:
    domain.reviewed("c1")
    for words, names in (
        ("adeq change show ", ["c1"]),
        ("adeq change submit c1 --policy ", ["two"]),
        (f"adeq inbox --domain {domain.name[:-1]}", [domain.name]),
    ):
        wait_until(lambda: set(complete(words, **domain.there)) >= {*names})  # noqa: B023 - it is called at once
