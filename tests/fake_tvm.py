"""A `tvm` with only what an instrument binds to. Its default context is always current."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


def fake_tvm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put it in the place of a real one, and return it."""

    class PassInstrument:
        pass

    default_context = SimpleNamespace(instruments=[])
    default_context.same_as = lambda other: other is default_context
    fake: Any = ModuleType("tvm")
    fake.ir = SimpleNamespace(instrument=SimpleNamespace(PassInstrument=PassInstrument))
    fake.transform = SimpleNamespace(PassContext=SimpleNamespace(current=lambda: default_context))
    monkeypatch.setitem(sys.modules, "tvm", fake)
    monkeypatch.setitem(sys.modules, "tvm.ir.instrument", fake.ir.instrument)
    return fake


class Info:
    """A PassInfo or a PassContext: the same as itself only."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def same_as(self, other: object) -> bool:
        return self is other
