"""Print a new key: `python -m pyadeq.ext.connect.crypto`."""

from pyadeq.ext.connect.crypto.keys import new_key

print(new_key())
