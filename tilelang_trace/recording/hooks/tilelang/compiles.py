"""Which kernel each thread compiles now, as its `compile` slice."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from tilelang_trace.kernel_label import kernel_label
from tilelang_trace.recording.hooks.spans import Span
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.trace.arguments import COMPILE, STEP, TOOL
from tilelang_trace.trace.json_values import Json

ELABORATE = "elaborate"
"""Name of the step that runs the user's Python function to get the kernel's first IR."""


class Compile:
    """A kernel that is compiled on this thread."""

    def __init__(self, span: Span, outer: Compile | None) -> None:
        self.span = span
        self.outer = outer
        """The compile inside which this one runs, if any."""
        self.was_compiled = False
        """Whether a compiler has run, as it does unless the kernel comes from a cache."""
        self.backend: dict[str, Json] = {}
        """Target and backend, once TileLang has decided, as arguments of the slice."""
        self.elaboration: Span | None = None
        self.look_up: Span | None = None

    def elaborated(self, function: Any) -> None:
        """The kernel's function is there: what comes now compiles it."""
        if self.elaboration is not None:
            self.elaboration.close()
            self.elaboration = None
            self.span.late["kernel"] = name_of(function)

    def looked_up(self) -> None:
        """It is known whether the kernel is in the cache in memory."""
        if self.look_up is not None:
            self.look_up.close()
            self.look_up = None

    def end(self, result: Any, error: BaseException | None) -> None:
        """The call that compiles it has ended."""
        _thread.compile = self.outer
        self.span.close(error)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.compile: Compile | None = None
        self.configuration: dict[str, Json] | None = None
        self.began = 0
        """How many compiles have begun."""
        self.label: str | None = None


_thread = _Thread()


def _after_fork() -> None:
    """The child goes on in the middle of its parent's compile, of which it records nothing."""
    _thread.compile = _thread.configuration = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def current() -> Compile | None:
    """The compile that this thread is in."""
    return _thread.compile


class Compiles:
    """Begins the compiles of every thread, on the recordings that are active then."""

    def __init__(self, active: Callable[[], tuple[Recording, ...]]) -> None:
        self._active = active

    def begin(
        self,
        function: Any,
        *,
        name: str = "",
        target: Any = None,
        backend: Any = None,
        elaborate: bool = False,
    ) -> Compile | None:
        """A compile of this function begins on this thread. With `elaborate`, it is a Python
        function that must run to give the kernel. With a `name` it is of more than one kernel.
        """
        recordings = self._active()
        if not recordings:
            return None
        arguments: dict[str, Json] = {}
        if not name:
            name = name_of(function)
            if not elaborate:
                arguments["kernel"] = name
        arguments.update(_place_of(function))
        if _thread.compile is not None:
            arguments.update(_thread.compile.backend)
        if target is not None:
            arguments["target"] = str(target)
        if backend is not None:
            arguments["backend"] = str(backend)
        if _thread.configuration is not None:
            arguments["configuration"] = _thread.configuration
        _thread.began += 1
        compile_ = Compile(Span(recordings, COMPILE, name, arguments), _thread.compile)
        _thread.compile = compile_
        if elaborate:
            compile_.span.late["kernel"] = name  # until it is known better
            compile_.elaboration = Span(recordings, STEP, ELABORATE)
        return compile_

    def part(self, kind: str, name: str, arguments: dict[str, Json] | None = None) -> Span | None:
        """A part of the compile that this thread is in begins; None if it is in none."""
        recordings = self._active()
        if _thread.compile is None or not recordings:
            return None
        _thread.compile.looked_up()
        return Span(recordings, kind, name, arguments)

    def look_up(self) -> None:
        """TileLang looks into its cache in memory, until the next part begins or the kernel is
        there.
        """
        compile_ = _thread.compile
        if compile_ is not None:
            compile_.look_up = self.part(STEP, "look up in memory")

    def tool(self, name: str, arguments: dict[str, Json]) -> Span | None:
        """An outside program is started on this thread."""
        return self.part(TOOL, name, arguments)

    def candidate(self, function: Any, compile_it: Callable[..., Any]) -> Callable[..., Any]:
        """`compile_it`, which an autotuner calls with a configuration, so that compiles bear it."""

        def call(**configuration: Any) -> Any:
            began = _thread.began
            with configured(configuration):
                try:
                    return compile_it(**configuration)
                except BaseException as error:
                    if _thread.began == began:  # it failed before any compile: that must be seen
                        compile_ = self.begin(function)
                        if compile_ is not None:
                            compile_.end(None, error)
                    raise

        return call


@contextmanager
def configured(configuration: Mapping[str, Any]) -> Iterator[None]:
    """Compiles that begin on this thread bear this configuration of an autotuner."""
    outer, _thread.configuration = _thread.configuration, _plain(configuration)
    try:
        yield
    finally:
        _thread.configuration = outer


def compiler_runs() -> None:
    """The kernel that this thread compiles doesn't come from a cache."""
    if _thread.compile is not None:
        _thread.compile.looked_up()
        _thread.compile.was_compiled = True


def resolved(context: Any) -> None:
    """TileLang has decided for which target, and with which backend, this thread compiles."""
    if _thread.compile is not None:
        backend = _thread.compile.backend
        backend["target"] = str(context.target)
        backend["backend"] = str(context.execution_backend.name)
        _thread.compile.span.late.update(backend)


def label_next_context(label: str | None) -> None:
    """TileLang makes a PassContext on this thread, and says what it is for."""
    _thread.label = label


def take_label() -> dict[str, Json]:
    """The label of the PassContext that is entered now, as arguments of its slice."""
    label, _thread.label = _thread.label, None
    return {} if label is None else {"label": label}


def name_of(function: Any) -> str:
    """The name of a kernel: that of a TIR function in the library, of a module, or of a Python
    function.
    """
    attributes = getattr(function, "attrs", None)
    try:
        symbol = attributes["global_symbol"] if attributes is not None else None
    except Exception:  # a function without this attribute, or a module
        symbol = None
    if symbol is None:
        python = _python_function(function)
        symbol = python.__name__ if python is not None else kernel_label(function)
    return str(symbol) or "kernel"


def _python_function(function: Any) -> FunctionType | None:
    for _ in range(4):
        if isinstance(function, FunctionType):
            return function
        function = getattr(function, "orig_func", None) or getattr(function, "func", None)
    return None


def _place_of(function: Any) -> dict[str, Json]:
    python = _python_function(function)
    if python is None:
        return {}
    return {"file": python.__code__.co_filename, "line": python.__code__.co_firstlineno}


def _plain(configuration: Mapping[str, Any]) -> dict[str, Json]:
    """A configuration as JSON; what TileLang passes along with it under a reserved name, if it is
    anything, under its plain name.
    """
    plain: dict[str, Json] = {}
    for name, value in configuration.items():
        if name.startswith("__") and value is None:
            continue
        plain[name.strip("_")] = _json(value)
    return plain


def _json(value: Any) -> Json:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(inner) for inner in value]
    return str(value)
