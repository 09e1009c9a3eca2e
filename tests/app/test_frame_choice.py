"""Order and choice of frames: named by keys, so that a list that has changed meanwhile does no harm."""

import pytest
import small_stacks


@pytest.fixture
def stack(server, tmp_path):
    """A stack of files that were sent, the last one first: their keys are not their places."""
    made = server.client.post("/api/stacks", json={"name": "chosen"}).raise_for_status().json()["id"]
    for path in reversed(small_stacks.write(tmp_path)):
        send(server, made, path.name, path)
    yield server.seen(made)
    server.client.delete(f"/api/stacks/{made}").raise_for_status()


def send(server, stack, name, path):
    answer = server.client.put(f"/api/stacks/{stack}/files/{name}", content=path.read_bytes())
    answer.raise_for_status()


def keys(stack, *names):
    by_name = {frame["name"]: frame["key"] for frame in stack["frames"]}
    return [by_name[f"{name}.png"] for name in names]


def change(server, stack, **wanted):
    return server.client.patch(f"/api/stacks/{stack['id']}", json=wanted)


def names(stack):
    return [frame["name"].removesuffix(".png") for frame in stack["frames"]]


def left_out(stack):
    return [frame["name"].removesuffix(".png") for frame in stack["frames"] if frame["excluded"]]


def test_a_frame_is_left_out_by_its_key_also_when_others_have_come_before_it(server, stack, tmp_path):
    assert names(stack) == ["frame-1", "frame-2", "frame-3"]
    send(server, stack["id"], "a.png", tmp_path / "frame-2.png")
    now = change(server, stack, excluded=keys(stack, "frame-1")).raise_for_status().json()
    assert names(now) == ["a", "frame-1", "frame-2", "frame-3"]
    assert left_out(now) == ["frame-1"]


def test_frames_that_are_not_named_stay_as_they_are(server, stack):
    change(server, stack, excluded=keys(stack, "frame-1", "frame-2")).raise_for_status()
    # As of a tab that does not know of it yet.
    now = change(server, stack, excluded=keys(stack, "frame-3"), used=keys(stack, "frame-1"))
    assert left_out(now.raise_for_status().json()) == ["frame-2", "frame-3"]


def test_frames_that_came_while_others_were_ordered_stand_behind_them(server, stack, tmp_path):
    order = keys(stack, "frame-3", "frame-1", "frame-2")
    for name in ("b.png", "a.png"):
        send(server, stack["id"], name, tmp_path / "frame-2.png")
    now = change(server, stack, order=order).raise_for_status().json()
    assert names(now) == ["frame-3", "frame-1", "frame-2", "a", "b"]


def test_a_frame_whose_file_was_replaced_is_not_taken_for_the_one_before(server, tmp_path):
    folder = server.root / tmp_path.name
    paths = small_stacks.write(folder)
    made = server.client.post("/api/stacks", json={"folder": str(folder)}).raise_for_status().json()
    before = server.seen(made["id"])
    paths[1].write_bytes(small_stacks.write(tmp_path / "other", size=(80, 100))[1].read_bytes())
    server.client.post(f"/api/stacks/{made['id']}/look").raise_for_status()
    for wanted in ({"excluded": keys(before, "frame-1", "frame-2")}, {"order": keys(before, *names(before))}):
        answer = change(server, before, **wanted)
        (what,) = wanted
        told = f"{what}: a frame has changed or is gone; look at the frames, and choose again"
        assert (answer.status_code, answer.json()["error"]) == (409, told)
    assert left_out(server.stack(made["id"])) == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"order": [0, 1, 1]}, "order: a key is there twice"),
        ({"order": [0, 1, 2.0]}, "order: needed is a list of the keys"),
        ({"order": "012"}, "order: needed is a list of the keys"),
        ({"excluded": [True]}, "excluded: needed is a list of the keys"),
        ({"excluded": [-1]}, "excluded: needed is a list of the keys"),
        ({"excluded": None}, "excluded: needed is a list of the keys"),
        ({"used": {"0": 1}}, "used: needed is a list of the keys"),
        ({"used": [0, 1], "excluded": [1]}, "used, excluded: the key 1 is in both"),
        ({"name": "", "excluded": [0]}, "name: needed is a text"),
        ({"name": None, "order": [2, 1, 0]}, "name: needed is a text"),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(server, stack, wrong, told):
    answer = change(server, stack, **wrong)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(told)
    now = server.stack(stack["id"])
    assert (now["name"], names(now), left_out(now)) == (stack["name"], names(stack), [])
