"""A history of rates in which all is well, and what would be wrong with it; see bad_histories.py."""

from __future__ import annotations

from tests.unit.bad_histories import Bad

RATES = """
rate 80.8 c1 hit log/red/1 -> !BadArgument
rate 81.0 c1 set_rules name=log limit=2 period_ms=1000 algorithm=log rid=s1 -> stored now=81.0 @aof
rate 81.1 c1 set_rules name=flow limit=10 period_ms=1000 burst=2 rid=s2 -> stored now=81.1
rate 81.8 c1 set_rules name=slots limit=2 lease_ms=2000 algorithm=concurrency rid=s3 -> stored now=81.8
rate 82.0 c1 hit log/red/1 rid=a1 -> allowed now=82.0 allowed/1/2/1/1 @aof
rate 82.2 c2 hit log/red/1 rid=a2 -> allowed now=82.2 allowed/0/2/1/1 @aof
rate 82.4 c2 hit log/red/1 rid=a3 -> refused now=82.4 refused/0/2/1/0.8
rate 82.5 c2 hit log/red/1 rid=a2 -> allowed now=82.5 allowed/0/2/1/1
rate 82.6 c2 hit log/red/1 flow/red/1 rid=a4 -> refused now=82.6 refused/0/2/1/0.6 allowed/2/10/1/0
rate 83.1 c1 hit log/red/1 flow/red/1 rid=a5 -> allowed now=83.1 allowed/0/2/1/1 allowed/1/10/1/0.1 @aof
rate 83.11 c1 hit flow/red/1 -> allowed now=83.11 allowed/0/10/1/0.19 @aof
rate 83.2 c2 hit flow/red/1 -> allowed now=83.21 allowed/0/10/1/0.19 @aof
rate 83.25 c2 hit flow/red/3 -> never now=83.25 never/0/10/1/0.15
rate 83.3 c2 hit log/red/1 rid=a7 -> allowed now=83.3 allowed/0/2/1/1 @aof
rate 84.2 c2 set_rules name=log limit=1 period_ms=1000 algorithm=log rid=s4 -> stored now=84.2
rate 84.25 c2 hit log/red/1 rid=a8 -> refused now=84.25 refused/0/1/1/0.05
rate 84.5 c2 hit log/red/1 rid=a9 -> allowed now=84.5 allowed/0/1/1/1
rate 85.0 c1 hit slots/red/1 rid=l1 -> allowed now=85.0 allowed/1/2/0/2 @aof
rate 85.2 c2 hit slots/red/1 rid=l2 -> allowed now=85.2 allowed/0/2/0/2 @aof
rate 85.4 c3 hit slots/red/1 rid=l3 -> refused now=85.4 refused/0/2/0/0
rate 85.6 c1 renew slots/red/l1 -> renewed now=85.6 deadline=87.6
rate 86.0 c1 release slots/red/l1 -> released now=86.0
rate 86.2 c3 hit slots/red/1 rid=l4 -> allowed now=86.2 allowed/0/2/0/2
rate 86.9 c1 hit slots/red/1 rid=l5 -> refused now=86.9 refused/0/2/0/0
rate 87.3 c2 hit slots/red/0 -> allowed now=87.3 allowed/1/2/0/0
rate 87.5 c1 hit slots/red/1 rid=l6 -> allowed now=87.5 allowed/0/2/0/2
rate 88.0 c1 hit log/blue/1 rid=b1 -> allowed now=88.0 allowed/0/1/1/1
rate 88.2 c1 adjust log/blue/1 rid=b2 -> adjusted now=88.2
rate 88.4 c1 hit log/blue/1 rid=b3 -> allowed now=88.4 allowed/0/1/1/1
"""
BAD = [
    Bad(
        "a rule that was stored is not found",
        {"rules_found"},
        (
            (
                "rate 84.5 c2 hit log/red/1 rid=a9 -> allowed now=84.5 allowed/0/1/1/1",
                "rate 84.5 c2 hit log/red/1 rid=a9 -> !BadArgument",
            ),
        ),
    ),
    Bad(
        "a log allows more than its limit in a period",
        {"rates_kept"},
        (("rid=a3 -> refused now=82.4 refused/0/2/1/0.8", "rid=a3 -> allowed now=82.4 allowed/0/2/1/1"),),
    ),
    Bad(
        "gcra allows a hit too early",
        {"rates_kept"},
        (("flow/red/3 -> never now=83.25 never/0/10/1/0.15", "flow/red/2 -> allowed now=83.25 allowed/0/10/1/0.2"),),
    ),
    Bad(
        "a limit that was lowered does not hold",
        {"rates_kept"},
        (
            (
                "c2 hit log/red/1 rid=a8 -> refused now=84.25 refused/0/1/1/0.05",
                "c2 hit log/red/1 -> allowed now=84.25 allowed/0/1/1/1",
            ),
            ("83.3 c2 hit", "83.5 c2 hit"),
            ("now=83.3 allowed/0/2", "now=83.3 allowed/0/2"),
        ),
    ),
    Bad(
        "a third lease is given",
        {"leases_kept", "hits_all_or_none"},
        (("rid=l3 -> refused now=85.4 refused/0/2/0/0", "rid=l3 -> allowed now=85.4 allowed/0/2/0/2"),),
    ),
    Bad(
        "a place is given away before the deadline",
        {"leases_kept"},
        (
            ("rid=l5 -> refused now=86.9 refused/0/2/0/0", "rid=l5 -> allowed now=86.9 allowed/0/2/0/2"),
            ("red/0 -> allowed now=87.3 allowed/1/2/0/0", "red/0 -> allowed now=87.3 allowed/0/2/0/0"),
            ("rid=l6 -> allowed now=87.5 allowed/0/2/0/2", "rid=l6 -> refused now=87.5 refused/0/2/0/0"),
        ),
    ),
    Bad(
        "a place is not free at the deadline",
        {"slots_freed"},
        (("rid=l6 -> allowed now=87.5 allowed/0/2/0/2", "rid=l6 -> refused now=87.5 refused/0/2/0/0"),),
    ),
    Bad(
        "a place is not free after a release",
        {"slots_freed"},
        (
            ("rid=l4 -> allowed now=86.2 allowed/0/2/0/2", "rid=l4 -> refused now=86.2 refused/0/2/0/0"),
            ("rid=l5 -> refused now=86.9 refused/0/2/0/0", "rid=l5 -> refused now=86.9 refused/1/2/0/0"),
        ),
    ),
    Bad(
        "a call counts in one of its rules only",
        {"hits_all_or_none"},
        (("rid=a7 -> allowed now=83.3 allowed/0/2/1/1", "rid=a7 -> allowed now=83.3 allowed/1/2/1/1"),),
    ),
    Bad(
        "a call is allowed, and one of its rules refuses it",
        {"hits_all_or_none"},
        (
            ("rid=a4 -> refused now=82.6 refused", "rid=a4 -> allowed now=82.6 refused"),
            ("allowed/2/10/1/0\n", "shadowed/2/10/1/0\n"),
        ),
    ),
    Bad(
        "a refused call counts in the rule that would allow it",
        {"hits_counted_once"},
        (
            (
                "rid=b1 -> allowed now=88.0 allowed/0/1/1/1",
                "rid=b1 -> refused now=88.0 allowed/1/1/1/1 refused/0/10/1/0",
            ),
            ("88.0 c1 hit log/blue/1", "88.0 c1 hit log/blue/1 flow/blue/1"),
            ("rid=b3 -> allowed now=88.4 allowed/0/1/1/1", "rid=b3 -> refused now=88.4 refused/0/1/1/1"),
        ),
    ),
    Bad(
        "a repeated hit counts twice",
        {"hits_counted_once"},
        (
            (
                "82.2 c2 hit log/red/1 rid=a2 -> allowed now=82.2 allowed/0/2/1/1 @aof",
                "82.2 c2 hit log/red/1 rid=a1 -> allowed now=82.2 allowed/1/2/1/1",
            ),
            ("rid=a2 -> allowed now=82.5 allowed/0/2/1/1", "rid=a1 -> allowed now=82.5 allowed/1/2/1/1"),
        ),
    ),
    Bad(
        "a repeated hit is answered in another way",
        {"hits_answered_again"},
        (("rid=a2 -> allowed now=82.5 allowed/0/2/1/1", "rid=a2 -> refused now=82.5 refused/0/2/1/1"),),
    ),
]
