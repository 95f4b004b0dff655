"""`adeq migrate queue`: a queue of pyadeq is copied to another server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import many
from pyadeq.ext.cli.shared.common import (
    DEFAULT_URL,
    FAILED,
    PLACE,
    RETRY_FOR,
    Format,
    Output,
    Url,
    check_url,
    connected,
    print_json,
    shown_url,
    unreachable,
)
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.shared.queue_arguments import QueueName
from pyadeq.ext.cli.shared.resolve import existing_queue


def queue(
    name: QueueName,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="The new server.")],
    to_cluster: Annotated[bool, typer.Option("--to-cluster", help="The new server is a node of a cluster.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Copy a queue to another server, with its tasks, their ids, limits and schedules, and compare the digests.

    The queue is paused, and so is the copy. No task may run, and no producer should enqueue meanwhile. The command may
    be killed and repeated at any time: keys that are equal are not copied again. A copy in use is not overwritten.
    """
    from redis.exceptions import RedisError

    from pyadeq.ext.move.migrate.copy import QueueCopy

    options = {**PLACE.options(), "cluster": to_cluster, "source": "adeq", "retry_for": RETRY_FOR}
    with connected(url) as adeq, Bar("Copying", None, "keys") as bar:
        found = existing_queue(adeq, name)
        try:
            check_url(to)
        except ConfigError as error:
            raise ConfigError(str(error).replace("--url", "--to")) from None
        try:
            with Adeq.from_url(to, **options) as target:
                if _server(adeq) == _server(target):
                    raise ConfigError("--to: this is the server of --url; name another one")
                done = QueueCopy(adeq, target, name, bar.update).run(found)
        except RedisError as error:
            raise unreachable(to, error) from error
    if output != Format.table:
        print_json({"queue": name, "to": shown_url(to), **asdict(done)}, output)
    else:
        tasks = ", ".join(f"{count:,} {state}" for state, count in done.tasks.items())
        print(f"queue {name}: {many(done.keys, 'key')}, {done.copied:,} copied, {done.deleted:,} deleted ({tasks})")
        if done.equal:
            print(f"equal on both servers, digest {done.digest}; both queues are paused")
    if not done.equal:
        typer.echo(
            "the queue changes while it is copied; stop its producers and workers, then repeat the command", err=True
        )
        raise typer.Exit(FAILED)


def _server(adeq: Adeq) -> object:
    """What tells two servers apart: a cluster has one id for each node."""
    from pyadeq.ext.shared.installation import primaries

    return sorted(primary.client.info("server")["run_id"] for primary in primaries(adeq.client))
