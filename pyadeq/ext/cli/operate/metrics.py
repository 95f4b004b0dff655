"""`adeq metrics`: queues, locks, changes, sessions, rates and groups of events, for Prometheus."""

from __future__ import annotations

import json
import signal
import threading
from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, connected, print_lines, shown_url
from pyadeq.ext.operate.metrics.board import board as board_file
from pyadeq.ext.operate.metrics.rules import ALERTS
from pyadeq.ext.operate.metrics.rules import rules as rule_file

PORT = 9477


def metrics(
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any free one.")] = PORT,
    once: Annotated[bool, typer.Option("--once", help="Print the metrics once, and end.")] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print alerts and recording rules, a file for Prometheus, and end.")
    ] = False,
    board: Annotated[bool, typer.Option("--board", help="Print the board, a file for Grafana, and end.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Export metrics of queues, locks, changes, sessions, rates and groups of events for Prometheus, at /metrics.

    It reads the server at each scrape, until a signal ends it. Several processes export the same values. Needs the
    extra metrics: pip install "pyadeq[metrics]".
    """
    if board:
        print(board_file(), end="")
        return
    if rules:
        if output != Format.table:
            print_lines((one._asdict() for one in ALERTS), output)
        else:
            print(rule_file(), end="")
        return
    try:
        from prometheus_client import CollectorRegistry, generate_latest, start_http_server

        from pyadeq.ext.operate.metrics import AdeqCollector
    except ImportError:
        raise ConfigError('metrics: prometheus-client is missing; pip install "pyadeq[metrics]"') from None
    registry = CollectorRegistry()
    with connected(url) as adeq:
        registry.register(AdeqCollector(adeq))
        if once:
            if output != Format.table:
                samples = (sample for family in registry.collect() for sample in family.samples)
                print_lines(({"metric": one.name, "labels": one.labels, "value": one.value} for one in samples), output)
            else:
                print(generate_latest(registry).decode(), end="")
            return
        try:
            server, thread = start_http_server(port, host, registry)
        except OSError as error:
            raise ConfigError(f"--port: nothing can listen at {host}, port {port}: {error}") from None
        stopped = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        shown = f"[{host}]" if ":" in host else host
        at = f"http://{shown}:{server.server_port}/metrics"
        said = json.dumps({"url": shown_url(url), "metrics": at})
        print(said if output != Format.table else f"metrics of {shown_url(url)} at {at}", flush=True)
        stopped.wait()
        server.shutdown()
        server.server_close()
        thread.join()
