"""Ids of client-made resources: the base-36 text of the change's sequence number.

Pure. A sequence number is never used twice, so neither is an id (DESIGN section 3).
"""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number: int) -> str:
    """Return a non-negative number in base 36, lower case, without padding."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    digits = _DIGITS[number % 36]
    while number >= 36:
        number //= 36
        digits = _DIGITS[number % 36] + digits
    return digits


def resource_id(seq: int, further: int = 0) -> str:
    """Return the id of a change's resource; `further` n gives the n-th further one, "-n"."""
    return base36(seq) if further == 0 else f"{base36(seq)}-{further}"


def id_order(resource_id: str) -> tuple[int, str]:
    """Return a sort key: ids that the sequence gave, oldest first."""
    return len(resource_id), resource_id
