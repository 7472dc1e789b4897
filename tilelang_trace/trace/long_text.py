"""Long texts as arguments: cut to a limit, with the cut marked."""

from __future__ import annotations


def cut(text: str, limit: int) -> str:
    """The text in at most `limit` bytes of UTF-8, cut at whole characters, with the number of
    characters left out. It must hold no lone surrogates (see `json_values.storable`).
    """
    data = text.encode()
    if len(data) <= limit:
        return text
    # Half from the start and half from the end: a long text often ends with what matters.
    room = (limit - 100) // 2
    head = data[:room].decode(errors="ignore")
    tail = data[-room:].decode(errors="ignore")
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[... {left_out} characters left out ...]\n{tail}"
