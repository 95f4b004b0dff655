"""A history of changes in which all is well, and what would be wrong with it; see bad_histories.py."""

from __future__ import annotations

from tests.unit.bad_histories import Bad

CHANGES = """
call 41.0 p1 put id=c actor=bot principal=ann kind=agent rid=r1 -> created rev=1 digest=d1
change 41000 change.created c | rev=1 round=0 by=bot
call 41.1 p1 submit id=c rev=1 actor=bot policy=two rid=r2 -> reviewing rev=1 round=1 digest=d1 @aof
change 41100 change.submitted c | rev=1 round=1 by=bot policy=two@1
change 41100 change.reviewing c | rev=1 round=1 by=bot
call 41.2 v1 respond actor=bob id=c rev=1 digest=d1 action=approve rid=r3 -> recorded
change 41200 change.answered c | rev=1 round=1 by=bob slot=1 action=approve for=bob
call 41.3 p1 put id=c expect_rev=1 actor=bot principal=ann kind=agent rid=r4 -> revised rev=2 digest=d2
change 41300 change.revised c | rev=2 round=1 by=bot
change 41300 change.outdated c | rev=2 round=2 by=bot why=revised
change 41300 change.reviewing c | rev=2 round=2 by=bot
call 41.4 v2 respond actor=cid id=c rev=2 digest=d2 action=approve rid=r5 -> recorded
change 41400 change.answered c | rev=2 round=2 by=cid slot=2 action=approve for=cid
call 41.5 v2 respond actor=dora id=c rev=2 digest=d2 action=comment rid=r6
call 41.55 v2 respond actor=dora id=c rev=2 digest=d2 action=comment rid=r6 -> commented
change 41500 change.commented c | rev=2 round=2 by=dora
call 41.6 v1 respond actor=bob id=c rev=2 digest=d2 action=approve rid=r7 -> approved
change 41600 change.answered c | rev=2 round=2 by=bob slot=1 action=approve for=bob
change 41600 change.approved c | rev=2 round=2 by=bob
lock 41900 lock.acquired l1 | owner=d/c locks=x/20=db:1,x/21=db:2
call 42.0 a1 begin id=c rev=2 digest=d2 agent=a1 rid=k1 lock_rid=l1 -> begun token=k1 fence=7 deadline=44 content_digest=d2 resources=db:1,db:2
change 42000 change.applying c | rev=2 round=2 by=a1 fence=7
call 42.5 a1 heartbeat id=c token=k1 -> renewed deadline=45
change 45000 change.released c | rev=2 round=2 by=time why=lost
lock 45100 lock.expired l1 | owner=d/c locks=x/20=db:1,x/21=db:2
lock 45400 lock.acquired l2 | owner=d/c locks=x/22=db:1,x/23=db:2
call 45.5 a2 begin id=c rev=2 digest=d2 agent=a2 rid=k2 lock_rid=l2 -> begun token=k2 fence=8 deadline=48 content_digest=d2 resources=db:1,db:2
change 45500 change.applying c | rev=2 round=2 by=a2 fence=8
call 45.8 a1 finish id=c token=k1 result=success rid=r8 -> lost
call 46.0 a2 finish id=c token=k2 result=success rid=r9 -> completed
call 46.3 a2 finish id=c token=k2 result=success rid=r9 -> completed
change 46000 change.completed c | rev=2 round=2 by=a2
lock 46100 lock.released l2 | owner=d/c locks=x/22=db:1,x/23=db:2
call 51.0 p2 put id=e actor=ann rid=s1 -> created rev=1 digest=e1
change 51000 change.created e | rev=1 round=0 by=ann
call 51.1 v1 assess id=e rev=1 digest=e1 actor=bob score=10 rid=s2 -> ok
change 51100 change.assessed e | rev=1 round=0 by=bob score=10 level=low
call 51.2 p2 submit id=e rev=1 actor=ann policy=low rid=s3 -> approved rev=1 round=1 digest=e1
change 51200 change.submitted e | rev=1 round=1 by=ann policy=low@2
change 51200 change.approved e | rev=1 round=1 by=policy:low@2
call 51.3 p2 move id=e to=cancel actor=ann rid=s4 -> cancelled
change 51300 change.cancelled e | rev=1 round=1 by=ann
call 52.0 p2 put id=f actor=ann rid=u1 -> created rev=1 digest=f1
change 52000 change.created f | rev=1 round=0 by=ann
call 52.1 p2 submit id=f rev=1 actor=ann policy=two rid=u2 -> reviewing rev=1 round=1 digest=f1
change 52100 change.submitted f | rev=1 round=1 by=ann policy=two@1
change 52100 change.reviewing f | rev=1 round=1 by=ann
call 52.2 v1 delegate id=f slot=1 actor=bob to=eve rid=u3 -> ok slot=1
change 52200 change.delegated f | rev=1 round=1 by=bob slot=1 from=user:bob to=user:eve
call 52.3 v2 respond actor=cid id=f rev=1 digest=f1 action=reject rid=u4 -> recorded
change 52300 change.answered f | rev=1 round=1 by=cid slot=2 action=reject for=cid
call 52.4 o1 override id=f rev=1 digest=f1 actor=root rid=u5 -> approved rev=1
change 52400 change.overridden f | rev=1 round=1 by=root for=root
change 52400 change.approved f | rev=1 round=1 by=override:root
call 53.0 p2 put id=g actor=ann rid=w1 -> created rev=1 digest=g1
change 53000 change.created g | rev=1 round=0 by=ann
call 53.1 p2 submit id=g rev=1 actor=ann policy=two rid=w2 -> reviewing rev=1 round=1 digest=g1
change 53100 change.submitted g | rev=1 round=1 by=ann policy=two@1
change 53100 change.reviewing g | rev=1 round=1 by=ann
stored change c state=completed rev=2 round=2
stored change e state=cancelled rev=1 round=1
stored change f state=approved rev=1 round=1 overridden_rev=1
stored change g state=reviewing rev=1 round=1 asks=1/pending/user:bob/,2/pending/user:cid/
stored policy two@1 required=2
stored follows d
stored locks d
entry 51300 task.enqueued d/e/5/8be3b2f1 | source=a2
entry 51400 task.cancelled d/e/5/8be3b2f1
stored policy low@2 required=1 auto_below=30 follows=cancelled|tell|any|5
stored states completed count=1
stored states reviewing count=1
stored people bob approved=2 rejected=0
stored people cid approved=1 rejected=1
stored inbox user:bob pending=1 shown=g/1
"""  # noqa: E501
WITHOUT_BOB = (
    ("call 41.6 v1 respond actor=bob id=c rev=2 digest=d2 action=approve rid=r7 -> approved\n", ""),
    ("change 41600 change.answered c | rev=2 round=2 by=bob slot=1 action=approve for=bob\n", ""),
    ("people bob approved=2", "people bob approved=1"),
)
AGAIN = """
change 46500 change.applying c | rev=2 round=2 by=a3 fence=9 source=x
change 46600 change.completed c | rev=2 round=2 by=a3 source=x
"""
BAD = [
    Bad("fewer than required have approved", {"approved_by_enough"}, WITHOUT_BOB),
    Bad(
        "an author has approved",
        {"approved_by_enough"},
        (
            ("v1 respond actor=bob id=c rev=2", "v1 respond actor=ann id=c rev=2"),
            (
                "rev=2 round=2 by=bob slot=1 action=approve for=bob",
                "rev=2 round=2 by=ann slot=1 action=approve for=ann",
            ),
            ("stored people bob approved=2", "stored people bob approved=1"),
        ),
    ),
    Bad(
        "an author has approved for whom somebody votes",
        {"approved_by_enough"},
        (
            (
                "call 41.6",
                "change 41500 change.delegated c | rev=2 round=2 by=ann slot=1 from=user:ann to=user:bob "
                "source=x\ncall 41.6",
            ),
        ),
    ),
    Bad(
        "one person has approved in two slots",
        {"approved_by_enough"},
        (("round=2 by=cid slot=2 action=approve for=cid", "round=2 by=cid slot=2 action=approve for=bob"),),
    ),
    Bad(
        "an agent has approved, and may not",
        {"approved_by_enough"},
        (("round=2 by=cid slot=2 action=approve for=cid", "round=2 by=cid slot=2 action=approve for=finn"),),
    ),
    Bad(
        "an approval of another revision counts",
        {"approved_by_enough"},
        (
            ("rev=2 round=2 by=cid slot=2", "rev=1 round=2 by=cid slot=2"),
            ("respond actor=cid id=c rev=2 digest=d2", "respond actor=cid id=c rev=1 digest=d1"),
        ),
    ),
    Bad(
        "approved while a reviewer wants changes",
        {"approved_by_enough"},
        (
            (
                "call 41.6",
                "change 41550 change.answered c | rev=2 round=2 by=eve slot=3 action=request_changes for=eve\n"
                "call 41.55 v2 respond actor=eve id=c rev=2 digest=d2 action=request_changes rid=x "
                "-> recorded\ncall 41.6",
            ),
        ),
    ),
    Bad(
        "a round is decided twice",
        {"decided_once"},
        (
            (
                "call 42.0",
                "change 41700 change.approved c | rev=2 round=2 by=bob source=x\ncall 42.0",
            ),
        ),
    ),
    Bad(
        "an old round goes on",
        {"decided_once"},
        (
            ("change 41300 change.outdated c | rev=2 round=2", "change 41300 change.outdated c | rev=2 round=1"),
            ("change 41300 change.reviewing c | rev=2 round=2", "change 41300 change.reviewing c | rev=2 round=1"),
            ("change 41400 change.answered c | rev=2 round=2", "change 41400 change.answered c | rev=2 round=1"),
            ("change 41500 change.commented c | rev=2 round=2", "change 41500 change.commented c | rev=2 round=1"),
            ("change 41600 change.answered c | rev=2 round=2", "change 41600 change.answered c | rev=2 round=1"),
            ("change 41600 change.approved c | rev=2 round=2", "change 41600 change.approved c | rev=2 round=1"),
            ("change 42000 change.applying c | rev=2 round=2", "change 42000 change.applying c | rev=2 round=1"),
            ("change 45000 change.released c | rev=2 round=2", "change 45000 change.released c | rev=2 round=1"),
            ("change 45500 change.applying c | rev=2 round=2", "change 45500 change.applying c | rev=2 round=1"),
            ("change 46000 change.completed c | rev=2 round=2", "change 46000 change.completed c | rev=2 round=1"),
            ("stored change c state=completed rev=2 round=2", "stored change c state=completed rev=2 round=1"),
        ),
    ),
    Bad(
        "other content is applied than was approved",
        {"applied_as_approved"},
        (("deadline=44 content_digest=d2", "deadline=44 content_digest=d1"),),
    ),
    Bad(
        "a digest of another revision is begun",
        {"applied_as_approved"},
        (("a1 begin id=c rev=2 digest=d2", "a1 begin id=c rev=2 digest=d1"),),
    ),
    Bad(
        "another revision is begun than was approved",
        {"applied_as_approved"},
        (
            ("change 42000 change.applying c | rev=2", "change 42000 change.applying c | rev=1"),
            ("call 42.0 a1 begin id=c rev=2 digest=d2", "call 42.0 a1 begin id=c rev=1 digest=d1"),
        ),
    ),
    Bad(
        "what nobody has approved is begun",
        {"applied_as_approved"},
        more="change 53200 change.applying g | rev=1 round=1 by=a1 fence=9 source=x\n"
        "change 53300 change.released g | rev=1 round=1 by=a1 why=released source=x\n"
        "stored change g state=approved rev=1 round=1\nstored inbox user:bob pending=0\n"
        "stored states reviewing count=0",
    ),
    Bad(
        "two appliers hold a change",
        {"runs_apart"},
        (("change 45000 change.released c | rev=2 round=2 by=time why=lost\n", ""),),
    ),
    Bad(
        "a run is taken back before its deadline",
        {"runs_apart"},
        (("change 45000 change.released", "change 44999 change.released"),),
    ),
    Bad(
        "two fences are the same",
        {"runs_apart"},
        (("by=a2 fence=8", "by=a2 fence=7"), ("token=k2 fence=8", "token=k2 fence=7")),
    ),
    Bad(
        "two appliers have applied a change to the end",
        {"runs_apart", "change_answers_kept"},
        (
            (
                "call 45.8 a1 finish id=c token=k1 result=success rid=r8 -> lost",
                "call 45.8 a1 finish id=c token=k1 result=success rid=r8 -> completed",
            ),
        ),
    ),
    Bad("a run begins without locks", {"locked_while_applied"}, (("agent=a1 rid=k1 lock_rid=l1", "agent=a1 rid=k1"),)),
    Bad(
        "a run begins with the locks of another",
        {"locked_while_applied"},
        (
            ("lock 45400 lock.acquired l2 | owner=d/c", "lock 45400 lock.acquired l2 | owner=d/e"),
            ("lock 46100 lock.released l2 | owner=d/c", "lock 46100 lock.released l2 | owner=d/e"),
        ),
    ),
    Bad(
        "a run begins with a shared lock",
        {"locked_while_applied"},
        (
            ("lock.acquired l2 | owner=d/c locks=x/22=db:1,x/23", "lock.acquired l2 | owner=d/c locks=x/22=db:1,s/23"),
            ("lock.released l2 | owner=d/c locks=x/22=db:1,x/23", "lock.released l2 | owner=d/c locks=x/22=db:1,s/23"),
        ),
    ),
    Bad(
        "a run begins after its locks have ended",
        {"locked_while_applied"},
        (
            ("lock 46100 lock.released l2 | owner=d/c locks=x/22=db:1,x/23=db:2\n", ""),
            ("call 45.5 a2", "lock 45450 lock.released l2 | owner=d/c locks=x/22=db:1,x/23=db:2\ncall 45.5 a2"),
        ),
    ),
    Bad(
        "another gets a lock while a change is applied",
        {"locked_while_applied"},
        (
            ("lock 45100 lock.expired l1 | owner=d/c locks=x/20=db:1,x/21=db:2\n", ""),
            (
                "call 42.5 a1",
                "lock 42100 lock.expired l1 | owner=d/c locks=x/20=db:1,x/21=db:2\n"
                "lock 42200 lock.acquired l3 | owner=d/e locks=x/22=db:2\n"
                "lock 42300 lock.released l3 | owner=d/e locks=x/22=db:2\ncall 42.5 a1",
            ),
        ),
    ),
    Bad("a finished approval is begun again", {"applied_once"}, more=AGAIN),
    Bad(
        "a run ends twice",
        {"applied_once"},
        (("change 46000", "change 45900 change.completed c | rev=2 round=2 by=a9 source=x\nchange 46000"),),
    ),
    Bad(
        "a policy approves what is of high risk",
        {"fails_closed"},
        (("by=bob score=10 level=low", "by=bob score=30 level=medium"),),
    ),
    Bad(
        "a policy approves what nobody has assessed",
        {"fails_closed"},
        (
            ("change 51100 change.assessed e | rev=1", "change 51100 change.assessed e | rev=0"),
            ("assess id=e rev=1 digest=e1", "assess id=e rev=0 digest=e0"),
        ),
    ),
    Bad(
        "a timeout approves",
        {"fails_closed"},
        (
            (
                "call 53.0",
                "change 52900 change.created h | rev=1 round=0 by=ann source=x\n"
                "change 52900 change.assessed h | rev=1 round=0 by=bob score=10 level=low source=x\n"
                "change 52910 change.submitted h | rev=1 round=1 by=ann policy=low@2 source=x\n"
                "change 52910 change.reviewing h | rev=1 round=1 by=ann\n"
                "change 52990 change.approved h | rev=1 round=1 by=policy:low@2\n"
                "stored change h state=approved rev=1 round=1\ncall 53.0",
            ),
        ),
    ),
    Bad("an override leaves no mark", {"fails_closed"}, ((" round=1 overridden_rev=1", " round=1"),)),
    Bad(
        "no event tells of an override",
        {"fails_closed"},
        (
            ("call 52.4 o1 override id=f rev=1 digest=f1 actor=root rid=u5 -> approved rev=1\n", ""),
            ("change 52400 change.overridden f | rev=1 round=1 by=root for=root\n", ""),
        ),
    ),
    Bad(
        "more people have delegated a request than may",
        {"fails_closed"},
        (("stored policy two@1 required=2", "stored policy two@1 required=2 delegation_depth=0"),),
    ),
    Bad(
        "an answer left no trace",
        {"change_answers_kept"},
        (
            ("change 41200 change.answered c | rev=1 round=1 by=bob slot=1 action=approve for=bob\n", ""),
            ("people bob approved=2", "people bob approved=1"),
        ),
    ),
    Bad(
        "a run left no trace",
        {"change_answers_kept"},
        more="call 53.2 a1 begin id=f rev=1 digest=f1 agent=a1 rid=k3 -> begun token=k3 fence=9 deadline=54 "
        "content_digest=f1",
    ),
    Bad(
        "a comment that is sent again is two",
        {"one_effect"},
        (
            (
                "change 41500 change.commented",
                "change 41480 change.commented c | rev=2 round=2 by=dora\nchange 41500 change.commented",
            ),
        ),
    ),
    Bad(
        "a call that is sent again has another answer",
        {"one_effect"},
        (
            (
                "call 46.3 a2 finish id=c token=k2 result=success rid=r9 -> completed",
                "call 46.3 a2 finish id=c token=k2 result=success rid=r9 -> lost",
            ),
        ),
    ),
    Bad(
        "a record is not what the stream tells",
        {"change_records_agree"},
        (("stored change e state=cancelled rev=1", "stored change e state=cancelled rev=2"),),
    ),
    Bad("a record is gone", {"change_records_agree"}, (("stored change e state=cancelled rev=1 round=1\n", ""),)),
    Bad(
        "a change was never created",
        {"change_records_agree"},
        more="change 60000 change.edited x | rev=1 round=0 by=ann source=x",
    ),
    Bad("statistics count another number", {"change_records_agree"}, (("completed count=1", "completed count=2"),)),
    Bad("statistics of a person", {"change_records_agree"}, (("people cid approved=1", "people cid approved=2"),)),
    Bad(
        "a step that cannot follow",
        {"change_records_agree"},
        (("call 52.1 p2", "change 52050 change.reminded f | rev=1 round=0 by=time\ncall 52.1 p2"),),
    ),
    Bad(
        "an inbox shows too little",
        {"inboxes_exact"},
        (("inbox user:bob pending=1 shown=g/1", "inbox user:bob pending=1"),),
    ),
    Bad("an inbox shows too much", {"inboxes_exact"}, (("shown=g/1", "shown=g/1,c/1"),)),
    Bad("an inbox counts too many", {"inboxes_exact"}, (("inbox user:bob pending=1", "inbox user:bob pending=2"),)),
    Bad(
        "an author has an open request",
        {"inboxes_exact"},
        (("asks=1/pending/user:bob/,2", "asks=1/pending/user:bob/,3/pending/user:ann/,2"),),
        more="stored inbox user:ann pending=1 shown=g/3",
    ),
    Bad(
        "a task is missing that follows a step",
        {"followed_by_tasks"},
        (("entry 51300 task.enqueued d/e/5/8be3b2f1 | source=a2\nentry 51400 task.cancelled d/e/5/8be3b2f1\n", ""),),
    ),
    Bad(
        "a task follows a step that was not",
        {"followed_by_tasks"},
        more="entry 60000 task.enqueued d/c/99 | source=x\nentry 60000 task.cancelled d/c/99",
    ),
    Bad(
        "a run is left behind",
        {"changes_at_rest"},
        more="change 53200 change.applying f | rev=1 round=1 by=a1 fence=9 source=x\n"
        "stored change f state=applying rev=1 round=1 overridden_rev=1",
    ),
]
