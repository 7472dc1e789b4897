"""Command lines in a trace show what was run, and no secret."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilelang_trace.recording.facts import metadata
from tilelang_trace.recording.hooks.outside_tools import words_of
from tilelang_trace.secret_values import masked


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("prog --token=abc", "prog --token=***"),
        ("prog --token abc next", "prog --token *** next"),
        ("prog --token --verbose", "prog --token --verbose"),
        ("prog --api-key=abc", "prog --api-key=***"),
        ("prog -DAPI_KEY=abc", "prog -DAPI_KEY=***"),
        ("prog --accessKey abc", "prog --accessKey ***"),
        ("env HF_TOKEN=abc prog", "env HF_TOKEN=*** prog"),
        ("prog --db-password=a=b", "prog --db-password=***"),
        ("git clone https://me:pw@host/x", "git clone https://***@host/x"),
        ("prog hf_abcdefghijklmnopqrst", "prog ***"),
        ("prog AKIAABCDEFGHIJKLMNOP", "prog ***"),
    ],
)
def test_secrets_are_masked(command: str, shown: str) -> None:
    assert masked(command.split()) == shown.split()


def test_headers_are_masked() -> None:
    assert masked(["curl", "-H", "Authorization: Bearer abc"])[2] == "Authorization: Bearer ***"


@pytest.mark.parametrize(
    "command",
    [
        "nvcc -ccbin=/usr/bin/g++ --cubin -O3 -lineinfo -arch=sm_80 -std=c++20 -I/a -o b.o b.cu",
        "nvcc -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC --keep --keep-dir x",
        "g++ -shared -fPIC -DAUTHOR=me -DKEYBOARD=us -monkey=1 --passes=3 x.cpp",
        "hipcc --offload-arch=gfx942 -Rpass-analysis=kernel-resource-usage",
    ],
)
def test_commands_of_compilers_stay_as_they_are(command: str) -> None:
    assert masked(command.split()) == command.split()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["a", Path("b"), b"c"], ["a", "b", "c"]),
        ("nvcc  -c x.cu", ["nvcc", "-c", "x.cu"]),
        (Path("/bin/x y"), ["/bin/x y"]),
        ((word for word in "ab"), ["a", "b"]),
    ],
)
def test_the_words_of_what_subprocess_takes(command: object, words: list[str]) -> None:
    assert words_of(command) == words


def test_no_command_line_with_a_token_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["python", "train.py", "--token", "abc", "HF_TOKEN=abc", "hf_abcdefghijklmnopqrst"]
    monkeypatch.setattr(sys, "orig_argv", command)
    assert metadata("1")["command"] == [
        *("python", "train.py", "--token", "***", "HF_TOKEN=***", "***"),
    ]


def test_nothing_is_compiled_for_a_command_without_secrets() -> None:
    code = (
        "import re\n"
        "def fail(*a): raise AssertionError(a)\n"
        "import tilelang_trace.secret_values as s\n"
        "re.compile = fail\n"
        "s.masked(['python', 'train.py', '--layers', '12', '-o', 'x'])\n"
        "s.masked(['python', '--token', 'a'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "AssertionError" in done.stderr and "line 6" in done.stderr
