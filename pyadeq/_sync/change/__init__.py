# Generated from pyadeq/_async/change/__init__.py by pyadeq/_unasync.py; do not edit.
"""Changes: what agents and people want to do to resources, and others have to approve."""

from __future__ import annotations

from pyadeq._sync.change.apply import Applying
from pyadeq._sync.change.author import Authoring
from pyadeq._sync.change.delegations import ChangeDelegations
from pyadeq._sync.change.operate import Operating
from pyadeq._sync.change.policies import ChangePolicies
from pyadeq._sync.change.read import Reading
from pyadeq._sync.change.review import Reviewing
from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.kernel.areas import AreaOf


class Changes(Authoring, Reviewing, Reading, Operating, Applying):
    """The changes of a domain. Each call that writes returns a `Result`: check its `status`.

    A status that is no error in the program, for instance `outdated` or `not_eligible`, is an answer and not an
    exception. The page of each script in the reference lists them.
    """

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._policies = ChangePolicies(self)
        self._delegations = ChangeDelegations(self)

    policies = AreaOf(ChangePolicies)
    delegations = AreaOf(ChangeDelegations)
