"""The HTTP service of the examples, killed and restarted under load."""

import ast
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import re
import runpy
import shutil
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sktvbo import WDBO, journal
from sktvbo.optimizers import Query

ROOT = Path(__file__).resolve().parents[1]
SERVICE = ROOT / "examples" / "production" / "service.py"


def serve(path, port):
    sys.argv = [str(SERVICE), str(path), str(port)]
    runpy.run_path(str(SERVICE), run_name="__main__")


def free_port():
    """Return a port that the system gives to no other process while the service is down."""
    for port in random.sample(range(20_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.create_server(("localhost", port)):
            return port
    raise AssertionError("no free port")


class Service:
    """Process of the service, which can be started again.

    Parameters
    ----------
    path : path
        Journal of the service.
    """

    # Starts processes that have imported the package.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sktvbo.optimizers", "http.server"])

    def __init__(self, path):
        self.path = path
        self.port = free_port()

    def start(self):
        self.process = self.context.Process(target=serve, args=(self.path, self.port))
        self.process.start()

    def request(self, path, content=None):
        """Return status and content of the answer to a POST, or to a GET without content."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=30.0)
        try:
            body = None if content is None else json.dumps(content)
            connection.request("POST" if body else "GET", path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def insist(self, path, content=None):
        """Return the answer to a request that is repeated until there is one."""
        end = time.monotonic() + 60.0
        while True:
            try:
                return self.request(path, content)
            except (OSError, http.client.HTTPException) as exc:
                if time.monotonic() > end:
                    exc.add_note(f"The exit code of the service is {self.process.exitcode}.")
                    raise
                time.sleep(0.005)

    def kill(self):
        self.process.kill()
        self.process.join()


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path / "run.db")
    service.start()
    yield service
    service.kill()


def value(query):
    return -((query["x"][0] - 3.0) ** 2) + query["id"]


def test_requests_and_their_answers(service):
    assert service.insist("/health") == (200, {"n_told": 0, "n_pending": 0})
    status, query = service.insist("/ask", {"key": "a"})
    assert (status, query["id"]) == (200, 0)
    assert service.request("/ask", {"key": "a"}) == (200, query)
    other = service.request("/ask", {"key": "b"})[1]
    assert other["id"] == 1
    for _ in range(2):
        assert service.request("/tell", {"query": query, "y": 1.5}) == (200, {"n_told": 1})
    status, answer = service.request("/tell", {"query": query, "y": 2.5})
    assert status == 409
    assert "must be the same as before" in answer["error"]
    assert service.request("/tell", {"query": query | {"id": 7}, "y": 1.0})[0] == 409
    assert service.request("/tell", {"query": other, "y": "high"})[0] == 400
    assert service.request("/tell", {"query": other, "y": float("nan")})[0] == 400
    assert service.request("/tell", {"query": other, "failed": True})[0] == 200
    for path, content in (("/ask", {}), ("/ask", {"key": [1]}), ("/ask", [1]), ("/other", {})):
        assert service.request(path, content)[0] == 400
    assert service.request("/other")[0] == 404
    assert service.request("/health") == (200, {"n_told": 1, "n_pending": 0})
    # SIGTERM closes the journal, which is then complete.
    service.process.terminate()
    service.process.join(30.0)
    assert service.process.exitcode == 0
    assert not Path(f"{service.path}-wal").exists()
    assert journal.check(service.path)["tell"] == 1


def work(service, name, stop):
    """Ask, measure and tell until stopped; repeat some requests; return what was told."""
    rng, told = random.Random(name), []
    while not stop.is_set():
        key = f"{name} {len(told)}"
        status, query = service.insist("/ask", {"key": key})
        assert status == 200
        if rng.random() < 0.2:
            assert service.insist("/ask", {"key": key}) == (200, query)
        content = {"query": query, "y": value(query)}
        for _ in range(1 + (rng.random() < 0.2)):
            assert service.insist("/tell", content)[0] == 200
        told.append(content)
    return told


@pytest.mark.parametrize("n_kills", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_a_service_that_is_killed_loses_and_doubles_nothing(service, n_kills):
    stop, rng = threading.Event(), random.Random(0)
    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(work, service, f"client {i}", stop) for i in range(4)]
        try:
            for _ in range(n_kills):
                service.insist("/health")
                time.sleep(rng.uniform(0.0, 0.2))
                service.kill()
                service.start()
        finally:
            stop.set()
    assert all(client.result() for client in clients)
    told = [content for client in clients for content in client.result()]
    assert service.insist("/health")[1] == {"n_told": len(told), "n_pending": 0}
    service.process.terminate()
    service.process.join(30.0)
    assert service.process.exitcode == 0

    assert journal.check(service.path)["tell"] == len(told)
    optimizer = WDBO.resume(service.path)
    stored = zip(optimizer.told_X_.tolist(), optimizer.told_y_.tolist())
    expected = [([*each["query"]["x"], each["query"]["t"]], each["y"]) for each in told]
    assert sorted(stored) == sorted(expected)
    assert len({each["query"]["id"] for each in told}) == len(told)
    for each in told:  # a finished query told again
        optimizer.tell(Query(**each["query"]), each["y"])
    assert optimizer.n_told_ == len(told)
    optimizer.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_of_its_text_can_be_pasted(tmp_path):
    text = ast.get_docstring(ast.parse(SERVICE.read_text(encoding="utf-8")))
    commands = "\n".join(re.findall(r"^   \$ (.*)$", text, flags=re.MULTILINE))
    commands = commands.replace("8000", str(free_port())).replace(
        "examples/production/service.py", str(SERVICE)
    )
    commands = commands.replace("python ", f"{sys.executable} ")
    done = subprocess.run(
        ["bash", "-e"],
        input=f"{commands}\nkill %1\n",
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"x": [' in done.stdout
    assert '{"n_told": 1}' in done.stdout
    assert '{"n_told": 1, "n_pending": 0}' in done.stdout
