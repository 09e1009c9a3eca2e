"""Pictures that a job writes anew again and again: each answer is one of them, whole."""

import asyncio

import pytest

pytest.importorskip("starlette")

from panfocus.app.responses import RequestError, file_answer


def test_a_file_that_is_replaced_while_it_is_sent_is_the_one_that_was_asked_for(tmp_path):
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


def test_a_file_that_is_not_there_is_refused_in_the_callers_words(tmp_path):
    with pytest.raises(RequestError, match="none yet") as refused:
        asyncio.run(file_answer(tmp_path / "atoms.png", "image/png", missing="none yet"))
    assert refused.value.status == 404
