"""Which partition a subject of rates has, as lua/README.md shows it to other languages."""

from __future__ import annotations

from pathlib import Path

from pyadeq._core.rate.partitions import partition_of, partition_tags
from pyadeq.keys import base_of, part_base

LINES = Path(__file__).parents[1] / "embedding/rate_tags.tsv"
README = (Path(__file__).parents[2] / "lua/README.md").read_text(encoding="utf-8")


def test_the_lines_that_other_languages_are_tested_with() -> None:
    lines = LINES.read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) > 10
    for line in lines:
        subject, partitions, namespace, prefix, slot, tag, base = line.split("\t")
        assert partition_tags(int(partitions))[partition_of({subject}, int(partitions))] == tag
        assert part_base(base_of("rate", namespace, prefix, slot or None), tag) == base


def test_the_example_of_the_contract() -> None:
    assert partition_of({"user:7"}, 16) == 12
    assert "the subject `user:7` of 16 partitions has the tag `12-of-16`" in README
