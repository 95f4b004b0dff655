"""examples/deploy: the image, compose and the overlays of kustomize are valid, and run what is in the examples.

The workflows of GitHub are checked here, too, because this environment has their schemas.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.integration.examples import ROOT

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="`make test-frameworks` has what this needs")
yaml = pytest.importorskip("yaml")

pytestmark = pytest.mark.any_engine

DEPLOY = ROOT / "examples/deploy"
OVERLAYS = ("web_service", "agent_team")


def tool(name: str, *arguments: str | Path) -> None:
    """Run a linter of this environment, which must have no complaint."""
    path = Path(sys.executable).with_name(name)
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def built(overlay: str) -> list[dict[str, Any]]:
    command = next(
        (words for words in (["kustomize", "build"], ["kubectl", "kustomize"]) if shutil.which(words[0])), []
    )
    if not command:
        assert not os.environ.get("CI"), "CI needs kubectl or kustomize"
        pytest.skip("neither kustomize nor kubectl is on the PATH")
    done = subprocess.run([*command, DEPLOY / overlay], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def queue_of(command: list[str], folder: str) -> str:
    """The name of the queue that a worker runs: MODULE:queue, with the module in the folder."""
    (module,) = [word.partition(":")[0] for word in command if word.endswith(":queue")]
    names = re.findall(r'\.queue\("(\w+)"\)', (ROOT / "examples" / folder / f"{module}.py").read_text())
    return str(names[0])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_valid_and_scales_its_workers_by_their_queue(overlay: str) -> None:
    found = {(one["kind"], one["metadata"]["name"]): one for one in built(overlay)}
    for (kind, _), document in found.items():
        if kind != "ScaledObject":
            kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    (scaled,) = [one["spec"] for (kind, _), one in found.items() if kind == "ScaledObject"]
    pod = found["Deployment", scaled["scaleTargetRef"]["name"]]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (trigger,) = scaled["triggers"]
    assert (
        f'adeq_queue_oldest_seconds{{queue="{queue_of(container["args"], overlay)}"}}' in trigger["metadata"]["query"]
    )
    assert pod["terminationGracePeriodSeconds"] >= 30 + 20
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in pod.get("volumes", ())]
    assert all(("PersistentVolumeClaim", claim) in found for claim in claims)


def test_compose_is_valid_and_runs_the_examples() -> None:
    tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    workers = {one["image"]: one["command"] for one in services.values() if "worker" in one["command"]}
    assert workers.keys() == set(OVERLAYS)
    for folder, command in workers.items():
        assert queue_of(command, folder)


def test_the_image_has_what_the_wheel_is_built_from() -> None:
    tool("hadolint", DEPLOY / "Containerfile")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    copied = re.findall(r"^COPY (.*) \S+$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    sources = {source for line in copied for source in line.split()}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert sources >= {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"], *wheel}


def test_workflows_are_valid_and_safe() -> None:
    github = ROOT / ".github"
    if not github.exists():
        pytest.skip("not a checkout: a source package has no workflow")
    tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *github.glob("workflows/*.yml"))
    tool("check-jsonschema", "--builtin-schema", "vendor.dependabot", github / "dependabot.yml")
    tool("zizmor", "--offline", github)
