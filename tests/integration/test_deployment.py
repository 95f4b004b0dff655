"""The files of the page on deployment: systemd accepts the unit, and its commands are those that a test runs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.deployments import commands, files

pytestmark = pytest.mark.any_engine


def test_the_commands_are_found() -> None:
    assert set(commands()) == {"adeq-mail.service", "Containerfile", "compose.yaml", "deployment.yaml"}
    assert all(command[0] == "app:mail" for command in commands().values())


def test_a_container_that_must_not_be_root_has_a_number_as_its_user() -> None:
    """Of a user with a name, Kubernetes cannot tell who it is."""
    (user,) = re.findall(r"^USER (.*)$", files()["Containerfile"], re.MULTILINE)
    assert user.isdecimal()
    assert f"--uid {user} " in files()["Containerfile"]
    for name in ("deployment.yaml", "metrics.yaml"):
        assert re.findall(r"runAsNonRoot: true\n\s+runAsUser: (\d+)\n", files()[name]) == [user]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not on the PATH")
@pytest.mark.parametrize("name", ["adeq-mail.service", "adeq-send.service"])
def test_systemd_accepts_the_unit(name: str, tmp_path: Path) -> None:
    unit = tmp_path / name
    unit.write_text(files()[unit.name].replace("/srv/app/.venv/bin/adeq", "/bin/true"))
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, [line for line in ended.stderr.splitlines() if unit.name in line]) == (0, [])
