"""Values that every request makes: frozen for the type checker, quick to make at run time.

A leaf module. Other values are `dataclass(frozen=True, slots=True)`, which also refuses changes at
run time, and for that sets each field by a call: five to ten times as long as to make one of these.
With Request, Response, Write and the like that was a tenth of a GET and of a POST.
"""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(cls: type[T]) -> type[T]:
    """Make `cls` a dataclass with slots, equal and hashed by its fields, that nobody changes."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
