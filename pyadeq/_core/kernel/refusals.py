"""What can come back instead of a script's answer, and the error that each becomes."""

from __future__ import annotations

from typing import Final, NamedTuple

from pyadeq._core.kernel.server_info import Server
from pyadeq.errors import AdeqError, ClientClosed, ConfigError, DamagedError, TransportError, script_error


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
    """A temporary error: send the call again within the time limit."""
    retryable: bool
    advice: str
    midway: bool = False
    """The error may have interrupted a script after some of its writes."""
    damaged: bool = False
    """What is stored is not what pyadeq stores."""


_WHO: Final = {"any": "", "observe": "observer", "produce": "producer", "work": "worker", "operate": "operator"}
_MEANINGS: Final = {
    "LOADING": _Meaning(True, True, "it is still loading its data"),
    "BUSY": _Meaning(True, True, "another script has been running for too long; SCRIPT KILL ends one that only reads"),
    "READONLY": _Meaning(True, True, "this is a replica; connect to the primary"),
    "MASTERDOWN": _Meaning(True, True, "this replica has lost its primary; connect to the primary"),
    "UNBLOCKED": _Meaning(True, True, "it became a replica while it waited"),
    "CLUSTERDOWN": _Meaning(True, True, "the cluster does not serve this slot now"),
    "TRYAGAIN": _Meaning(
        True, True, "the slot is being moved; the call was not applied; it is retried for retry_for seconds"
    ),
    "NOSCRIPT": _Meaning(True, True, "it forgets scripts as soon as they are loaded"),
    "OOM": _Meaning(False, True, "its memory is full; finish or purge tasks, or raise maxmemory"),
    "MISCONF": _Meaning(False, True, "it cannot write to its disk; see its log, and free some space"),
    "NOREPLICAS": _Meaning(
        False, True, "it has fewer replicas than min-replicas-to-write; start one, or lower that setting"
    ),
    "MOVED": _Meaning(False, False, "another node of the cluster has this slot; use RedisCluster, or cluster=True"),
    "ASK": _Meaning(False, False, "another node of the cluster has this slot; use RedisCluster, or cluster=True"),
    "CROSSSLOT": _Meaning(False, False, "the keys of one call must be in one slot"),
    "NOPERM": _Meaning(
        False,
        False,
        "its user needs EVALSHA, EVALSHA_RO, SCRIPT LOAD, BLPOP and the keys of its role: adeq scripts acl",
    ),
    "NOAUTH": _Meaning(False, False, "it needs a user name and a password; give them in the URL"),
    "WRONGTYPE": _Meaning(
        False,
        False,
        "a key has a type that pyadeq never gives it, so another program wrote it; find it with TYPE",
        midway=True,
        damaged=True,
    ),
}
_UNKNOWN: Final = _Meaning(False, False, "see the server's log", midway=True)
# These errors have no code of their own: they are recognized by their text.
_FORBIDDEN: Final = _Meaning(
    False,
    False,
    "its user may not run a command that the scripts need, so the call may be half done; run adeq doctor",
    midway=True,
)
_BROKEN: Final = _Meaning(
    False,
    False,
    "a script met a value that pyadeq never stores, so another program wrote it; run adeq doctor",
    midway=True,
    damaged=True,
)
_KILLED: Final = _Meaning(False, True, "an operator ended it with SCRIPT KILL before it had changed anything")
_WORDS: Final = {
    "killed by user": _KILLED,
    "ACL failure in script": _FORBIDDEN,  # Valkey
    "user executing the script": _FORBIDDEN,  # Redis
    "user_script:": _BROKEN,
}


def is_passing(refusal: Refusal) -> bool:
    """Whether the same command may be accepted within seconds."""
    return _meaning(refusal).passing


def told(refusal: Refusal) -> str | None:
    """Return an explanation of an error after which the call can be sent again; None for all other errors."""
    meaning = _meaning(refusal)
    return _words(refusal, meaning) if meaning.retryable else None


def is_too_old(refusal: Refusal) -> bool:
    """Return whether the server is too old: it does not know `#!lua` or EVALSHA_RO."""
    text = f"{refusal.code} {refusal.text}"
    return ("command" in text and "EVALSHA_RO" in text) or ("compiling script" in text and "near '#'" in text)


def too_old_error(subject: str, server: Server | None) -> ConfigError:
    """The error for a server that is too old. server: None where it does not say what it is."""
    this = f"this is {server.name} {server.version}" if server and server.version else "this server is older"
    return ConfigError(
        f"{subject}: pyadeq needs Redis 7.0 or Valkey 7.2, or newer; {this}; upgrade the server, or connect to another"
    )


def refusal_error(subject: str, refusal: Refusal, maybe_applied: bool, role: str = "") -> AdeqError:
    """Return the error for an error reply. maybe_applied: an earlier try of this call may have been applied. role: the
    role that the call needs.
    """
    code, text = refusal
    if code.startswith("ADEQ_"):
        error = script_error(code, subject, text)
        error.may_have_applied = maybe_applied
        return error
    if is_too_old(refusal):
        return too_old_error(subject, None)
    meaning = _meaning(refusal)
    who = ""
    if code == "NOPERM" and role:
        who = _WHO.get(role, f"{subject.partition('.')[0]}.{role}")
    before = "; an earlier try, whose answer was lost, may have been applied" if maybe_applied else ""
    return (DamagedError if meaning.damaged else TransportError)(
        f"{subject}: {_words(refusal, meaning, who)}{before}",
        retryable=meaning.retryable,
        may_have_applied=maybe_applied or meaning.midway,
    )


def _words(refusal: Refusal, meaning: _Meaning, who: str = "") -> str:
    whose = f", which is for the role {who}" if who else ""
    return f"the server refused the call{whose}: {meaning.advice} ({refusal.code} {refusal.text})"


def _meaning(refusal: Refusal) -> _Meaning:
    if found := _MEANINGS.get(refusal.code):
        return found
    text = f"{refusal.code} {refusal.text}"
    return next((meaning for words, meaning in _WORDS.items() if words in text), _UNKNOWN)


def loss_error(subject: str, loss: Loss, maybe_applied: bool) -> TransportError:
    """The error for a call that was given up after its connection failed."""
    if isinstance(loss.error, ClientClosed):
        known = "; the call may have been applied before" if maybe_applied else ""
        return ClientClosed(f"{subject}: {loss.error}{known}", may_have_applied=maybe_applied)
    known = "may have been applied: send the same call again to find out" if maybe_applied else "was not applied"
    error = TransportError(
        f"{subject}: {loss.error}; the call {known}", retryable=loss.retryable, may_have_applied=maybe_applied
    )
    error.__cause__ = loss.error
    return error
