"""What is derived from the id of a session, as lua/README.md shows it to other languages."""

from __future__ import annotations

from pathlib import Path

from pyadeq._core.session.ids import handle_of, hash_of, tag_of, tag_of_id
from pyadeq.keys import base_of, part_base

LINES = Path(__file__).parents[1] / "embedding/session_ids.tsv"
README = (Path(__file__).parents[2] / "lua/README.md").read_text(encoding="utf-8")
ID = "c7." + "A" * 43


def test_the_example_of_the_contract() -> None:
    hash = hash_of("web", ID)
    assert (tag_of("web", "ann"), hash) == ("c7", "12b7f5a2389879eb3588eaf3e0b541e027dd2a300e96e1eb4d73ced422d7bf03")
    for text in (ID, hash, handle_of(hash)):
        assert f"`{text}`" in README


def test_the_lines_that_other_languages_are_tested_with() -> None:
    lines = LINES.read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) > 10
    for line in lines:
        realm, user, id, prefix, slot, tag, hash, tag_of_the_id, base = line.split("\t")
        assert (tag_of(realm, user), hash_of(realm, id), tag_of_id(id, hash)) == (tag, hash, tag_of_the_id)
        assert part_base(base_of("session", realm, prefix, slot or None), tag) == base


def test_a_text_that_is_no_id_is_looked_for_by_its_hash() -> None:
    assert tag_of_id(ID, "12") == "c7"
    for text in ("", "x", ID + "A", ID[:-1], ID.upper().replace("A", "a"), ID.replace(".", "-"), f"{ID}\n"):
        assert tag_of_id(text, "12ab") == "12"


def test_realm_and_id_do_not_run_into_each_other() -> None:
    assert hash_of("we", "b" + ID) != hash_of("web", ID)
