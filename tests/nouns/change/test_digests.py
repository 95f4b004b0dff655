"""The digest of a change: SHA-1 over netstrings of its content, computed here without the scripts."""

from __future__ import annotations

from hashlib import sha1
from typing import Any

import pytest

from tests.nouns.change.states import CONTENT, DAY, watched
from tests.nouns.script_bench import MakeAny

ORDER = [
    "change_type",
    "version",
    "description",
    "parameters",
    "resources",
    "rollback_strategy",
    "timeout_ms",
    "priority",
]
USUAL: dict[str, Any] = {
    "change_type": "deploy",
    "version": b"",
    "description": b"d",
    "parameters": b"",
    "resources": [],
    "rollback_strategy": "none",
    "timeout_ms": 0,
    "priority": 50,
}
CONTENTS: dict[str, tuple[dict[str, Any], str]] = {
    "the least": ({}, "edeb105e0d6bfcfa66ceb88d50705acbec239600"),
    "a version": ({"version": b"1.2.3"}, "9e90ed9565d6cba84a17ad033a68e7d50736af24"),
    "a description like netstrings": (
        {"description": b"3:abc,,:"},
        "68a3425f011877b3bb8b2402e6ad3b227fb04a5b",
    ),
    "a description in UTF-8": ({"description": "Größe ✓".encode()}, "cc32558d0db185fe4a18fe1282676c5bc37b1919"),
    "parameters of any bytes": ({"parameters": bytes(range(256))}, "0a395d66f8dc2659615b7e9cdf7cbfae907df5a0"),
    "the largest parameters": ({"parameters": b"x" * 65_536}, "f62ae56c35c844bf72e572d9df7aa5799caa28d4"),
    "resources": ({"resources": ["b:2", "a:10", "a:1", "B:1"]}, "46e77b60d56ab62ecd234229117c4f6d93f97ee9"),
    "a strategy": ({"rollback_strategy": "automatic"}, "98caebdbf93e712f0c4be1063db1094d14fc8142"),
    "times and priorities": ({"timeout_ms": 2_592_000_000, "priority": 0}, "822631ed99bc968279066c7041d8eb0517d71ff3"),
    "all": (
        {
            "change_type": "drop",
            "version": b"2",
            "description": b"Drop a table",
            "parameters": b'{"table":"orders"}',
            "resources": ["table:orders", "database:main"],
            "rollback_strategy": "manual",
            "timeout_ms": 60_000,
            "priority": 90,
        },
        "5693750cc293b9f86c8c8434594f01aacaad0960",
    ),
}


def digest_of(content: dict[str, Any]) -> str:
    words: list[bytes] = []
    for name in ORDER:
        match value := content[name]:
            case list():
                words += sorted(one.encode() for one in value)
            case bytes():
                words.append(value)
            case _:
                words.append(str(value).encode())
    return sha1(b"".join(b"%d:%s," % (len(word), word) for word in words)).hexdigest()


@pytest.mark.parametrize("name", CONTENTS)
def test_a_digest_is_that_of_the_content(make_any: MakeAny, name: str) -> None:
    own, digest = CONTENTS[name]
    content = USUAL | own
    assert digest_of(content) == digest
    for run in watched(make_any("change")), watched(make_any("change")):
        assert run.put("put", id="c", actor="ann", **content).digest == digest
        kept = [run.put("get_revision", id="c", rev=1).content]
        run.put("put", id="c", expect_rev=1, actor="ann", **{**content, "version": b"another"})
        kept.append(run.put("get_revision", id="c", rev=1).content)
        assert [sha1(one).hexdigest() for one in kept] == [digest, digest]
        assert run.run(run.call("put", id="d", actor="bob", team="t", **content)).digest == digest


def test_the_ten_revisions_before_the_current_one_are_kept(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    digests = [bench.put("put", id="c", actor="ann", **CONTENT).digest]
    for rev in range(1, 13):
        told = bench.put("put", id="c", expect_rev=rev, actor="ann", **CONTENT, version=str(rev))
        digests.append(told.digest)
        assert bench.ask("PTTL", ":revisions:c") > 29 * DAY
        bench.ask("PEXPIRE", ":revisions:c", 1000 * DAY)
    for rev in (1, 2, 14):
        assert (bench.put("get_revision", id="c", rev=rev).status, rev) == ("not_kept", rev)
    for rev in range(3, 14):
        assert sha1(bench.put("get_revision", id="c", rev=rev).content).hexdigest() == digests[rev - 1]
    assert bench.ask("PTTL", ":revisions:c") > 999 * DAY  # reading does not change it

    bench.put("move", id="c", actor="ann", to="cancel")
    bench.put("configure", settings={"keep_max": 0})
    assert bench.put("sweep").removed == 1
    assert bench.ask("EXISTS", ":revisions:c") == 0


def test_what_is_written_in_two_ways_has_one_digest(make_any: MakeAny) -> None:
    """Metadata is no content, and resources have no order. A part of one text is not the start of the next."""
    bench = watched(make_any("change"))

    def digest(id: str, **fields: Any) -> str:
        found: str = bench.put("put", id=id, actor="ann", change_type="deploy", **fields).digest
        return found

    assert digest("a", description="d", resources=["a:1", "a:2"]) == digest(
        "b", description="d", resources=["a:2", "a:1"], tags=["t"], author_name="Ann", ticket_ref="T-1"
    )
    assert digest("c", description="d", version="1", parameters="2") != digest("d", description="d", version="12")
