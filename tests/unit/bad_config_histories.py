"""A history of configs in which all is well, and what would be wrong with it; see bad_histories.py."""

from __future__ import annotations

from tests.unit.bad_histories import Bad

CONFIGS = """
config 92.0 w1 set w1.1 a:0=red -> ok 9000 set
config 92.2 w2 set w2.1 a:0=blue -> conflict differs/9000
config 92.4 w2 set w2.2 a:9000=blue b=blue -> ok 9200 set set @aof
config 92.6 r1 read a b c -> ok 9200 a/9200/blue b/9200/blue c
config 92.7 r1 seen s -> ok 9200 a/9200/blue b/9200/blue
config 93.0 w1 set w1.2 b:9200=- -> ok 9300 removed
config 93.2 w1 set w1.3 c=- -> ok 9300 missing
config 93.4 r1 read a b -> ok 9300 a/9200/blue b/9300
config 93.5 r1 seen s until=9300 -> ok 9300 a/9200/blue
config 94.0 w3 set w3.1 c=green
config 94.5 w1 set w1.4 a:9200=red -> ok 9500 set @aof
configs 92000 config.set a | version=9000 by=w1.1
configs 92400 config.set a | version=9200 by=w2.2
configs 92400 config.set b | version=9200 by=w2.2
configs 93000 config.removed b | version=9300 by=w1.2
configs 94000 config.set c | version=9400 by=w3.1
configs 94500 config.set a | version=9500 by=w1.4
history rev 9500 a/9500/red c/9400/green
history of a 9500/red 9200/blue 9000/red
history of b 9300 9200/blue
history of c 9400/green
"""
LOST = (
    ("configs 94500 config.set a | version=9500 by=w1.4\n", ""),
    ("rev 9500 a/9500/red", "rev 9400 a/9200/blue"),
    ("of a 9500/red 9200/blue", "of a 9200/blue"),
)
BAD = [
    Bad(
        "two writes replace the same version",
        {"expected_versions_replaced"},
        (("w1.4 a:9200=red", "w1.4 a:9000=red"),),
    ),
    Bad(
        "a write that wants no value replaces one",
        {"expected_versions_replaced"},
        (("w2.2 a:9000=blue", "w2.2 a:0=blue"),),
    ),
    Bad(
        "a write is refused that names the version there is",
        {"expected_versions_replaced"},
        (("conflict differs/9000", "conflict differs/0"),),
    ),
    Bad(
        "a rev is lower than the one before",
        {"config_revs_rise"},
        (
            ("-> ok 9500 set", "-> ok 9350 set"),
            ("version=9500", "version=9350"),
            ("rev 9500 a/9500", "rev 9400 a/9350"),
            ("of a 9500", "of a 9350"),
        ),
    ),
    Bad(
        "a call writes twice",
        {"config_writes_once"},
        (
            ("by=w1.4\n", "by=w1.4\nconfigs 94600 config.set c | version=9600 by=w3.1\n"),
            ("rev 9500 a/9500/red c/9400", "rev 9600 a/9500/red c/9600"),
            ("of c 9400/green", "of c 9600/green 9400/green"),
        ),
    ),
    Bad("a call writes one of its names only", {"config_writes_once"}, (("w3.1 c=green", "w3.1 c=green d=green"),)),
    Bad(
        "a call that was refused has written",
        {"config_writes_once", "config_values_kept"},
        (("w3.1 c=green", "w3.1 c:1=green -> conflict differs/0"),),
    ),
    Bad("a write that was acknowledged is not there", {"config_writes_once"}, LOST),
    Bad(
        "a read is older than one before",
        {"config_reads_current"},
        (("read a b -> ok 9300 a/9200/blue b/9300", "read a b -> ok 9000 a/9000/red b"),),
    ),
    Bad(
        "a name is missing that was set",
        {"config_reads_current"},
        (("read a b c -> ok 9200 a/9200/blue b/9200/blue c", "read a b c -> ok 0 a b c"),),
    ),
    Bad("a read shows another value", {"config_values_kept"}, (("b/9200/blue c", "b/9200/red c"),)),
    Bad("the history has what nobody has written", {"config_values_kept"}, (("of c 9400/green", "of c 9400/black"),)),
    Bad("a snapshot goes back", {"snapshots_rise"}, (), "config 94.7 r1 seen s -> ok 9000 a/9000/red"),
    Bad(
        "a snapshot has a part of a write",
        {"snapshots_whole"},
        (("seen s -> ok 9200 a/9200/blue b/9200/blue", "seen s -> ok 9200 a/9200/blue"),),
    ),
    Bad(
        "a snapshot has a name that was removed",
        {"snapshots_whole"},
        (("-> ok 9300 a/9200/blue\n", "-> ok 9300 a/9200/blue b/9200/blue\n"),),
    ),
    Bad(
        "a read has a part of a write",
        {"snapshots_whole"},
        (("92.4 w2", "92.4-92.65 w2"), ("a/9200/blue b/9200/blue c", "a/9200/blue b c")),
    ),
    Bad(
        "a new snapshot at the end lacks a name",
        {"snapshots_whole"},
        (("rev 9500 a/9500/red c/9400/green", "rev 9500 a/9500/red"),),
    ),
    Bad("a snapshot does not learn of a write", {"snapshots_end_current"}, (("until=9300", "until=9400"),)),
    Bad(
        "a version is missing in the history",
        {"config_history_listed"},
        (("of a 9500/red 9200/blue 9000/red", "of a 9500/red 9000/red"),),
    ),
    Bad(
        "a version is twice in the history",
        {"config_history_listed"},
        (("of a 9500/red 9200/blue", "of a 9500/red 9200/blue 9200/blue"),),
    ),
    Bad(
        "the history ends too early",
        {"config_history_listed"},
        (("of a 9500/red 9200/blue 9000/red", "of a 9500/red 9200/blue"),),
    ),
]
