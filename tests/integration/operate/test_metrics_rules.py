"""Alerts and recording rules: promtool reads them, and each alert fires and stays silent once."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.ext.operate.metrics.rules import ALERTS, RECORDS, rules
from pyadeq.ext.operate.metrics.table import TABLE
from tests.integration.cli.run import adeq as run
from tests.integration.examples import ROOT

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.skipif(not shutil.which("promtool") and not os.environ.get("CI"), reason="promtool is not on the PATH"),
]

Series = dict[str, str]
# alert → series with which it fires, and with which it does not, each a value a minute for two hours
VALUES = {"queue": "q", "domain": "d", "stream": "queue:q", "group": "g"}
CASES: dict[str, tuple[Series, Series]] = {
    "AdeqServerAway": ({"adeq_up": "0x120"}, {"adeq_up": "1x120"}),
    "AdeqNoWorkers": (
        {'adeq_tasks{queue="q",state="ready"}': "3x120", 'adeq_workers{queue="q"}': "0x120"},
        {'adeq_tasks{queue="q",state="ready"}': "3x120", 'adeq_workers{queue="q"}': "1x120"},
    ),
    "AdeqTasksWaitLong": (
        {
            'adeq_task_wait_seconds_bucket{queue="q",le="262.144"}': "0x120",
            'adeq_task_wait_seconds_bucket{queue="q",le="1048.576"}': "0+9x120",
            'adeq_task_wait_seconds_bucket{queue="q",le="+Inf"}': "0+9x120",
        },
        {
            'adeq_task_wait_seconds_bucket{queue="q",le="262.144"}': "0+9x120",
            'adeq_task_wait_seconds_bucket{queue="q",le="+Inf"}': "0+9x120",
        },
    ),
    "AdeqTaskNotTaken": (
        {'adeq_queue_oldest_seconds{queue="q",lane="any"}': "0+60x120"},
        {'adeq_queue_oldest_seconds{queue="q",lane="any"}': "1700x120"},
    ),
    "AdeqTasksDead": ({'adeq_tasks_dead_total{queue="q"}': "0+1x120"}, {'adeq_tasks_dead_total{queue="q"}': "7x120"}),
    "AdeqDeadTasksDropped": (
        {'adeq_tasks_dropped_total{queue="q"}': "0+1x120"},
        {'adeq_tasks_dropped_total{queue="q"}': "7x120"},
    ),
    "AdeqLeasesRunOut": (
        {'adeq_tasks_stalled_total{queue="q"}': "0+60x120"},
        {'adeq_tasks_stalled_total{queue="q"}': "0+1x120"},
    ),
    "AdeqWorkersLost": (
        {'adeq_workers_lost_total{queue="q"}': "0+1x120"},
        {'adeq_workers_lost_total{queue="q"}': "4x120"},
    ),
    "AdeqQueuePaused": ({'adeq_queue_paused{queue="q"}': "1x120"}, {'adeq_queue_paused{queue="q"}': "0x60 1x60"}),
    "AdeqEventsLost": (
        {'adeq_event_group_lost_total{stream="queue:q",group="g"}': "0+1x120"},
        {
            'adeq_event_group_lost_total{stream="queue:q",group="g"}': "7x120",
            'adeq_event_group_gap{stream="queue:q",group="g"}': "1x60 0x60",
        },
    ),
    "AdeqGroupLags": (
        {'adeq_event_group_lag{stream="queue:q",group="g"}': "0+1000x120"},
        {'adeq_event_group_lag{stream="queue:q",group="g"}': "9000x120"},
    ),
    "AdeqGroupNotRead": (
        {
            'adeq_event_group_silent_seconds{stream="queue:q",group="g"}': "0+60x120",
            'adeq_event_group_lag{stream="queue:q",group="g"}': "5x120",
        },
        {
            'adeq_event_group_silent_seconds{stream="queue:q",group="g"}': "0+60x120",
            'adeq_event_group_lag{stream="queue:q",group="g"}': "0x120",
        },
    ),
    "AdeqDeadlocksUnchecked": (
        {'adeq_locks_unchecked{domain="d"}': "1x120"},
        {'adeq_locks_unchecked{domain="d"}': "0x120"},
    ),
    "AdeqChangesOverdue": (
        {'adeq_changes_overdue{domain="d"}': "1x120"},
        {'adeq_changes_overdue{domain="d"}': "0x120"},
    ),
}


def promtool(*words: str) -> str:
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_accepts_the_file(tmp_path: Path) -> None:
    file = tmp_path / "adeq.rules.yml"
    file.write_text(rules())
    assert f"{len(ALERTS) + len(RECORDS) + 6} rules found" in promtool("check", "rules", str(file))


@pytest.mark.slow
def test_each_alert_fires_and_stays_silent(tmp_path: Path) -> None:
    assert CASES.keys() == {one.name for one in ALERTS}
    (tmp_path / "adeq.rules.yml").write_text(rules())
    tests = [test for one in ALERTS for test in cases(one)]
    about = {"rule_files": ["adeq.rules.yml"], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yml").write_text(json.dumps(about))
    assert "SUCCESS" in promtool("test", "rules", str(tmp_path / "tests.yml"))


def cases(alert: Any) -> list[dict[str, Any]]:
    fires, silent = CASES[alert.name]
    named = {name: value for name, value in VALUES.items() if f"$labels.{name} }}" in alert.summary}
    labels = {"severity": alert.severity, **named}
    summary = re.sub(r"{{ \$labels\.(\w+) }}", lambda match: labels.get(match[1], ""), alert.summary)
    return [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "alert_rule_test": [{"eval_time": "118m", "alertname": alert.name, "exp_alerts": expected}],
        }
        for series, expected in (
            (fires, [{"exp_labels": labels, "exp_annotations": {"summary": summary}}]),
            (silent, []),
        )
    ]


def test_a_gap_of_unknown_size_is_an_alert(tmp_path: Path) -> None:
    (lost,) = (one for one in ALERTS if one.name == "AdeqEventsLost")
    test, _ = cases(lost)
    test["input_series"] = [{"series": 'adeq_event_group_gap{stream="queue:q",group="g"}', "values": "1x120"}]
    (tmp_path / "adeq.rules.yml").write_text(rules())
    about = {"rule_files": ["adeq.rules.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "tests.yml").write_text(json.dumps(about))
    assert "SUCCESS" in promtool("test", "rules", str(tmp_path / "tests.yml"))


def test_alerts_name_commands_that_work(url: str, base_name: str) -> None:
    """An alert may be the first that somebody sees of the command line."""
    with Adeq.from_url(url) as adeq:
        adeq.queue(base_name).enqueue("x")
        adeq.locks(base_name).configure()
        adeq.changes(base_name).configure()
    named = {"queue": base_name, "stream": f"queue:{base_name}", "domain": base_name}
    for alert in ALERTS:
        summary = re.sub(r"{{ \$labels\.(\w+) }}", lambda match: named.get(match[1], ""), alert.summary)
        if command := re.search(r": adeq (.+)", summary):
            ended = run(*command[1].split(), ADEQ_URL=url)
            assert ended.status == 0, (alert.name, ended)


def test_the_tour_has_each_alert() -> None:
    text = (ROOT / "docs/operations/queue-trouble.md").read_text()
    assert [one.name for one in ALERTS if f"| `{one.name}` |" not in text] == []


def test_rules_use_metrics_that_exist() -> None:
    parts = ("bucket", "sum", "count")
    known = {one.name for one in TABLE} | {f"{one.name}_{part}" for one in TABLE for part in parts}
    used = set(re.findall(r"\badeq_\w+", " ".join([*(one.expression for one in ALERTS), *RECORDS.values()])))
    assert used <= known
