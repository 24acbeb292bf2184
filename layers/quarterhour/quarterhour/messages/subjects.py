"""The subjects of threads: they must exist, and a person must be allowed to see them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quarterhour.messages.keys import SubjectKind, Thread
from quarterhour.model.errors import ForbiddenError, NotFoundError
from quarterhour.model.fields import shown
from quarterhour.web.access import Caller, IsVisible


@dataclass(frozen=True, slots=True)
class Subjects:
    """Finds the subjects of threads. ``checks``: for each kind, functions of which one must find the subject."""

    checks: Mapping[SubjectKind, Sequence[IsVisible]]

    def thread(self, kind: str, names: Sequence[str], caller: Caller) -> Thread:
        """Return the thread about the first subject that exists, of these spellings of its name.

        Raises ``NotFoundError`` if none exists. For a person of an agency it raises ``ForbiddenError`` instead. That is
        also the error for subjects that the person may not see.
        """
        if kind not in set(SubjectKind):
            raise NotFoundError(f"there are no threads on {shown(kind)}: expected one of {', '.join(SubjectKind)}")
        checks = self.checks[SubjectKind(kind)]
        for name in names:
            if any(is_visible(name, caller) for is_visible in checks):
                return Thread(SubjectKind(kind), name)
        if not caller.is_of_marketplace:
            # The same error whether the subject exists or not: a person must not learn which.
            raise ForbiddenError(f"your token opens none of the {kind} {shown(names[0])}")
        raise NotFoundError(f"there is none of the {kind} {shown(names[0])}")
