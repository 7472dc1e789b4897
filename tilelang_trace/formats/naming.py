"""Names of output files: the fields of a pattern, a kernel as a part of a name."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilelang_trace.errors import UserError
from tilelang_trace.formats.files import check_keeps_data, format_for

KERNEL = "{kernel}"
NO_KERNEL = "no-kernel"
"""In place of `{kernel}` in the name of a file that is of no one kernel."""

FIELDS = ("script", "pid", "kernel", "time")
"""What the name of a recording's output may have in braces. `{script}` and `{time}`, as
`20250131-235959`, are filled in when the recording starts, `{pid}` and `{kernel}` when the file is
written: the folder of journals bears them as they are.
"""

_FIELD = re.compile(r"\{(\w*)\}")
_LONGEST = 80
"""Bytes for a kernel's name: a file's name has room for 255 in all."""


def check_pattern(pattern: str | os.PathLike[str], known: Sequence[str]) -> None:
    """Raises UserError if a pattern has a field that is not known, or has one in its folder."""
    text = os.fspath(pattern)
    for name in _FIELD.findall(text):
        if name not in known:
            fields = ", ".join(f"{{{field}}}" for field in known)
            raise UserError(f"{text}: unknown field {{{name}}}; there is {fields}")
    if _FIELD.search(os.path.dirname(text)):
        raise UserError(f"{text}: a field may stand in the name of the file, not in its folder")
    format_for(text)


def at_start(output: str | os.PathLike[str], script: str) -> Path:
    """The output of a recording that starts now. Raises UserError."""
    check_pattern(output, FIELDS)
    check_keeps_data(output)
    return filled(output, {"script": script, "time": time.strftime("%Y%m%d-%H%M%S")})


def has_kernel(output: str | os.PathLike[str]) -> bool:
    """Whether the name of an output asks for a file for each kernel."""
    return KERNEL in os.path.basename(output)


def filled(pattern: str | os.PathLike[str], values: Mapping[str, str]) -> Path:
    """The pattern with these fields filled in; the others stay as they are."""
    path = Path(pattern)
    return path.with_name(_FIELD.sub(lambda field: values.get(field[1], field[0]), path.name))


def for_kernels(output: Path, kernels: Sequence[str | None]) -> list[Path]:
    """A file for each kernel, its name in place of `{kernel}` or before the ending; no two are the
    same, also where upper and lower case are. None stands for a Trace that is of no one kernel.
    """
    named = output
    if KERNEL not in output.name:
        ending = ending_of(output)
        named = output.with_name(f"{output.name.removesuffix(ending)}.{KERNEL}{ending}")
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    paths = []
    for kernel in kernels:
        if kernel is None:
            paths.append(output.with_name(output.name.replace(KERNEL, NO_KERNEL)))
            continue
        own = part = part_of_name(kernel)
        while own.lower() in taken:
            numbers[part.lower()] = numbers.get(part.lower(), 1) + 1
            own = f"{part}-{numbers[part.lower()]}"
        taken.add(own.lower())
        paths.append(output.with_name(named.name.replace(KERNEL, own)))
    return paths


def numbered(output: Path, number: int) -> Path:
    """`mlp.pftrace` -> `mlp.1.pftrace`: the ending stays, it says the format."""
    ending = ending_of(output)
    return output.with_name(f"{output.name.removesuffix(ending)}.{number}{ending}")


def ending_of(output: Path) -> str:
    """The part of a file's name that says the format: `.pftrace`, `.json.gz`."""
    known, compressed = format_for(output)
    return output.name[-len(known.ending + (".gz" if compressed else "")) :]


def part_of_name(text: str) -> str:
    """A text as a part of a file's name on any system: `main +9 more` is `main_+9_more`.

    A long one is cut, and gets a tail by which it differs from others that begin like it.
    """
    safe = "".join(c if c.isalnum() or c in "+-_." else "_" for c in text).lstrip(".") or "unnamed"
    if len(safe.encode()) <= _LONGEST:
        return safe
    tail = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return safe.encode()[: _LONGEST - len(tail) - 1].decode(errors="ignore") + f"~{tail}"
