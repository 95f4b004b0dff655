"""`python -m pyadeq.ext.cli` is `adeq`."""

from pyadeq.ext.cli import main

main()
