"""A program as a handler: what it is given, and what is made of its end."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from pyadeq._core.queue.failures import FAILURES, Rule
from pyadeq._tasks.context import TaskContext
from pyadeq._worker import program_run
from pyadeq._worker.programs import Program, ProgramFailed, read_progress
from pyadeq.errors import ConfigError
from tests.integration.worker.programs import change, failed, lease, run, sh

pytestmark = pytest.mark.any_engine


async def test_the_payload_goes_in_and_the_result_comes_out() -> None:
    assert await run(Program("cat")) == b"hello"
    assert await run(Program("printf '%s|' a 'b c'")) == b"a|b c|"
    assert await run(sh("echo '{\"a\": 1}'; echo noise >&2")) == b'{"a": 1}'
    assert await run(Program(["true"])) == b""
    assert await run(Program(["cat"]), lease(b"")) == b""
    big = os.urandom(3_000_000)
    assert await run(Program(["wc", "-c"]), lease(big)) == b"3000000"


async def test_it_knows_what_it_works_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INHERITED", "yes")
    show = [sys.executable, "-c", "import json, os; print(json.dumps([dict(os.environ), os.getcwd()]))"]
    program = Program(show, env={"MORE": "1"}, cwd=tmp_path)
    env, folder = json.loads(await run(program, lease(kind=b"mail", timeout_ms=b"60000", trace=b"00-ab-cd-01")))
    wanted = {"ADEQ_TASK_ID": "t1", "ADEQ_TASK_KIND": "mail", "ADEQ_FENCE": "7", "ADEQ_ATTEMPT": "2"}
    wanted |= {"ADEQ_PROGRESS_FD": "3", "TRACEPARENT": "00-ab-cd-01", "INHERITED": "yes", "MORE": "1"}
    assert env.items() >= wanted.items()
    assert float(env["ADEQ_DEADLINE"]) > 1_700_000_000
    assert folder == str(tmp_path)
    env, _ = json.loads(await run(program, lease(trace=b"a\0b")))
    assert {"ADEQ_TASK_KIND", "ADEQ_DEADLINE", "TRACEPARENT"}.isdisjoint(env)


async def test_it_leads_a_session_and_a_process_group_with_the_usual_signals() -> None:
    script = "import os, signal; print(os.getpid() == os.getsid(0) == os.getpgid(0), signal.getsignal(signal.SIGPIPE))"
    assert await run(Program([sys.executable, "-S", "-c", script])) == b"True 1"  # Python ignores it by itself
    assert await run(sh("yes | head -1")) == b"y"
    with pytest.raises(ProgramFailed, match="SIGPIPE"):
        await run(sh("kill -PIPE $$"))


@pytest.mark.parametrize(
    ("script", "code", "reason", "retried", "alert", "delay", "text"),
    [
        ("echo no >&2; exit 3", 3, "exit_3", True, False, None, "no\nthe program exited with 3"),
        ("exit 64", 64, "bad_input", False, False, None, "the program exited with 64"),
        ("exit 65", 65, "bad_input", False, False, None, "the program exited with 65"),
        ("exit 69", 69, "exit_69", True, False, None, "the program exited with 69"),
        ("exit 75", 75, "exit_75", True, False, 30.0, "the program exited with 75"),
        ("exit 76", 76, "exit_76", False, True, None, "the program exited with 76"),
        ("exit 77", 77, "exit_77", False, False, None, "the program exited with 77"),
        ("exit 78", 78, "rate_limited", True, False, None, "the program exited with 78"),
        ("exit 79", 79, "exit_79", True, False, 2.5, "the program exited with 79"),
        ("kill -9 $$", 137, "crash", True, False, None, "the program was ended by SIGKILL"),
        ("kill -SEGV $$", 139, "exit_139", False, True, None, "the program was ended by SIGSEGV"),
    ],
)
async def test_what_an_exit_status_means(
    script: str, code: int, reason: str, retried: bool, alert: bool, delay: float | None, text: str
) -> None:
    on_exit = {75: "retry:30", 76: "alert", 77: "fail", 78: "rate_limited", 79: Rule(delay=2.5), 139: "alert"}
    failure = await failed(sh(script, on_exit=on_exit))
    assert (failure.exit_code, failure.reason, failure.retryable, failure.alert) == (code, reason, retried, alert)
    assert (failure.delay, failure.error) == (delay, text)


async def test_want_of_memory_is_no_crash() -> None:
    ended = program_run.Ended(137, signal.SIGKILL, True, 0, b"", b"", True)
    failure = sh("")._failed(ended).failure(lease(), FAILURES)
    assert (failure.reason, failure.retryable, failure.alert, failure.exit_code) == ("out_of_memory", False, True, 137)
    assert failure.error == "the program was ended by SIGKILL: there was not enough memory"


async def test_of_standard_error_the_end_is_kept() -> None:
    failure = await failed(sh("seq 100000 >&2; exit 1"))
    assert isinstance(failure.error, str)
    assert failure.error.endswith("\n99999\n100000\nthe program exited with 1")
    assert 7900 < len(failure.error) <= 8192


async def test_all_output_is_kept_in_files_of_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "out"
    program = sh("echo out; echo err >&2; exit $(cat)", output_dir=folder)
    assert await run(program, lease(b"0")) == b"out"
    with pytest.raises(ProgramFailed):
        await run(program, lease(b"1", id="../up", fence=8))
    assert await run(program, lease(b"0")) == b"out"  # the same fence again, of a queue that was made again
    assert sorted(path.name for path in folder.iterdir()) == [".._up.8", ".._up.last", "t1.7", "t1.7.1", "t1.last"]
    assert [(folder / name).readlink().name for name in (".._up.last", "t1.last")] == [".._up.8", "t1.7.1"]
    for run_folder in folder.iterdir():
        assert run_folder.stat().st_mode & 0o777 == 0o700
        for name, text in (("stdout", "out\n"), ("stderr", "err\n")):
            assert (run_folder / name).read_text() == text
            assert (run_folder / name).stat().st_mode & 0o777 == 0o600


async def test_much_output_fills_neither_memory_nor_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = sh("yes 0123456789 | head -c 100000000; echo the end", output_dir=tmp_path, output_max=5_000_000)
    result = await run(program)
    assert len(result) == program_run.MAX_RESULT
    assert result.endswith(b"0the end\n")
    assert (tmp_path / "t1.7" / "stdout").stat().st_size == 5_000_000
    assert "not all that the program printed is in" in caplog.text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
async def test_a_full_disk_does_not_end_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    change(monkeypatch, tmp_path, "os.open(path, flags, 0o600)", 'os.open("/dev/full", os.O_WRONLY)')
    assert await run(sh("echo out", output_dir=tmp_path / "out")) == b"out"
    assert "the output of a program cannot be kept" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", 0),
        ("head -c 10 > /dev/null", 0),
        ("exec <&-; exit 5", 5),
        ("exec <&- >&- 2>&- 3>&-; sleep 0.1; exit 4", 4),
        ("head -c 100000 > /dev/null; exit 6", 6),
    ],
)
async def test_a_program_need_not_read_its_input(script: str, status: int) -> None:
    if status:
        with pytest.raises(ProgramFailed) as error:
            await run(sh(script), lease(b"x" * 4_000_000))
        assert error.value.exit_code == status
    else:
        assert await run(sh(script), lease(b"x" * 4_000_000)) == b""


async def test_a_program_that_was_removed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    program = Program([str(path)])
    path.unlink()
    failure = await failed(program)
    assert failure.exit_code == 126
    assert failure.error == f"cannot run '{path}': No such file or directory\nthe program exited with 126"


async def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[Any, ...]] = []
    monkeypatch.setattr(TaskContext, "report", lambda _, *words: said.append(words))
    await run(sh("echo 0.25 a quarter >&3; echo '  words ' >&$ADEQ_PROGRESS_FD; echo 1 >&3"))
    assert said == [(0.25, "a quarter"), (None, "words"), (1.0, None)]


async def test_much_progress_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str | None] = []
    monkeypatch.setattr(TaskContext, "report", lambda _, fraction, text: said.append(text))
    assert await run(sh("yes 0.5 again | head -c 20000000 >&3; head -c 3000 /dev/zero >&3; echo ok")) == b"ok"
    assert set(said) == {"again"}


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("0.5", (0.5, None)),
        ("1 done", (1.0, "done")),
        ("2 of 3", (None, "2 of 3")),
        ("nan x", (None, "nan x")),
        ("-0.5", (None, "-0.5")),
        ("", (None, None)),
    ],
)
def test_a_line_of_progress(line: str, progress: tuple[float | None, str | None]) -> None:
    assert read_progress(line) == progress


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ("", {}, "command: '' is not accepted; name a program"),
        ([], {}, r"command: \[\] is not accepted"),
        ("cat 'x", {}, 'command: "cat \'x" is not accepted: No closing quotation'),
        ("no-such-program -x", {}, r"command: there is no program 'no-such-program' on the PATH \("),
        ("/etc/passwd", {}, "command: there is no program '/etc/passwd' that can be run"),
        ("./here", {}, "command: there is no program './here' that can be run"),
        (["cat", "a\0b"], {}, "command: a word with a NUL"),
        ("cat", {"cwd": "/no/such/folder"}, "cwd: there is no folder '/no/such/folder'"),
        ("cat", {"output_dir": "/dev/null/x"}, "output_dir: '/dev/null/x' cannot be made: Not a directory"),
        ("cat", {"output_max": -1}, "output_max: -1 is not accepted"),
        ("cat", {"kill_after": -1}, "kill_after: -1 is not accepted"),
        ("cat", {"on_exit": {0: "fail"}}, "on_exit: 0 is not accepted; allowed: an exit status of 1 to 255"),
        ("cat", {"on_exit": {75: "again"}}, "on_exit: 'again' for 75 is not accepted; allowed: retry, retry:<seconds>"),
        ("cat", {"on_exit": {75: "fail:3"}}, "on_exit: 'fail:3' for 75 is not accepted"),
    ],
)
def test_what_cannot_work_is_refused(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Program(arguments, **options)


async def test_a_path_is_that_of_where_it_runs(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("#!/bin/sh\necho here\n")
    (tmp_path / "here").chmod(0o755)
    assert await run(Program("./here", cwd=tmp_path)) == b"here"
