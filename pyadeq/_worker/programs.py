"""A program as a handler: it gets the payload on its standard input, and its standard output is the result."""

from __future__ import annotations

import logging
import math
import os
import re
import shlex
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from pyadeq._core.queue.failures import FAILURES, Failures, Rule, TaskFailed
from pyadeq._core.queue.items import Failure
from pyadeq._tasks.context import TaskContext
from pyadeq._worker.program_run import GIVE_UP, MAX_RESULT, Ended, Lost, ProgramRun
from pyadeq.errors import ConfigError
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Lease

OUTPUT_MAX = 64 * 1024 * 1024
KILL_AFTER = 5.0
ON_EXIT: dict[int, str | Rule] = {64: "bad_input", 65: "bad_input", 69: "retry", 75: "retry"}  # as in sysexits.h
ACTIONS = {"retry": Rule(), "fail": Rule(retry=False), "alert": Rule(retry=False, alert=True)}
MEANINGS = f"retry, retry:<seconds>, fail, alert, {', '.join(FAILURES.rules)}"
KILLED = 128 + signal.SIGKILL
log = logging.getLogger("pyadeq.worker")


class ProgramFailed(TaskFailed):
    """A program ended with an exit status other than 0.

    text: the end of its standard error, and how it ended.
    exit_code: its exit status, 128 + n if signal n ended it.
    meaning: a failure class, or a Rule.
    """

    def __init__(self, text: str, exit_code: int, meaning: str | Rule) -> None:
        own_word = isinstance(meaning, Rule) or meaning == "error"
        super().__init__(text, reason=f"exit_{exit_code}" if own_word else str(meaning))
        self.text = text
        self.exit_code = exit_code
        self.meaning = meaning

    def failure(self, lease: Lease, failures: Failures) -> Failure:
        """Return how it fails the attempt: with the program's error text, and no traceback."""
        name = "error"
        if isinstance(self.meaning, Rule):
            failures = failures.changed(error=self.meaning)
        else:
            name = self.meaning
        return failures.failure(name, lease, self.text, reason=self.reason, exit_code=self.exit_code)


