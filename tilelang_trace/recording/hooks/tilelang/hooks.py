"""What is wrapped in TileLang while something is recorded: kernels, and what they go through
besides passes.

A tool registered with `tilelang.instrumentation` (TileLang 0.1.14 and later) sees where compiles
begin and end, code generation, and the labels of PassContexts. Passes come from `hooks.tvm` alone,
or each would be there twice. What lies outside of TileLang's own hooks, the look-up in the cache,
the adapter, the library, is seen by wrapping functions of which some are private: one that isn't
there, in another version, costs its slice and nothing else.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from tilelang_trace.recording import pass_makers
from tilelang_trace.recording.hooks import import_watch, outside_tools
from tilelang_trace.recording.hooks.spans import Span
from tilelang_trace.recording.hooks.tilelang import compiles, grouped_compiles
from tilelang_trace.recording.hooks.tilelang.compiles import Compile, Compiles
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.wrapping import Patches, Scope, around, say_once
from tilelang_trace.trace.arguments import CODEGEN, STEP

_PACKAGE = "tilelang"
_TOOL_NAME = "tilelang_trace"

_CHOOSE_BACKEND = "choose backend"
_CACHE_KEY = "cache key"

_STEPS: tuple[tuple[str, str, str], ...] = (
    ("tilelang.cache", "_resolve_cache_dispatch", _CHOOSE_BACKEND),
    ("tilelang.engine.lower", "create_backend_context", _CHOOSE_BACKEND),
    ("tilelang.engine.lower", "PreLowerSemanticCheck", "semantic check"),
    ("tilelang.jit.kernel", "create_backend_context", _CHOOSE_BACKEND),
    ("tilelang.autotuner.grouped_compile", "create_backend_context", _CHOOSE_BACKEND),
    ("tilelang.cache.kernel_cache", "KernelCache._generate_key", _CACHE_KEY),
    ("tilelang.cache.kernel_cache", "KernelCache._load_kernel_from_disk", "load from cache"),
    ("tilelang.cache.kernel_cache", "KernelCache._save_kernel_to_disk", "save to cache"),
    ("tilelang.cache.binary_cache", "BinaryCache.load", "load binary from cache"),
    ("tilelang.cache.binary_cache", "BinaryCache.save", "save binary to cache"),
    ("tilelang.jit.kernel", "JITKernel._create_adapter_from_artifact", "adapter"),
    ("tilelang.jit.adapter.libgen", "LibraryGenerator.load_lib", "load library"),
    ("tvm.runtime.executable", "Executable.export_library", "export library"),
)
"""Functions that are a step of a compile: module, name in it, name of the slice."""

_wrapping: _Wrapping | None = None
_waiting: Callable[[], None] | None = None
"""What is done when TileLang is imported."""


def start(active: Callable[[], tuple[Recording, ...]]) -> None:
    """See TileLang's compiles from now on, or from when it is imported."""
    global _waiting
    if _waiting is not None:
        return
    package = sys.modules.get(_PACKAGE)
    if package is not None and not getattr(package.__spec__, "_initializing", False):
        _wrap(active)
    else:
        _waiting = functools.partial(_wrap, active)
        import_watch.when_imported(_PACKAGE, _waiting)


def stop() -> None:
    """Leave TileLang as it was."""
    global _wrapping, _waiting
    if _waiting is not None:
        import_watch.forget(_PACKAGE, _waiting)
        _waiting = None
    if _wrapping is not None:
        _wrapping.undo()
        _wrapping = None


def _wrap(active: Callable[[], tuple[Recording, ...]]) -> None:
    global _wrapping
    if _wrapping is None:
        try:
            _wrapping = _Wrapping(active)
        except Exception as error:  # a TileLang that is built otherwise must still compile
            say_once(error)


