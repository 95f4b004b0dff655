"""Start the service and a worker, use the service as its clients do, and stop both."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

from pyadeq import EmbeddedServer

PORT = os.environ.get("PORT", "8000")


def ask(method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Return the body of the service's answer."""
    http = HTTPConnection(f"127.0.0.1:{PORT}", timeout=10)
    http.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", **headers})
    return json.load(http.getresponse())


def wait_until_ended(id: str) -> str:
    """Poll a report until it has ended."""
    while (report := ask("GET", f"/reports/{id}"))["state"] in ("ready", "delayed", "running"):
        time.sleep(0.05)
    return f"{report['state']}, attempts: {report['attempts']}, result: {report['result']}"


with ExitStack() as stack:
    if "ADEQ_URL" not in os.environ:  # then on a private server, which ends with this program
        os.environ["ADEQ_URL"] = stack.enter_context(EmbeddedServer()).url
    worker = ["pyadeq.ext.cli", "worker", "run", "reports:queue", "--concurrency", "2"]  # `adeq worker run …`
    for command in (worker, ["uvicorn", "service:app", "--port", PORT, "--log-level", "warning"]):
        program = subprocess.Popen([sys.executable, "-m", *command], cwd=sys.path[0])
        stack.callback(program.wait)
        stack.callback(program.terminate)
    while program.poll() is None:
        with suppress(ConnectionRefusedError):
            ask("GET", "/reports/none")
            break
        time.sleep(0.05)

    key = {"Idempotency-Key": uuid4().hex}  # the client chooses it before its first try
    acme, again = (ask("POST", "/reports", {"customer": "acme"}, **key) for _ in range(2))
    print(f"acme: {acme['status']}; repeated: {again['status']}, the same task: {again['id'] == acme['id']}")
    initech = ask("POST", "/reports", {"customer": "initech", "pages": 20})["id"]
    globex = ask("POST", "/reports", {"customer": "globex"})["id"]
    print(f"acme: {wait_until_ended(acme['id'])}")
    print(f"initech: {ask('DELETE', f'/reports/{initech}')['status']}, then {wait_until_ended(initech)}")
    print(f"globex: {wait_until_ended(globex)}")
