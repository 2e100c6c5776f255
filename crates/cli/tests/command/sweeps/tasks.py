# Submits the runs of a sweep to HyperQueue, a task a run. The processes of two tasks are killed, and what is left submitted again.
import json
import subprocess
import sys

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

study = [sys.argv[1], "sweep", "study.toml"]


def left():
    listed = subprocess.run([*study, "--list", "--json"], check=True, capture_output=True, text=True).stdout
    rows = map(json.loads, listed.splitlines())
    return [row["key"] for row in rows if row["state"] != "done"]


def submit(client, keys, victims):
    job = Job(max_fails=len(victims))
    for key in keys:
        at_once = ["timeout", "--signal=KILL", "0.001"] if key in victims else []
        job.program([*at_once, *study, "--run", key], stdout=None, stderr=None)
    submitted = client.submit(job)
    if client.wait_for_jobs([submitted], raise_on_error=False):
        return 0
    return len(client.get_failed_tasks(submitted))


def main():
    killed = 0
    with LocalCluster() as cluster:
        for _ in range(2):
            cluster.start_worker(WorkerConfig(cores=1))
        client = cluster.client()
        victims = set(left()[10:12])
        while keys := left():
            killed += submit(client, keys, victims)
            victims = set()
    print(killed, "killed")


if __name__ == "__main__":
    main()
