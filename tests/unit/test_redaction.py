"""A redacted Trace tells nothing of who made it, and all that it told of the compile."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import pytest

from tests.traces import TRACES, main_thread, one_lane
from tilelang_trace.formats import files
from tilelang_trace.sharing.redaction.choice import Machine, Redaction
from tilelang_trace.sharing.redaction.proof import leaks
from tilelang_trace.sharing.redaction.redact import redact, redact_all
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import CounterTrack, Lane, Trace
from tilelang_trace.trace.rules import OVERLAP

NOBODY = Machine()
GITHUB = "ghp_" + "0123456789abcdefABCDEFghijklmnopqrst"
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
HUGGING = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNm12345678"


def metadata_only(**metadata: Any) -> Trace:
    return dataclasses.replace(one_lane((0, 10, "lower", "pass")), metadata=metadata)


def redacted_text(text: str, machine: Machine = NOBODY, **metadata: Any) -> str:
    return redact(metadata_only(**metadata, note=text), machine=machine).trace.metadata["note"]


def case_54() -> Trace:
    """A user who is called `a`; the same paths in the forms of several systems."""
    arguments = {
        "cmd": "nvcc -I/Users/jane.doe/inc -o /private/var/folders/ab/jane.doe/T/k.cubin",
        "win": r"C:\Users\JaneDoe\AppData\Local\Temp\k.cu",
        "unc": r"\\server\share\jdoe\k.cu",
        "tilde": "~jdoe/k.cu",
        "url": "file:///home/a/k.cu",
        "env": "HOME=/home/a USER=a",
        "mixed": "/mnt/c/Users/JaneDoe/k.cu:7:3: error in lambda a",
    }
    note = {
        "note": "variable a is read before a is written",
        "lib": "/opt/venv/lib/python3.11/site-packages/tvm/ir/transform.py",
    }
    trace = one_lane(
        (0, 90, "lower", "", {"file": "/home/a/kernels/gemm.py", "line": 12}),
        (1, 21, "/home/a/kernels/gemm.py(12): main", ""),
        (30, 50, "Codegen", "", arguments),
        (55, 64, "Simplify", "", note),
    )
    argv = ["/home/a/.venv/bin/python", "/home/a/secret_project/run.py", "--user=a"]
    metadata = {"argv": argv, "hostname": "a-laptop.corp.example"}
    return dataclasses.replace(trace, metadata=metadata)


def test_home_folders_of_all_systems_and_a_user_called_a() -> None:
    trace = redact(case_54(), machine=NOBODY).trace
    assert trace.arguments.of(0) == {"file": "<home>/<project 2>/gemm.py", "line": 12}
    assert trace.name(1) == "<home>/<project 2>/gemm.py(12): main"
    assert trace.arguments.of(2) == {
        "cmd": "nvcc -I<home>/<project 1> -o <temp>/T/k.cubin",
        "win": r"<home>\AppData\Local\Temp\k.cu",
        "unc": r"<share>\k.cu",
        "tilde": "<home>/k.cu",
        "url": "file://<home>/k.cu",
        "env": "HOME=<home> USER=<user>",
        "mixed": "<home>/k.cu:7:3: error in lambda a",
    }
    assert trace.arguments.of(3) == case_54().arguments.of(3)
    assert trace.metadata == {
        "argv": ["<home>/.venv/bin/python", "<home>/<project 3>/run.py", "--user=<user>"],
        "hostname": "<host>",
    }


@pytest.mark.parametrize("known", [files.JSON, files.PFTRACE], ids=lambda f: f.name)
def test_what_was_hidden_is_found_before_and_not_after(known: files.Format) -> None:
    done = redact(case_54(), machine=NOBODY)
    before, after = (b"".join(known.write(t)) for t in (case_54(), done.trace))
    assert {leak.secret for leak in leaks([("trace", before)], done.secrets)} == {
        secret
        for secret in done.secrets
        if secret.text != "server"  # known by the whole path
    }
    assert leaks([("trace", after)], done.secrets) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/jdoe/k.cu:7", "<home>/k.cu:7"),
        ("-L/home/jdoe/.cache/x.so", "-L<home>/.cache/x.so"),
        ("-isystem/home/jdoe/tvm/include", "-isystem<home>/tvm/include"),
        ("-Wl,-rpath,/Users/jdoe/x.so", "-Wl,-rpath,<home>/x.so"),
        ("'/var/home/jdoe/x.py'", "'<home>/x.py'"),
        ("/export/home/jdoe/x.py", "<home>/x.py"),
        ("/home/users/jdoe/x.py", "<home>/x.py"),
        ("/root/x.py", "<home>/x.py"),
        ("/home/jürgen/x.py", "<home>/x.py"),
        ("file:///C:/Users/Jane%20Doe/x.py", "file:///<home>/x.py"),
        (r"C:\Users\Jane Doe\x.py", r"<home>\x.py"),
        (r'"C:\\Users\\JaneDoe\\x.py"', r'"<home>\\x.py"'),
        ("c:/users/janedoe/x.py", "<home>/x.py"),
        (r"\\?\C:\Users\JaneDoe\x.py", r"\\?\<home>\x.py"),
        (r"\\wsl$\Ubuntu\home\jdoe\x.py", r"<home>\x.py"),
        (r"\\\\fs01\\users\\jdoe\\x.py", r"<home>\\x.py"),
        ("/c/Users/JaneDoe/x.py", "<home>/x.py"),
        ("/cygdrive/c/Users/JaneDoe/x.py", "<home>/x.py"),
        ("%2Fhome%2Fjdoe%2Fx.py", "<home>%2Fx.py"),
        (r"\/home\/jdoe\/x.py", r"<home>\/x.py"),
        ("jdoe@gpu01:/data/x.py", "<user>@<host>:/data/x.py"),
        ("mail jane@corp.example, please", "mail <email 1>, please"),
        ("/tmp/pytest-of-jdoe/x, USER=jdoe", "/tmp/pytest-of-<user>/x, USER=<user>"),
        ("/scratch/jdoe/x.py USER=jdoe", "/scratch/<user>/x.py USER=<user>"),
        ("jdoe_gemm by jdoe, /home/jdoe", "user_gemm by <user>, <home>"),
        ("~/clients/acme/x.py", "<home>/<project 1>/x.py"),
        (f"push https://me:{GITHUB}@github.com/x", "push https://<token 1>@github.com/x"),
        (f"token {AWS} is bad", "token <token 1> is bad"),
        ("HF_TOKEN=abc python", "HF_TOKEN=<token 1> python"),
        ("--api-key abc --n 3", "--api-key <token 1> --n 3"),
        ('{"password": "hunter2"}', '{"password": "<token 1>"}'),
        ("Authorization: Bearer abc.def", "Authorization: Bearer <token 1>"),
        ("https://x.org/?access_token=abc&n=1", "https://x.org/?access_token=<token 1>&n=1"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nnext",
            "<token 1>\nnext",
        ),
    ],
)
def test_what_goes(text: str, shown: str) -> None:
    assert redacted_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "/usr/lib/python3.11/site-packages/tvm/relax/transform/transform.py",
        "/opt/venv/lib/python3.11/site-packages/tvm/ir/transform.py:12",
        "/workspace/src/relax/ir/transform.cc:123: in tvm::transform::Pass()",
        "def main(a: T.Buffer((n,), 'float32')): lambda a: a // 2 + a/b",
        "with T.sblock('root'): T.grid(1), key = R.matmul(query, value); token_ids: R.Tensor",
        "key=T_reshape_intermediate_2 num_tokens=4096 max_key=3 cache_key=3f2a91c4d5e6f708",
        "@tvm_ffi.register, a@b.T, @main, foo@1.2.3, git@github.com:apache/tvm.git",
        "cuda -keys=cuda,gpu -arch=sm_90 -max_num_threads=1024 -thread_warp_size=32",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "123e4567-e89b-12d3-a456-426614174000 x86_64-pc-linux-gnu 0.27.0.post1",
        r'"line\nnext\ttab" "\\n\\t" \alpha\beta',
        "KeyError: 'x'; unexpected token: ')'; the author, authority, keyboard",
        "root user main admin: the a of root is a/b",
        "https://docs.example.org/home https://github.com/users/apache",
    ],
)
def test_what_stays(text: str) -> None:
    machine = Machine(users=("a", "root"), hosts=("vm", "localhost"), homes=("/root", "/home/a"))
    assert redacted_text(text, machine) == text


def planted(secret: str) -> Trace:
    """A Trace with a text in every place that has one."""
    builder = TraceBuilder()
    lane = main_thread(builder, f"process {secret}")
    process = builder.process("other")
    builder.lane(Lane(builder.thread(process, f"thread {secret}", 5)))
    builder.lane(Lane(None, process, f"track {secret}"))
    nested: Any = {"list": [1, [f"in {secret}"]], f"key {secret}": {"text": secret}}
    error = {"type": "E", "cause": "exception", "message": secret, "detail": f"x\n{secret}\n"}
    ir = {"changed": True, "before": f'    x = "{secret}"\n', "hash": "ff"}
    arguments = {
        "text": f"before {secret} after",
        "nested": nested,
        "error": error,
        "ir": ir,
        f"argument {secret}": 1,
        "command": ["nvcc", secret],
    }
    builder.slice(lane, 0, 100, f"slice {secret}", "pass", arguments)
    builder.slice(lane, 1, 9, "other", f"category {secret}")
    builder.instant(lane, 50, f"instant {secret}", "x", {"text": secret})
    builder.counter_tracks.append(CounterTrack(f"counter {secret}", f"unit {secret}"))
    builder.counter(0, 5, 1.0)
    builder.finding(f"line of {secret}", OVERLAP, f"moved {secret}")
    builder.metadata = {"deep": [{"er": [{f"a key {secret}": f"a value {secret}"}]}]}
    return builder.build()


SECRETS = {
    "home": ("/home/jdoe/x", "jdoe"),
    "windows": (r"C:\Users\JaneDoe\x", "JaneDoe"),
    "user": ("jdoe", "jdoe"),
    "host": ("box7.corp.example", "box7"),
    "folder": ("/data/acme/tvm", "acme"),
    "e-mail": ("jane.roe@corp.example", "jane"),
    "github": (GITHUB, GITHUB),
    "aws": (AWS, AWS),
    "hugging face": (HUGGING, HUGGING),
    "password": ("password=hunter2", "hunter2"),
}
KNOWN = Machine(users=("jdoe",), hosts=("box7.corp.example",), folders=("/data/acme",))


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("known", [files.JSON, files.PFTRACE], ids=lambda f: f.name)
def test_no_place_keeps_a_secret(kind: str, known: files.Format) -> None:
    text, secret = SECRETS[kind]
    trace = planted(text)
    done = redact(trace, machine=KNOWN)
    everything = repr((done.trace.__dict__, done.trace.arguments.content())) + json.dumps(
        [*done.trace.strings, dict(done.trace.metadata), [str(f) for f in done.trace.findings]]
    )
    assert secret.lower() not in everything.lower()
    data = b"".join(known.write(done.trace))
    assert secret.encode() not in data
    assert leaks([("x", data)], done.secrets) == []
    assert leaks([("x", b"".join(known.write(trace)))], done.secrets)
    assert redact(done.trace, machine=KNOWN).trace == done.trace


@pytest.mark.parametrize(("one", "two"), list(itertools.combinations(SECRETS, 2)))
def test_two_secrets_side_by_side(one: str, two: str) -> None:
    for sign in (" ", "\n", ", ", '" "', ";", "|"):
        text = redacted_text(sign.join([SECRETS[one][0], SECRETS[two][0]]), KNOWN)
        assert SECRETS[one][1] not in text
        assert SECRETS[two][1] not in text


def test_the_given_trace_stays_and_nothing_structural_changes() -> None:
    trace = case_54()
    done = redact(trace, machine=NOBODY).trace
    assert trace == case_54()
    for column in ("begin", "end", "lane", "parent"):
        assert (getattr(done.slices, column) == getattr(trace.slices, column)).all()


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_without_secrets_stays_as_it_is(name: str) -> None:
    trace = TRACES[name]()
    done = redact(trace, machine=NOBODY)
    assert done.changes == ()
    assert done.trace == trace


def test_what_is_learned_in_one_place_is_hidden_in_all() -> None:
    text = redacted_text(
        "made by jdoe on box7", file="/home/jdoe/x.py", hostname="box7.corp.example"
    )
    assert text == "made by <user> on <host>"


def test_the_environment_is_cut_to_what_compilers_go_by() -> None:
    environment = {"CUDA_HOME": "/home/jdoe/.cuda", "HOME": "/home/jdoe", "MY_THING": "x"}
    done = redact(
        metadata_only(environment=environment, env=["CC=gcc", "MY_THING=y"]), machine=NOBODY
    )
    assert done.trace.metadata["environment"] == {"CUDA_HOME": "<home>/.cuda"}
    assert done.trace.metadata["env"] == ["CC=gcc"]
    assert ("variable", "MY_THING=x", "") in {(c.kind, c.old, c.new) for c in done.changes}


def test_values_of_names_that_say_so() -> None:
    metadata = {
        "config": {"api_key": "abc", "n": 1, "list": [{"name": "HF_TOKEN", "value": "xyz"}]},
        "command": ["prog", "--token", "short", "--layers", "3"],
        "secret": 12345,
    }
    done = redact(metadata_only(**metadata), machine=NOBODY).trace.metadata
    assert done == {
        "config": {
            "api_key": "<token 2>",
            "n": 1,
            "list": [{"name": "HF_TOKEN", "value": "<token 4>"}],
        },
        "command": ["prog", "--token", "<token 3>", "--layers", "3"],
        "secret": "<token 1>",
    }


def test_two_keys_that_become_one_keep_their_values() -> None:
    done = redact(metadata_only(d={"/home/x1/a.py": 1, "/home/y1/a.py": 2}), machine=NOBODY)
    assert done.trace.metadata["d"] == {"<home>/a.py": 1, "<home>/a.py (2)": 2}


def test_changes_tell_what_where_and_how_often() -> None:
    trace = one_lane(
        *[(k * 10, k * 10 + 5, "Simplify", "", {"file": "/home/jdoe/x.py"}) for k in (1, 2)]
    )
    (change,) = redact(trace, machine=NOBODY).changes
    assert dataclasses.astuple(change) == (
        "home",
        "/home/jdoe",
        "<home>",
        2,
        ("argument file of Simplify",),
    )


def test_other_texts_get_the_same_replacements() -> None:
    done = redact(metadata_only(file="/home/jdoe/x.py"), machine=NOBODY)
    assert done.text("jdoe: /home/jdoe/x.py") == "<user>: <home>/x.py"
    assert done.text('def jdoe(x):\n  "jdoe"\n', code=True) == 'def user(x):\n  "<user>"\n'
    assert done.text(GITHUB) == "<token 1>"
    assert GITHUB in {secret.text for secret in done.secrets}


def test_traces_that_are_shared_together_have_one_numbering() -> None:
    one, two = metadata_only(note=f"{GITHUB} {AWS}"), metadata_only(note=GITHUB)
    first, second = redact_all([one, two], machine=NOBODY)
    assert first.trace.metadata["note"] == "<token 2> <token 1>"
    assert second.trace.metadata["note"] == "<token 2>"


PROGRAM = """\
@I.ir_module
class Module:
    @T.prim_func
    def secret_attention(query_mine: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        T.func_attr({"global_symbol": "secret_attention"})
        for i in T.grid(16):
            y[i] = T.exp(query_mine[i])

    @R.function
    def main(x: R.Tensor((16,), "float32")):
        cls = Module
        return R.call_tir(cls.secret_attention, (x,), out_sinfo=R.Tensor((16,), "float32"))
"""


def test_pseudonyms_are_the_same_everywhere() -> None:
    ir = {"changed": True, "before": PROGRAM}
    error = {"type": "E", "message": "in secret_attention: y of query_mine", "cause": "exception"}
    trace = one_lane(
        (0, 90, "secret_attention", "compile", {"kernel": "secret_attention +1 more"}),
        (1, 50, "secret_attention", "pass", {"ir": ir, "error": error}),
    )
    done = redact(trace, Redaction(names=True), NOBODY)
    name, row = done.trace.name(0), done.trace.arguments.of(1)
    assert name == redact(trace, Redaction(names=True), NOBODY).trace.name(0)
    assert name.startswith("kernel_") and len(name) == len("kernel_") + 8
    assert done.trace.arguments.of(0)["kernel"] == f"{name} +1 more"
    assert done.trace.name(1) == "secret_attention"  # a pass: what comparing goes by
    program = row["ir"]["before"]
    assert program.count(name) == 3
    assert "secret" not in program and "mine" not in program
    assert "def main(" in program and "T.exp(" in program and "out_sinfo=" in program
    assert row["error"]["message"].startswith(f"in {name}: y of buffer_")
    assert redact(done.trace, Redaction(names=True), NOBODY).trace == done.trace
