"""Where each peer is installed, and how its script is run.

A venv for each Python peer, for they exclude one another's versions of redis-py, and a node_modules. All of it lies in
build/peers and is made once, and again when its list changes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "peers"
OURS = "pyadeq"
NODE = "bullmq-node"
NAMES = (OURS, NODE, "bullmq-python", "taskiq", "streaq", "saq", "arq", "docket", "rq", "dramatiq", "celery", "huey")


@dataclass(frozen=True)
class Peer:
    """A peer that is installed.

    command: what runs its script. path: where its Python finds packages first. versions: of it and of what it runs on.
    The others are those of `contract.Peer`.
    """

    name: str
    command: tuple[str, ...]
    versions: dict[str, str]
    mode: str
    done: str
    ways: list[str]
    kept: str
    leaves: float
    path: str = ""

    def start(self, *arguments: str, output: Any, errors: Any) -> subprocess.Popen[bytes]:
        """Its script, as a process of its own."""
        return subprocess.Popen(
            [*self.command, *arguments], cwd=ROOT, env=environment(self.path), stdout=output, stderr=errors
        )


def environment(path: str) -> dict[str, str]:
    return ENVIRONMENT | {"PYTHONPATH": path} if path else ENVIRONMENT


ENVIRONMENT = {**os.environ, "NODE_PATH": str(BUILD / "node" / "node_modules")}


def prepare(name: str) -> Peer:
    """Install it if need be. Exits with what is missing."""
    return described(name, (node() if name == NODE else python(name), *script(name)))


def earlier(commit: str) -> Peer:
    """Ours as it was at a commit, beside ours."""
    path = f"{exported(commit)}{os.pathsep}{ROOT}"
    return described(f"{OURS} at {commit}", (sys.executable, "-P", *script(OURS)), path)


def exported(commit: str) -> Path:
    """The package as it was at a commit."""
    place = BUILD / "earlier" / commit
    if not place.is_dir():
        place.mkdir(parents=True)
        archive = ["git", "archive", commit, "pyadeq", "lua/dist", "lua/manifest.json"]
        with subprocess.Popen(archive, cwd=ROOT, stdout=subprocess.PIPE) as packed:
            taken = subprocess.run(["tar", "-x", "-C", str(place)], stdin=packed.stdout, check=False).returncode
        if packed.returncode or taken:
            shutil.rmtree(place)
            raise SystemExit(f"--before {commit}: this is not a commit of the repository in {ROOT}")
    return place


def described(name: str, command: tuple[str, ...], path: str = "") -> Peer:
    """What its script says of itself."""
    about = json.loads(run(*command, "about", cwd=ROOT, env=environment(path)))
    return Peer(name=name, command=command, path=path, **about)


def script(name: str) -> list[str]:
    module = f"of_{name.replace('-', '_')}"
    return [str(HERE / f"{module}.cjs")] if name == NODE else ["-m", f"bench.peers.{module}"]


def python(name: str) -> str:
    """The Python of a peer's venv; ours runs in the one that runs this."""
    if name == OURS:
        return sys.executable
    requirements = HERE / "requirements" / f"{name.replace('-', '_')}.txt"
    venv = BUILD / name
    binary = venv / "bin" / "python"
    if stale(venv, sys.version, requirements):
        print(f"installing {name}", file=sys.stderr)
        run(sys.executable, "-m", "venv", "--clear", str(venv))
        run(str(binary), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements))
        fresh(venv, sys.version, requirements)
    return str(binary)


def node() -> str:
    """The Node on the PATH, with its packages installed."""
    binary, npm = shutil.which("node"), shutil.which("npm")
    if binary is None or npm is None:
        raise SystemExit(f"{NODE} needs node and npm on the PATH: install Node 20 or newer, or name others by --peers")
    packages = BUILD / "node"
    lists = [HERE / "package.json", HERE / "package-lock.json"]
    if stale(packages, binary, *lists):
        print(f"installing {NODE}", file=sys.stderr)
        packages.mkdir(parents=True, exist_ok=True)
        for one in lists:
            shutil.copy(one, packages)
        # not `npm ci`: the lock has the optional binaries of Linux alone, and others take what there is for theirs
        run(npm, "install", "--no-audit", "--no-fund", "--loglevel=error", cwd=packages)
        fresh(packages, binary, *lists)
    return binary


def stale(directory: Path, what: str, *lists: Path) -> bool:
    """Whether it is not there, or was made by something else or from other lists."""
    stamp = directory / ".made-from"
    return not stamp.is_file() or stamp.read_text() != stamped(what, *lists)


def fresh(directory: Path, what: str, *lists: Path) -> None:
    (directory / ".made-from").write_text(stamped(what, *lists))


def stamped(what: str, *lists: Path) -> str:
    return "\n".join([what, *(one.read_text() for one in lists)])


def run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """What it prints. Exits with what it says when it fails."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
