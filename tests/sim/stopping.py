"""Taking an operation back, with its record made another."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from redfish_fm.control.operations import Operations
from redfish_fm.control.tip import TipView
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.operations import Operation, decode_operation, encode_operation
from redfish_fm.redfish.changes import Edit, Space


def stopping_with(
    change: Callable[[Operation, Operation], Operation],
) -> AbstractContextManager[Any]:
    """Store what `change` makes of an operation (before, as taken back) instead of the latter."""
    stopping = vars(Operations)["_stopping"]

    def mutant(self: Any, tip: TipView, operation: Operation, *further: Any) -> Draft:
        def changed(edit: Edit) -> Edit:
            if edit.space is not Space.OPERATION or edit.post is None:
                return edit
            after = change(operation, decode_operation(edit.post))
            return replace(edit, post=encode_operation(after))

        draft: Draft = stopping(self, tip, operation, *further)
        return replace(draft, edits=tuple(map(changed, draft.edits)))

    return patch.object(Operations, "_stopping", mutant)
