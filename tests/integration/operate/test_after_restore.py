"""After a restore of old data: what was revoked is valid again and fences come twice, until `adeq after-restore`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.cli.token import end_token
from pyadeq.ext.server.tokens import NAMESPACE, new_token, read_token
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer, error
from tests.small_server import server, url

__all__ = ["server", "url"]  # fixtures: the command looks at all keys of a server

pytestmark = pytest.mark.any_engine


@pytest.fixture
def place(url: str, base_name: str) -> dict[str, Any]:
    return {"ADEQ_URL": url, "ADEQ_PREFIX": base_name}


def add_token(adeq: Adeq) -> str:
    id, _, token = new_token("ann", ["observer"], names=["*"], user=None, rate=None, lifetime=60)
    adeq.config(NAMESPACE).set(id, token.encoded(), actor="ann")
    return id


def is_revoked(adeq: Adeq, id: str) -> bool:
    stored = adeq.config(NAMESPACE).get(id)
    token = stored and read_token(stored.value)
    assert token
    return token.revoked is not None


def test_all_sessions_and_tokens_end_and_fences_rise(place: dict[str, Any]) -> None:
    with Adeq.from_url(place["ADEQ_URL"], prefix=place["ADEQ_PREFIX"]) as adeq:
        queue, wide = adeq.queue("q"), adeq.partitioned("wide")
        queue.limits.set("all", concurrency=2)
        queue.enqueue_many(["a", "b"])
        (first,) = queue.claim("w", 1)
        wide.repartition(2)
        wide.enqueue_many(range(10))
        low = {lease.fence for lease in wide.claim("w", 4)}
        adeq.changes("d").configure()
        realms = [adeq.sessions("shop"), adeq.sessions("office")]
        logins = [(realm, realm.create(user)) for realm in realms for user in ("ann", "bob", "ann")]
        tokens = [add_token(adeq), add_token(adeq)]
        end_token(adeq, tokens[1], "ann")

        planned = answer("after-restore", "--dry-run", **place)
        assert planned == {"fences": 5, "sessions": 6, "tokens": 1, "dry_run": True}
        assert all(realm.get(session.id) for realm, session in logins)
        assert not is_revoked(adeq, tokens[0])
        done = answer("after-restore", "--yes", "--as", "ann", **place)
        assert done == {**planned, "dry_run": False}

        assert not any(realm.get(session.id) for realm, session in logins)
        assert is_revoked(adeq, tokens[0])
        later = realms[0].create("ann")
        assert realms[0].get(later.id)
        (second,) = queue.claim("w", 1)
        assert len(str(second.fence)) == 14
        assert second.fence > first.fence
        assert queue.ack(first) == queue.ack(second) == "completed"
        assert min(lease.fence for lease in wide.claim("w", 6)) > max(low)
        runs = queue.inspect.runs(second.id)
        assert [run.fence for run in runs] == [second.fence]

        again = command("after-restore", "--yes", **place)
        assert again.stdout == "5 fences raised, 1 session and 0 tokens ended\n"
        before = second.fence
        queue.enqueue("c")
        (third,) = queue.claim("w", 1)
        assert third.fence > before


def test_it_asks_first(place: dict[str, Any]) -> None:
    assert "add --yes" in error(2, "after-restore", **place)
    assert answer("after-restore", "--yes", **place) == {"fences": 0, "sessions": 0, "tokens": 0, "dry_run": False}


@pytest.mark.slow
def test_a_copy_of_the_append_only_file_brings_old_logins_and_fences_back(binary: Path, tmp_path: Path) -> None:
    """The steps are those of docs/operations/backup.md."""
    with (
        EmbeddedServer(tmp_path / "live", binary=binary, appendfsync="always") as live,
        Adeq.from_url(live.url) as adeq,
    ):
        queue, realm = adeq.queue("q"), adeq.sessions("shop")
        queue.enqueue_many(["a", "b", "c"])
        session, token = realm.create("ann"), add_token(adeq)
        adeq.client.config_set("auto-aof-rewrite-percentage", 0)
        shutil.copytree(tmp_path / "live", tmp_path / "backup", ignore=shutil.ignore_patterns("*.sock"))
        realm.revoke_all("ann")
        end_token(adeq, token, "ann")
        lost = queue.claim("w", 2)
        queue.ack(lost[0])
    with EmbeddedServer(tmp_path / "backup", binary=binary) as old, Adeq.from_url(old.url) as adeq:
        queue, realm = adeq.queue("q"), adeq.sessions("shop")
        assert realm.get(session.id)
        assert not is_revoked(adeq, token)
        (again,) = queue.claim("w", 1)
        assert (again.id, again.fence) == (lost[0].id, lost[0].fence)  # a system that keeps fences refuses it
        assert answer("after-restore", "--yes", "--url", old.url)["sessions"] == 1
        assert realm.get(session.id) is None
        assert is_revoked(adeq, token)
        (safe,) = queue.claim("w", 1)
        assert safe.fence > max(lease.fence for lease in lost)
