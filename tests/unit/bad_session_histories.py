"""A history of sessions in which all is well, and what would be wrong with it; see bad_histories.py."""

from __future__ import annotations

from tests.unit.bad_histories import Bad

SESSIONS = """
call 61.0 v1 session.create user=ann hash=a1 idle_ms=2000 rid=r1 -> created now=61 created=61 ends=70
call 61.5 v1 session.get hash=a1 -> ok now=61.5 session.ver=1 session.ends=70
call 62.0 v1 session.update hash=a1 ver=1 data=red rid=r2 -> ok now=62 ver=2 @aof
call 62.1 v2 session.update hash=a1 ver=1 data=blue rid=r3 -> changed now=62.1 ver=2
call 62.8 v2 session.get hash=a1 -> ok now=62.8 session.ver=2 session.data=red session.ends=70
call 63.0 v2 session.rotate hash=a1 new_hash=a2 grace_ms=1000 rid=r4 -> ok now=63 @aof
call 63.5 v1 session.get hash=a1 touch=0 -> rotated now=63.5 session.ver=2 session.data=red session.ends=70
call 63.6 v1 session.update hash=a1 ver=2 data=green rid=r5 -> rotated now=63.6
call 63.7 v1 session.rotate hash=a1 new_hash=a9 rid=r6 -> rotated now=63.7
call 64.3 v1 session.get hash=a1 -> gone now=64.3
call 64.4 v2 session.get hash=a2 -> ok now=64.4 session.ver=2 session.data=red session.ends=70
call 65.0 v2 session.rotate hash=a2 new_hash=a3 grace_ms=0 rid=r7 -> ok now=65 @aof
call 65.2 v1 session.get hash=a2 -> gone now=65.2
call 65.5 v2 session.get hash=a3 -> ok now=65.5 session.ver=2 session.data=red session.ends=70
call 68.0 v2 session.get hash=a3 -> gone now=68
call 71.0 v1 session.create user=bob hash=b1 limit=2 rid=s1 -> created now=71 created=71 ends=75
call 71.1 v1 session.create user=bob hash=b2 limit=2 rid=s2 -> created now=71.1 created=71.1 ends=80
call 71.2 v2 session.get hash=b1 -> ok now=71.2 session.ver=1 session.ends=75
call 71.3 v2 session.create user=bob hash=b3 limit=2 rid=s3 -> created now=71.3 created=71.3 ends=80
call 71.4 v1 session.get hash=b1 -> gone now=71.4
call 71.5 v1 session.get hash=b2 -> ok now=71.5 session.ver=1 session.ends=80
call 72.0 v1 session.revoke id=b2 rid=s4 -> revoked @aof
call 72.2 v2 session.get hash=b2 -> gone now=72.2
call 72.3 v2 session.get hash=b3 -> ok now=72.3 session.ver=1 session.ends=80
call 73.0 v2 session.set_user user=bob revoke=1 rid=s5 -> ok now=73 ended=1 kept=0 @aof
call 73.2 v1 session.get hash=b3 -> gone now=73.2
call 74.0 v1 session.create user=cid hash=c1 rid=t1 -> created now=74 created=74 ends=76
call 75.9 v1 session.get hash=c1 -> ok now=75.9 session.ver=1 session.ends=76
call 76.0 v1 session.get hash=c1 -> gone now=76
call 90.0 v1 session.create user=dora hash=d1 idle_ms=1000 rid=u1 -> created now=90 created=90 ends=700
call 90.5 v1 session.get hash=d1 -> ok now=90.5 session.ver=1 session.ends=700
call 101.0 v1 session.set_user user=dora renew_authz=1 rid=u2 -> ok now=101
call 103.0 v1 session.set_user user=dora renew_authz=1 rid=u3 -> ok now=103
call 103.5 v2 session.get hash=d1 -> gone now=103.5
call 110.0 v1 session.create user=eve hash=e1 rid=w1 -> created now=110 created=110 ends=700
call 110.2 v1 session.set_user user=eve revoke=1 keep=e1 rid=w2 -> ok now=110.2 ended=0 kept=1 @aof
call 110.4 v1 session.rotate hash=e1 new_hash=e2 grace_ms=0 rid=w3 -> ok now=110.4
call 110.6 v1 session.get hash=e2 -> ok now=110.6 session.ver=1 session.ends=700
call 110.8 v1 session.set_user user=eve revoke=1 keep=e1 rid=w4 -> ok now=110.8 ended=1 kept=0 @aof
call 111.0 v1 session.get hash=e2 -> gone now=111
"""
BAD = [
    Bad(
        "a revoked session is valid",
        {"ended_sessions_stay"},
        (("hash=b2 -> gone now=72.2", "hash=b2 -> ok now=72.2 session.ver=1 session.ends=80"),),
    ),
    Bad(
        "a session is valid after all of its user were revoked",
        {"ended_sessions_stay"},
        (("hash=b3 -> gone now=73.2", "hash=b3 -> ok now=73.2 session.ver=1 session.ends=80"),),
    ),
    Bad(
        "a session that was gone is valid again",
        {"ended_sessions_stay"},
        (("call 76.0", "call 75.0 v1 session.get hash=c1 -> gone now=75\ncall 76.0"),),
        "call 74.9 v1 session.set_user user=cid revoke=1 rid=t2",
    ),
    Bad(
        "an older id is valid after a rotation without grace",
        {"ended_sessions_stay"},
        (("hash=a2 -> gone now=65.2", "hash=a2 -> rotated now=65.2 session.ver=2 session.data=red session.ends=70"),),
    ),
    Bad(
        "a session is gone, and nothing has ended it",
        {"created_sessions_found"},
        (("call 76.0", "call 75.95"), ("now=76\n", "now=75.95\n")),
    ),
    Bad(
        "a session is gone before its time without use is over",
        {"created_sessions_found"},
        (("hash=a3 -> gone now=68", "hash=a3 -> gone now=67.2"),),
    ),
    Bad(
        "an older id is gone before its grace is over",
        {"created_sessions_found"},
        (("64.3 v1 session.get hash=a1 -> gone now=64.3", "63.65 v1 session.get hash=a1 -> gone now=63.65"),),
    ),
    Bad(
        "a session is gone, and the user had not as many as allowed",
        {"created_sessions_found"},
        (
            ("bob hash=b1 limit=2", "bob hash=b1 limit=3"),
            ("bob hash=b2 limit=2", "bob hash=b2 limit=3"),
            ("bob hash=b3 limit=2", "bob hash=b3 limit=3"),
        ),
    ),
    Bad(
        "a session that was kept is gone",
        {"created_sessions_found"},
        (("now=110.8 ended=1 kept=0", "now=110.8 ended=0 kept=1"),),
    ),
    Bad(
        "a session that was not kept is valid",
        {"ended_sessions_stay"},
        (("hash=e2 -> gone now=111", "hash=e2 -> ok now=111 session.ver=1 session.ends=700"),),
    ),
    Bad(
        "an older id is not told that it was rotated",
        {"old_ids_only_read"},
        (("touch=0 -> rotated", "touch=0 -> ok"),),
    ),
    Bad(
        "an older id updates",
        {"old_ids_only_read"},
        (
            ("rid=r5 -> rotated now=63.6", "rid=r5 -> ok now=63.6 ver=3"),
            ("a2 -> ok now=64.4 session.ver=2 session.data=red", "a2 -> ok now=64.4 session.ver=3 session.data=green"),
            ("a3 -> ok now=65.5 session.ver=2 session.data=red", "a3 -> ok now=65.5 session.ver=3 session.data=green"),
        ),
    ),
    Bad("an older id rotates", {"old_ids_only_read"}, (("a9 rid=r6 -> rotated", "a9 grace_ms=60000 rid=r6 -> ok"),)),
    Bad(
        "an older id learns the newer one",
        {"old_ids_only_read"},
        (("-> rotated now=63.5 session.ver=2", "-> rotated now=63.5 session.alias=a2 session.ver=2"),),
    ),
    Bad(
        "a user has more sessions than allowed",
        {"session_limit_kept"},
        (("b1 -> gone now=71.4", "b1 -> ok now=71.4 session.ver=1 session.ends=75"),),
    ),
    Bad(
        "two updates have changed the same version",
        {"updates_kept"},
        (("rid=r3 -> changed", "rid=r3 -> ok"),),
    ),
    Bad(
        "an update is lost",
        {"updates_kept"},
        (("a2 -> ok now=64.4 session.ver=2 session.data=red", "a2 -> ok now=64.4 session.ver=1"),),
    ),
    Bad(
        "an update is overwritten",
        {"updates_kept"},
        (("now=62.8 session.ver=2 session.data=red", "now=62.8 session.ver=2 session.data=blue"),),
    ),
    Bad(
        "a session outlives its lifetime",
        {"sessions_end_in_time"},
        (("c1 -> gone now=76", "c1 -> ok now=76 session.ver=1 session.ends=76"),),
    ),
    Bad(
        "a session gets a longer lifetime",
        {"sessions_end_in_time"},
        (("now=75.9 session.ver=1 session.ends=76", "now=75.9 session.ver=1 session.ends=77"),),
    ),
    Bad(
        "a session outlives its time without use",
        {"sessions_end_in_time"},
        (("d1 -> gone now=103.5", "d1 -> ok now=103.5 session.ver=1 session.ends=700"),),
    ),
    Bad(
        "an older id outlives its grace",
        {"sessions_end_in_time"},
        (("a1 -> gone now=64.3", "a1 -> rotated now=64.3 session.ver=2 session.data=red session.ends=70"),),
    ),
]
