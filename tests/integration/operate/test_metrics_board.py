"""The board for Grafana: it has every metric, and each of its queries answers for an installation at work."""

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import EmbeddedServer
from pyadeq.ext.operate.metrics.board import FIRING, MARKS, board, panels
from pyadeq.ext.operate.metrics.rules import ALERTS, rules
from pyadeq.ext.operate.metrics.table import TABLE
from tests.integration.cli.run import adeq as run
from tests.prometheus import MISSING, Exporter, Prometheus
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine


def test_the_command_prints_the_board() -> None:
    found = json.loads(run("metrics", "--board").stdout)
    assert found == json.loads(board())
    drawn = [one for one in found["panels"] if one["type"] != "row"]
    assert len({one["id"] for one in found["panels"]}) == len(found["panels"])
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in drawn]
    assert len(set(places)) == len(places)
    assert all(len({target["refId"] for target in one["targets"]}) == len(one["targets"]) for one in drawn)
    (marks,) = found["annotations"]["list"]
    assert (marks["expr"], marks["useValueForTime"]) == (MARKS, True)


def test_each_metric_and_alert_is_on_the_board() -> None:
    text = " ".join(query.expression for panel in panels() for query in panel.queries)
    assert [one.name for one in TABLE if f"{one.name}" not in text] == []
    assert [one.name for one in ALERTS if one.name not in FIRING] == []


def test_each_choice_of_a_queue_is_a_filter() -> None:
    of_queues = {one.name for one in TABLE if "queue" in one.labels}
    for panel in panels():
        for query in panel.queries:
            named = [name for name in of_queues if name in query.expression]
            assert bool(named) == ('queue=~"$queue"' in query.expression)


@pytest.fixture
def installation(binary: Path) -> Iterator[str]:
    """The address of one that is at work."""
    with EmbeddedServer(binary=binary) as server:
        words = [sys.executable, "-m", "tests.installation", server.url]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=Path(__file__).parents[3]
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == "at work\n"
            yield server.url
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.skipif(MISSING, reason="prometheus is not on the PATH")
def test_each_query_answers_for_an_installation_at_work(installation: str, tmp_path: Path) -> None:
    queries = [query.expression.replace("$queue", ".*") for panel in panels() for query in panel.queries]
    silent = {*queries, MARKS}
    assert len(queries) >= len(TABLE)
    with Exporter(installation) as exporter, Prometheus(tmp_path, [exporter.port], rules=rules()) as prometheus:

        def all_answer() -> bool:
            for one in sorted(silent):
                if any(not math.isnan(value) for series in prometheus.query(one) for _, value in series.samples):
                    silent.remove(one)
            return not silent

        try:
            wait_until(all_answer)
        except AssertionError:
            pytest.fail(f"no data: {sorted(silent)}")
        marks = {one.labels["mark"]: one.samples[0][1] for one in prometheus.query(MARKS)}
    assert 0 < 1000 * time.time() - marks["v1.1"] < 3_600_000, "milliseconds"
