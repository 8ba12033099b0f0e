"""What the package is made of and made with: licences are listed, lower bounds are those that are tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def requirements() -> list[str]:
    """Of the package and of all its extras, but for the package itself."""
    everything = [
        *PROJECT["dependencies"],
        *(text for extra in PROJECT["optional-dependencies"].values() for text in extra),
    ]
    return [text for text in everything if not text.startswith("hyphc")]


def release(text: str) -> tuple[int, ...]:
    """A version as numbers, without zeros at its end."""
    numbers = [int(number) for number in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def test_the_licence_of_every_dependency_is_listed_and_of_nothing_else():
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = [
        line.split("|")[1]
        for line in page.splitlines()
        if line.startswith("|") and not line.startswith(("|---", "| package"))
    ]
    listed = {name.strip() for row in rows for name in row.split(",")}
    assert listed == {_NAME.match(text)[0] for text in requirements()}


def test_the_oldest_versions_that_are_tested_are_the_oldest_that_are_allowed():
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    allowed = {}
    for text in requirements():
        bound = re.search(r">=\s*([\d.]+)", text)
        if bound and "win32" not in text:
            allowed.setdefault(_NAME.match(text)[0], set()).add(release(bound[1]))
    assert all(len(bounds) == 1 for bounds in allowed.values())
    for name, version in tested.items():
        assert allowed[name] == {release(version)}, name
    core = {_NAME.match(text)[0] for text in PROJECT["dependencies"]}
    assert core <= tested.keys()


def test_security_is_told_where_people_look_and_names_doors_that_are_there():
    import hyphc.io

    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for name in re.findall(r"`hyphc\.io\.(\w+)`", page):
        assert callable(getattr(hyphc.io, name))
    for name in re.findall(r"`Tree\.(\w+)`", page):
        assert callable(getattr(hyphc.Tree, name))


def test_a_release_is_published_without_secrets_by_the_only_job_that_may_identify_itself():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    before, publish = text.split("  publish:\n")
    assert "secrets." not in text
    assert "pypa/gh-action-pypi-publish" in publish
    assert publish.count("id-token: write") == text.count("id-token: write") == 1
    assert "needs: [wheel, tests]" in publish
    assert "permissions:\n  contents: read\n" in before


def test_the_site_is_published_without_secrets_by_official_actions_and_only_when_it_is_switched_on():
    text = (ROOT / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8")
    build, deploy = text.split("  deploy:\n")
    assert "secrets." not in text
    assert all(action.startswith("actions/") for action in re.findall(r"uses: (\S+)", text))
    assert "vars.PUBLISH_SITE == 'true'" in deploy
    assert "write" not in build
    assert set(re.findall(r"(\S+): write", deploy)) == {"pages", "id-token"}
    assert "python -m sphinx -W docs site" in build
