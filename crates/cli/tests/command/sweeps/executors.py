# Maps the runs of a sweep over an executor of the interface of concurrent.futures, as a user's own script would: `ccnuma sweep --list`
# tells the keys, `ccnuma sweep --run KEY` does one. The processes of two runs are killed, and the runs submitted again.
import concurrent.futures
import contextlib
import json
import subprocess
import sys

ccnuma, name = sys.argv[1:]
study = [ccnuma, "sweep", "study.toml"]


def run(words, kill):
    import subprocess

    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    if kill:
        process.kill()
    return process.wait()


@contextlib.contextmanager
def parsl_executor():
    import parsl
    from parsl.concurrent import ParslPoolExecutor
    from parsl.executors import HighThroughputExecutor
    from parsl.providers import LocalProvider

    provider = LocalProvider(init_blocks=1, max_blocks=1)
    worker = HighThroughputExecutor(label="local", max_workers_per_node=2, address="127.0.0.1", provider=provider)
    with ParslPoolExecutor(config=parsl.Config(executors=[worker], run_dir="parsl")) as executor:
        yield executor


@contextlib.contextmanager
def dask_executor():
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield client.get_executor()


def executor():
    if name == "parsl":
        return parsl_executor()
    if name == "dask":
        return dask_executor()
    return concurrent.futures.ThreadPoolExecutor(2)


def left():
    listed = subprocess.run([*study, "--list", "--json"], check=True, capture_output=True, text=True).stdout
    rows = map(json.loads, listed.splitlines())
    return [row["key"] for row in rows if row["state"] != "done"]


def main():
    killed = 0
    with executor() as pool:
        victims = set(left()[10:12])
        while keys := left():
            tasks = [pool.submit(run, [*study, "--run", key], key in victims) for key in keys]
            codes = [task.result() for task in tasks]
            assert all(code in (0, -9) for code in codes), codes
            killed += codes.count(-9)
            victims.clear()
    print(killed, "killed")


if __name__ == "__main__":
    main()
