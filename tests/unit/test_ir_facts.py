"""Facts about the IR without TVM: what is counted, cut, hashed, and left out."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilelang_trace.errors import UserError
from tilelang_trace.recording.ir_facts import (
    MODES,
    Hash,
    IrCost,
    IrWatch,
    Size,
    Text,
    lines,
    mode_of_environment,
)
from tilelang_trace.recording.options import IR_VARIABLE
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.trace.arguments import IR_TEXT_LIMIT


class Part:
    """A TVM object that is the same as itself only."""

    def same_as(self, other: object) -> bool:
        return self is other


class Module:
    """A module that prints a text, or raises."""

    def __init__(self, text: str | Exception) -> None:
        self.functions, self.global_infos, self.attrs = Part(), Part(), None
        self.text = text
        self.printed = 0

    def script(self) -> str:
        self.printed += 1
        if isinstance(self.text, Exception):
            raise self.text
        return self.text


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2), ("a\x0cb", 1)]
)
def test_lines(text: str, count: int) -> None:
    assert lines(text) == count


class TestHash:
    @pytest.mark.parametrize(
        ("value", "text"),
        [(2**64 - 1, "f" * 16), (-1, "f" * 16), (2**63, "8" + "0" * 15), (10, "0" * 15 + "a")],
    )
    def test_it_is_64_bits_as_text(
        self, monkeypatch: pytest.MonkeyPatch, value: int, text: str
    ) -> None:
        # Free variables are not to be hashed by their addresses.
        ffi = SimpleNamespace(structural_hash=lambda mod, map_free_vars: map_free_vars and value)
        monkeypatch.setitem(sys.modules, "tvm_ffi", ffi)
        assert Hash().look(Module("")) == text

    def test_it_is_that_of_tvm_ir_where_tvm_ffi_has_none(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "tvm_ffi", SimpleNamespace())
        ir = SimpleNamespace(structural_hash=lambda mod, map_free_vars: 7)
        monkeypatch.setitem(sys.modules, "tvm.ir", ir)
        assert Hash().look(Module("")) == f"{7:016x}"


class TestWatch:
    def test_a_module_is_printed_once_while_it_holds_the_same(self) -> None:
        watch, module = IrWatch(Size()), Module("a\nb")
        for _ in range(3):
            look, begin = watch.before(module)
            _, end = watch.after(module, look)
        assert module.printed == 1
        assert (begin, end) == ({"size_before": 2}, {"changed": False, "size_after": 2})

    @pytest.mark.parametrize("part", ["functions", "attrs", "global_infos"])
    def test_it_is_printed_again_when_what_it_holds_was_replaced(self, part: str) -> None:
        watch, module = IrWatch(Size()), Module("a")
        look, _ = watch.before(module)
        setattr(module, part, Part())
        module.text = "a\nb"
        assert watch.after(module, look)[1] == {"changed": True, "size_after": 2}

    def test_a_pass_without_begin_has_no_change(self) -> None:
        assert IrWatch(Size()).after(Module("a"), None)[1] == {"size_after": 1}

    @pytest.mark.parametrize("mod", [None, object(), Module(ValueError("no\nprinter"))])
    def test_what_can_t_be_looked_at_is_left_out(self, mod: Any) -> None:
        if isinstance(mod, Module):
            mod.__class__ = type("Silent", (Module,), {"__str__": lambda self: self.script()})
        watch = IrWatch(Text())
        look, begin = watch.before(mod)
        assert begin == {}
        after, end = watch.after(Module("a"), look)
        assert end == {"size_after": 1, "after": "a"}
        cost = IrCost()
        cost.take({"ir_cost": {**look.cost("before"), **after.cost("after")}})
        told = cost.metadata()
        assert told["ir_left_out"] == 1
        assert told["ir_left_out_reason"].startswith(("ValueError: no", "AttributeError: "))
        assert "\n" not in told["ir_left_out_reason"]

    def test_nothing_is_held_after_forget(self) -> None:
        watch, module = IrWatch(Size()), Module("a")
        held = weakref.ref(module.functions)
        watch.before(module)
        del module
        assert held() is not None
        watch.forget()
        assert held() is None


class TestText:
    def test_it_can_be_stored_whatever_it_holds(self) -> None:
        watch = IrWatch(Text())
        look, begin = watch.before(Module("lone \ud800"))
        assert begin["before"] == "lone \N{REPLACEMENT CHARACTER}"
        _, end = watch.after(Module("ä" * IR_TEXT_LIMIT), look)
        assert len(end["after"].encode()) <= IR_TEXT_LIMIT
        assert "characters left out" in end["after"]


class TestCost:
    def ended(self, status: str, changed: bool | None) -> dict[str, Any]:
        """The `ir` that is kept of a pass with this status."""
        ir = {"before": "text", **({} if changed is None else {"changed": changed})}
        arguments: dict[str, Any] = {"status": status, "ir": ir, "ir_cost": {"before_ns": 5}}
        IrCost().take(arguments)
        assert "ir_cost" not in arguments
        kept: dict[str, Any] = arguments["ir"]
        return kept

    def test_the_module_before_stays_unless_the_pass_did_not_change_it(self) -> None:
        assert "before" not in self.ended("ok", False)
        assert "before" in self.ended("ok", True)
        assert "before" in self.ended("ok", None)
        for status in ("failed", "incomplete", "open"):
            assert "before" in self.ended(status, None)

    def test_it_adds_up_both_sides_of_every_pass(self) -> None:
        cost = IrCost()
        for _ in range(3):
            cost.take({"ir_cost": {"before_ns": 10, "after_ns": 4}})
        cost.take({"status": "ok"})
        assert cost.metadata() == {"ir_ns": 42}


class TestEnvironment:
    @pytest.mark.parametrize("mode", MODES)
    def test_it_names_a_mode(self, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
        monkeypatch.setenv(IR_VARIABLE, mode)
        assert mode_of_environment() == mode

    @pytest.mark.parametrize("value", [None, ""])
    def test_nothing_is_the_module_before_a_failed_pass(
        self, monkeypatch: pytest.MonkeyPatch, value: str | None
    ) -> None:
        monkeypatch.delenv(IR_VARIABLE, raising=False)
        if value is not None:
            monkeypatch.setenv(IR_VARIABLE, value)
        assert mode_of_environment() == "failed"

    def test_what_is_no_mode_is_told(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv(IR_VARIABLE, "hashes")
        assert mode_of_environment() == "failed"
        said = capfd.readouterr().err
        assert said.count("\n") == 1
        assert "TILELANG_TRACE_IR=hashes is none of off, failed, size, hash, text, disk" in said


def test_a_recording_asked_for_what_is_no_mode_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="ir: 'hashes' is none of off, failed, size, hash, text, disk"
    ):
        Recording(tmp_path, "hashes")
