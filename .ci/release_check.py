"""Rehearse a release: build from a clean clone, install in fresh environments, and check what users would get.

    python .ci/release_check.py [--out DIR]   needs network for the packages that pip installs

The commit that is checked out is what counts, without changes that are not committed. With --out, the checked files and
an SBOM stay there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("build>=1.2", "hatchling>=1.27", "twine>=6.1", "cyclonedx-bom>=7")
REDIS = (6, 7, 8)  # the major versions of redis-py that pyproject.toml allows
USE = """
from pyadeq import Adeq
with Adeq.embedded() as adeq:
    queue = adeq.queue("default")
    receipt = queue.enqueue({"text": "Hello"})
    queue.ack(queue.claim("w1")[0], result=5)
    print(queue.get(receipt.id).state, queue.get(receipt.id).result)
"""


def run(*command: str | Path, **environment: str) -> str:
    """Return what a command prints. One that fails ends the check."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ADEQ_", "PYTHON", "PIP_REQUIRE"))
    }
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(held: object, why: str) -> None:
    """End with an error if something does not hold."""
    if not held:
        sys.exit(f"release-check: {why}")


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print that a step has passed."""
    yield
    print(f"ok    {text}", flush=True)


def environment(folder: Path, *packages: str | Path, python: str | Path = sys.executable) -> Path:
    """Make a fresh environment with some packages; return the folder of its programs."""
    run(python, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return folder / "bin"


def other_pythons() -> Iterator[tuple[str, Path]]:
    """Find further Pythons of pyenv that the package is for, and that can make environments."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    probe = "import ensurepip, ssl, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for python in sorted(versions.glob("3.*/bin/python")):
        found = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False).stdout.strip()
        major, _, minor = found.partition(".")
        if major and int(minor) >= 11 and found != "{}.{}".format(*sys.version_info):
            yield found, python


def check_use(programs: Path, version: str) -> None:
    """A task goes from enqueue to its result, on a private server."""
    check(run(programs / "adeq", "--version") == f"adeq {version}\n", "adeq --version says something else")
    check(run(programs / "python", "-I", "-c", USE) == "completed 5\n", "the task has no result")


def check_version(clone: Path, version: str) -> None:
    """If a tag is here, it is that of this version, and the changelog has the version."""
    tag = subprocess.run(
        ["git", "-C", clone, "describe", "--tags", "--exact-match"], capture_output=True, text=True, check=False
    ).stdout.strip()
    changelog = (clone / "CHANGELOG.md").read_text()
    check(not tag or tag == f"v{version}", f"the tag {tag} is not that of version {version}: set pyadeq/_version.py")
    check(
        not tag or re.search(rf"^## \[?{re.escape(version)}\b", changelog, re.MULTILINE),
        f"CHANGELOG.md lacks {version}",
    )


def check_metadata(wheel: Path, sdist: Path, version: str, project: dict[str, object]) -> None:
    """The wheel says its version, its Pythons and its licence, and both have the text of the licence."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    info = f"pyadeq-{version}.dist-info"
    told = HeaderParser().parsestr(files[f"{info}/METADATA"].decode())
    check(told["Version"] == version, f"the wheel says version {told['Version']}, and pyadeq/_version.py {version}")
    check(told["Requires-Python"] == project["requires-python"], "the wheel does not say which Pythons it needs")
    check(
        (told["License-Expression"], told["License-File"]) == ("MIT", "LICENSE"), "the wheel does not say its licence"
    )
    licence = (ROOT / "LICENSE").read_bytes()
    check(files[f"{info}/licenses/LICENSE"] == licence, "the wheel does not have the text of the licence")
    with tarfile.open(sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    missing = {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "lua/manifest.json"} - names
    check(not missing, f"the sdist lacks {', '.join(sorted(missing))}")


def main() -> None:
    """Do all steps."""
    parser = argparse.ArgumentParser(description="Rehearse a release.")
    parser.add_argument("--out", type=Path, help="where the checked wheel, sdist and SBOM go")
    out: Path | None = parser.parse_args().out
    with tempfile.TemporaryDirectory(prefix="adeq-release-") as name:
        folder = Path(name)
        clone, dist, direct = folder / "clone", folder / "dist", folder / "direct"
        run("git", "clone", "--quiet", "--no-hardlinks", ROOT, clone)
        project = tomllib.loads((clone / "pyproject.toml").read_text())["project"]
        version = str(
            run(sys.executable, "-c", (clone / "pyadeq/_version.py").read_text() + "\nprint(__version__)")
        ).strip()
        with step(f"version {version}, of commit {run('git', '-C', clone, 'rev-parse', '--short', 'HEAD').strip()}"):
            check_version(clone, version)
        tools = environment(folder / "tools", *TOOLS)
        with step("the sdist builds the same wheel as the clone"):
            run(tools / "python", "-m", "build", "--no-isolation", "--outdir", dist, clone)  # the wheel from the sdist
            run(tools / "python", "-m", "build", "--no-isolation", "--wheel", "--outdir", direct, clone)
            (wheel,), (sdist,), (other,) = dist.glob("*.whl"), dist.glob("*.tar.gz"), direct.glob("*.whl")
            check(wheel.read_bytes() == other.read_bytes(), "the wheel from the sdist differs from that of the clone")
        with step("metadata and licence"):
            run(tools / "twine", "check", "--strict", wheel, sdist)
            check_metadata(wheel, sdist, version, project)
        with step("the wheel alone imports, and adeq names the extra that it needs"):
            alone = environment(folder / "alone", wheel)
            run(alone / "python", "-m", "pip", "check")
            told = run(alone / "python", "-I", "-c", "import pyadeq; pyadeq.Adeq; print(pyadeq.__version__)")
            check(told.strip() == version, f"it says that its version is {told.strip()}")
            asked = subprocess.run([alone / "adeq"], capture_output=True, text=True, cwd="/", check=False)
            check(asked.returncode == 2 and "pip install 'pyadeq[cli]'" in asked.stderr, asked.stderr)
        with step("with cli and embedded: adeq --version, and a task from enqueue to its result"):
            full = environment(folder / "full", f"{wheel}[cli,embedded]")
            check_use(full, version)
        for major in REDIS:
            with step(f"the same with redis-py {major}"):
                run(full / "python", "-m", "pip", "install", "--quiet", f"redis=={major}.*,!=7.0.0")
                check_use(full, version)
        for found, python in other_pythons():
            with step(f"the same with Python {found}"):
                check_use(environment(folder / found, f"{wheel}[cli,embedded]", python=python), version)
        with step("SBOM (CycloneDX) of the wheel and what it needs"):
            run(
                alone / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip"
            )  # they are not needed
            bom = dist / f"pyadeq-{version}.cdx.json"
            run(tools / "cyclonedx-py", "environment", "--output-file", bom, alone / "python")
            parts = {one["name"] for one in json.loads(bom.read_text())["components"]}
            check(parts >= {"pyadeq", "redis", "hiredis", "pydantic"}, f"the SBOM has only {', '.join(sorted(parts))}")
        if out:
            out.mkdir(parents=True, exist_ok=True)
            for path in dist.iterdir():
                shutil.copy(path, out)
                print(out / path.name)


if __name__ == "__main__":
    main()
