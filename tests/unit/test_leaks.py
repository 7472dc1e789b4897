"""An archive is searched for what it was to hide, in whatever form it stands there."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from urllib.parse import quote

import pytest

from tilelang_trace.sharing.redaction.proof import leaks
from tilelang_trace.sharing.redaction.secret import Secret

HOME = Secret("home", "/home/jdoe", "path")
WINDOWS = Secret("home", "C:/Users/JaneDoe", "path")
USER = Secret("user", "jdoe", "word")
SHORT = Secret("user", "a", "name")
TOKEN = Secret("token", "s3cr&t/<value>", "anywhere")
ALL = (HOME, WINDOWS, USER, SHORT, TOKEN)


def found(content: bytes, *secrets: Secret, member: str = "x") -> set[str]:
    return {leak.secret.text for leak in leaks([(member, content)], secrets or ALL)}


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner", content)
    return stream.getvalue()


FORMS = {
    "as it is": str.encode,
    "JSON": lambda text: json.dumps(text).encode(),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)).encode(),
    "JSON with escaped slashes": lambda text: json.dumps(text).replace("/", r"\/").encode(),
    "percent": lambda text: quote(text).encode(),
    "percent, all": lambda text: quote(text, safe="").lower().encode(),
    "HTML": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, other order": lambda text: text.encode("utf-16-be"),
    "base64": lambda text: base64.b64encode(text.encode()),
    "gzip": lambda text: gzip.compress(text.encode()),
    "zip": lambda text: zipped(text.encode()),
    "gzip in zip": lambda text: zipped(gzip.compress(text.encode())),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["", "x ", "xy ", "{'k': '"])
def test_secrets_are_found_in_every_form(form: str, around: str) -> None:
    for text, secret in (("/home/jdoe/x", HOME), ("s3cr&t/<value>", TOKEN)):
        assert found(FORMS[form](f"{around}{text} "), secret) == {secret.text}


@pytest.mark.parametrize("path", [r"C:\Users\JaneDoe\x", r"C:\\Users\\janedoe", "c:/users/JANEDOE"])
def test_windows_paths_are_found_with_any_separator(path: str) -> None:
    assert found(path.encode(), WINDOWS) == {WINDOWS.text}


@pytest.mark.parametrize("text", ["USER=a", "--user=a", '"user": "a"', "~a/x", "a@host"])
def test_a_short_user_is_found_where_it_is_one(text: str) -> None:
    assert found(text.encode(), SHORT) == {"a"}


@pytest.mark.parametrize(
    "text",
    [
        "variable a is read before a is written in lambda a, a/b, (a), a = 3; user a",
        "/home/jdoes/x /home/jdoe2 xjdoe jdoe1",
        "CUsersJaneDoe",
        "hash 9f86d081884c7d659a2feaa0c55ad015",
    ],
)
def test_no_false_alarm(text: str) -> None:
    assert found(text.encode()) == set()


def test_names_of_members_are_searched() -> None:
    (leak,) = leaks([("ir/jdoe_gemm.py", b"")], [USER])
    assert (leak.member, leak.place) == ("ir/jdoe_gemm.py", "its name")
    assert found(zipped(b""), Secret("user", "inner", "word")) == {"inner"}


def test_a_word_behind_its_length_in_a_protobuf_is_found() -> None:
    text = b"jdoe" + b"." * 61  # 65 bytes: the length is the letter A
    assert found(b"\x0a" + bytes([len(text)]) + text, USER) == {"jdoe"}
