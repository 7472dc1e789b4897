"""Perfetto's engine as WebAssembly, run by Node (`engine.js`), to ask what it made of a trace.

    with Engine() as engine:
        engine.load("run.pftrace")
        assert not engine.problems()
        rows = engine.query("select ts, dur, name from slice")

It is the one in the Perfetto UI that `web_dist` finds.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from tilelang_trace.engine.errors import (
    EngineCrashed,
    EngineError,
    EngineUnavailable,
    QueryError,
    TimeLimitExceeded,
    TraceRefused,
)
from tilelang_trace.engine.problems import Problem, problems_sql
from tilelang_trace.engine.web_dist import find_bundle

CHUNK = 16 << 20


def _load_protos() -> Any:
    try:
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
    except ImportError as error:
        raise EngineUnavailable(f"the package perfetto cannot be imported: {error}") from None
    return ProtoFactory(PlatformDelegate())


class Engine:
    """One process with Perfetto's engine; each `load` replaces the trace loaded before."""

    def __init__(self, time_limit: float = 60.0) -> None:
        self.time_limit = time_limit  # seconds for one request; may be changed at any time
        self.version = ""
        self._protos: Any = None
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def __enter__(self) -> Engine:
        self._protos = _load_protos()
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process. A later `load` starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
        log, self._log = self._log, None
        if log is not None:
            log.close()

    # ------------------------------------------------------------------------------- questions

    def load(self, trace: str | os.PathLike[str] | bytes) -> Engine:
        """Loads a trace, given as a path or as the bytes of a file."""
        # A test that hung or crashed the engine must not take the tests after it along.
        if self._process is None:
            self._start()
        self._call("TPM_RESET_TRACE_PROCESSOR")
        data = trace if isinstance(trace, bytes) else Path(trace).read_bytes()
        for start in range(0, len(data), CHUNK):
            part = data[start : start + CHUNK]
            for reply in self._call("TPM_APPEND_TRACE_DATA", append_trace_data=part):
                if reply.append_result.error:
                    raise TraceRefused(reply.append_result.error)
        for reply in self._call("TPM_FINALIZE_TRACE_DATA"):
            if reply.finalize_data_result.error:
                raise TraceRefused(reply.finalize_data_result.error)
        return self

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows of the last statement in `sql`."""
        result = self._protos.QueryResult()
        for reply in self._call("TPM_QUERY_STREAMING", query_args={"sql_query": sql}):
            result.MergeFrom(reply.query_result)
        if result.error:
            raise QueryError(result.error)
        names = list(result.column_names)
        if len(set(names)) < len(names):
            raise QueryError(f"two columns of one name: {names}")
        cells = (cell for batch in result.batch for cell in _cells(batch))
        # The same iterator, once for each column: zip() cuts the cells into rows.
        rows = zip(*[cells] * len(names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def problems_of(self, trace: str | os.PathLike[str] | bytes) -> list[Problem]:
        """Loads a trace; what Perfetto counted as wrong or lost in it."""
        return self.load(trace).problems()

    def problems(self) -> list[Problem]:
        """What Perfetto counted as wrong or lost in the trace; nothing for a sound one."""
        return cast("list[Problem]", self.query(problems_sql()))

    # ----------------------------------------------------------------------------- the process

    def _start(self) -> None:
        node = shutil.which("node")
        if node is None:
            raise EngineUnavailable("node is not on the PATH")
        command = [node, str(Path(__file__).with_name("engine.js")), str(find_bundle())]
        # A file, not a pipe: nobody reads along, and a full pipe would block the engine.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close())
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        (reply,) = self._call("TPM_GET_STATUS")
        self.version = reply.status.human_readable_version

    def _call(self, method: str, **fields: Any) -> list[Any]:
        """One request of Perfetto's RPC, and the messages of its reply."""
        stream = self._protos.TraceProcessorRpcStream()
        stream.msg.add(request=method, **fields)
        replies = self._protos.TraceProcessorRpcStream()
        replies.ParseFromString(self._exchange(method, stream.SerializeToString()))
        for reply in replies.msg:
            if reply.fatal_error:
                self.close()
                raise EngineCrashed(f"{method}: {reply.fatal_error}")
        return list(replies.msg)

    def _exchange(self, what: str, request: bytes) -> bytes:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise EngineError("no trace is loaded")
        expired = threading.Event()

        def give_up() -> None:
            expired.set()
            process.kill()  # which also ends the blocking read below

        timer = threading.Timer(self.time_limit, give_up)
        timer.start()
        try:
            process.stdin.write(struct.pack("<I", len(request)) + request)
            process.stdin.flush()
            header = process.stdout.read(4)
            size = struct.unpack("<I", header)[0] if len(header) == 4 else 0
            reply = process.stdout.read(size)
            complete = len(header) == 4 and len(reply) == size
        except BrokenPipeError:
            complete = False
        finally:
            timer.cancel()
        if expired.is_set():
            self.close()
            raise TimeLimitExceeded(f"{what}: no answer from Perfetto in {self.time_limit} s")
        if not complete:
            log = self._end_of_log()
            self.close()
            raise EngineCrashed(f"{what}: the engine ended:\n{log}")
        return reply

    def _end_of_log(self) -> str:
        if self._process is None or self._log is None:
            return ""
        self._process.wait()
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]


def _cells(batch: Any) -> Iterator[Any]:
    """The values of one batch, row by row: a list of types, and for each type its values."""
    kind = type(batch)
    try:
        texts = iter(batch.string_cells.split("\0"))
    except UnicodeDecodeError as error:
        raise QueryError(f"the trace holds text that is not UTF-8: {error}") from None
    values = {
        kind.CELL_NULL: iter(lambda: None, 0),  # None without end
        kind.CELL_VARINT: iter(batch.varint_cells),
        kind.CELL_FLOAT64: iter(batch.float64_cells),
        kind.CELL_STRING: texts,
        kind.CELL_BLOB: iter(batch.blob_cells),
    }
    return (next(values[cell]) for cell in batch.cells)
