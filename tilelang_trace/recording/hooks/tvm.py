"""What is wrapped in TVM while something is recorded, so that a compile is seen without a change to
it.

- `PassContext.__init__` puts our instrument in front of the user's, so that passes report
  themselves.
- `PassContext.__enter__` and `__exit__` are the begin and the end of a context slice, and bring the
  exception that ended it. A context without instruments that was made earlier gets ours when it is
  entered.
- `Pass.__call__` sees the exceptions of passes, for which TVM calls no after-callback, before an
  outer pass can catch them; and it sees the passes of contexts that hold the user's instruments but
  not ours: `override_instruments` would fire the user's instruments again, so such a context is
  left alone.
- The context that a thread is in when recording begins, or when the thread starts, gets our
  instrument if it holds none.

`codegen` sees TVM generate code, and `tilelang` what a TileLang compile has besides passes.

Everything is undone when the last recording ends. TVM may be imported later: `import_watch` waits
for it.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType, TracebackType
from typing import Any, TypeAlias

from tilelang_trace.recording import facts, pass_makers
from tilelang_trace.recording.errors import ffi_errors
from tilelang_trace.recording.errors.description import tell
from tilelang_trace.recording.hooks import codegen, import_watch
from tilelang_trace.recording.hooks.tilelang import compiles
from tilelang_trace.recording.hooks.tilelang import hooks as tilelang_hooks
from tilelang_trace.recording.recorder import Recording
from tilelang_trace.recording.say import say
from tilelang_trace.recording.wrapping import Patches, leave_no_frame
from tilelang_trace.tvm_binding import TvmPassInstrument

_PACKAGE, _MODULE = "tvm", "tvm.ir.transform"

Left: TypeAlias = Callable[[Any, "BaseException | None"], None]

_lock = threading.RLock()
_active: tuple[Recording, ...] = ()
"""What is told of everything."""
_guarded: tuple[tuple[Recording, Left], ...] = ()
"""What is told by an instrument of its own, which sees no exceptions: those come from here."""
_wrapping: _Wrapping | None = None


def start(recording: Recording) -> None:
    """Let this recording see all passes from now on."""
    global _active
    with _lock:
        _active = (*_active, recording)
        if _wrapping is not None:
            _wrapping.adopt_current()
        elif _MODULE in sys.modules:
            _wrap()
        else:
            # The whole package: until it is imported, no context and no instrument can be made.
            import_watch.when_imported(_PACKAGE, _wrap)
        tilelang_hooks.start(lambda: _active)


def guard(recording: Recording, left: Left) -> None:
    """Tell this recording, to which an instrument of its own reports its passes, of exceptions that
    come out of passes, and `left` of each PassContext that was left and of what ended it. Until the
    process ends: TVM holds the instrument that long too.
    """
    global _guarded
    with _lock:
        _guarded = (*_guarded, (recording, left))
        _wrap()


def stop(recording: Recording) -> None:
    """Let this recording see nothing more; TVM is as it was once no recording is left."""
    global _active, _wrapping
    with _lock:
        _active = tuple(r for r in _active if r is not recording)
        if not _active:
            import_watch.forget(_PACKAGE, _wrap)
            tilelang_hooks.stop()
            if _wrapping is not None:
                _wrapping.give_back()
                if not _guarded:
                    _wrapping.undo()
                    _wrapping = None


def _wrap() -> None:
    global _wrapping
    with _lock:
        if _wrapping is None and (_active or _guarded):
            try:
                _wrapping = _Wrapping(sys.modules[_MODULE])
                if _active:
                    _wrapping.adopt_current()
            except Exception as error:  # a TVM that is built otherwise must still compile
                say(f"nothing is recorded: {type(error).__name__}: {error}")


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _is_our_callback(trace: TracebackType) -> bool:
    """Whether an exception came out of one of our instruments."""
    module = str(trace.tb_frame.f_globals.get("__name__"))
    return module.startswith("tilelang_trace.recording.")


class _Callbacks(TvmPassInstrument):
    """Our instrument, one a process: it hands TVM's callbacks on to what is being recorded.

    It does what `Recording.before_pass` and `after_pass` do, without calling them: that would add a
    twentieth to the time that a pass takes to record.
    """

    def run_before_pass(self, mod: Any, info: Any) -> None:
        for recording in _active:
            try:
                if not recording.stopped:
                    (recording.threads.sink or recording.sink()).before_pass(mod, info)
            except Exception as error:
                recording.trouble(error)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        for recording in _active:
            try:
                if not recording.stopped:
                    (recording.threads.sink or recording.sink()).after_pass(mod, info)
            except Exception as error:
                recording.trouble(error)


@functools.cache
def _instrument_of(transform: ModuleType) -> Any:
    """Our instrument for this TVM. TVM never frees one, so it is used again and again."""
    return _Callbacks()


def _like(wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[..., Any]:
    """The wrapper, which gives what stands in the original's place the original's name and text."""
    return lambda original: functools.wraps(original)(wrapper(original))


class _Adopted(threading.local):
    """The contexts of each thread that hold nothing but our instrument because we put it there."""

    def __init__(self) -> None:
        self.contexts: list[Any] = []


class _Wrapping:
    """The wrapped methods of one `tvm.ir.transform`, and how to undo it."""

    def __init__(self, transform: ModuleType) -> None:
        self._context_class = transform.PassContext
        self._pass_class = transform.Pass
        self._ours = _instrument_of(transform)
        self._adopted = _Adopted()
        self._patches = Patches()
        self._override = transform.PassContext.override_instruments
        for cls, name, wrapper in (
            (self._context_class, "__init__", self._init),
            (self._context_class, "__enter__", self._enter),
            (self._context_class, "__exit__", self._exit),
            (self._context_class, "override_instruments", self._override_instruments),
            (self._pass_class, "__call__", self._call),
            (threading.Thread, "_bootstrap_inner", self._start_thread),
        ):
            self._patches.wrap(cls, name, _like(wrapper))
        codegen.wrap(self._patches, lambda: _active)
        pass_makers.wrap(self._patches)
        ffi_errors.watch(self._patches, tell, _is_our_callback)

    def undo(self) -> None:
        """Put everything back."""
        self._patches.undo()
        pass_makers.forget()

    def give_back(self) -> None:
        """Take our instrument out of the contexts of this thread that hold nothing else."""
        # Only those of this thread: in those of others, TVM may be going through the instruments at
        # this moment. Ours does nothing there from now on.
        for context in self._adopted.contexts:
            if self._holds_only_ours(context):
                self._override(context, [])
        self._adopted.contexts.clear()  # the wrapping may stay, for what is guarded

    def adopt_current(self) -> bool:
        """Put our instrument into the context that this thread is in, if it holds none; whether it
        is in now.
        """
        return self._adopt(self._context_class.current())

    def _adopt(self, context: Any) -> bool:
        instruments = list(context.instruments)
        if any(self._ours.same_as(instrument) for instrument in instruments):
            return True
        if instruments:
            return False
        self._override(context, [self._ours])
        self._adopted.contexts.append(context)
        return True

    def _holds_only_ours(self, context: Any) -> bool:
        instruments = list(context.instruments)
        return len(instruments) == 1 and bool(self._ours.same_as(instruments[0]))

    def _with_ours(self, instruments: Any) -> Any:
        if not _active:
            return instruments
        theirs = [i for i in instruments or () if not self._ours.same_as(i)]
        return [self._ours, *theirs]

    # The wrappers. Each takes the original and gives what stands in its place.

    def _init(self, original: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(original)

        def __init__(*args: Any, **kwargs: Any) -> None:  # noqa: N807
            try:
                bound = signature.bind(*args, **kwargs)
                bound.arguments["instruments"] = self._with_ours(bound.arguments.get("instruments"))
            except TypeError:  # TVM says better than we what is wrong with the arguments
                original(*args, **kwargs)
            else:
                original(*bound.args, **bound.kwargs)

        return __init__

    def _override_instruments(self, original: Callable[..., None]) -> Callable[..., None]:
        def override_instruments(context: Any, instruments: Any) -> None:
            original(context, self._with_ours(instruments))

        return override_instruments

    def _enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(context: Any) -> Any:  # noqa: N807
            label = compiles.take_label() if _active else {}
            for recording in _active:
                recording.enter_context(
                    context,
                    lambda: {**label, **facts.of_context(context)},
                    lambda: not self._adopt(context),
                )
            try:
                return original(context)
            except BaseException as error:
                for recording in _active:
                    recording.exit_context(context, error)
                leave_no_frame(error)
                raise

        return __enter__

    def _exit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(context: Any, kind: Any, value: Any, trace: Any) -> Any:  # noqa: N807
            try:
                result = original(context, kind, value, trace)
            except BaseException as error:
                self._left(context, error)
                leave_no_frame(error)
                raise
            self._left(context, value)
            return result

        return __exit__

    def _left(self, context: Any, error: BaseException | None) -> None:
        for recording in _active:
            recording.exit_context(context, error)
        for _, left in _guarded:
            left(context, error)

    def _call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(called: Any, mod: Any) -> Any:  # noqa: N807
            calls = [recording.call(called, mod, self.adopt_current) for recording in _active]
            if _guarded:
                calls += [recording.call_inside(called, mod) for recording, _ in _guarded]
            try:
                result = original(called, mod)
            except BaseException as error:
                stray = ffi_errors.take_stray(error)
                for call in calls:
                    if call is not None:
                        call.failed(stray or error)
                if stray is None:
                    leave_no_frame(error)
                    raise
            else:
                for call in calls:
                    if call is not None:
                        call.ended(result)
                return result
            # A signal handler raised it in a callback of ours, where without us there is nothing
            # that it could strike: it would have come out here, with no translation in between.
            raise stray

        return __call__

    def _start_thread(self, original: Callable[..., None]) -> Callable[..., None]:
        def _bootstrap_inner(thread: threading.Thread) -> None:
            # What C++ runs outside of any PassContext is in the thread's default one. If that can't
            # be had, the thread is adopted when it calls a pass.
            with suppress(Exception):
                self.adopt_current()
            original(thread)

        return _bootstrap_inner
