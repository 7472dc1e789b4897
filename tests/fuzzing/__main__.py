"""The command: each target in a process of its own, for some time."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.fuzzing.targets import TARGETS, Target

FOUND = Path(__file__).parent / "found"
LONGEST_S = 10
"""So long may one input take, on a machine that does other work too."""
MEMORY_MB = 2048


def main() -> int:
    """Fuzz; the exit code is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    options = parser.parse_args()
    for name in options.targets:
        if name not in TARGETS:
            parser.error(f"no target {name}: there is {', '.join(TARGETS)}")
    if find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install atheris (Python 3.11 to 3.13)")
    codes = [fuzz(name, options.seconds) for name in options.targets or TARGETS]
    return int(any(codes))


def fuzz(name: str, seconds: int) -> int:
    """Fuzz one target; 0 if nothing was found."""
    print(f"==== {name}, {seconds} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder) / "corpus", Path(folder) / "words"
        _set_up(TARGETS[name], corpus, words)
        command = [
            *(sys.executable, "-m", "tests.fuzzing.one", name, str(corpus)),
            *(f"-artifact_prefix={FOUND}/{name}-", f"-max_total_time={seconds}"),
            *(f"-timeout={LONGEST_S}", f"-rss_limit_mb={MEMORY_MB}", "-max_len=16384"),
            *("-print_final_stats=1", "-verbosity=0"),
        ]
        if TARGETS[name].words:
            command.append(f"-dict={words}")
        return subprocess.run(command, cwd=FOUND.parents[2]).returncode


def _set_up(target: Target, corpus: Path, words: Path) -> None:
    corpus.mkdir()
    for number, seed in enumerate(target.seeds()):
        (corpus / str(number)).write_bytes(seed)
    lines = ("".join(f"\\x{byte:02x}" for byte in word) for word in target.words)
    words.write_text("".join(f'"{line}"\n' for line in lines))


if __name__ == "__main__":
    sys.exit(main())
