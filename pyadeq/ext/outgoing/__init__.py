"""What webhooks and posts share: HTTP requests to addresses that others have chosen.

| file            | subject                                        |
| --------------- | ---------------------------------------------- |
| `addresses.py`  | where requests may go                          |
| `sending.py`    | one POST to a checked address; needs h11       |
| `references.py` | texts that are read where a reference leads    |
"""
