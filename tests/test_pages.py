"""The built pages in a browser: nothing is cut off, no column is empty, pictures are described.

After ``make docs``, where Playwright and Chromium are installed: ``pip install playwright`` and
``playwright install chromium``, or a Chromium on the path.
"""

import shutil
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")

HTML = Path(__file__).parents[1] / "docs" / "_build" / "html"
# Generated indices, and the page of a recorded run, which is not of the theme.
OTHERS = {"genindex.html", "py-modindex.html", "search.html", "report.html"}
PAGES = sorted(
    path.relative_to(HTML).as_posix()
    for path in HTML.rglob("*.html")
    if path.name not in OTHERS
    and "_static" not in path.parts
    and "plot_directive" not in path.parts
)
WIDTHS = [1280, 390]

# Complaints about a page, as a browser lays it out.
LOOK = """
(width) => {
  const found = [];
  const article = document.querySelector("article");
  const seen = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const name = (e) => e.tagName.toLowerCase() + " " + (e.textContent || "").trim().slice(0, 40);
  const page = document.scrollingElement;
  if (page.scrollWidth > page.clientWidth + 1) found.push(`${page.scrollWidth} px wide`);

  const titles = [...article.querySelectorAll("h1")].filter(seen);
  if (titles.length !== 1) found.push(`${titles.length} titles`);
  for (const h of article.querySelectorAll("h1, h2, h3"))
    if (seen(h) && !h.textContent.replace("#", "").trim()) found.push("an empty heading");

  // What scrolls in its own box may be wider than it; all else has room.
  for (const e of document.querySelectorAll("article *, .bd-sidebar *, nav *")) {
    if (!seen(e) || e.closest("pre, svg, math, .sphx-glr-thumbcontainer, [hidden]")) continue;
    if (e.closest(".bd-breadcrumbs")) continue;  // shortened, right above the title
    const style = getComputedStyle(e);
    const cut = style.overflowX === "hidden" || style.overflowX === "clip";
    const wide = e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1;
    if (cut && wide) found.push("cut off: " + name(e));
  }
  for (const e of document.querySelectorAll(".bd-sidebar-secondary a")) {
    const box = e.getBoundingClientRect();
    if (seen(e) && box.right > page.clientWidth + 1) found.push("beyond the edge: " + name(e));
  }
  for (const column of document.querySelectorAll(".bd-sidebar-primary, .bd-sidebar-secondary"))
    if (width > 1000 && seen(column) && !column.querySelector("li a"))
      found.push("an empty column");

  for (const image of document.images) {
    const alt = (image.getAttribute("alt") || "").trim();
    const file = image.src.split("/").pop();
    const isFile = file.startsWith(alt) || /\\.(png|svg|gif)$/.test(alt);
    if (!alt || isFile) found.push("no description: " + file);
    if (image.complete && image.naturalWidth === 0) found.push("no picture: " + file);
  }
  return found;
}
"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        try:
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"Chromium does not start: {error}")
        yield browser
        browser.close()


@pytest.mark.skipif(not PAGES, reason="needs the built pages: make docs")
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_in_a_browser(browser, width):
    assert len(PAGES) > 100
    page, found, errors = browser.new_page(viewport={"width": width, "height": 900}), {}, []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in PAGES:
        page.goto((HTML / name).as_uri())
        complaints = page.evaluate(LOOK, width)
        if complaints:
            found[name] = complaints
    page.close()
    assert not errors
    assert found == {}


def test_a_planted_page_is_complained_of(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(
        "<meta charset='utf-8'><div class='bd-sidebar-primary bd-sidebar' style='width:9em'>.</div>"
        "<article><h1> </h1><h2>#</h2><img src='x.png' alt='x.png'>"
        "<div style='width:50px;overflow:hidden'><p style='width:90px'>wide</p></div>"
        "<p style='width:3000px'>wider</p></article>",
        encoding="utf-8",
    )
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    found = " ".join(page.evaluate(LOOK, 1280))
    page.close()
    for complaint in ("px wide", "heading", "cut off", "empty column", "description", "no picture"):
        assert complaint in found
