"""URI templates as a tree: which template does a URI fit?

Pure. Costs one dict look-up per segment and open alternative.
"""

from typing import Generic, TypeVar

Value = TypeVar("Value")


class _Node(Generic[Value]):
    """One URI segment: literal children, then the parameter child."""

    __slots__ = ("children", "found", "parameter")

    def __init__(self) -> None:
        self.children: dict[str, _Node[Value]] = {}
        self.parameter: _Node[Value] | None = None
        self.found: tuple[Value, str] | None = None


class UriTree(Generic[Value]):
    """Values by URI template; a literal segment wins over a parameter."""

    def __init__(self) -> None:
        self._root: _Node[Value] = _Node()

    def plant(self, template: str, value: Value) -> None:
        """Put `value` at `template` (no trailing slash). Raises ValueError where one is."""
        node = self._root
        for segment in template.split("/"):
            if segment.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(segment, _Node())
        if node.found is not None:
            raise ValueError(f"{template} is also {node.found[1]}")
        node.found = (value, template)

    def match(self, uri: str) -> tuple[Value, str] | None:
        """Return the value for `uri` and the template it stands at, or None."""
        nodes = [self._root]
        for segment in uri.split("/"):
            below = [child for node in nodes if (child := node.children.get(segment))]
            if segment:
                below += [node.parameter for node in nodes if node.parameter is not None]
            if not below:
                return None
            nodes = below
        return next((node.found for node in nodes if node.found is not None), None)
