"""What powered hardware tells whoever listens to it."""

from collections.abc import Callable
from enum import Enum


class Event(Enum):
    """What a listener is told about a switch."""

    CHANGED = "a binding, port or part changed by itself or by someone else"
    CUT = "the management link went down; what was sent may still run"
    RESTARTED = "the switch restarted; what was sent will not run"
    BACK = "the switch answers again"
    TIMER = "something will happen by itself, perhaps earlier than was said before"


Listener = Callable[[str, Event], None]
"""Called with the switch's id; must not raise."""
