"""What one thread has open, written to the journal as it begins and ends.

Everything here runs inside somebody's compile, once a pass: it is kept short, and what can be done
when the journal is read (statuses of what ended well, phases, names) is left to that.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from time import monotonic_ns
from typing import Any, TypeAlias

from tilelang_trace import pairing
from tilelang_trace.formats.pftrace.numbers import CLOCK_MONOTONIC
from tilelang_trace.formats.pftrace.packets import (
    COLOURS,
    END,
    PacketSequence,
    metadata_packet,
    track_packet,
)
from tilelang_trace.kernel_label import kernel_label
from tilelang_trace.recording.errors.description import INSTRUMENT, describe
from tilelang_trace.recording.event_writer import EventWriter
from tilelang_trace.recording.failed_pass import FailedPasses
from tilelang_trace.recording.journal import Journal
from tilelang_trace.trace.arguments import CONTEXT, CONTEXT_NAME, FAILED, INCOMPLETE
from tilelang_trace.trace.error_argument import enclosing, error_argument
from tilelang_trace.trace.json_values import Json

_NOTHING: Mapping[str, Json] = {}

_SWALLOWED = error_argument("", "unknown", "failed; its exception was caught inside the compile")
"""The `error` of a pass whose exception nobody outside the compile could see."""


_KEPT_HEADS = 1 << 12
"""Memory must not grow with the number of passes, and each holds a PassInfo."""

_REPRODUCIBLE = ("exception", "unknown")
"""Causes of failures of the pass itself, and not of an instrument or by Ctrl-C."""

_DETACHED = error_argument(
    "", "detached", "the instrument was taken out of the PassContext while this ran"
)

_LEAKED = error_argument("", "mismatch", "this PassContext was entered and never left")
"""The `error` of a context that is still open when what encloses it ends."""

UNSEEN = "tilelang_trace.unseen"
"""Name of the JSON value in a journal, a dot and a thread's track behind it: how many passes ended
there whose begin was not seen, because recording began in the middle of them.
"""

IDENT = "tilelang_trace.ident"
"""Name of the JSON value in a journal, a dot and a thread's id behind it: `threading.get_ident` of
the thread, by which faulthandler names it.
"""


class OpenPass:
    """A pass that runs.

    Without an `__init__`: to call that would take twice as long as to set the attributes.
    """

    __slots__ = ("info", "inside", "late", "mod", "outer", "sequence")

    info: Any
    """TVM's PassInfo: the same object in the before- and the after-callback."""
    sequence: int
    outer: OpenPass | None
    """The pass around it in the same context."""
    mod: Any
    """The module before it, or None: held, so that it is there if the pass fails."""
    inside: bytes
    """Depth and parent of passes directly inside it, once there is one."""
    late: Mapping[str, Json]
    """Arguments that are known only when it ends."""


class OpenContext:
    """An entered PassContext, or (with `context` None) what runs outside any that was entered."""

    __slots__ = ("context", "innermost", "labelled", "late", "next_sequence", "outer", "watched")

    def __init__(self, context: Any, outer: OpenContext | None, watched: bool) -> None:
        self.context = context
        self.outer = outer
        self.innermost: OpenPass | None = None
        """The innermost of its open passes."""
        self.next_sequence = 0
        self.labelled = context is None
        """Whether the kernel's label has been taken: it costs, so once a context."""
        self.late: Mapping[str, Json] = _NOTHING
        """Arguments that are known only after the context has begun; its end bears them."""
        self.watched = watched
        """Whether its passes are seen through `Pass.__call__`: our instrument is not in it."""


class OpenSlice:
    """An open slice of any other kind: a compile, a code generation, an outside tool."""

    __slots__ = ("late",)

    def __init__(self) -> None:
        self.late: Mapping[str, Json] = _NOTHING


Entry: TypeAlias = OpenPass | OpenContext | OpenSlice


def is_pass(info: Any) -> Callable[[Entry], bool]:
    """Whether an entry is the pass with this PassInfo."""
    return lambda entry: type(entry) is OpenPass and bool(info.same_as(entry.info))


