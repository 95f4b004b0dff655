"""First uses in several threads and processes at once: imports neither hang nor fail."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import slow_after

ROOT = Path(__file__).parents[2]

FORKED = """
import os, signal, sys, threading, time
import {package} as pyadeq

class Slow:  # an import that another thread has begun when the process forks
    def find_spec(self, name, path=None, target=None):
        if name == {module!r} and threading.current_thread() is not threading.main_thread():
            begun.set()
            time.sleep(0.2)

def use():
    pyadeq.Adeq.from_url("redis://localhost:1").queue("x")

begun = threading.Event()
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=use)
thread.start()
assert begun.wait(30)
child = os.fork()
if child == 0:
    signal.alarm(30)
    use()
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize(
    ("package", "module"),
    slow_after(
        3,
        [
            ("pyadeq", "redis"),
            ("pyadeq", "email.parser"),  # redis-py imports it late
            ("pyadeq", "pyadeq._sync.queue.leases"),
            ("pyadeq", "pyadeq.errors"),
            ("pyadeq", "pyadeq._sync.kernel.scripts"),
            ("pyadeq.asyncio", "pyadeq._async.queue.leases"),
        ],
    ),
)
def test_a_child_forked_in_a_first_use_can_import(package: str, module: str) -> None:
    run(FORKED.format(package=package, module=module))


def test_a_child_forked_while_the_manifest_is_read_can_read_it() -> None:
    run(
        """
import json, os, signal, threading, time
from pyadeq._core.kernel.manifest import library

def slow(text, read=json.loads):
    if threading.current_thread() is not threading.main_thread():
        begun.set()
        time.sleep(0.3)
    return read(text)

begun, json.loads = threading.Event(), slow
thread = threading.Thread(target=lambda: library().manifest)
thread.start()
assert begun.wait(30)
child = os.fork()
if child == 0:
    signal.alarm(30)
    library().manifest
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""
    )


def test_a_fork_within_an_import_goes_on_in_both() -> None:
    run(
        """
import os, signal, sys
import pyadeq

class Forks:
    def find_spec(self, name, path=None, target=None):
        global child
        if name == "pyadeq._sync.queue.leases":
            child = os.fork()

child = None
sys.meta_path.insert(0, Forks())
pyadeq.Queue
if child == 0:
    signal.alarm(30)
pyadeq.Locks
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    )


def test_a_package_and_its_module_can_be_imported_at_once() -> None:
    run(
        """
import sys, threading, time
import pyadeq

class Slow:  # a package that imports its module, when another thread has begun with the module
    def find_spec(self, name, path=None, target=None):
        if name == "pyadeq._sync.queue.partitions":
            begun.set()
            time.sleep(0.3)

def first(name):
    try:
        getattr(pyadeq, name)
    except Exception as error:
        failed.append(error)

failed, begun = [], threading.Event()
sys.meta_path.insert(0, Slow())
threads = [threading.Thread(target=first, args=[name]) for name in ("PartitionedQueue", "PartitionedLimits")]
threads[0].start()
assert begun.wait(30)
threads[1].start()
for thread in threads:
    thread.join(5)
    assert not thread.is_alive()
assert not failed, failed
"""
    )


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT, timeout=90
    )
    assert done.returncode == 0, done.stderr