class _Wrapping:
    """The wrapped functions, and how to undo it."""

    def __init__(self, active: Callable[[], tuple[Recording, ...]]) -> None:
        self._compiles = Compiles(active)
        self._patches = Patches()
        self._instrumentation = sys.modules.get("tilelang.instrumentation")
        self._register_tool()
        for module, name, step in _STEPS:
            self._patch(module, name, self._step(step))
        for module in ("tilelang.jit", "tilelang.cache", "tilelang"):
            self._patch(module, "cached", self._begin_cached)
        self._patch("tilelang.jit.kernel", "JITKernel.__init__", self._begin_kernel)
        self._patch("tilelang.jit.kernel", "JITKernel.from_database", self._begin_from_cache)
        self._patch("tilelang.jit", "JITImpl.compile", self._begin_elaboration("func"))
        tuner = "tilelang.autotuner.tuner"
        self._patch(tuner, "AutoTuner._default_compile", self._begin_elaboration("fn"))
        self._patch(tuner, "compile_grouped_unit_tvm_ffi", self._begin_group)
        for name in ("lower_to_host_device_ir", "host_codegen"):
            self._patch("tilelang.autotuner.grouped_compile", name, grouped_compiles.part)
        self._wrap(tuner, "AutoTuner._prepare_compile_execution", self._with_candidates)
        outside_tools.wrap(self._patches, self._compiles.tool)
        pass_makers.wrap(self._patches)  # TVM's own are wrapped already, and stay so

    def undo(self) -> None:
        """Put everything back."""
        self._patches.undo()
        unregister = getattr(self._instrumentation, "unregister_pass_instrumentation_tool", None)
        if unregister is not None:
            unregister(_TOOL_NAME)

    def _register_tool(self) -> None:
        """From TileLang 0.1.14 on; what it brings is missing in earlier versions."""
        module = self._instrumentation
        register = getattr(module, "register_pass_instrumentation_tool", None)
        if module is None or register is None:
            return
        theirs = module.PassInstrumentationTool
        ours = type("TraceTool", (_Tool, theirs), {})
        label = module.current_pass_instrument_context
        register(_TOOL_NAME, lambda: ours(self._compiles, label))

    def _wrap(
        self, module: str, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        owner: Any = sys.modules.get(module)
        *outer, name = name.split(".")
        for attribute in outer:
            owner = getattr(owner, attribute, None)
        if owner is not None:
            self._patches.wrap(owner, name, wrapper)

    def _patch(self, module: str, name: str, begin: Callable[..., Any]) -> None:
        self._wrap(module, name, lambda original: around(original, begin))

    # What begins when a wrapped function is called with these arguments.

    def _step(self, name: str) -> Callable[..., Any]:
        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Scope | None:
            span = self._compiles.part(STEP, name)
            if span is None:
                return None
            if name == _CHOOSE_BACKEND:
                return _ChoiceOfBackend(span)
            return _CacheKey(span, self._compiles) if name == _CACHE_KEY else span

        return begin

    def _begin_cached(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Cached | None:
        function = args[0] if args else kwargs.get("func")
        around_it = compiles.current()
        if around_it is not None and around_it.elaboration is not None:
            around_it.elaborated(function)
            return _Cached(around_it, None)
        own = self._compiles.begin(
            function, target=kwargs.get("target"), backend=kwargs.get("execution_backend")
        )
        return None if own is None else _Cached(own, own)

    def _begin_kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compile | None:
        """A JITKernel that is made by itself, without the cache."""
        if compiles.current() is not None or kwargs.get("from_database"):
            return None
        function = args[1] if len(args) > 1 else kwargs.get("func")
        return self._compiles.begin(function)

    def _begin_from_cache(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compile | None:
        """A kernel from a cache other than that of `cached`: the autotuner has one."""
        if compiles.current() is not None:
            return None
        compile_ = self._compiles.begin(
            args[1] if len(args) > 1 else kwargs.get("func"),
            target=kwargs.get("target"),
            backend=kwargs.get("execution_backend"),
        )
        if compile_ is not None:
            compile_.span.late["cache"] = "hit"
        return compile_

    def _begin_elaboration(self, attribute: str) -> Callable[..., Any]:
        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compile | None:
            return self._compiles.begin(getattr(args[0], attribute), elaborate=True)

        return begin

    def _begin_group(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Scope | None:
        return grouped_compiles.begin(
            self._compiles, len(args[0] if args else kwargs["unit_items"])
        )

    def _with_candidates(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The autotuner's functions that compile a candidate, each call with its configuration."""
        signature = inspect.signature(original)

        def begin(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
                function, named = args[0].fn, bound.arguments
                named["compile_func"] = self._compiles.candidate(function, named["compile_func"])
                named["elaborate_func"] = grouped_compiles.elaboration(
                    self._compiles, function, named["elaborate_func"]
                )
            except Exception as ours:
                say_once(ours)
                return original(*args, **kwargs)
            return original(*bound.args, **bound.kwargs)

        return begin


class _ChoiceOfBackend:
    """A step that gives the backend and the target, fully resolved."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def end(self, result: Any, error: BaseException | None) -> None:
        if error is None:
            # The context alone, or in the middle of a tuple.
            compiles.resolved(result[1] if isinstance(result, tuple) else result)
        self._span.close(error)


class _CacheKey:
    """A step after which TileLang looks into the cache in memory."""

    def __init__(self, span: Span, compiles_: Compiles) -> None:
        self._span = span
        self._compiles = compiles_

    def end(self, result: Any, error: BaseException | None) -> None:
        self._span.close(error)
        if error is None:
            self._compiles.look_up()


class _Cached:
    """A call that gives a kernel, from the cache or compiled."""

    def __init__(self, compile_: Compile, own: Compile | None) -> None:
        self._compile = compile_
        self._own = own

    def end(self, result: Any, error: BaseException | None) -> None:
        if self._compile.was_compiled or error is not None:
            if _cache_is_on():
                self._compile.span.late["cache"] = "miss"
        else:
            self._compile.span.late["cache"] = "hit"
        if self._own is not None:
            self._own.end(result, error)


def _cache_is_on() -> bool:
    enabled = getattr(getattr(sys.modules.get(_PACKAGE), "env", None), "is_cache_enabled", None)
    return bool(enabled()) if callable(enabled) else False


class _Tool:
    """Our tool in one of TileLang's compile sessions; TileLang makes one at the session's begin."""

    def __init__(self, compiles_: Compiles, label: Callable[[], str | None]) -> None:
        self._compiles = compiles_
        self._label = label
        self._own: Compile | None = None
        try:
            if compiles.current() is None:
                self._own = compiles_.begin(_function_being_lowered())
            else:
                compiles.compiler_runs()
        except Exception as ours:
            say_once(ours)

    def create_pass_instrument(self) -> None:
        """No instrument: passes come from `hooks.tvm`. But a PassContext is about to be made."""
        try:
            label = self._label()
            grouped_compiles.context_is_made(label)
            compiles.label_next_context(label)
        except Exception as ours:
            say_once(ours)

    def run_codegen(self, event: Any, next_call: Callable[[], Any]) -> Any:
        """Code generation for host or device."""

        def begin(*_: Any) -> Span | None:
            return self._compiles.part(CODEGEN, str(event.name))

        return around(next_call, begin)()

    def finish(self, error: BaseException | None) -> None:
        """The session has ended."""
        if self._own is not None:
            try:
                self._own.end(None, error)
            except Exception as ours:
                say_once(ours)


def _function_being_lowered() -> Any:
    """What the caller of TileLang's session compiles: sessions don't say it."""
    frame = sys._getframe(2)
    for _ in range(10):
        if "func_or_mod" in frame.f_locals:
            return frame.f_locals["func_or_mod"]
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None
