"""What the scripts of rates accept where they check more than the type, a usual value first.

The rules are those of bench.py.
"""

from __future__ import annotations

from typing import Final

FORMS: Final = {
    "rule": [b"even"],
    "renew.rule": [b"slots"],
    "remove": [b"1"],
    "set_rules.algorithm": [b"gcra"],
    "set_rules.burst": [b"1", b"44640"],  # 31 days at one a minute
}
LEFT_OUT: Final = ("set_rules.lease_ms",)  # rules of gcra have none
