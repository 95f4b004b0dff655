"""The manifests of the page on deployment are valid for Kubernetes, and fit together."""

import kubernetes_validate
import pytest
import yaml

from tests.integration.deployments import files

OTHERS = {"compose.yaml", "scaledobject.yaml"}
"""They have schemas of their own: of Compose, and of KEDA."""
MANIFESTS = [name for name in files() if name.endswith(".yaml") and name not in OTHERS]


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


def test_both_autoscalers_scale_the_deployment_by_the_same_metric() -> None:
    (deployment, *_), (autoscaler,), (scaled,) = (
        list(yaml.safe_load_all(files()[name])) for name in ("deployment.yaml", "autoscaler.yaml", "scaledobject.yaml")
    )
    (metric,), (trigger,) = autoscaler["spec"]["metrics"], scaled["spec"]["triggers"]
    name = deployment["metadata"]["name"]
    assert (autoscaler["spec"]["scaleTargetRef"]["name"], scaled["spec"]["scaleTargetRef"]["name"]) == (name, name)
    external = metric["external"]
    assert external["metric"]["name"] in trigger["metadata"]["query"]
    assert external["target"] == {"type": trigger["metricType"], "value": trigger["metadata"]["threshold"]}
    assert autoscaler["spec"]["maxReplicas"] == scaled["spec"]["maxReplicaCount"]
