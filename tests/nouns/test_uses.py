"""A script of two nouns, on a real server: it enqueues tasks and gives back the lock under which they were prepared.

It is built for the test, from the sources that there are: our own scripts of two nouns do less with the other one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest
import redis

from pyadeq import access
from pyadeq._core.kernel.call import Answer, Call, Reply, build_call, parse_reply
from pyadeq._core.kernel.manifest import Library
from pyadeq.errors import ConfigError
from pyadeq.ext.bindings import generate, languages, model
from tests.nouns import sources
from tests.nouns.lock.workbench import LockBench
from tests.nouns.queue.workbench import Dump, Workbench
from tests.nouns.test_access import is_old
from tests.nouns.watched import Refused, WatchedClient
from tests.unit.lua_tree import LUA, bundle, lint

ID = "queue.hand_over.v1"
SCRIPT = """\
-- queue.hand_over.v1: put tasks into a queue and give back the lock under which they were prepared, in one step.
-- `not_found`: the lock is not held, and there are no new tasks.
--
-- USES   lock
-- ARGV   rid       id
-- ARGV   held      id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   id        id
-- ITEM   payload   bytes 0..1048576
-- PAIR   priority  int 0..9      ?=5
-- GROUP  item      1..1
-- RETURN created   now_ms:int
-- RETURN exists    now_ms:int
-- RETURN not_found now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.enqueued task.limited lock.released lock.promoted lock.expired lock.cancelled
-- ROLE   produce
-- REPLAY rid
-- COST   30 commands; at most 1,000 commands, 100,000 steps
-- LATE   lock.mirror_hint

local ctx, refused = open()
if refused then return refused end
local domain
domain, refused = lock.open_domain({ held })
if refused then return refused end
local id, stamp = item_id[1], rid .. '/1'
ctx.some_known = redis.call('EXISTS', task .. id) > 0
local known = ctx.some_known and known_as(id, stamp)
if known then return { known, ctx.now } end
lock.catch_up(domain, { held })
local request = lock.live_request(domain, held)
local is_held = request and request.order == '-'
if is_held then
  if not ctx.exists then create_base() end
  add_tasks(ctx, item_id, item_payload, item_pairs, { stamp })
  write_counts(ctx)
  lock.leave(domain, held)
  lock.promote_freed(domain)
