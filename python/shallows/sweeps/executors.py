"""Executors of jobs: local processes, any executor, Dask, or Slurm.

Each is a generator of finished jobs with their results. What a job stores must have the same path on every
machine; only its result is returned.
"""

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from shallows.base import extras
from shallows.errors import ScenarioError
from shallows.sweeps.engine import J, LostProcessError, Performed, R, Work
from shallows.sweeps.interrupts import delayed, start_servers

CHUNKS = 1000
"""The most tasks given to a remote scheduler: beyond it, runs share tasks."""
ARRAY = 100
"""Jobs of a Slurm array, unless set by `tasks=`."""


def performed(
    jobs: list[J], work: Work[J, R], on: object = None, workers: int | None = None, folder: Path | None = None
) -> Performed[J, R]:
    """The results of `jobs` as they finish.

    on: "local", "dask://HOST:PORT", "slurm", "slurm:KEY=VALUE,…" or any executor. folder: of Slurm's logs.
    """
    if not isinstance(on, str | None):
        return through(on, jobs, work)
    kind, _, rest = (on or "local").partition(":")
    if kind == "local" and not rest:
        return local(jobs, work, workers)
    if kind == "dask" and rest.startswith("//"):
        return dask(jobs, work, f"tcp:{rest}")
    if kind == "slurm" and folder is not None:
        return slurm(jobs, work, folder, **slurm_parameters(rest))
    raise ScenarioError("--on", on, "local, dask://HOST:PORT, slurm or slurm:KEY=VALUE,…")


def local(jobs: list[J], work: Work[J, R], workers: int | None = None) -> Performed[J, R]:
    """Run in `workers` processes that stay warm (by default on all cores).

    If a process dies, for example for lack of memory, its jobs are tried again one by one. A job that dies
    alone is lost.
    """
    left = list(jobs)
    while left:
        suspects, left = yield from _pooled(left, work, workers or usable_cores())
        for job in suspects:
            lost, _ = yield from _pooled([job], work, 1)
            for job in lost:
                error = LostProcessError("its process was killed twice, perhaps for lack of memory")
                yield job, work.lost(job, error)


def through(executor: Any, jobs: list[J], work: Work[J, R]) -> Performed[J, R]:
    """Run with any `concurrent.futures.Executor`, which handles failing machines itself."""
    futures = {executor.submit(_perform_all, chunk, work): chunk for chunk in _chunks(jobs)}
    try:
        for future in as_completed(futures):
            yield from _results(future.exception(), future.result, futures[future], work)
    finally:
        for future in futures:
            future.cancel()


def dask(jobs: list[J], work: Work[J, R], address: str) -> Performed[J, R]:
    """Run on the workers of a Dask scheduler (the extra `dask`), which reassigns jobs of a lost worker."""
    with dask_client(address) as client, client.get_executor(pure=False) as executor:
        yield from through(executor, jobs, work)


def dask_client(address: str) -> Any:
    distributed = _extra("distributed", "dask")
    try:
        return distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ScenarioError("--on", address, f"the address of a Dask scheduler ({error})") from None


def slurm(
    jobs: list[J], work: Work[J, R], folder: Path, cluster: str = "slurm", **parameters: Any
) -> Performed[J, R]:
    """Run as one array of Slurm jobs through submitit (the extra `slurm`), several jobs of ours in each."""
    submitit = _extra("submitit", "slurm")
    tasks = _chunks(jobs, parameters.pop("tasks", ARRAY))
    executor = slurm_executor(folder, cluster, **parameters)
    submitted = executor.map_array(_perform_all, tasks, [work] * len(tasks))
    chunk_of = dict(zip(map(id, submitted), tasks, strict=True))
    try:
        for done in submitit.helpers.as_completed(submitted, poll_frequency=1):
            yield from _results(done.exception(), done.result, chunk_of[id(done)], work)
    except BaseException:
        for job in submitted:
            job.cancel(check=False)
        raise


