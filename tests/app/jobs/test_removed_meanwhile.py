"""What is deleted in one tab while another works with it leaves nothing behind."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from job_steps import SIZE, job_of, wait

from panfocus.app.retouching import Retouching

STROKE = {"frame": 2, "points": [[40, 30]], "radius": 12, "hardness": 0.5, "opacity": 0.8, "gain": None}
STROKES = {"panfocus_retouch": 1, "width": SIZE[1], "height": SIZE[0], "frames": 3, "strokes": [STROKE]}


def test_a_result_that_is_deleted_while_a_stroke_is_saved_leaves_no_folder(client, small, monkeypatch):
    job = wait(client, job_of(client, small, align="off", method="pca"), "done")
    folder = client.app_state.store.jobs.folder(job["id"])
    change, painting, may_paint = Retouching.change, threading.Event(), threading.Event()

    def slow(self, data):
        painting.set()
        assert may_paint.wait(10)
        return change(self, data)

    monkeypatch.setattr(Retouching, "change", slow)
    with ThreadPoolExecutor() as tabs:
        saving = tabs.submit(client.put, f"/api/jobs/{job['id']}/retouch", json=STROKES)
        assert painting.wait(10)
        deleting = tabs.submit(client.delete, f"/api/jobs/{job['id']}")
        time.sleep(0.3)
        may_paint.set()
        assert deleting.result().status_code == 204
        assert saving.result().status_code == 200
    assert not folder.exists()
    assert job["id"] not in [each["id"] for each in client.get("/api/state").json()["jobs"]]
