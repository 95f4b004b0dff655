"""`adeq demo --board` prints a link that logs in, works, and ends with Ctrl-C."""

import re
import signal
import subprocess

import httpx
import pytest

from tests.integration.cli.run import COMMAND, adeq, environment
from tests.waiting import DEADLINE, wait_until

pytestmark = [pytest.mark.any_engine]


@pytest.mark.slow
def test_the_link_leads_to_a_board_at_work() -> None:
    command = [*COMMAND, "demo", "--board", "--limit", "40"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout
        found = re.search(r"(http://127\.0\.0\.1:\d+)/login\?code=(\S+)", process.stdout.readline())
        assert found
        with httpx.Client(base_url=found[1], headers={"Sec-Fetch-Site": "same-origin"}, timeout=DEADLINE) as http:
            assert http.post("/login", data={"code": found[2]}).status_code == 303
            assert 'href="/queues/imports"' in http.get("/").text
            wait_until(lambda: http.get("/v1/queues/demo/stats").json().get("finished", 0) > 20)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 0


def test_a_demo_is_of_one_kind() -> None:
    assert "--board: it is not for --approvals" in adeq("demo", "--board", "--approvals").stderr