def _is_context(context: Any) -> Callable[[Entry], bool]:
    """Whether an entry is this PassContext."""
    return lambda entry: type(entry) is OpenContext and bool(entry.context.same_as(context))


class ThreadSink:
    """The open slices of a thread, of all kinds, in one stack."""

    def __init__(
        self,
        journal: Journal,
        sequence_id: int,
        track: int,
        process_track: int,
        pid: int,
        next_context: Callable[[], int],
        phase: Callable[[], str | None],
        failed_passes: FailedPasses | None = None,
    ) -> None:
        self._journal = journal
        self._append = journal.append
        self._sequence_id = sequence_id
        self._track = track
        self.pid = pid
        """The process that it writes for: after a fork, the child has sinks of its own."""
        self._next_context = next_context
        self._phase = phase
        self._failed_passes = failed_passes
        """What keeps the module before a pass that failed, if that is wanted."""
        self.stack: list[Entry] = []
        """What is open, outermost first."""
        self.default = self.context = OpenContext(None, None, watched=False)
        """`context` is the innermost one that is open, `default` where there is none."""
        self.default_known = False
        """Whether it is settled how passes outside the thread's own contexts are seen."""
        self.strays = 0
        """After-callbacks of passes whose begin was not seen."""
        self._propagating = False
        """Whether the last thing that happened was that an exception ended a slice which has the
        blame for it.
        """
        self._handled = 0
        """`id` of the exception that was being handled when the outermost open slice began."""
        thread, tid = threading.current_thread(), threading.get_native_id()
        self._append(
            track_packet(
                sequence_id,
                track,
                parent=process_track,
                thread=(pid, tid, thread.name),
            )
        )
        self._append(metadata_packet(1, monotonic_ns(), f"{IDENT}.{tid}", threading.get_ident()))
        self._start_packets()

    # ------------------------------------------------------------------------------- passes

    def before_pass(self, mod: Any, info: Any, more: bytes = b"") -> None:
        """A pass begins; `more` is further arguments of it, as fields of its event."""
        entry = None
        last = self._events.at
        try:
            context = self.context
            outer = context.innermost
            if outer is None:
                arguments = self._outermost
                if not self.stack:
                    self._note_handled()
            else:
                arguments = outer.inside or self._prepare_inside(outer)
            phase = self._phase()
            if phase is not None:
                arguments += self._packets.argument("phase", phase)
            if more:
                arguments += more
            if not context.labelled:
                context.labelled = True
                label = kernel_label(mod)
                if label:
                    # Moved to the context's slice when the journal is read: that one has begun.
                    arguments += self._packets.argument("kernel", label)
            sequence = context.next_sequence
            head = self._heads.get(info) or self._head(info)
            event = self._events.begin_of_pass(head, sequence, arguments)
            entry = OpenPass()
            entry.info = info
            entry.sequence = sequence
            entry.outer = outer
            entry.mod = mod if self._failed_passes is not None else None
            entry.inside = b""
            entry.late = _NOTHING
            context.innermost = entry
            self.stack.append(entry)
            self._propagating = False
            self._write(monotonic_ns(), event)
            context.next_sequence = sequence + 1
        except BaseException:
            self._repair(entry, last, begins=True)
            raise

    def after_pass(self, mod: Any, info: Any) -> None:
        """A pass ended well."""
        now = monotonic_ns()
        context = self.context
        entry = context.innermost
        if entry is not None and entry is self.stack[-1] and entry.info == info:
            last = self._events.at
            try:
                self._propagating = False
                self._write(now, END)
                self.stack.pop()
                context.innermost = entry.outer
            except BaseException:
                self._repair(entry, last, begins=False)
                raise
        else:
            self._end_pass(info, now)

    def _end_pass(self, info: Any, now: int) -> None:
        """A pass ended well that need not be innermost, nor known."""
        if not self._end(is_pass(info), now, None):
            self.strays += 1
            self._append(metadata_packet(1, now, f"{UNSEEN}.{self._track}", self.strays))

    # ------------------------------------------------------------------------------- contexts

    def enter_context(self, context: Any, arguments: Mapping[str, Json], watched: bool) -> None:
        """A PassContext is entered."""
        self._begin(
            OpenContext(context, self.context, watched),
            CONTEXT_NAME,
            CONTEXT,
            {"context": self._next_context(), **arguments},
        )

    def exit_context(self, context: Any, error: BaseException | None) -> None:
        """A PassContext is exited, well or by an exception; what is open in it is given up."""
        if not self._end(_is_context(context), monotonic_ns(), error):
            # It was entered before the recording began: what surrounds the thread now is not known.
            self.default_known = False

    def detach(self, context: Any) -> None:
        """Nothing more comes from a PassContext that goes on. No failure, but no proper end."""
        depth = pairing.find(self.stack, _is_context(context))
        if depth is not None:
            self._propagating = True
            self._give_up(depth, monotonic_ns(), _DETACHED, leaks=False)
            self._propagating = False

    # ------------------------------------------------------------------------------- other slices

    def open_slice(self, kind: str, name: str, arguments: Mapping[str, Json]) -> OpenSlice:
        """A slice of another kind begins."""
        opened = OpenSlice()
        self._begin(opened, name, kind, arguments)
        return opened

    def close_slice(
        self, opened: OpenSlice, error: BaseException | None, arguments: Mapping[str, Json]
    ) -> None:
        """It ends, well or by an exception; these arguments are added to those of its begin."""
        opened.late = arguments
        self._end(lambda entry: entry is opened, monotonic_ns(), error)

    # ------------------------------------------------------------------------------- exceptions

    def mark(self) -> int:
        """Where the stack stands, to come back to if an exception passes by."""
        return len(self.stack)

    def unwind(self, mark: int, error: BaseException, called: Any = None) -> None:
        """An exception came out of a pass that was called at `mark`, the pass object `called`: what
        was opened since has ended.
        """
        if len(self.stack) > mark:
            now = monotonic_ns()
            self._give_up(mark, now, describe(error, self._handled), called=called)

    # ------------------------------------------------------------------------------- the stack

    def _begin(self, entry: Entry, name: str, kind: str, arguments: Mapping[str, Json]) -> None:
        last = self._events.at
        try:
            if not self.stack:
                self._note_handled()
            self.stack.append(entry)
            if type(entry) is OpenContext:
                self.context = entry
            self._propagating = False
            event = self._packets.begin_event(name, kind, arguments)
            self._write(monotonic_ns(), event)
        except BaseException as error:
            self._repair(entry, last, begins=True)
            if self.stack and self.stack[-1] is entry:  # nobody will know that it has begun
                failure = describe(error, self._handled)
                self._give_up(len(self.stack) - 1, monotonic_ns(), failure, leaks=False)
            raise

    def _end(self, matches: Callable[[Entry], bool], now: int, error: BaseException | None) -> bool:
        """End the innermost entry that matches, and what is still open inside it, which has failed:
        it is what an exception ended that was caught where no wrapper of ours could see it, or the
        `error` that ends the entry as well. False if there is no such entry.
        """
        depth = pairing.find(self.stack, matches)
        if depth is None:
            return False
        failure = describe(error, self._handled) if error is not None else _SWALLOWED
        self._give_up(depth + 1, now, failure)
        if error is not None:
            self._give_up(depth, now, failure, leaks=False)
        else:
            self._propagating = False
            entry = self.stack[depth]
            self._close(entry, now, entry.late)
        return True

    def _give_up(
        self,
        depth: int,
        now: int,
        failure: dict[str, Json],
        *,
        leaks: bool = True,
        called: Any = None,
    ) -> None:
        """End all entries from this depth on, none of which ended well. A PassContext among them is
        one that nobody has left, unless told otherwise. `called` is the pass object that Python
        called and that it all came out of.
        """
        while len(self.stack) > depth:
            entry = self.stack[-1]
            status, error = self._blame(entry, failure, leaks)
            arguments = {"status": status, "error": error, **entry.late}
            if status == FAILED and type(entry) is OpenPass:
                arguments |= self._kept_of(entry, error, called)
            self._close(entry, now, arguments, colour=COLOURS[status])
            if status == FAILED:
                self._propagating = True

    def _kept_of(self, entry: OpenPass, error: dict[str, Json], called: Any) -> dict[str, Json]:
        """What is kept of a pass that failed, as arguments of its end in the journal. Its time is
        over: this takes none of it, nor of what ends with it.
        """
        if self._failed_passes is None or error["cause"] not in _REPRODUCIBLE:
            return {}
        return self._failed_passes.arguments(entry.mod, entry.info, called)

    def _blame(
        self, entry: Entry, failure: dict[str, Json], leaks: bool
    ) -> tuple[str, dict[str, Json]]:
        """Status and `error` of the innermost entry, which did not end well: it has failed, unless
        one inside it has, just before.
        """
        if leaks and type(entry) is OpenContext:
            return INCOMPLETE, _LEAKED
        if self._propagating:
            return INCOMPLETE, enclosing(failure)
        is_inside = any(type(outer) is not OpenPass for outer in self.stack[:-1])
        if failure["cause"] == INSTRUMENT and type(entry) is OpenPass and is_inside:
            return INCOMPLETE, enclosing(failure)  # no pass is to blame, what is around them is
        return FAILED, failure

    def _close(
        self, entry: Entry, now: int, arguments: Mapping[str, Json] = _NOTHING, colour: str = ""
    ) -> None:
        """Write the end of the innermost entry and take it off the stack."""
        last = self._events.at
        try:
            event = self._packets.end_event(arguments, colour) if arguments else END
            self._write(now, event)
            self._take_off(entry)
        except BaseException:
            self._repair(entry, last, begins=False)
            raise

    def _take_off(self, entry: Entry) -> None:
        self.stack.pop()
        if type(entry) is OpenPass:
            self.context.innermost = entry.outer
        elif type(entry) is OpenContext:
            self.context = entry.outer or self.default

    def _repair(self, entry: Entry | None, last: int | None, *, begins: bool) -> None:
        """An exception struck in the middle of a begin or an end: make the stack what the journal
        says, and start the packets anew, for names may have been lost on the way.

        A signal handler can raise anywhere in here (Ctrl-C does), and so can the lack of memory.
        """
        is_written = self._events.has_written(last)
        if entry is not None and is_written != begins:
            if self.stack and self.stack[-1] is entry:
                self.stack.pop()
            if self.context.innermost is entry:
                self.context.innermost = entry.outer
            if self.context is entry:
                self.context = entry.outer or self.default
        self._start_packets()

    def _start_packets(self) -> None:
        self._packets = PacketSequence(self._sequence_id, self._track, CLOCK_MONOTONIC)
        self._events = EventWriter(self._journal, self._packets)
        self._write = self._events.write
        self._heads: dict[Any, bytes] = {}
        """Heads of begins by PassInfo: to ask one for its name takes TVM longer than all the rest
        takes here, and some pipelines run again and again.
        """
        self._outermost = self._packets.argument("depth", 0)
        for entry in self.stack:
            if type(entry) is OpenPass:
                entry.inside = b""  # made with ids of names that count no more
        self._append(self._packets.first())

    def _head(self, info: Any) -> bytes:
        if len(self._heads) >= _KEPT_HEADS:
            self._heads.clear()
        head = self._heads[info] = self._events.head_of_pass(info.name)
        return head

    def _prepare_inside(self, outer: OpenPass) -> bytes:
        """Depth and parent of the passes directly inside this one."""
        depth, around = 1, outer.outer
        while around is not None:
            depth, around = depth + 1, around.outer
        parent = self._packets.argument("parent_sequence", outer.sequence)
        outer.inside = self._packets.argument("depth", depth) + parent
        return outer.inside

    def _note_handled(self) -> None:
        # Its id and not the exception itself, which would keep alive what its frames hold.
        self._handled = id(sys.exc_info()[1])
