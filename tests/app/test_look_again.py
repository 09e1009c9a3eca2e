"""Files that are read in place and change on the disk: they are looked at again, and others are not."""

import pytest
import small_stacks


@pytest.fixture
def folder(server, tmp_path):
    """A folder of three frames, the second of them damaged."""
    folder = server.root / tmp_path.name
    paths = small_stacks.write(folder)
    whole = paths[1].read_bytes()
    (tmp_path / "whole.png").write_bytes(whole)
    paths[1].write_bytes(whole[: len(whole) // 2])
    return folder


def opened(server, folder):
    answer = server.client.post("/api/stacks", json={"folder": str(folder)})
    return server.seen(answer.raise_for_status().json()["id"])


def looked_at_again(server, stack):
    server.client.post(f"/api/stacks/{stack['id']}/look").raise_for_status()
    return server.seen(stack["id"])


def states(stack):
    return [frame["state"] for frame in stack["frames"]]


def test_a_file_that_was_mended_is_read_and_the_others_stay_as_they_are(server, folder, tmp_path):
    before = opened(server, folder)
    assert states(before) == ["ready", "bad", "ready"]
    (tmp_path / "whole.png").replace(folder / "frame-2.png")
    after = looked_at_again(server, before)
    assert states(after) == ["ready"] * 3
    assert after["frames"][1]["error"] is None
    keys = [[frame["key"] for frame in stack["frames"]] for stack in (before, after)]
    assert keys == [[0, 1, 2], [0, 3, 2]]  # browsers keep pictures by the key
    address = f"/api/stacks/{after['id']}/thumbnails/"
    assert server.client.get(f"{address}3").status_code == 200
    assert server.client.get(f"{address}1").status_code == 404


def test_what_has_not_changed_is_not_read_again(server, folder):
    before = opened(server, folder)
    assert looked_at_again(server, before)["frames"] == before["frames"]


def test_a_file_that_is_gone_is_bad_until_it_is_back(server, folder):
    stack = opened(server, folder)
    away = folder.parent / "elsewhere.png"
    (folder / "frame-1.png").replace(away)
    stack = looked_at_again(server, stack)
    assert states(stack) == ["bad", "bad", "ready"]
    assert stack["frames"][0]["error"].startswith("frame-1.png")
    away.replace(folder / "frame-1.png")
    assert states(looked_at_again(server, stack)) == ["ready", "bad", "ready"]


def test_a_link_that_takes_the_place_of_a_file_is_not_followed_out_of_the_folders(server, folder):
    before = opened(server, folder)
    here = f"/api/stacks/{before['id']}"
    own, (first, _, _) = (folder / "frame-1.png").read_bytes(), before["frames"]
    (folder / "frame-1.png").unlink()
    (folder / "frame-1.png").symlink_to(server.root.parent / "outside" / "secret.png")
    # Also where nobody has looked again.
    for path, sent in ((f"{here}/pictures/{first['key']}", None), (f"{here}/estimate", {})):
        answer = server.client.request("GET" if sent is None else "POST", path, json=sent)
        assert answer.status_code == 403
        assert "frame-1.png may not be opened" in answer.json()["error"]
    stack = looked_at_again(server, before)
    assert states(stack) == ["bad", "bad", "ready"]
    assert stack["frames"][0]["error"].startswith("frame-1.png may not be opened")
    assert server.client.get(f"{here}/thumbnails/{stack['frames'][0]['key']}").status_code == 404
    assert looked_at_again(server, stack)["frames"] == stack["frames"]

    (folder / "frame-1.png").unlink()
    (folder / "frame-1.png").symlink_to(server.root / "small" / "frame-1.png")  # which may be opened
    assert states(looked_at_again(server, stack)) == ["ready", "bad", "ready"]
    (folder / "frame-1.png").unlink()
    (folder / "frame-1.png").write_bytes(own)
    assert states(looked_at_again(server, stack)) == ["ready", "bad", "ready"]


def test_a_folder_above_that_becomes_a_link_out_of_the_folders_is_not_followed(server, folder, tmp_path):
    stack = opened(server, folder)
    folder.rename(tmp_path / "away")
    folder.symlink_to(tmp_path / "away")
    assert states(looked_at_again(server, stack)) == ["bad"] * 3
