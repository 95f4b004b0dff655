"""The provider of feature flags."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from time import time
from typing import Any, Final, TypeVar

from openfeature.evaluation_context import EvaluationContext
from openfeature.event import ProviderEventDetails
from openfeature.exception import ErrorCode, ProviderNotReadyError
from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
from openfeature.provider import AbstractProvider, Metadata, ProviderStatus

from pyadeq import Config, ConfigSnapshot, ConfigValue, Flag
from pyadeq.errors import BadArgument
from pyadeq.ext.connect.openfeature.flag_file import read_flags, write_flags

PREFIX: Final = "flag:"
LOOK_EVERY: Final = 0.25
"""Seconds between two looks at whether the snapshot is stale, for events. Answers always know it at once."""

T = TypeVar("T")
Found = Mapping[str, Flag | BadArgument]
REASONS: Final = {reason.value: reason for reason in Reason}
NO_CONTEXT: Final = EvaluationContext()

log = logging.getLogger("pyadeq.openfeature")


class FlagProvider(AbstractProvider):
    """Feature flags of a config, for OpenFeature. Each answer is computed in the process; the server is not asked.

    config: the namespace with the flags, of the synchronous client: `adeq.config("flags")`.
    file: where to keep the flags, in flagd's format. It is replaced after each change. A process that starts while the
    server is away reads it. None: such a process gives the default values of its code.
    wait: seconds for which the initialization waits for the server.
    poll: seconds between two questions whether flags have changed. Most changes come earlier, by a hint of the server.

    While the server is away, the last flags hold, and all answers have the reason `STALE`.
    """

    def __init__(self, config: Config, *, file: str | Path | None = None, wait: float = 2.0, poll: float = 5.0) -> None:
        super().__init__()
        self._config = config
        self._file = None if file is None else Path(file)
        self._wait = wait
        self._poll = poll
        self._lock = Lock()
        self._writing = Lock()
        self._snapshot: ConfigSnapshot | None = None
        self._forget()

    def _forget(self) -> None:
        # name → flag, or why there is none. It is replaced as a whole, so that evaluations need no lock.
        self._flags: Found = {}
        self._values: Mapping[str, ConfigValue] = {}
        self._saved = False
        self._known = False
        # What was said last. None: the SDK has not said yet how the initialization ended.
        self._status: ProviderStatus | None = None
        self._stopped = Event()
        self._looking: Thread | None = None

    def get_metadata(self) -> Metadata:
        """The name of the provider."""
        return Metadata(name="pyadeq")

    def initialize(self, evaluation_context: EvaluationContext) -> None:
        """Read all flags. If the server is away, read the file; without one, raise ProviderNotReadyError.

        In each case the provider goes on trying, and says by an event when it has read the flags.
        """
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._config.watch(on_change=self._take, poll=self._poll)
            snapshot = self._snapshot
        if snapshot.start(self._wait):
            self._take()
        with self._lock:
            if not self._known:
                self._read_file()
            # The SDK reports READY or ERROR after this method. The thread reports what is different later.
            self._status = ProviderStatus.READY if self._known else ProviderStatus.ERROR
            if self._looking is None:
                self._looking = Thread(target=self._look, args=(self._stopped,), name="pyadeq-flags", daemon=True)
                self._looking.start()
            if not self._known:
                why = f": {snapshot.error}" if snapshot.error else ""
                raise ProviderNotReadyError(f"the flags were not read within {self._wait:g} s{why}")

    def shutdown(self) -> None:
        """End the reading, and forget all flags. The provider may be initialized again."""
        with self._lock:
            snapshot, self._snapshot = self._snapshot, None
            self._stopped.set()
            self._forget()
        if snapshot is not None:
            snapshot.close()

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Evaluate a flag with boolean values."""
        return self._resolve("boolean", flag_key, default_value, evaluation_context)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Evaluate a flag with texts."""
        return self._resolve("string", flag_key, default_value, evaluation_context)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Evaluate a flag with numbers. A value that is no whole number is a wrong type."""
        told = self._resolve("number", flag_key, default_value, evaluation_context)
        value: Any = told.value
        if told.variant is not None and isinstance(value, float):
            if not value.is_integer():
                return _failed(default_value, ErrorCode.TYPE_MISMATCH, f"{flag_key}: {value} is no integer")
            told.value = int(value)
        return told

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Evaluate a flag with numbers."""
        told = self._resolve("number", flag_key, default_value, evaluation_context)
        if told.variant is not None:
            told.value = float(told.value)
        return told

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        """Evaluate a flag with objects or lists. The value is the caller's own copy."""
        told = self._resolve("object", flag_key, default_value, evaluation_context)
        if told.variant is not None:
            told.value = _copied(told.value)
        return told

    def _resolve(self, kind: str, key: str, default: T, context: EvaluationContext | None) -> FlagResolutionDetails[T]:
        flag, snapshot = self._flags.get(key), self._snapshot
        if not isinstance(flag, Flag):
            return self._without_flag(key, default, flag)
        if flag.kind != kind:
            return _failed(default, ErrorCode.TYPE_MISMATCH, f"{key} has values of the kind {flag.kind}, not {kind}")
        if context is None:
            context = NO_CONTEXT
        variant, reason = flag.choose(context.attributes, context.targeting_key, int(time()))
        if reason == "ERROR":
            return _failed(
                default, ErrorCode.GENERAL, f"{key}: its rule chose {variant}, which is none of its variants"
            )
        stale = snapshot is None or snapshot.stale
        return FlagResolutionDetails(
            default if variant is None else flag.variants[variant],
            reason=Reason.STALE if stale else REASONS[reason],
            variant=variant,
            flag_metadata=flag.metadata,
        )

    def _without_flag(self, key: str, default: T, error: BadArgument | None) -> FlagResolutionDetails[T]:
        if error is not None:
            return _failed(default, ErrorCode.PARSE_ERROR, f"{key}: {error.message}")
        if not self._known:
            return _failed(default, ErrorCode.PROVIDER_NOT_READY, "the flags were not read yet")
        return _failed(default, ErrorCode.FLAG_NOT_FOUND, f"there is no flag {key}")

    # In the background

    def _take(self, _: Iterable[str] = ()) -> None:
        """Compile what has changed, say so, and write the file."""
        with self._lock:
            if (snapshot := self._snapshot) is None:
                return
            before, after = self._flags, self._compile(snapshot.content)
            self._flags, self._known = after, True
        changed = sorted(name for name in before.keys() | after.keys() if _differ(before.get(name), after.get(name)))
        self._report(changed)
        if self._file is not None and (changed or not self._saved):
            with self._writing:
                flags = {name: flag for name, flag in self._flags.items() if isinstance(flag, Flag)}
                try:
                    write_flags(self._file, flags)
                    self._saved = True
                except OSError as error:
                    log.warning("the flags cannot be written to %s: %s", self._file, error)

    def _compile(self, content: Mapping[str, ConfigValue]) -> Found:
        """The flags of a config. Those that have not changed are not compiled again."""
        flags: dict[str, Flag | BadArgument] = {}
        values = {name.removeprefix(PREFIX): value for name, value in content.items() if name.startswith(PREFIX)}
        for name, value in values.items():
            if self._values.get(name) is value:
                flags[name] = self._flags[name]
                continue
            try:
                flags[name] = Flag(name, value.value)
            except BadArgument as error:
                log.warning("the flag %s cannot be used: %s", name, error.message)
                flags[name] = error
        self._values = values
        return flags

    def _report(self, changed: Sequence[str] = ()) -> None:
        """Say by events what is different from what was said before."""
        with self._lock, suppress(RuntimeError):  # at its end, the interpreter takes no more work for handlers
            if (snapshot := self._snapshot) is None or self._status is None:
                return
            self._known = self._known or snapshot.loaded
            status = ProviderStatus.STALE if snapshot.stale else ProviderStatus.READY
            if status != self._status and self._known:
                self._status = status
                if status == ProviderStatus.READY:
                    self.emit_provider_ready(ProviderEventDetails(message="the flags are current"))
                else:
                    why = f": {snapshot.error}" if snapshot.error else ""
                    self.emit_provider_stale(ProviderEventDetails(message=f"the flags may be old{why}"))
            if changed:
                self.emit_provider_configuration_changed(ProviderEventDetails(flags_changed=list(changed)))

    def _look(self, stopped: Event) -> None:
        while not stopped.wait(LOOK_EVERY):
            self._report()

    def _read_file(self) -> None:
        if self._file is None:
            return
        try:
            self._flags, self._known = read_flags(self._file), True
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            log.warning("the flags cannot be read from %s: %s", self._file, error)


def _differ(one: Flag | BadArgument | None, other: Flag | BadArgument | None) -> bool:
    if isinstance(one, Flag) and isinstance(other, Flag):
        return one.data != other.data
    return one is not other


def _failed(default: T, code: ErrorCode, message: str) -> FlagResolutionDetails[T]:
    return FlagResolutionDetails(default, code, message, Reason.ERROR)


def _copied(value: Any) -> Any:
    """A copy of what JSON may contain."""
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
