"""Times of Chrome JSON events: microseconds as a number, or as text, exactly in nanoseconds."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from tilelang_trace.trace.json_values import Json

CLOCK = range(-(2**61) + 2**32, 2**62 + 2**61 - 2**32)
"""Times that are read, ns: 1897 to 2189 if zero is 1970. The difference of any two fits into 64
bits, with room for what the mending of slices adds.
"""

Exact = tuple[int, "float | Fraction"]
"""A time as whole ns, and what is left of a microsecond: less than 1000 ns either way, not rounded.
The sum of two is rounded once.
"""

_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?", re.ASCII)
_PLAIN = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
"""A number as JSON has it."""
_LONGEST = 1000
"""Characters of a number that is text."""


def exact(value: Json) -> Exact | None:
    """Microseconds, whatever they are written as; None if it is no finite number."""
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    whole = int(value)
    return whole * 1000, (value - whole) * 1000


def nanoseconds(time: Exact) -> int:
    """The nearest whole number."""
    whole, rest = time
    return whole + round(rest)


def total(time: Exact, duration: Exact) -> Exact:
    """The end of what begins then and takes so long."""
    return time[0] + duration[0], time[1] + duration[1]


def number(text: str) -> Fraction | None:
    """The number that a text is; None if it is none, or one beyond ±10^400."""
    text = text.strip()
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    sign, whole, decimals, exponent = found.groups()
    digits = whole + (decimals or "")
    if not digits:
        return None
    power = int(exponent or 0) - len(decimals or "")
    value = int(digits)
    size = len(digits.lstrip("0")) + power
    if value == 0 or size < -400:
        return Fraction(0)
    if size > 400:
        return None
    value = -value if sign == "-" else value
    return Fraction(value * 10**power) if power >= 0 else Fraction(value, 10**-power)


def _of_text(text: str) -> Exact | None:
    value = number(text)
    if value is None:
        return None
    whole = math.trunc(value)
    rest = (value - whole) * 1000
    return whole * 1000, rest or 0


def is_plain(value: Json) -> bool:
    """Whether Perfetto takes it for a number: as such, or as text that JSON would take for one."""
    if isinstance(value, str):
        return _PLAIN.fullmatch(value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_perfetto_reads(value: Json) -> int | None:
    """The ns that Perfetto makes of such a time (`StringToDouble` in json_parser.h, `CoerceToTs` in
    json_trace_tokenizer.cc): a double that is not the nearest one where it has an exponent.
    """
    if isinstance(value, int):
        return value * 1000
    found = _NUMBER.fullmatch(str(value).strip())
    if found is None:
        return None
    sign, whole, decimals, exponent = found.groups()
    power = int(exponent or 0)
    try:
        us = float(whole or 0) + int(decimals or 0) / 10 ** len(decimals or "")
        us = us * 10.0**power if power >= 0 else us / 10.0**-power
        if us.is_integer():
            ns = int(us) * 1000
        else:
            ns = int(us * 1000) if us * 1000 > 2**52 else math.floor(us * 1000 + 0.5)
    except OverflowError:
        return None
    return -ns if sign == "-" else ns
