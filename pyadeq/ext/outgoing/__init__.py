"""What webhooks and posts share: from events to HTTP requests to addresses that others have chosen.

| file            | subject                                        |
| --------------- | ---------------------------------------------- |
| `addresses.py`  | where requests may go                          |
| `sending.py`    | one POST to a checked address; needs h11       |
| `delivery.py`   | from messages in a queue to POSTs; needs h11   |
| `follower.py`   | from events to messages in a queue             |
| `service.py`    | a worker and a follower in one process         |
| `stamps.py`     | which tasks a service has made itself          |
| `patterns.py`   | ids, wanted streams, names of the queues       |
| `times.py`      | the time of the server                         |
| `references.py` | texts that are read where a reference leads    |
"""
