"""The sink of a thread whose passes are recorded with facts about the IR."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from tilelang_trace.formats.pftrace.numbers import CLOCK_MONOTONIC
from tilelang_trace.formats.pftrace.packets import PacketSequence, track_packet
from tilelang_trace.recording.ir_facts import COST, Facts, IrWatch, Look
from tilelang_trace.recording.sink import Entry, OpenPass, ThreadSink, is_pass

COUNTER_NAME = "IR lines"


class IrSink(ThreadSink):
    """Looks at the module before it reads the clock for a pass's begin, and after it has read that
    of its end: looking takes no time from the pass, only from what is around it.
    """

    def __init__(self, *arguments: Any, watch: IrWatch, counter: LinesCounter) -> None:
        super().__init__(*arguments)
        self._watch = watch
        self._counter = counter
        self._looks: dict[OpenPass, Look] = {}
        """What was seen before each open pass."""

    def before_pass(self, mod: Any, info: Any, more: bytes = b"") -> None:
        look, facts = self._watch.before(mod)
        if facts:
            more += self._packets.argument("ir", facts)
        more += self._packets.argument(COST, look.cost("before"))
        super().before_pass(mod, info, more)
        begun = self.stack[-1]
        if isinstance(begun, OpenPass):
            self._looks[begun] = look
        self._counter.show(facts.get("size_before"))

    def after_pass(self, mod: Any, info: Any) -> None:
        now = monotonic_ns()
        matches = is_pass(info)
        ended = next(filter(matches, reversed(self.stack)), None)
        if not isinstance(ended, OpenPass):
            self.strays += 1
            return
        look, facts = self._watch.after(mod, self._looks.get(ended))
        late: dict[str, Facts] = {"ir": facts} if facts else {}
        ended.late = {**late, COST: look.cost("after")}
        self._end(matches, now, None)
        self._counter.show(facts.get("size_after"), now)

    def exit_context(self, context: Any, error: BaseException | None) -> None:
        super().exit_context(context, error)
        self._watch.forget()

    def _take_off(self, entry: Entry) -> None:
        super()._take_off(entry)
        if isinstance(entry, OpenPass):
            self._looks.pop(entry, None)


class LinesCounter:
    """The counter track "IR lines" of a thread; it is there once there is a value."""

    def __init__(
        self, append: Callable[[bytes], None], sequence_id: int, track: int, thread_track: int
    ) -> None:
        self._append = append
        self._sequence_id = sequence_id
        self._track = track
        self._thread_track = thread_track
        self._packets: PacketSequence | None = None
        self._shown: int | None = None

    def show(self, value: int | None, time: int | None = None) -> None:
        """This value from now on, or from a time on that has just been. None is no value."""
        if value is None or value == self._shown:
            return
        if self._packets is None:
            self._packets = PacketSequence(self._sequence_id, self._track, CLOCK_MONOTONIC)
            self._append(
                track_packet(
                    self._sequence_id,
                    self._track,
                    name=COUNTER_NAME,
                    parent=self._thread_track,
                    counter_unit="",
                )
            )
            self._append(self._packets.first())
        self._shown = value
        self._append(self._packets.counter(time if time is not None else monotonic_ns(), value))
