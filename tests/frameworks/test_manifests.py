"""The manifests of the page on deployment are valid for Kubernetes."""

import kubernetes_validate
import pytest
import yaml

from tests.integration.deployments import files

MANIFESTS = [name for name in files() if name.endswith(".yaml")]


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_valid(name: str) -> None:
    documents = list(yaml.safe_load_all(files()[name]))
    assert documents
    for document in documents:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_a_pod_has_more_time_than_the_grace_time_of_its_workers() -> None:
    pod = next(yaml.safe_load_all(files()["deployment.yaml"]))["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= 30 + 20
    (container,) = pod["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == container["ports"][0]["name"]
    assert str(container["ports"][0]["containerPort"]) in container["command"]