class Program:
    """A handler that runs a program for each task, in its own process group.

    Raises ConfigError for a program that does not exist, and for options that cannot work.

    command: the program and its arguments, or one line that is split as a shell does it; no shell runs it.
    output_dir: keep all its output there, in a folder `<id>.<fence>` for each run. `<id>.last` links to the last one.
    output_max: the most bytes of each file in it.
    kill_after: seconds from SIGTERM to SIGKILL if a run must end early.
    on_exit: the meaning of exit statuses, in addition to those of sysexits.h: `retry`, `retry:<seconds>`, `fail`,
    `alert` (fail, and an event task.alert), the name of a failure class, or a Rule.
    cwd: the working directory.
    env: more environment variables.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        output_dir: str | Path | None = None,
        output_max: int = OUTPUT_MAX,
        kill_after: Seconds = KILL_AFTER,
        on_exit: Mapping[int, str | Rule] | None = None,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._cwd = None if cwd is None else str(cwd)
        self.command = _checked_command(command, self._cwd)
        self._kill_after = to_ms("kill_after", kill_after) / 1000
        if self._kill_after < 0:
            raise ConfigError(f"kill_after: {kill_after!r} is not accepted; allowed: 0 s and more")
        if output_max < 0:
            raise ConfigError(f"output_max: {output_max!r} is not accepted; allowed: 0 bytes and more")
        self._output_max = output_max
        self._output_dir = None if output_dir is None else _checked_folder(Path(output_dir))
        self._on_exit = {code: checked_meaning(code, what) for code, what in {**ON_EXIT, **(on_exit or {})}.items()}
        self._env = dict(env or {})
        # How long a Worker should wait for us once it has cancelled us.
        self.clean_up = self._kill_after + GIVE_UP

    async def __call__(self, lease: Lease) -> bytes:
        """Run it for one task. Returns its output. Raises ProgramFailed if its exit status is not 0."""
        context = TaskContext.current()
        folder = None if self._output_dir is None else _new_folder(self._output_dir, lease)
        if folder:
            context.report(output=folder)

        run = ProgramRun(
            self.command,
            env={**os.environ, **self._env, **about(lease, context)},
            cwd=self._cwd,
            folder=folder,
            output_max=self._output_max,
            kill_after=self._kill_after,
            heard=lambda line: context.report(*read_progress(line)),
        )
        try:
            ended = await run(lease.data)
        except Lost:
            text = "the process that looks after the program was killed, and the program with it"
            raise ProgramFailed(text, KILLED, "crash") from None
        if folder and not ended.whole:
            log.warning("task %s: not all that the program printed is in %s", lease.id, folder)
        if ended.status:
            raise self._failed(ended)
        return ended.result if ended.printed > MAX_RESULT else ended.result.rstrip(b"\n")

    def _failed(self, ended: Ended) -> ProgramFailed:
        how = f"the program exited with {ended.status}"
        if ended.signal:
            how = f"the program was ended by {_signal_name(ended.signal)}"
        if ended.out_of_memory:
            how += ": there was not enough memory"
        default = "out_of_memory" if ended.out_of_memory else "crash" if ended.signal else "error"
        said = ended.error.decode(errors="replace").rstrip()
        text = f"{said}\n{how}" if said else how
        return ProgramFailed(text, ended.status, self._on_exit.get(ended.status, default))

    def __repr__(self) -> str:
        return f"<Program {shlex.join(self.command)}>"


def checked_meaning(code: object, what: object) -> str | Rule:
    """Return the meaning of an exit status: a failure class, or the rule for a word. ConfigError if it is neither."""
    if not isinstance(code, int) or not 1 <= code <= 255:
        raise ConfigError(f"on_exit: {code!r} is not accepted; allowed: an exit status of 1 to 255 (128 + n: signal n)")
    if isinstance(what, Rule):
        return what
    word, colon, seconds = str(what).partition(":")
    if word == "retry" and colon and re.fullmatch(r"\d+(\.\d+)?", seconds):
        return Rule(delay=float(seconds))
    if not colon and word in ACTIONS:
        return ACTIONS[word]
    if not colon and word in FAILURES.rules:
        return word
    raise ConfigError(f"on_exit: {what!r} for {code} is not accepted; allowed: {MEANINGS}")


def read_progress(line: str) -> tuple[float | None, str | None]:
    """Read `0.5 half of it` as a fraction and a text; either may be missing."""
    first, _, rest = line.strip().partition(" ")
    try:
        fraction = float(first)
    except ValueError:
        fraction = math.nan
    if 0 <= fraction <= 1:
        return fraction, rest.strip() or None
    return None, line.strip() or None


def about(lease: Lease, context: TaskContext) -> dict[str, str]:
    """Return the environment variables about the task."""
    words = {
        "ADEQ_TASK_ID": lease.id,
        "ADEQ_TASK_KIND": lease.kind,
        "ADEQ_FENCE": lease.fence,
        "ADEQ_ATTEMPT": lease.attempt,
        "ADEQ_SCHEDULE": lease.schedule,
        "ADEQ_NOMINAL": None if lease.nominal is None else f"{lease.nominal:.3f}",
        "ADEQ_QUEUE": context.queue_name,
        "ADEQ_WORKER": context.worker,
        "ADEQ_DEADLINE": None if lease.timeout is None else f"{time.time() + lease.timeout:.3f}",
        "ADEQ_PROGRESS_FD": 3,
        "TRACEPARENT": context.trace,
    }
    if context.running is not None:  # the span of this run, and not that of the enqueue
        words |= {name.upper(): text for name, text in context.running.carrier.items()}
    # A trace is anybody's text, and an environment takes no NUL.
    return {name: str(value) for name, value in words.items() if value is not None and "\0" not in str(value)}


def _checked_command(command: str | Sequence[str], cwd: str | None) -> list[str]:
    """Return the command in words, its program as a path. ConfigError if it cannot be run."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]
    except ValueError as error:
        raise ConfigError(f"command: {command!r} is not accepted: {error}") from None
    if not words or not words[0]:
        raise ConfigError(f"command: {command!r} is not accepted; name a program and its arguments")
    if any("\0" in word for word in words):
        raise ConfigError("command: a word with a NUL in it is not accepted")
    if cwd is not None and not os.path.isdir(cwd):
        raise ConfigError(f"cwd: there is no folder {cwd!r}")
    name = words[0]
    # A path is relative to where the program runs.
    found = shutil.which(os.path.join(cwd or "", name) if os.sep in name else name)
    if found is None:
        where = "" if os.sep in name else f" on the PATH ({os.environ.get('PATH', '')})"
        raise ConfigError(f"command: there is no program {name!r}{where} that can be run")
    return [os.path.abspath(found), *words[1:]]


def _checked_folder(folder: Path) -> Path:
    """Return the folder, created if necessary. ConfigError if it is not writable."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"output_dir: {str(folder)!r} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"output_dir: {str(folder)!r} cannot be written to")
    return folder.absolute()


def _new_folder(parent: Path, lease: Lease) -> str:
    """Return a new folder. A recreated base may repeat a fence, so the name may be taken."""
    id = re.sub(r"[^A-Za-z0-9._@+-]", "_", lease.id)
    name = f"{id}.{lease.fence}"
    for again in count():
        folder = parent / (f"{name}.{again}" if again else name)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        with suppress(OSError):  # a file system without links
            os.symlink(folder.name, f"{folder}.link")
            os.replace(f"{folder}.link", parent / f"{id}.last")
        return str(folder)
    raise AssertionError


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the real-time signals
        return f"signal {number}"
