"""Print a new key: `python -m pyadeq.ext.crypto`."""

from pyadeq.ext.crypto.keys import new_key

print(new_key())
