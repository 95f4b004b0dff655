"""The periodic care of a whole installation. Other calls do most of it, for what is in use; this does it for the rest.

| care        | for each             | what it does                                                                  |
| ----------- | -------------------- | ----------------------------------------------------------------------------- |
| `names`     | all nouns            | scans all keys, so that lists of names are complete                           |
| `archive`   | event stream         | archives events, ended tasks and changes, if there is an archive              |
| `queues`    | queue, partition     | takes back expired leases, expires and deletes tasks, a snapshot of counters  |
| `locks`     | lock domain          | ends overdue leases and waits, goes on with long searches for deadlocks       |
| `deadlocks` | pair of lock domains | finds deadlocks across domains, and ends one wait of each                     |
| `changes`   | change domain        | reminders, escalations, timeouts, the tasks that follow steps, old changes    |
| `sessions`  | session realm        | deletes sessions whose lifetime is over                                       |
| `configs`   | config namespace     | deletes what is left of removed names                                         |
| `events`    | event stream         | deletes old events that all groups have acknowledged                          |
"""

from __future__ import annotations

from pyadeq.ext.operate.maintain.maintain import CARES, Maintained, Maintainer

__all__ = ["CARES", "Maintained", "Maintainer"]
