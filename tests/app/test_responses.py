"""Answers with small files that may be replaced at any time."""

import asyncio

import pytest

pytest.importorskip("starlette")

from panfocus.app.responses import RequestError, file_answer


def test_a_file_that_is_replaced_while_it_is_sent_is_sent_whole(tmp_path):
    path = tmp_path / "atoms.png"
    path.write_bytes(b"first")
    sent = []

    async def send(message):
        path.write_bytes(b"a longer second one")  # between the head of the answer and its body
        sent.append(message)

    async def answer():
        found = await file_answer(path, "image/png", missing="none yet")
        await found({"type": "http", "method": "GET", "headers": []}, None, send)

    asyncio.run(answer())
    head, body = sent
    assert body["body"] == b"first"
    assert (b"content-length", b"5") in head["headers"]


def test_a_missing_file_is_refused_with_the_callers_message(tmp_path):
    with pytest.raises(RequestError) as caught:
        asyncio.run(file_answer(tmp_path / "atoms.png", "image/png", missing="none yet"))
    assert (caught.value.status, caught.value.message) == (404, "none yet")
