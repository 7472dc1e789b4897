"""Perfetto's engine, with questions that only tests ask."""

from __future__ import annotations

import time
from typing import Any, final

from tilelang_trace.engine import wasm
from tilelang_trace.engine.errors import EngineError, QueryError


@final
class Engine(wasm.Engine):
    """One process with Perfetto's engine; each `load` replaces the trace loaded before."""

    def cpu_seconds(self) -> float:
        """CPU time that the engine's process has used (Linux only)."""
        if self._process is None:
            raise EngineError("no trace is loaded")
        # How the kernel numbers the CPU clock of a process, see clock_getcpuclockid(3).
        return time.clock_gettime(~self._process.pid << 3 | 2)

    def scalar(self, sql: str) -> Any:
        """The only value of the only row."""
        rows = self.query(sql)
        if len(rows) != 1 or len(rows[0]) != 1:
            raise QueryError(f"not one value but {len(rows)} rows: {sql}")
        return next(iter(rows[0].values()))

    def args(self, arg_set_id: int | None) -> dict[str, Any]:
        """Arguments by their full keys, such as `args.shape[0]` (JSON) or `debug.error.type`."""
        if arg_set_id is None:
            return {}
        rows = self.query(
            "select key, value_type, coalesce(int_value, real_value, string_value) as value "
            f"from args where arg_set_id = {int(arg_set_id)} order by id"
        )
        return {
            row["key"]: bool(row["value"]) if row["value_type"] == "bool" else row["value"]
            for row in rows
        }

    def misplaced(self) -> list[dict[str, Any]]:
        """Slices that Perfetto draws in a wrong place without counting a problem.

        A slice outlives its parent, overlaps another on its row, or has a negative length. (A
        length of -1 is no mistake: it stands for "did not end".)
        """
        return self.query(
            "with boxes as (select slice.*, max(ts + dur) over (partition by track_id, depth "
            "order by ts, id rows between unbounded preceding and 1 preceding) as busy_until "
            "from slice where dur != -1) "
            "select box.id, box.name, box.ts, box.dur from boxes box "
            "left join slice parent on parent.id = box.parent_id and parent.dur >= 0 "
            "where box.dur < -1 or box.ts < box.busy_until "
            "or box.ts + box.dur > parent.ts + parent.dur order by box.ts, box.id"
        )
