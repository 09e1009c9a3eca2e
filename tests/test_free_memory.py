"""Free memory of the machine."""

import pytest

from panfocus._memory import free_memory

MEMINFO = "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n"


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"proc/meminfo": MEMINFO}, 8_192_000_000),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/user/app\n",
                "sys/fs/cgroup/user/app/memory.max": "max\n",
                "sys/fs/cgroup/user/memory.max": "2000000000\n",
                "sys/fs/cgroup/user/memory.current": "700000000\n",
                "sys/fs/cgroup/user/memory.stat": "anon 600000000\ninactive_file 50000000\n",
            },
            1_350_000_000,
        ),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "3:cpu:/docker/7f\n5:memory:/docker/7f\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000000\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "400000000\n",
            },
            600_000_000,
        ),
    ],
    ids=["no group", "second version", "first version"],
)
def test_free_memory_is_what_the_kernel_and_every_group_leave(tmp_path, files, free):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert free_memory(tmp_path) == free


def test_free_memory_of_this_machine_is_less_than_it_has():
    assert 10**7 < free_memory() < 2**46
