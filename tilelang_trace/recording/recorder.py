"""One recording: what the hooks tell, for each thread, until it ends."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tilelang_trace.events import PHASE
from tilelang_trace.formats.pftrace.numbers import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME
from tilelang_trace.formats.pftrace.packets import clock_packet, metadata_packet, track_packet
from tilelang_trace.recording import facts, folder
from tilelang_trace.recording.death import crash_stack
from tilelang_trace.recording.disk_sink import DiskSink
from tilelang_trace.recording.failed_pass import FailedPasses
from tilelang_trace.recording.ir_facts import DISK, MODES, OFF, IrWatch, check_mode
from tilelang_trace.recording.ir_sink import IrSink, LinesCounter
from tilelang_trace.recording.journal import Journal
from tilelang_trace.recording.options import DEFAULT_IR
from tilelang_trace.recording.say import say
from tilelang_trace.recording.signals import comes_from_a_signal
from tilelang_trace.recording.sink import OpenSlice, ThreadSink
from tilelang_trace.trace.json_values import Json
from tilelang_trace.version import __version__

_NOTHING: Mapping[str, Json] = {}


def phase_label() -> str | None:
    """The active phase label: ours, else that of TileLang, which labels its own pipelines."""
    label = PHASE.get()
    if label is None:
        theirs = sys.modules.get("tilelang.instrumentation.events")
        if theirs is not None:
            label = theirs.current_pass_phase()
    return label


class _Threads(threading.local):
    """What each thread has of its own."""

    def __init__(self) -> None:
        self.sink: ThreadSink | None = None


class Recording:
    """One recording of this process, from its start to `close`: a journal, and a sink for each
    thread.

    `ir` says which facts about the module passes bear; raises UserError if it is no name of
    `ir_facts.MODES`.

    Nothing in here may harm the compile: what goes wrong is said once, on stderr, and the recording
    stops.
    """

    def __init__(self, journals: Path, ir: str = DEFAULT_IR) -> None:
        self._journals = journals
        check_mode(ir)
        self._view = MODES[ir]
        self._on_disk = ir == DISK
        self._failed_passes = FailedPasses() if ir != OFF else None
        self._metadata = facts.metadata(__version__)
        if self._view is not None or self._on_disk:
            self._metadata["recording"] = {"ir": ir}
        self._journal: Journal | None = None
        self.threads = _Threads()
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._contexts = itertools.count()
        self._pid = os.getpid()
        self._started = facts.process_start()
        self._is_forked = False
        self.stopped = False
        """Whether recording came to an end, by `close` or by trouble."""
        self.is_troubled = False
        """Whether it was trouble, which the person has been told of."""
        _recordings.add(self)

    def sink(self) -> ThreadSink:
        """The sink of the current thread."""
        if self.threads.sink is None:
            self.threads.sink = self._new_sink()
        return self.threads.sink

    def is_current(self, sink: ThreadSink) -> bool:
        """Whether a sink that was had earlier still counts: not after the end, nor after a fork."""
        return not self.stopped and sink.pid == self._pid

    # What the hooks tell. Nothing here may raise: it is called in the middle of somebody's compile.

    def before_pass(self, mod: Any, info: Any) -> None:
        """A pass begins on this thread."""
        try:
            if not self.stopped:
                (self.threads.sink or self.sink()).before_pass(mod, info)
        except Exception as error:
            self.trouble(error)

    def after_pass(self, mod: Any, info: Any) -> None:
        """A pass ended well on this thread."""
        try:
            if not self.stopped:
                (self.threads.sink or self.sink()).after_pass(mod, info)
        except Exception as error:
            self.trouble(error)

    def enter_context(
        self,
        context: Any,
        options: Callable[[], Mapping[str, Json]],
        is_watched: Callable[[], bool],
    ) -> None:
        """This thread enters a PassContext; `is_watched` says whether its passes don't report
        themselves.
        """
        try:
            if not self.stopped:
                self.sink().enter_context(context, options(), is_watched())
        except Exception as error:
            self.trouble(error)

    def describe_context(self, context: Any) -> None:
        """The options of the innermost context of this thread, where they were not known before."""
        try:
            if not self.stopped:
                self.sink().context.late = facts.of_context(context)
        except Exception as error:
            self.trouble(error)

    def exit_context(self, context: Any, error: BaseException | None) -> None:
        """This thread leaves a PassContext, with the exception that ends it, if any."""
        try:
            if not self.stopped:
                try:
                    self.sink().exit_context(context, error)
                except KeyboardInterrupt as interrupt:  # it struck in between
                    self.sink().exit_context(context, error or interrupt)
                    raise
        except Exception as ours:
            self.trouble(ours)

    def detach(self, context: Any) -> None:
        """Our instrument is taken out of a PassContext of this thread, which goes on."""
        try:
            if not self.stopped:
                self.sink().detach(context)
        except Exception as error:
            self.trouble(error)

    def open_slice(
        self, kind: str, name: str, arguments: Mapping[str, Json]
    ) -> tuple[ThreadSink, OpenSlice] | None:
        """A slice that is no pass and no context begins on this thread; `close_slice` ends it."""
        try:
            if not self.stopped:
                sink = self.sink()
                return sink, sink.open_slice(kind, name, arguments)
        except Exception as error:
            self.trouble(error)
        return None

    def close_slice(
        self,
        opened: tuple[ThreadSink, OpenSlice] | None,
        error: BaseException | None = None,
        arguments: Mapping[str, Json] = _NOTHING,
    ) -> None:
        """It ends, well or by an exception, with these arguments added to those of its begin."""
        try:
            if opened is not None and self.is_current(opened[0]):
                sink, entry = opened
                sink.close_slice(entry, error, arguments)
        except Exception as ours:
            self.trouble(ours)

    def call(self, called: Any, mod: Any, is_reporting: Callable[[], bool]) -> Call | None:
        """A pass is called from Python; `is_reporting` says whether the thread's current context
        reports it.
        """
        try:
            return None if self.stopped else Call(self, self.sink(), called, mod, is_reporting)
        except Exception as error:
            self.trouble(error)
            return None

    def call_inside(self, called: Any, mod: Any) -> Call | None:
        """The same for a recording that is told of its own contexts only: None outside of them."""
        sink = self.threads.sink
        return self.call(called, mod, lambda: True) if sink is not None and sink.stack else None

    def trouble(self, error: BaseException) -> None:
        """Say once that the recording stops here, and why. What it has is kept.

        Call it where the error is caught: one that comes from a signal is raised again.
        """
        if comes_from_a_signal(error):
            raise error
        if not self.stopped:
            self.stopped = True
            if not self._journals.exists():
                return  # the parent has ended the recording, this process outlives it
            say(f"recording stopped: {type(error).__name__}: {error}")
            self.is_troubled = True
            try:
                self._end("trouble", str(error))
            except Exception as again:  # no memory, no frames: the journal stays as it is
                if comes_from_a_signal(again):
                    raise

    def close(self, *, if_empty: bool = True) -> None:
        """End the recording well. If nothing ran, that is worth a journal too, or not."""
        if not self.stopped:
            self.stopped = True
            if if_empty or self._journal is not None:
                self._end("closed", "")

    def after_fork(self) -> None:
        """Go on in a child process, in a journal of its own, once something happens there."""
        if self._journal is not None:
            self._journal.abandon()
        self._journal = None
        self.threads = _Threads()
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._started = facts.process_start()
        self._is_forked = True

    def _end(self, how: str, why: str) -> None:
        now = facts.clocks()["monotonic_ns"]
        end = {"how": how, "why": why, "time_ns": now, "versions": facts.versions()}
        try:
            with self._lock:
                if self._journal is None and self._is_first():
                    self._journal = self._open_journal()
                journal, self._journal = self._journal, None
            if journal is not None:
                crash_stack.disarm(journal.path)
                journal.close(metadata_packet(1, now, folder.END, end))
        except OSError as error:
            if how != "trouble":  # else it has been said already
                say(f"the end of the recording can't be written: {error}")

    def _is_first(self) -> bool:
        """Whether the folder waits for a journal, though nothing ran: what the environment is, and
        that nothing ran, is worth one.
        """
        return (
            not self._is_forked
            and self._journals.exists()
            and not folder.journals_in(self._journals)
        )

    def _new_sink(self) -> ThreadSink:
        with self._lock:
            if self._journal is None:
                self._journal = self._open_journal()
                crash_stack.arm(self._journal.path)
            crash_stack.arm_thread()
            journal = self._journal
            number = next(self._numbers) + 2
            track = _uuid(self._pid, number)
            arguments = (
                journal,
                number,
                track,
                _uuid(self._pid, 1),
                self._pid,
                self._contexts.__next__,
                phase_label,
                self._failed_passes,
            )
            if self._on_disk:
                return DiskSink(*arguments)
            if self._view is None:
                return ThreadSink(*arguments)
            number = next(self._numbers) + 2
            counter = LinesCounter(journal.append, number, _uuid(self._pid, number), track)
            return IrSink(*arguments, watch=IrWatch(self._view()), counter=counter)

    def _open_journal(self) -> Journal:
        journal = Journal(self._journals, self._started)
        start = self._metadata["start"]
        clocks = {
            CLOCK_REALTIME: start["realtime_ns"],
            CLOCK_MONOTONIC: start["monotonic_ns"],
            CLOCK_BOOTTIME: start.get("boottime_ns", start["monotonic_ns"]),
        }
        journal.append(clock_packet(1, clocks))
        header = {"pid": self._pid, "metadata": self._metadata}
        journal.append(metadata_packet(1, clocks[CLOCK_BOOTTIME], folder.START, header))
        name = self._metadata["process_name"]
        journal.append(track_packet(1, _uuid(self._pid, 1), process=(self._pid, name)))
        return journal


_recordings: weakref.WeakSet[Recording] = weakref.WeakSet()


def _after_fork() -> None:
    for recording in list(_recordings):
        recording.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Call:
    """A pass that Python called and that runs now."""

    def __init__(
        self,
        recording: Recording,
        sink: ThreadSink,
        called: Any,
        mod: Any,
        is_reporting: Callable[[], bool],
    ) -> None:
        self._recording = recording
        self._sink = sink
        self._called = called
        context = sink.context
        if context is sink.default and not sink.default_known:
            context.watched = not is_reporting()
            sink.default_known = True
        self._mark = sink.mark()
        self._info = called.info if context.watched else None
        if self._info is not None:
            sink.before_pass(mod, self._info)

    def ended(self, result: Any) -> None:
        """The pass ended well, with this module."""
        if self._info is not None:
            self._recording.after_pass(result, self._info)

    def failed(self, error: BaseException) -> None:
        """An exception came out of it."""
        try:
            if self._recording.is_current(self._sink):
                try:
                    self._sink.unwind(self._mark, error, self._called)
                except KeyboardInterrupt:  # it struck in between: what is left to end, ends now
                    self._sink.unwind(self._mark, error, self._called)
                    raise
        except Exception as ours:
            self._recording.trouble(ours)


def _uuid(pid: int, number: int) -> int:
    """A track's uuid that no other process has: a folder of journals opens as one trace."""
    return pid << 24 | number
