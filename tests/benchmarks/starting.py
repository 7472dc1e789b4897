"""Starting: whole commands against a Python that imports json and argparse and does nothing.

CPU time of processes, one after the other in turns; the median of the ratios of each turn. Asked
for: `tilelang-trace --help` at most 2 x, and `report` of a small trace (`--size` slices) below
0.3 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks import synthetic
from tests.benchmarks.measure import Figure
from tilelang_trace.formats import files

SIZE, REPEATS = 200, 15


def run(size: int, repeats: int) -> Iterator[Figure]:
    with TemporaryDirectory() as folder:
        trace = str(Path(folder) / "x.pftrace")
        files.write(synthetic.trace(size), trace)
        commands: dict[str, Sequence[str]] = {
            "import json, argparse": ["-c", "import json, argparse"],
            "--help": ["-m", "tilelang_trace", "--help"],
            "report": ["-m", "tilelang_trace", "report", trace],
            "report --format json": ["-m", "tilelang_trace", "report", trace, "--format", "json"],
            "import numpy": ["-c", "import numpy"],
        }
        # As it is after an installation: with modules that are compiled, which the first time does.
        env = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(repeats + 1):
            for name, command in commands.items():
                taken = cpu(command, env)
                if number:
                    times[name].append(taken)
    plain, shown = times["import json, argparse"], times["--help"]
    for name, taken in times.items():
        asked = "<= 0.3" if name.startswith("report") else ""
        yield Figure(name, median(taken), "s", asked)
    ratio = median(help_ / alone for help_, alone in zip(shown, plain))
    yield Figure("--help / import json, argparse", ratio, "x", "<= 2")


def cpu(arguments: Sequence[str], env: Mapping[str, str]) -> float:
    """The CPU time of a Python with these arguments, s."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return usage.ru_utime + usage.ru_stime
