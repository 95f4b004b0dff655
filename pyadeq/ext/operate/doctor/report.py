"""What the doctor answers: one check after the other, each with what to change, why and how."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, computed_field

Status = Literal["ok", "warn", "fail", "unknown"]


class Finding(NamedTuple):
    """What one look at a server came to.

    found: what is. why: what that means. how: what to do about it; lines that begin with `>` are commands for the
    server's own command line. `fail` loses tasks or stops work; `unknown` could not be looked at from here.
    """

    status: Status
    found: str
    why: str = ""
    how: tuple[str, ...] = ()


def ok(found: str, why: str = "", *how: str) -> Finding:
    """Nothing has to change."""
    return Finding("ok", found, why, how)


def warn(found: str, why: str, *how: str) -> Finding:
    """Something should change."""
    return Finding("warn", found, why, how)


def fail(found: str, why: str, *how: str) -> Finding:
    """Something must change."""
    return Finding("fail", found, why, how)


def unknown(found: str, why: str, *how: str) -> Finding:
    """Somebody with more rights must look."""
    return Finding("unknown", found, why, how)


class Check(BaseModel):
    """A finding under its name, with commands as they can be copied."""

    name: str
    status: Status
    found: str
    why: str
    how: list[str]


class Report(BaseModel):
    """All checks of one server. ok: none of them failed."""

    engine: str
    checks: list[Check]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.count("fail")

    def count(self, status: Status) -> int:
        """How many checks ended so."""
        return sum(check.status == status for check in self.checks)
