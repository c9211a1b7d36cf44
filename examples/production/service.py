r"""
=======================
Ask and tell over HTTP
=======================

One process owns the optimizer, and any number of clients ask and tell with JSON. The journal holds
every step, so that the service may be killed at any moment and started again. A client chooses a
key for each query, and repeats a request until it has an answer: the same key gives the same query,
and a value told twice is told once.

.. code-block:: console

   $ python examples/production/service.py run.db 8000 &
   $ query=$(curl -sS --retry 9 --retry-connrefused localhost:8000/ask -d '{"key": "first"}')
   $ echo $query
   {"id": 0, "x": [5.17], "t": 0.0}
   $ curl localhost:8000/tell -d "{\"query\": $query, \"y\": 1.2}"
   {"n_told": 1}
   $ curl localhost:8000/health
   {"n_told": 1, "n_pending": 0}

``{"query": ..., "failed": true}`` reports a measurement that failed. Another value for a query that
was told is status 409. SIGTERM completes the requests under way, and closes the journal.
"""

# sphinx_gallery_thumbnail_path = '_static/thumb_service.svg'

import json
import signal
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sktvbo import WDBO, Journal
from sktvbo.exceptions import AskTellError, JournalError
from sktvbo.optimizers import Query


class Handler(BaseHTTPRequestHandler):
    timeout = 10.0  # seconds for a client to send its request

    def do_GET(self):
        health = {"n_told": getattr(optimizer, "n_told_", 0), "n_pending": len(pending())}
        self.reply(*((200, health) if self.path == "/health" else (404, {"error": self.path})))

    def do_POST(self):
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.reply(200, {"/ask": ask, "/tell": tell}[self.path](**body))
        except AskTellError as exc:  # told before with another value, or never asked for
            self.reply(409, {"error": str(exc)})
        except (JournalError, sqlite3.OperationalError) as exc:  # the disk: try again later
            self.reply(503, {"error": str(exc)})
        except (KeyError, TypeError, ValueError, sqlite3.Error) as exc:
            self.reply(400, {"error": repr(exc)})

    def reply(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def pending():
    return getattr(optimizer, "pending_", [])  # no attribute before the first query


def ask(key):
    with lock:
        known = keys.execute("SELECT query FROM keys WHERE key = ?", [key]).fetchone()
        if known is None:
            query = optimizer.suggest()
            known = [json.dumps({"id": query.id, "x": query.x.tolist(), "t": query.t})]
            keys.execute("INSERT INTO keys VALUES (?, ?)", [key, *known])
    return json.loads(known[0])


def tell(query, y=None, failed=False):
    optimizer.tell(Query(**query), y, failed=failed)
    return {"n_told": optimizer.n_told_}


if __name__ == "__main__":
    path, port = sys.argv[1:] or ["run.db", "8000"]
    optimizer = WDBO([(0.0, 10.0)], max_size=200, journal=Journal(path, resume=True))
    lock = threading.Lock()
    keys = sqlite3.connect(f"{path}-keys", isolation_level=None, check_same_thread=False)
    keys.execute("CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, query TEXT)")
    seen = {json.loads(query)["id"] for (query,) in keys.execute("SELECT query FROM keys")}
    for query in pending():
        if query.id not in seen:  # killed before the client had it
            optimizer.cancel(query)
    server = ThreadingHTTPServer(("localhost", int(port)), Handler)
    server.daemon_threads = False  # server_close() waits for them
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()
    server.server_close()
    optimizer.close()
