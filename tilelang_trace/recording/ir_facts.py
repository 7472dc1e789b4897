"""Facts about the module before and after each pass: the argument `ir`, and what it cost.

A mode says what is looked at: `size` and `text` print the module, `hash` hashes it. Looking takes
milliseconds where recording a pass takes microseconds, so a module that was looked at is not looked
at again while it stays the same: mostly the module after one pass is the module before the next.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any, Protocol

from tilelang_trace.errors import UserError
from tilelang_trace.recording.options import DEFAULT_IR, IR_VARIABLE
from tilelang_trace.recording.say import reason, say
from tilelang_trace.trace.arguments import ERROR_STATUSES, IR_TEXT_LIMIT, OPEN
from tilelang_trace.trace.json_values import Json, storable
from tilelang_trace.trace.long_text import cut

OFF = "off"
DISK = "disk"

COST = "ir_cost"
"""Name of an argument that passes have in a journal only: what looking at their modules took (ns)
and which looks failed. `IrCost` makes it part of the metadata.
"""

Facts = dict[str, Json]


class View(Protocol):
    """What one mode sees of a module, and which facts that makes."""

    def look(self, mod: Any) -> Any:
        """What is seen of a module; two modules are the same if this is equal. May raise."""

    def begin(self, before: Any) -> Facts:
        """What is known of a pass when it begins: all there will be if it fails."""

    def end(self, after: Any, changed: bool | None) -> Facts:
        """What is known once it has ended; `changed` is None if it can't be told."""


class Hash:
    """`hash`: the structural hash, by TVM's own function.

    Free variables are hashed by the order in which they occur, not by their addresses: the same
    module has the same hash in every process.
    """

    def __init__(self) -> None:
        self._hash: Callable[..., int] | None = None

    def look(self, mod: Any) -> str:
        if self._hash is None:
            self._hash = _structural_hash()
        # 64 bits: tvm_ffi gives them as an unsigned number, tvm.ir as a signed one.
        return f"{self._hash(mod, map_free_vars=True) & 0xFFFF_FFFF_FFFF_FFFF:016x}"

    def begin(self, before: str) -> Facts:
        return {}

    def end(self, after: str, changed: bool | None) -> Facts:
        return {"hash": after}


class Size:
    """`size`: the lines of the printed module."""

    def look(self, mod: Any) -> str:
        try:
            return str(mod.script())
        except Exception:
            return str(mod)

    def begin(self, before: str) -> Facts:
        return {"size_before": lines(before)}

    def end(self, after: str, changed: bool | None) -> Facts:
        return {"size_after": lines(after)}


class Text(Size):
    """`text`: the printed module itself. That before a pass is written when it begins, or it would
    be lost where it is needed most; it is dropped later if the pass did not change it.
    """

    def begin(self, before: str) -> Facts:
        return {**super().begin(before), "before": _stored(before)}

    def end(self, after: str, changed: bool | None) -> Facts:
        facts = super().end(after, changed)
        if changed is not False:
            facts["after"] = _stored(after)
        return facts


MODES: dict[str, Callable[[], View] | None] = {
    OFF: None,
    "failed": None,
    "size": Size,
    "hash": Hash,
    "text": Text,
    DISK: None,
}
"""What can be asked for, by name: all but `off` keep the module before a pass that failed."""


def check_mode(mode: str) -> None:
    """Raise UserError if there is no such mode."""
    if mode not in MODES:
        raise UserError(f"ir: {mode!r} is none of {', '.join(MODES)}")


def mode_of_environment() -> str:
    """What the environment asks for; the default, and a word on stderr, if it can't be
    understood.
    """
    mode = os.environ.get(IR_VARIABLE) or DEFAULT_IR
    if mode not in MODES:
        known = ", ".join(MODES)
        say(f"{IR_VARIABLE}={mode} is none of {known}: no facts about the IR are recorded")
        return DEFAULT_IR
    return mode


