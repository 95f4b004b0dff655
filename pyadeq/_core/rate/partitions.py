"""The partitions of a rate namespace: their tags, and which of them has a subject."""

from __future__ import annotations

from binascii import crc_hqx
from collections.abc import Set
from typing import Final

from pyadeq._core.kernel.options import unfit

MOST: Final = 1024


def partition_tags(partitions: int) -> list[str]:
    """The tags, such as `3-of-16`. The number is part of them, so clients that differ in it do not share counts."""
    if not isinstance(partitions, int) or isinstance(partitions, bool) or not 1 <= partitions <= MOST:
        raise unfit("partitions", partitions, f"an integer from 1 to {MOST}")
    return [f"{number}-of-{partitions}" for number in range(partitions)]


def partition_of(subjects: Set[str], partitions: int) -> int:
    """The number of the partition that has the subject: its CRC-16/XMODEM modulo the number of partitions."""
    if len(subjects) > 1:
        raise unfit("hits", sorted(map(str, subjects)), "one subject in a call, because the namespace has partitions")
    (subject,) = subjects or {""}
    return crc_hqx(subject.encode(errors="surrogatepass") if isinstance(subject, str) else b"", 0) % partitions
