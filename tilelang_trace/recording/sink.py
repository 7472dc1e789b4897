"""One thread's open contexts and passes, written to the journal as they begin and end.

Everything here runs inside somebody's compile, once a pass: it is kept short, and what can be done
when the journal is read (statuses of what ended well, phases, names) is left to that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from time import monotonic_ns
from typing import Any

from tilelang_trace import pairing
from tilelang_trace.formats.packets import (
    CLOCK_MONOTONIC,
    COLOURS,
    END,
    PacketSequence,
    track_packet,
)
from tilelang_trace.kernel_label import kernel_label
from tilelang_trace.recording.errors import describe
from tilelang_trace.trace.arguments import CONTEXT, CONTEXT_NAME, FAILED, INCOMPLETE, PASS
from tilelang_trace.trace.error_argument import enclosing, error_argument
from tilelang_trace.trace.json_values import Json

_NOTHING: Mapping[str, Json] = {}

_SWALLOWED = error_argument("", "unknown", "failed; its exception was caught inside the compile")
"""The `error` of a pass whose exception nobody outside the compile could see."""


class Frame:
    """An open pass."""

    __slots__ = ("info", "sequence")

    def __init__(self, info: Any, sequence: int) -> None:
        self.info = info
        """TVM's PassInfo: the same object in the before- and the after-callback."""
        self.sequence = sequence


class OpenContext:
    """An entered PassContext, or (with `context` None) the passes outside any that the thread has
    entered.
    """

    __slots__ = ("context", "frames", "labelled", "late", "next_sequence", "watched")

    def __init__(self, context: Any, watched: bool) -> None:
        self.context = context
        self.frames: list[Frame] = []
        self.next_sequence = 0
        self.labelled = context is None
        """Whether the kernel's label has been taken: it costs, so once a context."""
        self.late: Mapping[str, Json] = _NOTHING
        """Arguments that are known only after the context has begun; its end bears them."""
        self.watched = watched
        """Whether its passes are seen through `Pass.__call__`, because our instrument is not in it.
        """


