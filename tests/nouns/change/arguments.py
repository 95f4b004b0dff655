"""What the scripts of changes accept where they check more than the type, a usual value first.

The names are those of arguments, behind that of a script where they differ.
"""

from __future__ import annotations

from typing import Final

FORMS: Final = {
    "id": [b"a1", b"A", b"azAZ09._@+-", b"n" * 64],
    "principal": [b""],  # a person answers for itself
    "kind": [b"person"],
    "set_delegations.to": [b"a2", b"u" * 195],
    "set_delegations.from_ms": [b"1", b"0"],
    "set_delegations.until_ms": [b"2", b"9000000000000"],
    "set_delegations.resources": [b"a:b", b",".join([b"x" * 200] * 16)],
    "reassign.operation": [b"add"],
    "reassign.slot": [b"0", b""],
    "resources": [b"a:b", b"", b"A:/", b",".join(b"t%02d:" % at + b"x" * 196 for at in range(32))],
    "reviewer": [b"user:a1", b"group:a1", b"user:" + b"u" * 195, "user:\u00e9".encode()],
    "delegate.to": [b"a2", b"", b"u" * 195],
    "get.with_log": [b"1", b"0", b"500"],
    "reviewers": [b"user:a1,group:a1", b",".join([b"user:" + b"u" * 195] * 16)],
    "escalate_to": [b"user:a1", b",".join([b"group:" + b"g" * 194] * 3)],
    "remove": [b"1"],
    "user": [b"a1", b"u" * 195, "\u00e9".encode()],
    "groups": [b"a1", b"", b",".join([b"g" * 194] * 32)],
}