def slurm_executor(folder: Path, cluster: str = "slurm", **parameters: Any) -> Any:
    """submitit's executor, with scripts and logs beside the runs."""
    submitit = _extra("submitit", "slurm")
    try:
        executor = submitit.AutoExecutor(folder=Path(folder).parent / "slurm", cluster=cluster)
    except RuntimeError as error:
        raise ScenarioError("--on", "slurm", f"a machine that can submit ({error})") from None
    return _update(executor, parameters)


def _update(executor: Any, parameters: dict[str, Any]) -> Any:
    try:
        executor.update_parameters(**{"name": "shallows", **parameters})
    except (AssertionError, NameError, TypeError, ValueError) as error:
        raise ScenarioError("--on", "slurm", f"parameters that submitit knows ({error})") from None
    return executor


def slurm_script(jobs: list[J], folder: Path, **parameters: Any) -> str:
    """The script that `slurm` would submit, also without Slurm."""
    _extra("submitit", "slurm")
    from submitit.slurm.slurm import SlurmExecutor

    class Shown(SlurmExecutor):
        @classmethod
        def affinity(cls) -> int:
            return 1

    tasks = _chunks(jobs, parameters.pop("tasks", ARRAY))
    executor = slurm_executor(folder, "local")
    shown: Any = Shown(executor.folder)
    executor.cluster, executor._executor = "slurm", shown
    _update(executor, parameters)
    shown.parameters["map_count"] = len(tasks)
    return shown._make_submission_file_text(shown._submitit_command_str, "sweep")


def slurm_parameters(text: str) -> dict[str, Any]:
    """ "timeout_min=60,slurm_partition=cpu" as keywords of submitit's `update_parameters`."""
    pairs = [part.partition("=") for part in text.split(",") if part]
    if not all(key and value for key, _, value in pairs):
        raise ScenarioError("--on", f"slurm:{text}", "KEY=VALUE,… such as timeout_min=60,slurm_partition=cpu")
    return {key: int(value) if value.isdigit() else value for key, _, value in pairs}


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pooled(
    jobs: list[J], work: Work[J, R], workers: int
) -> Generator[tuple[J, R], None, tuple[list[J], list[J]]]:
    """Yield rows; return (jobs that were running when a process died, jobs not begun)."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["shallows.sweeps.preload"])
    start_servers()
    left = deque(jobs)
    flying: dict[Future[R], J] = {}
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(min(workers, len(jobs)), mp_context=context, initializer=_attached)
    try:
        while left or flying:
            while left and len(flying) < 2 * workers:
                with without_main(), delayed():
                    future = pool.submit(work.perform, left[0])
                flying[future] = left.popleft()
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                yield flying[future], future.result()
                del flying[future]
        return [], []
    except BrokenProcessPool:
        return list(flying.values()), list(left)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others if flying else ():
            process.terminate()  # an unfinished run leaves nothing


@contextmanager
def without_main() -> Generator[None]:
    """Hide the user's script from new processes, which would run it again and need nothing of it.

    It may come from standard input, or start the sweep without asking for `__name__ == "__main__"`.
    """
    import sys

    main = sys.modules["__main__"]
    hidden = {key: vars(main).pop(key) for key in ("__file__", "__spec__") if key in vars(main)}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(hidden)


def _attached() -> None:
    """Ignore Ctrl-C, which is for the parent process, and end with the parent even if it is killed."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)  # an unfinished run leaves nothing


def _perform_all(jobs: list[J], work: Work[J, R]) -> list[R]:
    """The results of several jobs, one after the other."""
    return [work.perform(job) for job in jobs]


def _results(
    error: BaseException | None, results: Callable[[], list[R]], jobs: list[J], work: Work[J, R]
) -> list[tuple[J, R]]:
    """The jobs of a finished task with their results, or each lost by `error`."""
    if error is not None:
        return [(job, work.lost(job, error)) for job in jobs]
    return list(zip(jobs, results(), strict=True))


def _chunks(jobs: list[J], most: int = CHUNKS) -> list[list[J]]:
    size = -(-len(jobs) // most)
    return [jobs[start : start + size] for start in range(0, len(jobs), size)]


def _extra(module: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise ScenarioError("--on", extra, f"the extra {extra}: {extras.command(extra)}") from None