class ThreadSink:
    """The slices that a thread has open. The owner of the stack: every slice of the thread comes
    here.
    """

    def __init__(
        self,
        append: Callable[[bytes], None],
        sequence_id: int,
        track: int,
        process_track: int,
        pid: int,
        next_context: Callable[[], int],
        phase: Callable[[], str | None],
    ) -> None:
        self._append = append
        self._next_context = next_context
        self._phase = phase
        packets = self._packets = PacketSequence(sequence_id, track, CLOCK_MONOTONIC)
        self._sequence = packets.integers("sequence")
        self._depth = packets.integers("depth")
        self._parent = packets.integers("parent_sequence")
        self.default = OpenContext(None, watched=False)
        self.contexts = [self.default]
        self.default_known = False
        """Whether it is settled how passes outside the thread's own contexts are seen."""
        self.strays = 0
        """After-callbacks of passes whose begin was not seen."""
        self._propagating = False
        """Whether the last thing that happened was that an exception ended a slice."""
        thread = threading.current_thread()
        append(
            track_packet(
                sequence_id,
                track,
                parent=process_track,
                thread=(pid, threading.get_native_id(), thread.name),
            )
        )
        append(self._packets.first())

    # ------------------------------------------------------------------------------- passes

    def before_pass(self, mod: Any, info: Any) -> None:
        """A pass begins."""
        context = self.contexts[-1]
        frames = context.frames
        sequence = context.next_sequence
        context.next_sequence = sequence + 1
        packets = self._packets
        event = packets.head(str(info.name), PASS) + self._sequence[sequence]
        event += self._depth[len(frames)]
        if frames:
            event += self._parent[frames[-1].sequence]
        phase = self._phase()
        if phase is not None:
            event += packets.argument("phase", phase)
        if not context.labelled:
            context.labelled = True
            label = kernel_label(mod)
            if label:
                # Moved to the context's slice when the journal is read: that one has begun already.
                event += packets.argument("kernel", label)
        frames.append(Frame(info, sequence))
        self._propagating = False
        self._append(packets.stamped(monotonic_ns(), event))

    def after_pass(self, info: Any) -> None:
        """A pass ended well."""
        now = monotonic_ns()
        frames = self.contexts[-1].frames
        if frames and info.same_as(frames[-1].info):
            frames.pop()
        elif not self._end_stale(info, now):
            self.strays += 1
            return
        self._propagating = False
        self._append(self._packets.stamped(now, END))

    def _end_stale(self, info: Any, now: int) -> bool:
        """End what is still open inside this pass, and take the pass off; False if it is not open.

        It is passes inside that failed, and contexts that were never exited, where the exception
        was caught where no wrapper of ours could see it.
        """
        for index in reversed(range(len(self.contexts))):
            context = self.contexts[index]
            frame, stale = pairing.close(context.frames, lambda f: bool(info.same_as(f.info)))
            if frame is not None:
                for inner in reversed(pairing.unwind(self.contexts, index + 1)):
                    self._give_up(inner, now, _SWALLOWED)
                self._end_failed(len(stale), now, _SWALLOWED)
                return True
        return False

    # ------------------------------------------------------------------------------- contexts

    def enter_context(self, context: Any, arguments: Mapping[str, Json], watched: bool) -> None:
        """A PassContext is entered."""
        self.contexts.append(OpenContext(context, watched))
        self._propagating = False
        self._append(
            self._packets.begin(
                monotonic_ns(),
                CONTEXT_NAME,
                CONTEXT,
                {"context": self._next_context(), **arguments},
            )
        )

    def exit_context(self, context: Any, error: BaseException | None) -> None:
        """A PassContext is exited, well or by an exception; what is open in it is given up."""
        now = monotonic_ns()
        opened, stale = pairing.close(
            self.contexts, lambda c: c.context is not None and bool(c.context.same_as(context))
        )
        if opened is None:
            # It was entered before the recording began: what surrounds the thread now is not known.
            self.default_known = False
            return
        failure = describe(error) if error is not None else _SWALLOWED
        for inner in reversed(stale):
            self._give_up(inner, now, failure)
        if error is not None:
            self._give_up(opened, now, failure)
        else:
            self._end_failed(len(opened.frames), now, failure)
            self._propagating = False
            self._append(self._packets.end(now, opened.late))

    # ------------------------------------------------------------------------------- exceptions

    def mark(self) -> tuple[int, int]:
        """Where the stack stands, to come back to if an exception passes by."""
        return len(self.contexts), len(self.contexts[-1].frames)

    def unwind(self, mark: tuple[int, int], error: BaseException) -> None:
        """An exception came out of a pass that was called at `mark`: what was opened since has
        ended.
        """
        contexts, frames = mark
        if len(self.contexts) < contexts:
            return
        if len(self.contexts) == contexts and len(self.contexts[-1].frames) <= frames:
            return
        now = monotonic_ns()
        failure = describe(error)
        for inner in reversed(pairing.unwind(self.contexts, contexts)):
            self._give_up(inner, now, failure)
        self._end_failed(len(pairing.unwind(self.contexts[-1].frames, frames)), now, failure)

    def _give_up(self, context: OpenContext, now: int, failure: dict[str, Json]) -> None:
        """End a context that did not end well, with its passes."""
        self._end_failed(len(context.frames), now, failure)
        self._end_failed(1, now, failure, context.late)

    def _end_failed(
        self, count: int, now: int, failure: dict[str, Json], more: Mapping[str, Json] = _NOTHING
    ) -> None:
        """End the innermost `count` slices: the innermost has failed, unless one inside it has,
        just before.
        """
        for _ in range(count):
            status = INCOMPLETE if self._propagating else FAILED
            error = enclosing(failure) if self._propagating else failure
            self._propagating = True
            self._append(
                self._packets.end(
                    now, {"status": status, "error": error, **more}, colour=COLOURS[status]
                )
            )
