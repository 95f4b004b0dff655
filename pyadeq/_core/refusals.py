"""What can come back instead of a script's answer, and the error that each becomes."""

from __future__ import annotations

from typing import Final, NamedTuple

from pyadeq.errors import AdeqError, TransportError, script_error


class Refusal(NamedTuple):
    """An error reply: its first word, and the rest."""

    code: str
    text: str


class Loss(NamedTuple):
    """The connection failed. `sent` is False only if no command of the exchange can have reached a script."""

    error: Exception
    sent: bool
    retryable: bool = True


class _Meaning(NamedTuple):
    passing: bool
    """It ends by itself soon: send again while there is time."""
    retryable: bool
    advice: str


# The server gives all of these before it starts a script.
_MEANINGS: Final = {
    "LOADING": _Meaning(True, True, "it is still loading its data"),
    "BUSY": _Meaning(True, True, "another script has been running for too long"),
    "READONLY": _Meaning(True, True, "this is a replica; connect to the primary"),
    "MASTERDOWN": _Meaning(True, True, "this replica has lost its primary"),
    "UNBLOCKED": _Meaning(True, True, "it became a replica while it waited"),
    "CLUSTERDOWN": _Meaning(True, True, "the cluster does not serve this slot now"),
    "TRYAGAIN": _Meaning(True, True, "the slot is being moved"),
    "NOSCRIPT": _Meaning(True, True, "it forgets scripts as soon as they are loaded"),
    "OOM": _Meaning(False, True, "its memory is full; finish or purge tasks, or raise maxmemory"),
    "MISCONF": _Meaning(False, True, "it cannot write to its disk; see its log"),
    "NOREPLICAS": _Meaning(False, True, "it has fewer replicas than min-replicas-to-write"),
    "MOVED": _Meaning(False, False, "another node of the cluster has this slot; use RedisCluster, or cluster=True"),
    "ASK": _Meaning(False, False, "another node of the cluster has this slot; use RedisCluster, or cluster=True"),
    "CROSSSLOT": _Meaning(False, False, "the keys of one call must be in one slot"),
    "NOPERM": _Meaning(False, False, "its user needs EVALSHA, EVALSHA_RO, SCRIPT LOAD, BLPOP and the keys of the base"),
}
_UNKNOWN: Final = _Meaning(False, False, "see the server's log")


def is_passing(refusal: Refusal) -> bool:
    """Whether the same command may be accepted within seconds."""
    return _MEANINGS.get(refusal.code, _UNKNOWN).passing


def refusal_error(subject: str, refusal: Refusal, maybe_applied: bool) -> AdeqError:
    """The error for an error reply. maybe_applied: whether the same call, sent earlier, may have been."""
    code, text = refusal
    if code.startswith("ADEQ_"):
        return script_error(code, subject, text)
    meaning = _MEANINGS.get(code, _UNKNOWN)
    return TransportError(
        f"{subject}: the server refused the call: {meaning.advice} ({code} {text})",
        retryable=meaning.retryable,
        may_have_applied=maybe_applied or meaning is _UNKNOWN,
    )


def loss_error(subject: str, loss: Loss, maybe_applied: bool) -> TransportError:
    """The error for a call that was given up after its connection failed."""
    known = "may have been applied: send the same call again to know" if maybe_applied else "was not applied"
    error = TransportError(
        f"{subject}: {loss.error}; the call {known}", retryable=loss.retryable, may_have_applied=maybe_applied
    )
    error.__cause__ = loss.error
    return error
