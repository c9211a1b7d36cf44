"""The page of a run that the documentation shows, and its picture.

    python docs/record_report.py report.html
    python docs/record_report.py report.html --picture report.png --width 1100

makes the page in some seconds; a picture needs Playwright, and its Chromium or one on the path.
"""

import argparse
import datetime as dt
import shutil
import tempfile
from pathlib import Path

import numpy as np

from sktvbo import WDBO, plotting
from sktvbo.domain import Context

BEGIN, STEP, N_STEPS = dt.datetime(2026, 3, 2, tzinfo=dt.UTC), dt.timedelta(minutes=30), 120
SPACE = {
    "concurrency": ("log-integer", 1, 64),
    "batch": ("real", 0.0, 1.0),
    "codec": ["zstd", "lz4"],
    "requests": Context(0.0, 100.0),
}
UNITS = {"requests": "1/s", "latency": "ms", "objective": "€/h"}


def measure(x, load, day, rng):
    """Return cost and latency of a service, whose best concurrency grows with its load."""
    wanted = 2.0 + 4.0 * load / 100.0 + 0.3 * np.sin(2.0 * day)
    miss = np.log2(x["concurrency"]) - wanted
    cost = 4.0 + 0.05 * load + 0.8 * miss**2 + 2.0 * (x["batch"] - 0.6) ** 2
    cost += 0.6 * (x["codec"] == "lz4")
    latency = 60.0 + 0.6 * load - 14.0 * min(miss, 0.0) + 70.0 * x["batch"] ** 2
    return cost + 0.15 * rng.normal(), latency + 3.0 * rng.normal()


def run(path):
    """Record a run of two and a half days in a journal, and return the optimizer."""
    rng = np.random.default_rng(0)
    optimizer = WDBO(
        SPACE,
        maximize=False,
        journal=path,
        time_unit="h",
        outcome_constraints={"latency": (None, 160.0)},
        start_points=[{"concurrency": 8, "batch": 0.2, "codec": "lz4"}],
        query_timeout=3.0,
        random_state=0,
    )
    for i in range(N_STEPS + 1):
        t, day = BEGIN + i * STEP, i / 48.0
        load = 50.0 - 40.0 * np.cos(2.0 * np.pi * day) + 3.0 * rng.normal()
        query = optimizer.suggest(t, context={"requests": load})
        if i in (37, 90):  # a process that died
            optimizer.tell(query, failed=True)
        elif i not in (60, N_STEPS):  # one answer is lost, and the last one is awaited
            cost, latency = measure(query.x, load, day, rng)
            optimizer.tell(query, cost, outcomes={"latency": latency})
    return optimizer


def write(page):
    """Write the page of the run to a file."""
    with tempfile.TemporaryDirectory() as folder:
        optimizer = run(Path(folder) / "service.db")
        plotting.report(optimizer, page, units=UNITS)
        optimizer.close()


def draw(page, picture, width, scheme):
    """Draw the top of a page as a picture, by a browser, in few colours: a small file."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
        path = None if Path(path).exists() else shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        options = {"viewport": {"width": width, "height": 1230}, "color_scheme": scheme}
        tab = browser.new_page(**options, device_scale_factor=1.25)
        tab.goto(Path(page).resolve().as_uri())
        tab.screenshot(path=picture)
        browser.close()
    with Image.open(picture) as image:
        image.convert("RGB").quantize(128).save(picture, optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page")
    parser.add_argument("--picture", help="PNG of the top of the page")
    parser.add_argument("--width", type=int, default=1100, help="of the window, in pixels")
    parser.add_argument("--scheme", choices=("light", "dark"), default="light")
    arguments = parser.parse_args()
    write(arguments.page)
    if arguments.picture:
        draw(arguments.page, arguments.picture, arguments.width, arguments.scheme)


if __name__ == "__main__":
    main()