@dataclass(frozen=True)
class Look:
    """What was seen of a module, or why it could not be, and how long that took."""

    seen: Any
    error: str = ""
    ns: int = 0

    def cost(self, when: str) -> Facts:
        """The part of `ir_cost` that this look is, before or after a pass."""
        return {f"{when}_ns": self.ns, **({f"{when}_error": self.error} if self.error else {})}


class IrWatch:
    """Looks at the modules of one thread's passes. Never raises an Exception."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._last: tuple[tuple[Any, ...], Look] | None = None
        """What the last module was made of, and what was seen of it."""

    def before(self, mod: Any) -> tuple[Look, Facts]:
        """What is seen before a pass, and the facts that its begin bears."""
        look = self._look(mod)
        return look, {} if look.error else self._view.begin(look.seen)

    def after(self, mod: Any, before: Look | None) -> tuple[Look, Facts]:
        """What is seen after it, and the facts that its end bears."""
        look = self._look(mod)
        if look.error:
            return look, {}
        if before is None or before.error:
            return look, self._view.end(look.seen, None)
        changed = bool(look.seen != before.seen)
        return look, {"changed": changed, **self._view.end(look.seen, changed)}

    def forget(self) -> None:
        """Hold no module any longer: it may be large, and its compile is over."""
        self._last = None

    def _look(self, mod: Any) -> Look:
        begun = monotonic_ns()
        last, self._last = self._last, None
        try:
            made_of = contents(mod)
            if last is not None and same(last[0], made_of):
                seen = last[1].seen
            else:
                seen = self._view.look(mod)
        except Exception as error:
            return Look(None, reason(error), monotonic_ns() - begun)
        look = Look(seen, "", monotonic_ns() - begun)
        self._last = made_of, look
        return look


@dataclass
class IrCost:
    """What looking at modules cost in a whole recording, for its metadata."""

    ns: int = 0
    left_out: int = 0
    """Looks that failed: their facts are missing."""
    reasons: list[str] = field(default_factory=list)

    def take(self, arguments: dict[str, Json]) -> None:
        """Take the cost off the arguments of a pass, as a journal has them; and the module before a
        pass that did not change it.
        """
        cost = arguments.pop(COST, None)
        if not isinstance(cost, dict):
            return
        for when in ("before", "after"):
            self.ns += int(cost.get(f"{when}_ns", 0))
            if f"{when}_error" in cost:
                self.left_out += 1
                self.reasons.append(cost[f"{when}_error"])
        ir = arguments.get("ir")
        has_ended = arguments.get("status") not in (*ERROR_STATUSES, OPEN)
        if isinstance(ir, dict) and has_ended and ir.get("changed") is False:
            ir.pop("before", None)

    def metadata(self) -> dict[str, Json]:
        """The part of the metadata's `recording` that tells it."""
        told: dict[str, Json] = {"ir_ns": self.ns}
        if self.left_out:
            told |= {"ir_left_out": self.left_out, "ir_left_out_reason": self.reasons[0]}
        return told


def lines(text: str) -> int:
    """The number of lines of a text, whether or not the last one has its line break."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _stored(text: str) -> Json:
    return cut(storable(text), IR_TEXT_LIMIT)


def _structural_hash() -> Callable[..., int]:
    """TVM's structural hash: in `tvm_ffi`, where TVM is built on that; before, in `tvm.ir`."""
    found = getattr(sys.modules.get("tvm_ffi"), "structural_hash", None)
    if found is None:
        found = sys.modules["tvm.ir"].structural_hash
    function: Callable[..., int] = found
    return function


def contents(mod: Any) -> tuple[Any, ...]:
    """What a module is made of. The module itself would not do to tell whether it is the same: its
    functions can be replaced in place, and passes do. These are copied when they are changed, as
    long as somebody holds them, as we do.
    """
    return mod.functions, mod.attrs, mod.global_infos


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two modules are made of the same objects."""
    return all(
        a is b or (a is not None and b is not None and bool(a.same_as(b)))
        for a, b in zip(one, other)
    )