end
lock.close_domain(domain)
return { is_held and 'created' or 'not_found', ctx.now }
"""
SLOT = "ade:{slot-%s}:%s:%s"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Library:
    root = tmp_path_factory.mktemp("uses") / "lua"
    copytree(LUA, root, ignore=ignore_patterns("conformance", "dist", "manifest.json", "tools", "__pycache__"))
    (root / "queue/hand_over.v1.lua").write_text(SCRIPT)
    call = (root / "queue/call.toml").read_text()
    (root / "queue/call.toml").write_text(call.replace('by = ["enqueue",', 'by = ["hand_over", "enqueue",'))
    assert lint.lint(root) + lint.unused_keys(root) == []
    bundle.write(root, bundle.build(root))
    return Library(root)


class Two:
    """A queue and a lock domain of one slot, and the call of the script that knows both."""

    def __init__(self, scripts: Library, client: redis.Redis, watched: WatchedClient, name: str, clock: str) -> None:
        bases = (SLOT % (name, noun, name) for noun in ("queue", "lock"))
        self.scripts, self.watched = scripts, WatchedClient(client, scripts)
        self.queue = Workbench(client, watched, next(bases), clock)
        self.locks = LockBench(client, watched, next(bases), clock)

    def call(self, held: str, rid: str = "r", task: str = "t") -> Call[Answer]:
        def decode(reply: Reply) -> Answer:
            return parse_reply(self.scripts[ID], reply)

        scalars = {"rid": rid, "held": held, "now_ms": self.queue.now or None}
        return build_call(
            ID,
            self.queue.base,
            scalars,
            {"item": [(task, b"x", {"priority": 7})]},
            bases={"lock": self.locks.base},
            decode=decode,
            scripts=self.scripts,
        )

    def run(self, held: str, **which: str) -> str:
        """Under watch, and then once more on the server itself: the same answer, and nothing changes."""
        call = self.call(held, **which)
        answer = call.decode(self.watched.call(call))
        then = self.dumps()
        again: Any = self.queue.real(call)
        assert (again.status, self.dumps()) == (answer.status, then)
        return answer.status

    def dumps(self) -> tuple[Dump, Dump]:
        return self.queue.dump(), self.locks.dump()


@pytest.fixture
def two(scripts: Library, client: redis.Redis, watched: WatchedClient, base_name: str) -> Iterator[Two]:
    made = Two(scripts, client, watched, base_name, "test")
    yield made
    made.queue.check()
    made.locks.check()
    made.queue.remove()
    made.locks.remove()
    made.watched.server.close()


def test_both_nouns_change_in_one_call_and_once(two: Two) -> None:
    held = two.locks.hold("file", "ann")
    waiter = two.locks.wait("file", "bob")
    assert two.run(held) == "created"
    assert [lease.id for lease in two.queue.claim(1)] == ["t"]
    assert two.locks.real(two.locks.calls.poll([waiter]))[0].status == "granted"
    assert [entry["event"] for entry in two.queue.events()][:1] == [b"task.enqueued"]
    assert [entry["event"] for entry in two.locks.events("lock.released")] == [b"lock.released"]
    assert two.queue.real(two.call(held)).status == "created"  # as the task is running, and the lock somebody else's
    assert two.run(held, rid="another") == "exists"
    assert two.run(held, rid="another", task="other") == "not_found"


def test_nothing_is_enqueued_without_the_lock(two: Two) -> None:
    assert two.run("never") == "not_found"
    held = two.locks.hold("file", "ann")
    waiter = two.locks.wait("file", "bob")
    assert two.run(waiter) == "not_found"
    two.locks.real(two.locks.calls.release([held]))
    assert two.run(held) == "not_found"
    assert not two.queue.ask("EXISTS", ":task:t")


@pytest.mark.parametrize("noun", ["queue", "lock"])
@pytest.mark.parametrize(
    ("fields", "code"), [({"layout_min": 999}, "ADEQ_LAYOUT"), ({"clock": "server"}, "ADEQ_CLOCK")]
)
def test_each_noun_refuses_before_anything_is_written(two: Two, noun: str, fields: dict[str, Any], code: str) -> None:
    held = two.locks.hold("file", "ann")
    bench = two.queue if noun == "queue" else two.locks
    usual = bench.ask("HMGET", ":config", *fields)
    bench.ask("HSET", ":config", *(word for pair in fields.items() for word in pair))
    before = two.dumps()
    with pytest.raises(Refused, match=f"^{code} {'(this|now_ms)' if noun == 'queue' else 'lock: (this|now_ms)'} "):
        two.watched.call(two.call(held))
    assert two.dumps() == before
    bench.ask("HSET", ":config", *(word for pair in zip(fields, usual, strict=True) for word in pair))
    assert two.run(held) == "created"


def test_on_the_server_s_clock_it_makes_both_bases(
    scripts: Library, client: redis.Redis, watched: WatchedClient, base_name: str
) -> None:
    two = Two(scripts, client, watched, base_name, "server")
    try:
        assert two.run(two.locks.hold("file", "ann")) == "created"
        for bench, layout in ((two.queue, b"2"), (two.locks, b"1")):
            made = {b"layout": layout, b"layout_min": layout, b"clock": b"server"}
            assert made.items() <= {name.encode(): value for name, value in bench.dump()[":config"][1].items()}.items()
    finally:
        two.queue.remove()
        two.locks.remove()


def test_bases_of_different_slots_are_refused_before_anything_is_sent(two: Two) -> None:
    two.locks.base, usual = "ade:{elsewhere}:lock:x", two.locks.base
    try:
        with pytest.raises(ConfigError, match=r"different hash slots; put both nouns in one slot: Adeq\(slot=…\)"):
            two.call("held")
    finally:
        two.locks.base = usual


def test_who_may_make_the_call_may_write_to_both_nouns(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    held, server = two.locks.hold("file", "ann"), two.queue.server
    call, old = two.call(held), is_old(server)
    monkeypatch.setattr(access, "library", lambda: two.scripts)
    server("SCRIPT", "LOAD", call.script.text)
    place = two.queue.base.partition("{")[2].partition("}")[0]
    for role in access.ROLES:
        server("ACL", "SETUSER", "modest", "reset", "on", "nopass", *access.acl_rules(role, slot=place, old=old))
        server("AUTH", "modest", "")
        try:
            if role in ("producer", "operator"):
                assert two.queue.real(call).status == "created"
            else:
                with pytest.raises(redis.exceptions.NoPermissionError):
                    two.queue.real(call)
        finally:
            server("AUTH", "default", "")
            server("ACL", "DELUSER", "modest")


WRITTEN = {
    "typescript": ("queue.js", "handOver(bases, args, options) {", '"{lock}:config"'),
    "rust": ("src/queue.rs", "pub struct HandOverArgs", '"{lock}:config"'),
    "go": ("queue/scripts.go", "scriptHandOver", " {lock}:config"),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", languages())
def test_a_client_in_another_language_takes_both_bases(
    scripts: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str
) -> None:
    monkeypatch.setattr(model, "library", lambda: scripts)
    generate(language, tmp_path)
    path, *parts = WRITTEN[language]
    text = (tmp_path / path).read_text()
    assert all(part in text for part in parts)
    every = "".join(one.read_text() for one in tmp_path.rglob("*.*") if one.suffix in (".ts", ".rs", ".go"))
    rust = "lock: Option<&crate::lock::Keys>,"
    takes = {"typescript": "bases: HandOverBases,", "rust": rust, "go": "lockBase string, "}
    assert takes[language] in every
    assert "lock_requests" not in every  # it is no key of the queue


def test_the_page_of_the_script_says_what_it_uses(scripts: Library) -> None:
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import scripts\n"
        "manifest = json.load(open(sys.argv[2])); scripts.load_manifest = lambda: manifest\n"
        "(script,) = (one for one in manifest['scripts'] if one['id'] == 'queue.hand_over.v1')\n"
        "print(scripts.script_page(script, manifest), scripts.event_names('lock'), scripts.event_names('queue'))"
    )
    paths = (str(LUA.parent / "docs/_gen"), str(scripts.root / "manifest.json"))
    page = subprocess.run([sys.executable, "-c", program, *paths], check=True, capture_output=True, text=True).stdout
    for row in (
        "| uses | `lock`: replace `{<noun>}` by a base in the same hash slot |",
        "| layouts | `queue` 2, `lock` 1 |",
        "| `lock_requests` | hash | `{lock}:requests` |",
    ):
        assert row in page
    assert "[hand_over](scripts/queue.hand_over.v1.md)" in page.partition("| `lock.released` |")[2].partition("\n")[0]


def test_a_change_of_a_source_is_made_in_the_script_that_uses_it(
    scripts: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, text = bundle.load(scripts.root), scripts[ID].text
    monkeypatch.setattr(sources, "sources", lambda: tree)
    monkeypatch.setattr(sources, "LUA", scripts.root)
    path = "lock/include/core/live_request.lua"
    own = (scripts.root / path).read_text()
    assert sources.rebuilt({path: own})[ID] == text
    changed = sources.rebuilt({path: own.replace("read_request(text)", "read_request(text .. 'changed')")})[ID]
    assert "lock__read_request(text .. 'changed')" in changed
    lines = sources.origins("queue.hand_over.v1", text)
    places = {sources.as_written(text.splitlines()[at - 1].strip()): place for at, place in lines.items()}
    assert places["local text = lock__record_of(ctx, rid)"] == (path, 3)
    assert places["lock__leave(domain, held)"] == (
        "queue/hand_over.v1.lua",
        SCRIPT[: SCRIPT.index("  lock.leave")].count("\n") + 1,
    )


def test_the_tree_is_ours_but_for_the_script(scripts: Library, tmp_path: Path) -> None:
    ours = Library(LUA)
    assert {one: scripts[one].sha1 for one in scripts if one != ID} == {one: ours[one].sha1 for one in ours}
