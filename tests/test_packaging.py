"""What a release is made of: the source distribution, and files that say the same twice."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from email import message_from_string
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]

# What only a checkout needs.
NOT_SHIPPED = (".git",)


def run(*command, cwd, **environment):
    """Run a command, and show what it printed when it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def tracked():
    """The files of the checkout."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not in a git checkout")
    names = run("git", "ls-files", cwd=ROOT).split("\n")
    return [name for name in names if name and (ROOT / name).exists()]


@pytest.fixture(scope="module")
def unpacked(tracked, tmp_path_factory):
    """An unpacked source distribution, made from a copy of the tracked files."""
    folder = tmp_path_factory.mktemp("sdist")
    for name in tracked:
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / "copy" / name)
    run(sys.executable, "setup.py", "-q", "sdist", "-d", folder, cwd=folder / "copy")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder / "unpacked", filter="data")
    (top,) = (folder / "unpacked").iterdir()
    return top


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def floors(requirements):
    """Name and lowest version of each requirement that has one; names in lower case."""
    found = (re.match(r"([\w-]+) ?[>=]=([\w.]+)$", text) for text in requirements)
    return {match[1].lower(): match[2] for match in found if match}


def test_the_source_distribution_is_complete(tracked, unpacked):
    wanted = {name for name in tracked if not name.startswith(NOT_SHIPPED)}
    missing = sorted(name for name in wanted if not (unpacked / name).is_file())
    assert not missing


def test_the_wheel_holds_what_is_imported_and_no_sources(unpacked, tmp_path):
    # Nothing is compiled: what is asked is which files are taken along.
    run(sys.executable, "setup.py", "-q", "build_py", "-d", tmp_path, cwd=unpacked)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "sktvbo").rglob("*.py")}
    assert names == modules | {"sktvbo/py.typed", "sktvbo/plotting/report.html"}


# setup.py without what takes minutes.
UNCOMPILED = """
import runpy, setuptools
setup = setuptools.setup
setuptools.setup = lambda **options: setup(**options | {"ext_modules": []})
runpy.run_path("setup.py")
"""


def test_an_editable_install_comes_before_the_folder_of_a_clone(unpacked, tmp_path):
    """Also where Python is started above a clone with the name of the package."""
    clone, site = tmp_path / "sktvbo", tmp_path / "site"
    clone.mkdir()
    for name in ("LICENSE", "README.md", "pyproject.toml", "setup.py"):
        shutil.copy2(unpacked / name, clone)
    shutil.copytree(unpacked / "sktvbo", clone / "sktvbo")
    run(sys.executable, "-c", UNCOMPILED, "-q", "editable_wheel", "-d", tmp_path, cwd=clone)
    (wheel,) = tmp_path.glob("*.whl")
    shutil.unpack_archive(wheel, site, "zip")
    code = "import importlib.util, site, sys; site.addsitedir(sys.argv[1]); "
    code += "print(importlib.util.find_spec('sktvbo').origin)"
    # Without the packages that are installed here.
    found = run(sys.executable, "-S", "-c", code, site, cwd=tmp_path, PYTHONPATH="")
    assert Path(found.strip()) == clone / "sktvbo" / "__init__.py"


@pytest.mark.parametrize(
    ("repository", "docs"),
    [("", ""), ("somebody/sktvbo", ""), ("somebody/sktvbo", "https://docs.example.org/sktvbo/")],
)
def test_what_a_package_index_shows(repository, docs, unpacked, tmp_path):
    run(
        *(sys.executable, "setup.py", "-q", "egg_info", "--egg-base", tmp_path),
        cwd=unpacked,
        GITHUB_SERVER_URL="https://example.org",
        GITHUB_REPOSITORY=repository,
        SKTVBO_DOCS=docs,
    )
    (info,) = tmp_path.glob("*/PKG-INFO")
    told = message_from_string(info.read_text(encoding="utf-8"))
    assert told["Description-Content-Type"] == "text/markdown"
    shown = told.get_payload()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    if not repository:
        assert "Project-URL" not in told
        assert shown.strip() == readme.strip()
        return
    home, urls = "https://example.org/somebody/sktvbo", told.get_all("Project-URL")
    assert f"Source, {home}" in urls
    assert not docs or f"Documentation, {docs.rstrip('/')}" in urls
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown)
    assert len(targets) == len(re.findall(r"\]\(", readme)) > 10
    assert "pip install sktvbo\n" in shown
    assert "<!--" not in shown
    for picture, target in targets:
        if docs and target.endswith(".html"):
            path = f"docs/{target.removeprefix(docs).removesuffix('.html')}.rst"
        else:
            assert not (docs and target.endswith(".rst"))
            view = "raw" if picture else "blob"
            path = target.removeprefix(f"{home}/{view}/v{told['Version']}/")
            assert path != target
        assert (ROOT / path).exists(), target


def test_what_is_said_twice_is_the_same():
    told = project()["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    for version in (citation["version"], recipe["context"]["version"]):
        assert version == told["version"]
    assert f"\n## {told['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["license"] == recipe["about"]["license"] == told["license"]
    assert recipe["about"]["summary"] == told["description"]
    assert floors(recipe["requirements"]["run"]) == {
        "python": "3.11",
        **floors(told["dependencies"]),
    }
    built_with = floors(project()["build-system"]["requires"])
    assert floors(recipe["requirements"]["host"]) == built_with
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    ruffs = {
        requirement
        for repository in hooks["repos"]
        for hook in repository["hooks"]
        for requirement in hook["additional_dependencies"]
    }
    assert ruffs == {text for text in told["optional-dependencies"]["test"] if "ruff" in text}


def test_the_lowest_versions_are_those_that_are_tested():
    told = project()
    lines = (ROOT / "requirements-minimum.txt").read_text(encoding="utf-8").splitlines()
    tested = floors(line for line in lines if "==" in line)
    assert len(tested) == sum("==" in line for line in lines)
    extras = told["project"]["optional-dependencies"]
    allowed = floors(told["project"]["dependencies"]) | floors(told["build-system"]["requires"])
    for extra in ("plot", "report", "progress", "frames", "optuna", "gest"):
        allowed |= floors(extras[extra])
    allowed |= {
        name: version
        for name, version in floors(extras["test"]).items()
        if name not in ("ruff", "pyrefly", "mypy", "codespell")
    }
    assert set(tested) == set(allowed)
    for name, version in tested.items():
        assert Version(version) == Version(allowed[name]), name


def test_the_recipe_of_a_release(tmp_path):
    spec = importlib.util.spec_from_file_location("fill", ROOT / "recipe" / "fill.py")
    fill = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fill)
    (tmp_path / "sktvbo-7.8.9.tar.gz").write_bytes(b"content")
    template = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    context = yaml.safe_load(fill.filled(template, tmp_path / "sktvbo-7.8.9.tar.gz"))["context"]
    assert context["version"] == "7.8.9"
    # That of b"content", by coreutils.
    assert context["sha256"].startswith("ed7002b439e9ac845f22357d822bac14")
    with pytest.raises(ValueError, match="one line for the version"):
        fill.filled("", tmp_path / "sktvbo-7.8.9.tar.gz")


def test_the_workflows_run_what_there_is():
    folder = ROOT / ".github" / "workflows"
    if not folder.is_dir():
        pytest.skip("not in a checkout")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.M))
    commands = []
    for path in sorted(folder.glob("*.yml")):
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            commands += [step["run"] for step in job.get("steps", ()) if "run" in step]
    called = {name for text in commands for name in re.findall(r"make (\w+)", text)}
    assert called <= targets
    assert {"minimum", "docs", "coverage"} <= called
    for text in commands:
        for name in re.findall(r"(?:^| )((?:tests|benchmarks|recipe|\.ci)/[\w/.]+)", text):
            assert (ROOT / name).exists(), name


def test_actions_of_others_are_pinned_by_commit():
    paths = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    if not paths:
        pytest.skip("not in a checkout")
    used = [
        line.split("uses: ")[1]
        for path in paths
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses: " in line and "uses: ./" not in line
    ]
    assert len(used) > 20
    assert [name for name in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", name)] == []
    versions = {tuple(name.split("@")) for name in used}
    assert len(versions) == len(dict(versions)), "an action has two versions"


def test_make_help_names_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.M)
    helped = re.findall(r"^([a-z]+):[^\n]*## \S", makefile, flags=re.M)
    assert sorted(helped) == sorted(phony.split())
