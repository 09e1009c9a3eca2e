"""Order and choice of frames: named by keys, so that an outdated list does no harm."""

import pytest
import small_stacks


@pytest.fixture
def stack(local, tmp_path):
    """A stack of uploaded files, the last one first: their keys are not their positions."""
    made = local.client.post("/api/stacks", json={"name": "chosen"}).raise_for_status().json()["id"]
    for path in reversed(small_stacks.write(tmp_path)):
        send(local, made, path.name, path)
    yield local.seen(made)
    local.client.delete(f"/api/stacks/{made}").raise_for_status()


def send(local, stack, name, path):
    answer = local.client.put(f"/api/stacks/{stack}/files/{name}", content=path.read_bytes())
    answer.raise_for_status()


def keys(stack, *names):
    by_name = {frame["name"]: frame["key"] for frame in stack["frames"]}
    return [by_name[f"{name}.png"] for name in names]


def change(local, stack, **wanted):
    return local.client.patch(f"/api/stacks/{stack['id']}", json=wanted)


def names(stack):
    return [frame["name"].removesuffix(".png") for frame in stack["frames"]]


def excluded(stack):
    return [frame["name"].removesuffix(".png") for frame in stack["frames"] if frame["excluded"]]


def test_a_frame_is_excluded_by_its_key_after_others_were_added(local, stack, tmp_path):
    assert names(stack) == ["frame-1", "frame-2", "frame-3"]
    send(local, stack["id"], "a.png", tmp_path / "frame-2.png")
    now = change(local, stack, excluded=keys(stack, "frame-1")).raise_for_status().json()
    assert names(now) == ["a", "frame-1", "frame-2", "frame-3"]
    assert excluded(now) == ["frame-1"]


def test_frames_that_are_not_named_are_unchanged(local, stack):
    change(local, stack, excluded=keys(stack, "frame-1", "frame-2")).raise_for_status()
    # From a tab that does not know this yet.
    now = change(local, stack, excluded=keys(stack, "frame-3"), used=keys(stack, "frame-1"))
    assert excluded(now.raise_for_status().json()) == ["frame-2", "frame-3"]


def test_frames_that_were_added_during_ordering_come_last(local, stack, tmp_path):
    order = keys(stack, "frame-3", "frame-1", "frame-2")
    for name in ("b.png", "a.png"):
        send(local, stack["id"], name, tmp_path / "frame-2.png")
    now = change(local, stack, order=order).raise_for_status().json()
    assert names(now) == ["frame-3", "frame-1", "frame-2", "a", "b"]


def test_the_key_of_a_replaced_file_is_refused(local, tmp_path):
    folder = local.root / tmp_path.name
    paths = small_stacks.write(folder)
    made = local.client.post("/api/stacks", json={"folder": str(folder)}).raise_for_status().json()
    before = local.seen(made["id"])
    paths[1].write_bytes(small_stacks.write(tmp_path / "other", size=(80, 100))[1].read_bytes())
    local.client.post(f"/api/stacks/{made['id']}/look").raise_for_status()
    for wanted in ({"excluded": keys(before, "frame-1", "frame-2")}, {"order": keys(before, *names(before))}):
        assert change(local, before, **wanted).status_code == 409
    assert excluded(local.stack(made["id"])) == []


@pytest.mark.parametrize(
    ("wrong", "facts"),
    [
        ({"order": [0, 1, 1]}, {"setting": "order"}),
        ({"order": [0, 1, 2.0]}, {"setting": "order"}),
        ({"order": "012"}, {"setting": "order"}),
        ({"excluded": [True]}, {"setting": "excluded"}),
        ({"excluded": [-1]}, {"setting": "excluded"}),
        ({"excluded": None}, {"setting": "excluded"}),
        ({"used": {"0": 1}}, {"setting": "used"}),
        ({"used": [0, 1], "excluded": [1]}, {"setting": "used", "got": 1}),
        ({"name": "", "excluded": [0]}, {"setting": "name"}),
        ({"name": None, "order": [2, 1, 0]}, {"setting": "name"}),
    ],
)
def test_an_invalid_change_is_refused_and_changes_nothing(local, stack, wrong, facts):
    answer = change(local, stack, **wrong)
    assert (answer.status_code, answer.json()["facts"]) == (400, facts)
    now = local.stack(stack["id"])
    assert (now["name"], names(now), excluded(now)) == (stack["name"], names(stack), [])
