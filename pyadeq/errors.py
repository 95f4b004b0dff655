"""Everything pyadeq raises.

AdeqError
├─ ConfigError                      a setting cannot work; raised before anything runs
├─ ScriptError                      a script refused the call and wrote nothing (code, script, message)
│  ├─ BadArgument    (ValueError)   ADEQ_ARG       an argument is outside what the contract accepts
│  ├─ LayoutError                   ADEQ_LAYOUT    the stored data needs a newer pyadeq
│  ├─ ClockError                    ADEQ_CLOCK     now_ms was sent to a base that uses the server's time
│  ├─ ConflictError                 ADEQ_CONFLICT  the call contradicts what is stored
│  └─ QueueDraining                 ADEQ_DRAINING  the queue takes no new tasks
├─ LeaseLost                        the lease ran out, or somebody else settled the task
├─ WorkerReplaced                   the worker's name was registered again elsewhere
├─ DurabilityError                  the call was applied, but is not yet where `durability` wants it (.answer)
└─ TransportError                   no script answered (.retryable, .may_have_applied)
"""

from __future__ import annotations

import typing


class AdeqError(Exception):
    """The base of every error that pyadeq raises on its own."""


class ConfigError(AdeqError):
    """A setting, a name or a combination of them cannot work. Raised before anything runs."""


class ScriptError(AdeqError):
    """A script refused the call. Nothing was written.

    code: the word that opens the error reply, `ADEQ_ARG` for instance.
    script: the id of the script, `queue.ack.v1` for instance.
    """

    def __init__(self, code: str, script: str, message: str) -> None:
        super().__init__(code, script, message)
        self.code = code
        self.script = script
        self.message = message

    def __str__(self) -> str:
        return f"{self.script}: {self.message} ({self.code})"


class BadArgument(ScriptError, ValueError):
    """An argument is outside what the contract accepts. Correct the call; sending it again cannot help."""


class LayoutError(ScriptError):
    """The stored data has a layout that these scripts must not touch. Upgrade pyadeq."""


class ClockError(ScriptError):
    """`now_ms` goes to bases that were created with `clock=test`, always, and to no others."""


class ConflictError(ScriptError):
    """The call contradicts what is stored. Read the state before you decide again."""


class QueueDraining(ScriptError):
    """The queue is being drained and takes no new tasks. Send them elsewhere, or resume the queue."""


class LeaseLost(AdeqError):
    """The lease ran out, or the task was settled under another token. Nothing was changed: stop the work."""


class WorkerReplaced(AdeqError):
    """The worker's name was registered again elsewhere (status `stale`). Nothing was changed."""


class TransportError(AdeqError):
    """No script answered the call: the connection failed, or the server refused to run it.

    retryable: the same call, the same rid in it, may succeed later.
    may_have_applied: False only if the call surely never reached a script.
    """

    def __init__(self, message: str, *, retryable: bool, may_have_applied: bool) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.may_have_applied = may_have_applied


class DurabilityError(AdeqError):
    """The call was applied, but it is not known to be where the client's `durability` wants it.

    answer: what the script behind the call answered, as its Call decodes it (a list where it takes many); what it says
    holds unless the primary is lost now.
    retryable: True. The same call, with the same rid, changes nothing and waits for the confirmation again.
    """

    retryable = True
    may_have_applied = True

    def __init__(self, message: str, answer: typing.Any = None) -> None:
        super().__init__(message)
        self.answer = answer


SCRIPT_ERRORS: dict[str, type[ScriptError]] = {
    "ADEQ_ARG": BadArgument,
    "ADEQ_LAYOUT": LayoutError,
    "ADEQ_CLOCK": ClockError,
    "ADEQ_CONFLICT": ConflictError,
    "ADEQ_DRAINING": QueueDraining,
}


def script_error(code: str, script: str, message: str) -> ScriptError:
    """The error for a code; a code that this release does not know is a plain ScriptError."""
    return SCRIPT_ERRORS.get(code, ScriptError)(code, script, message)
