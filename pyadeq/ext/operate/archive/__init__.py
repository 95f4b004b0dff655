"""An archive of events and of the records of ended tasks and changes, in a folder or at any URL that fsspec knows.

Needs the extra `archive`: pip install 'pyadeq[archive]'.
"""

from __future__ import annotations

from pyadeq.errors import ConfigError

try:
    import fsspec  # noqa: F401  (only whether it is there)
except ModuleNotFoundError as error:
    raise ConfigError("an archive needs the extra `archive`: pip install 'pyadeq[archive]'") from error

from pyadeq.ext.operate.archive.archive import Archive
from pyadeq.ext.operate.archive.lines import Archived
from pyadeq.ext.operate.archive.verify import Compared, Verified
from pyadeq.ext.operate.archive.write import Written

__all__ = ["Archive", "Archived", "Compared", "Verified", "Written"]
