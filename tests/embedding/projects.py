"""Projects that use the client, in each language: what is in its folder here, with the client and its libraries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

from pyadeq.ext.bindings.model import model, pascal
from pyadeq.ext.bindings.render import raw, rust_type

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VECTORS = ROOT / "lua" / "conformance"
SESSION_IDS = HERE / "session_ids.tsv"  # a test of Python has the same lines
RATE_TAGS = HERE / "rate_tags.tsv"  # so has one of these
WANTED = os.environ.get("ADEQ_TEST_EMBEDDING") == "1"
LONG = 900  # seconds: a first build compiles all that it depends on


def toolchain(*programs: str) -> None:
    """Skip the test, with a line that says why, or fail it in CI."""
    if not WANTED:
        pytest.skip("clients in other languages are tested by `make test-embedding`")
    if missing := [program for program in programs if shutil.which(program) is None]:
        if os.environ.get("CI"):
            pytest.fail(f"not on the PATH: {', '.join(missing)}; CI tests all languages")
        pytest.skip(f"not on the PATH: {', '.join(missing)}")


def run(folder: Path, *command: str, **environment: str) -> str:
    """What a command prints, which must succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def write_client(language: str, folder: Path, *flags: str) -> None:
    run(ROOT, sys.executable, "-m", "pyadeq.ext.cli", "bindings", language, str(folder), *flags)


def typescript(folder: Path) -> Path:
    toolchain("node", "npm")
    _begin("typescript", folder)
    run(folder, "npm", "install", "--no-audit", "--no-fund")
    return folder


def go(folder: Path) -> Path:
    toolchain("go")
    _begin("go", folder)
    (folder / "nouns_test.go").write_text(_rendered("go/nouns_test.go.j2"))
    run(folder, "go", "build", "-o", "bin/", "./...")
    return folder


def rust(folder: Path) -> Path:
    toolchain("cargo")
    _begin("rust", folder)
    (folder / "src" / "calls.rs").write_text(_rendered("rust/src/calls.rs.j2"))
    cargo(folder, "build", "--all-targets", "--quiet")
    return folder


def cargo(folder: Path, *arguments: str, **environment: str) -> str:
    return run(folder, "cargo", *arguments, CARGO_TARGET_DIR=str(target(folder)), **environment)


def target(folder: Path) -> Path:
    """Where cargo builds: in the project, unless a folder that stays is named."""
    return Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))


def example(page: Path, language: str, title: str = "") -> str:
    """The one program of a page that stands there whole: by its title, or the only one without."""
    heading = rf' title="{title}"' if title else ""
    (program,) = re.findall(rf"```{language}{heading}\n(.*?)```", page.read_text(), re.DOTALL)
    return str(program)


def go_run(folder: Path, program: str, package: str, module: str) -> str:
    """What a program prints that uses a module in a folder below it, by the name of its package."""
    (folder / "main.go").write_text(program)
    run(folder, "go", "mod", "init", "example.com/program")
    run(folder, "go", "mod", "edit", "-replace", f"{package}=./{module}")
    run(folder, "go", "mod", "tidy")
    return run(folder, "go", "run", ".")


def _begin(language: str, folder: Path) -> None:
    shutil.copytree(HERE / language, folder, dirs_exist_ok=True)
    write_client(language, folder / "pyadeq")


def _rendered(template: str) -> str:
    """A way from the names of a vector to the types of the client, which the language cannot ask for at run time."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # it is source text
    )
    environment.filters |= {"pascal": pascal, "raw": raw, "rust_type": rust_type}
    return environment.get_template(template).render(model())
