"""`adeq task enqueue --file`: the tasks of a file."""

from __future__ import annotations

import sys
from time import monotonic

from pyadeq.errors import ConfigError, PartitionsChanged
from pyadeq.ext.cli.shared.common import Format, connected, print_json, shown_url
from pyadeq.ext.cli.task.rows_of_a_file import Upload

STATUSES = ("created", "exists", "deduplicated")


def enqueue_file(upload: Upload, queue: str, durability: str, url: str, output: Format) -> None:
    """Enqueue what is left of a file, and print how many tasks this run has created."""
    with connected(url, durability=durability) as adeq:
        begun = monotonic()
        try:
            upload.run(adeq, adeq.queue(queue), shown_url(url))
        except PartitionsChanged:
            raise ConfigError(
                f"--file: queue {queue!r} has partitions; enqueue its tasks with a program, from line "
                f"{upload.place.line + 1:,} on, with Adeq.partitioned({queue!r}).enqueue_many"
            ) from None
    _report(upload, monotonic() - begun, output)
    sys.stdout.flush()
    upload.finish()


def _report(upload: Upload, seconds: float, output: Format) -> None:
    place = upload.place
    counts = {status: getattr(place, status) for status in STATUSES}
    this_run = {status: count - getattr(upload.before, status) for status, count in counts.items()}
    if output != Format.table:
        about = {
            "file": upload.name,
            "rid": place.rid,
            "lines": place.line,
            **counts,
            "this_run": this_run,
            "seconds": round(seconds, 3),
        }
        print_json(about, output)
    else:
        in_all = f"; with the runs before {_listed(counts)}" if upload.before.line else ""
        print(f"{upload.name}: {_listed(this_run)} in {seconds:,.1f} s{in_all} (rid {place.rid})")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in counts.items() if count) or "no tasks"
