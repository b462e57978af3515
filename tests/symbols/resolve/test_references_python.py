"""References in Python."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import write_files
from indexed import indexed
from symbols.references import check_references
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts


def test_imports_are_followed_through_re_exports_aliases_and_stars(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "net/__init__.py": (
                "from .client import connect  # ref: connect import\n"
                '__all__ = ["connect"]  # ref: connect import\n'
            ),
            "net/client.py": (
                "def connect(host):  # ref: connect definition\n"
                "    return connect(host)  # ref: connect call\n"
            ),
            "star.py": "from net import *\n\nconnect('a')  # ref: connect call\n",
            "named.py": (
                "import net\nimport net.client\n\n"
                "net.connect('a')  # ref: connect call\n"
                "net.client.connect('b')  # ref: connect call\n"
            ),
            "alias.py": "import net.client as c\n\nretry = c.connect  # ref: connect read\n",
            "other.py": "from elsewhere import connect\n\nconnect()\n",
            "own.py": "def connect():\n    pass\n\n\nconnect()\n",
        },
    )


def test_an_inner_name_hides_an_outer_name(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.py": (
                "limit = 1  # ref: limit definition\n"
                "\n\n"
                "def one(limit):  # ref: one.limit definition\n"
                "    return limit  # ref: one.limit read\n"
                "\n\n"
                "def two():\n"
                "    global limit  # ref: limit read\n"
                "    limit = 2  # ref: limit write\n"
                "    return [limit for limit in range(\n"
                "        limit  # ref: limit read\n"
                "    )]\n"
                "\n\n"
                "class Three:\n"
                "    limit = 3  # ref: Three.limit definition\n"
                "\n"
                "    def three(self):\n"
                "        return limit + self.limit  # ref: limit read ;; Three.limit read\n"
                "\n\n"
                "one(limit=limit)  # ref: one.limit write ;; limit read\n"
            ),
        },
    )


def test_constants_may_be_attributes_of_an_object_of_settings(tmp_path: Path) -> None:
    """As Django's `settings.SESSION_COOKIE_AGE`, which compilers don't find."""
    check_references(
        tmp_path,
        {
            "defaults.py": "COOKIE_AGE = 60  # ref: COOKIE_AGE definition\ntimeout = 5\n",
            "conf.py": (
                "class Lazy:\n"
                "    def __getattr__(self, name):\n"
                "        return name\n"
                "\n\n"
                "settings = Lazy()\n"
            ),
            "app.py": (
                "from conf import settings\n"
                "\n\n"
                "class Other:\n"
                "    COOKIE_AGE = 1  # ref: Other.COOKIE_AGE definition\n"
                "\n\n"
                "def age(config, other: Other):\n"
                "    settings.COOKIE_AGE  # ref: COOKIE_AGE read possible\n"
                "    config.COOKIE_AGE"
                "  # ref: COOKIE_AGE read possible ;; Other.COOKIE_AGE read possible\n"
                "    other.COOKIE_AGE  # ref: Other.COOKIE_AGE read\n"
                "    return settings.timeout\n"
            ),
        },
    )


def test_members_are_found_by_declared_types_and_assigned_values(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "net.py": (
                "from __future__ import annotations\n"
                "class Base:\n"
                "    def close(self):  # ref: Base.close definition\n"
                "        pass\n"
                "class Client(Base):\n"
                "    def __init__(self, host: str):\n"
                "        self.host = host  # ref: Client.host definition\n"
                "    def send(self):  # ref: Client.send definition\n"
                "        self.close()  # ref: Base.close call\n"
                "        return self.host  # ref: Client.host read\n"
                "    @classmethod\n"
                "    def local(cls) -> Client:\n"
                "        return cls('localhost')\n"
                "class Session:\n"
                "    client: Client\n"
                "    def send(self):\n"
                "        self.client.send()  # ref: Client.send call\n"
            ),
            "app.py": (
                "from typing import Optional\n"
                "import net\n"
                "from net import Client, Session\n"
                "def make() -> Client:\n"
                "    return Client('a')\n"
                "def made():\n"
                "    return net.Client('b')\n"
                "def run(one: 'Optional[Client]', many: list[Client], session):\n"
                "    one.send()  # ref: Client.send call\n"
                "    many[0].send()  # ref: Client.send call\n"
                "    for each in many:\n"
                "        each.send()  # ref: Client.send call\n"
                "    make().send()  # ref: Client.send call\n"
                "    made().send()  # ref: Client.send call\n"
                "    Client.local().close()  # ref: Base.close call\n"
                "    with Client('c') as opened:\n"
                "        opened.host = 'd'  # ref: Client.host write\n"
                "    Session().send()\n"
                "    session.client.send  # ref: Client.send read possible\n"
            ),
        },
    )


def test_an_unknown_receiver_matches_rare_names(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "net.py": (
                "class Client:\n"
                "    def transmit(self):  # ref: Client.transmit definition\n"
                "        pass\n"
                "    def append(self):  # ref: Client.append definition\n"
                "        pass\n"
            ),
            "app.py": (
                "import radio\n"
                "def run(client):\n"
                "    client.transmit()  # ref: Client.transmit call possible\n"
                "    find()().transmit()  # ref: Client.transmit call likely\n"
                "    radio.transmit()\n"
                "    radio.Set().transmit()\n"
                "    client.append()\n"
            ),
        },
    )


def test_defaults_annotations_and_first_iterables_are_outside_the_function(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "a.py": (
                "a = [1]  # ref: a definition\n"
                "def d(\n"
                "    a  # ref: d.a definition\n"
                "    =a,  # ref: a read\n"
                "):\n"
                "    return a  # ref: d.a read\n"
                "f = (lambda a  # ref: f.a definition\n"
                "    =a:  # ref: a read\n"
                "    a)  # ref: f.a read\n"
                "g = [\n"
                "    a\n"
                "    for a\n"
                "    in range(a)  # ref: a read\n"
                "    for b in a\n"
                "]\n"
                "def h(a, b=lambda: [\n"
                "    a  # ref: a read\n"
                "    for c in a  # ref: a read\n"
                "]):\n"
                "    return a\n"
                "@a.append  # ref: a read\n"
                "def i(a): ...\n"
                "class C:\n"
                "    a = 2  # ref: C.a definition\n"
                "    def j(self,\n"
                "        a  # ref: j.a definition\n"
                "        =a):  # ref: C.a read\n"
                "        return a  # ref: j.a read\n"
                "    k = [a for a in range(3)]\n"
                "    m = [\n"
                "        a for a in range(\n"
                "            a  # ref: C.a read\n"
                "        )\n"
                "    ]\n"
            ),
            "net.py": "class client:\n    def send(self): ...  # ref: client.send definition\n",
            "app.py": (
                "import net\n"
                "from net import client\n"
                "def run(net: net.client, many: net.client):\n"
                "    net.send()  # ref: client.send call\n"
                "    many.send()  # ref: client.send call\n"
                "def walk(client) -> list[client]:\n"
                "    pass\n"
                "walk()[0].send()  # ref: client.send call\n"
            ),
        },
    )


def test_parts_of_a_module_name_are_modules(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "pkg/__init__.py": "from .core import core  # ref: core import\n",
            "pkg/core.py": "def core(): ...  # ref: core definition\n",
            "pkg/app.py": (
                "from pkg.core \\\n"
                "    import core  # ref: core import\n"
                "import pkg.core\n"
                "import pkg.core as other\n"
                "from ..pkg.core \\\n"
                "    import *\n"
                "core()  # ref: core call\n"
                "pkg.core  # ref: core read\n"
            ),
        },
    )


def test_the_definition_of_a_module_is_its_file(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .core import core\nfrom ..pkg.core import *\n",
        "pkg/core.py": "def core(): ...\n",
        "app.py": "import pkg.core\nfrom pkg.core import core\n",
    }
    write_files(tmp_path, files)
    found = {}
    with indexed(tmp_path) as view:
        navigation = Navigation(view, SourceTexts([tmp_path], {}, 1_000_000))
        for file, text in files.items():
            path = (tmp_path / file).as_posix()
            for match in re.finditer(r"\bpkg\b|\bcore\b", text):
                asked = navigation.named_at(path, match.start(), match.group())
                assert asked is not None
                place = asked.places[0]
                where = Path(place.path).relative_to(tmp_path).as_posix()
                found[file, match.start()] = (where, place.name)
    core, function, package = ("pkg/core.py", ""), ("pkg/core.py", "core"), ("pkg/__init__.py", "")
    assert list(found.values()) == [
        *(core, function, package, core),
        *(function,),
        *(package, core, package, core, function),
    ]


def test_patterns_bind_names(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.py": (
                "class Point:\n"
                "    def __init__(self):\n"
                "        self.side = 1  # ref: Point.side definition\n"
                "    def move(self): ...  # ref: Point.move definition\n"
                "x = 1  # ref: x definition\n"
                "def run(it, x):  # ref: run.x definition\n"
                "    match it:\n"
                '        case {"k": x}:  # ref: run.x write\n'
                "            x  # ref: run.x read\n"
                "        case [1, *x]:  # ref: run.x write\n"
                "            pass\n"
                "        case {**x}:  # ref: run.x write\n"
                "            pass\n"
                "        case Point(\n"
                "            side=x  # ref: run.x write ;; Point.side write\n"
                "        ) | Point(x):  # ref: run.x write\n"
                "            pass\n"
                "        case Point() as p:\n"
                "            p.move()  # ref: Point.move call\n"
                "        case (1 | 2) as x if x:  # ref: run.x write ;; run.x read\n"
                "            pass\n"
                "        case x.y:  # ref: run.x read\n"
                "            pass\n"
                "        case x:  # ref: run.x write\n"
                "            pass\n"
                "x  # ref: x read\n"
            ),
        },
    )


def test_a_reassigned_name_can_have_either_type(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.py": (
                "import radio\n"
                "class Base:\n"
                "    def stop(self): ...  # ref: Base.stop definition\n"
                "class One(Base):\n"
                "    def go(self): ...  # ref: One.go definition\n"
                "class Two(Base):\n"
                "    def go(self): ...  # ref: Two.go definition\n"
                "    def call(self): ...  # ref: Two.call definition\n"
                "r = One()\n"
                "r.go()  # ref: One.go call likely ;; Two.go call likely\n"
                "r = Two()\n"
                "r.go()  # ref: One.go call likely ;; Two.go call likely\n"
                "r.stop()  # ref: Base.stop call\n"
                "r.call()  # ref: Two.call call likely\n"
                "def run(which, one: One):\n"
                "    if which:\n"
                "        s = One()\n"
                "    elif s:\n"
                "        s = None\n"
                "    else:\n"
                "        s = One()\n"
                "    s.go()  # ref: One.go call\n"
                "    kind = One if which else Two\n"
                "    kind().go()  # ref: One.go call likely ;; Two.go call likely\n"
                "    if which:\n"
                "        t = radio.Set()\n"
                "    else:\n"
                "        t = Two()\n"
                "    t.go()  # ref: Two.go call likely\n"
                "    u: One = make()\n"
                "    u = Two()\n"
                "    u.go()  # ref: One.go call\n"
                "class Holder:\n"
                "    def __init__(self):\n"
                "        self.it = One()\n"
                "    def change(self):\n"
                "        self.it = Two()\n"
                "        self.it.go()  # ref: One.go call likely ;; Two.go call likely\n"
                "if radio.on:\n"
                "    Known = One\n"
                "else:\n"
                "    Known = Two\n"
                "class Three(Known):\n"
                "    def three(self):\n"
                "        self.call()  # ref: Two.call call\n"
            ),
        },
    )
