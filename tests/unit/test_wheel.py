"""What is built from a checkout holds what it must, and the scripts in it are those of the checkout."""

import subprocess
import sys
import tarfile
import zipfile
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


class Built(NamedTuple):
    wheel: dict[str, bytes]
    sdist: set[str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist built from the checkout, and the wheel built from the sdist, as an index would get them."""
    directory = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = directory.glob("*.whl")
    (sdist,) = directory.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(sdist) as tar:
        return Built(files, {name.partition("/")[2] for name in tar.getnames()})


def sums(files: dict[str, bytes]) -> dict[str, str]:
    return {name: sha1(content).hexdigest() for name, content in files.items()}


def test_the_wheel_has_the_scripts_of_the_checkout(built: Built) -> None:
    paths = [*ROOT.glob("lua/dist/*.lua"), ROOT / "lua/manifest.json"]
    assert len(paths) > 1
    checkout = {str(path.relative_to(ROOT)): path.read_bytes() for path in paths}
    scripts = {name: content for name, content in built.wheel.items() if name.startswith("pyadeq/_lua/")}
    wheel = {name.replace("pyadeq/_lua/", "lua/"): content for name, content in scripts.items()}
    assert sums(wheel) == sums(checkout)


def test_the_wheel_has_every_module_and_nothing_else(built: Built) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "pyadeq").rglob("*.py")}
    modules -= {"pyadeq/_exports.py", "pyadeq/_settings.py", "pyadeq/_unasync.py"}  # they generate code in a checkout
    in_wheel = {name for name in built.wheel if "/_lua/" not in name and ".dist-info/" not in name}
    board = ROOT / "pyadeq/ext/server/board"
    found = (ROOT / "pyadeq").rglob
    data = [path for kind in ("j2", "json", "lua", "md") for path in found(f"*.{kind}")]
    data += [*board.glob("templates/*.html"), *board.glob("static/*")]
    others = {str(path.relative_to(ROOT)) for path in data}
    assert in_wheel == modules | others | {"pyadeq/py.typed"}


def test_the_sdist_has_what_a_change_needs(built: Built) -> None:
    files = [
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
        ROOT / "LICENSE",
        ROOT / "lua/errors.toml",
    ]
    for pattern in ("pyadeq/**/*.py", "lua/**/*.py", "lua/**/*.lua", "tests/**/*.py"):
        found = [*ROOT.glob(pattern)]
        assert found, pattern
        files += found
    assert {str(path.relative_to(ROOT)) for path in files} - built.sdist == set()
