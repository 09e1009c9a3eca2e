"""Lines that C libraries write to standard error."""

import os
import threading

import pytest

from panfocus.io.raw import capture_stderr


def test_lines_about_a_file_are_gathered_and_others_appear(capfd):
    with capture_stderr("/a/b.dng") as said:
        os.write(2, b"/a/b.dng: truncated\nother\n")
        other = threading.Thread(target=os.write, args=(2, b"thread\n"))
        other.start()
        other.join()
    assert said == ["truncated"]
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "other\nthread\nlater\n"


def test_an_error_leaves_the_stream_as_it_was(capfd):
    with pytest.raises(ValueError), capture_stderr("x"):
        os.write(2, b"said before\n")
        raise ValueError("within")
    os.write(2, b"said after\n")
    assert capfd.readouterr().err == "said before\nsaid after\n"


def test_threads_capture_stderr_one_at_a_time(capfd):
    gathered = {}

    def complain(name):
        with capture_stderr(name) as said:
            os.write(2, f"{name}: damaged\n".encode())
        gathered[name] = said

    threads = [threading.Thread(target=complain, args=(f"file-{k}-",)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gathered == {f"file-{k}-": ["damaged"] for k in range(8)}
    assert capfd.readouterr().err == ""
