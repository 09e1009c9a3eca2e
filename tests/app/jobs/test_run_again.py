"""A fusion that did not end well is run again: on the frames as they are now."""

from job_steps import job_of, stack_of, wait


def test_a_fusion_that_is_run_again_takes_the_frames_as_they_are_now(client, photos):
    stack = stack_of(client, photos / "small")
    job = job_of(client, stack, align="off", method="pca")
    client.post(f"/api/jobs/{job['id']}/cancel").raise_for_status()
    wait(client, job, "cancelled")
    first, second, third = (frame["key"] for frame in stack["frames"])
    changes = {"excluded": [first], "order": [third, second, first]}
    client.patch(f"/api/stacks/{stack['id']}", json=changes).raise_for_status()
    again = client.post(f"/api/jobs/{job['id']}/again").json()
    assert "z2.png" in again["command"] and "z0.png" not in again["command"]
    assert again["options"] == {"align": "off", "method": "pca"}
    done = wait(client, job, "done", "failed")
    assert done["result"]["names"] == ["z2.png", "z1.png"]
    assert (done["name"], done["command"]) == (job["name"], again["command"])
    client.delete(f"/api/stacks/{stack['id']}").raise_for_status()
