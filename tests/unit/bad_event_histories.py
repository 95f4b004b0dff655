"""A history of groups that read events in which all is well, and what would be wrong with it; see bad_histories.py."""

from __future__ import annotations

from tests.unit.bad_histories import Bad

EVENTS = """
reader 95.0 r1 read quick -> 1-0 2-0 3-0
reader 95.2 r1 ack quick 1-0 2-0 3-0 -> 3
reader 95.4 r1 ack quick 1-0 2-0 3-0 -> 0
reader 95.6 r2 read quick
reader 95.7 r2 read slow -> 4-0 gap=1/3
reader 95.8 r2 ack slow 4-0 gap=1 -> 1
reader 96.0 r2 groups -> 90
reading added=5
reading quick lost=0 left=0 count=2 4-0 5-0
reading slow lost=3 left=0 count=1 5-0
"""
BAD = [
    Bad("an event was neither delivered nor counted", {"events_delivered"}, (("count=2 4-0 5-0", "count=1 4-0"),)),
    Bad("an event is acknowledged twice", {"events_delivered"}, (("3-0 -> 0", "3-0 -> 1"),)),
    Bad("a lost event is not counted", {"events_delivered"}, (("slow lost=3", "slow lost=2"),)),
    Bad("an event is acknowledged and counted as lost", {"events_delivered"}, (("slow lost=3", "slow lost=4"),)),
    Bad(
        "a gap is reported after it was acknowledged",
        {"gaps_reported_once"},
        more="reader 96.2 r1 read slow -> gap=1/3",
    ),
    Bad("two gaps are reported at once", {"gaps_reported_once"}, (("gap=1/3\n", "gap=1/2 gap=2/1\n"),)),
    Bad("the bound of memory does not hold", {"events_bounded"}, (("groups -> 90", "groups -> 301"),)),
]
