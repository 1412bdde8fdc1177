"""How far open operations have come, by what each fabric's newest look shows of them.

Volatile: what was told of it durably (control.task_keeper) is where it goes on after a restart. A
figure never falls: what is lost on the way makes an operation last longer, and its percentage wait.
"""

from redfish_fm.control.published import Published
from redfish_fm.control.verdicts import work_of
from redfish_fm.mapping.operations import Operation, OperationState
from redfish_fm.mapping.tasks import NO_PROGRESS, Progress


class TaskProgress:
    """Counts for all operations. One per service; the loops report to it."""

    def __init__(self, published: Published) -> None:
        self._published = published

    def seen(self, operation: Operation, fabric: str, done: int) -> bool:
        """Hear how many parts of its work in an operation a fabric has done; tell what is new.

        What is being taken back comes no further.
        """
        before = self._published.progress.get(operation.id, NO_PROGRESS)
        if operation.state is not OperationState.RUNNING:
            return False
        part = _percent(done, work_of(operation.part(fabric)))
        parts = {**before.parts, fabric: max(part, before.parts.get(fabric, 0))}
        after = Progress(max(before.percent, _whole(operation, parts)), parts)
        if after == before:
            return False
        self._published.progressed(operation.id, after)
        return True


def _whole(operation: Operation, parts: dict[str, int]) -> int:
    """Return the percentage of the whole, each fabric weighing as much as it has to do."""
    work = {fabric: work_of(operation.part(fabric)) for fabric in operation.fabrics}
    done = sum(work[fabric] * parts.get(fabric, 0) for fabric in work)
    return _percent(done, 100 * sum(work.values()))


def _percent(done: int, work: int) -> int:
    return min(100, 100 * done // work) if work else 100
