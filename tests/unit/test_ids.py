"""Ids that clients make."""

import time

from pyadeq.ids import new_ulid

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def test_a_ulid_begins_with_its_time_and_ends_at_random() -> None:
    before = time.time_ns() // 1_000_000
    ids = [new_ulid() for _ in range(2000)]
    after = time.time_ns() // 1_000_000
    numbers = [sum(CROCKFORD.index(letter) << 5 * place for place, letter in enumerate(id[::-1])) for id in ids]
    assert all(before <= number >> 80 <= after for number in numbers)
    assert {len(id) for id in ids} == {26}
    ends = [number & (1 << 80) - 1 for number in numbers]
    assert len(set(ends)) == len(ends)
    for bit in range(80):  # each is random; that all 2,000 are equal has a chance of 2 to the power of -1999
        assert {end >> bit & 1 for end in ends} == {0, 1}
