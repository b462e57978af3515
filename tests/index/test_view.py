"""Views: the facts of all folders at one moment, with unsaved documents in their place."""

from __future__ import annotations

from pathlib import Path

from conftest import write_files
from indexed import indexed
from winnow.symbols.extract import extract
from winnow.symbols.facts import Facts
from winnow.symbols.language import language_of
from winnow.symbols.view import File, View

FILES = {
    "app/models.py": "class Model:\n    def save(self):\n        pass\n",
    "app/views.py": "def save():\n    pass\n",
    "lib/models.py": "LIMIT = 1\n",
}


def facts(path: str, text: str) -> Facts:
    language = language_of(path)
    assert language is not None
    return extract(language, text.encode())


def names(view: View, name: str) -> list[tuple[str, str]]:
    return sorted((file.path, one.qualified_name) for file, one in view.definitions(name))


def test_definitions_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    root = write_files(tmp_path, FILES).as_posix()
    with indexed(tmp_path) as view:
        assert names(view, "save") == [
            (f"{root}/app/models.py", "Model.save"),
            (f"{root}/app/views.py", "save"),
        ]
        assert [one.name for one in view.definitions_in(f"{root}/app/models.py")] == [
            "Model",
            "save",
        ]
        assert view.definitions_in(f"{root}/gone.py") == []
        assert view.file(f"{root}/lib/models.py") == File(f"{root}/lib/models.py", "python")
        assert view.file("/elsewhere.py") is None
        assert sorted(one.path for one in view.files_named("models.py")) == [
            f"{root}/app/models.py",
            f"{root}/lib/models.py",
        ]
        skeleton = view.skeleton(f"{root}/app/views.py")
        assert skeleton is not None
        assert skeleton.scopes[0].end == len(FILES["app/views.py"])
        assert view.roots() == [root]


def test_what_stands_in_the_place_of_a_file_hides_it(tmp_path: Path) -> None:
    root = write_files(tmp_path, FILES).as_posix()
    overlay = {
        f"{root}/app/views.py": facts("views.py", "def send():\n    pass\n"),
        f"{root}/app/models.py": None,
        f"{root}/new.py": facts("new.py", "def save():\n    pass\n"),
    }
    with indexed(tmp_path, overlay=overlay) as view:
        assert names(view, "save") == [(f"{root}/new.py", "save")]
        assert names(view, "send") == [(f"{root}/app/views.py", "send")]
        assert view.files_named("views.py") == [File(f"{root}/app/views.py", "python")]
        assert [one.path for one in view.files_named("models.py")] == [f"{root}/lib/models.py"]
        assert view.skeleton(f"{root}/app/models.py") is None
        assert view.definitions_in(f"{root}/app/models.py") == []
        assert view.file(f"{root}/app/models.py") is None


def test_several_folders_are_one_view(tmp_path: Path) -> None:
    first = write_files(tmp_path / "a", FILES)
    second = write_files(tmp_path / "b", {"main.py": "def save(): ...\n"})
    with indexed(first, second) as view:
        assert [path for path, _ in names(view, "save")] == [
            f"{first.as_posix()}/app/models.py",
            f"{first.as_posix()}/app/views.py",
            f"{second.as_posix()}/main.py",
        ]
        assert view.definitions_in(f"{second.as_posix()}/main.py")[0].name == "save"
