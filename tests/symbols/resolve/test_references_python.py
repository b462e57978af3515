"""References in Python."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import write_files
from indexed import indexed
from symbols.references import Check
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts


def test_imports_are_followed_through_re_exports_aliases_and_stars(check: Check) -> None:
    check("""
    -- net/__init__.py --
    from .client import connect  # ref: connect import
    __all__ = ["connect"]  # ref: connect import
    -- net/client.py --
    def connect(host):  # ref: connect definition
        return connect(host)  # ref: connect call
    -- star.py --
    from net import *

    connect('a')  # ref: connect call
    -- named.py --
    import net
    import net.client

    net.connect('a')  # ref: connect call
    net.client.connect('b')  # ref: connect call
    -- alias.py --
    import net.client as c

    retry = c.connect  # ref: connect read
    -- other.py --
    from elsewhere import connect

    connect()
    -- own.py --
    def connect():
        pass


    connect()
    """)


def test_an_inner_name_hides_an_outer_name(check: Check) -> None:
    check("""
    -- a.py --
    limit = 1  # ref: limit definition


    def one(limit):  # ref: one.limit definition
        return limit  # ref: one.limit read


    def two():
        global limit  # ref: limit read
        limit = 2  # ref: limit write
        return [limit for limit in range(
            limit  # ref: limit read
        )]


    class Three:
        limit = 3  # ref: Three.limit definition

        def three(self):
            return limit + self.limit  # ref: limit read ;; Three.limit read


    one(limit=limit)  # ref: one.limit write ;; limit read
    """)


def test_constants_may_be_attributes_of_an_object_of_settings(check: Check) -> None:
    """As Django's `settings.SESSION_COOKIE_AGE`, which compilers don't find."""
    check("""
    -- defaults.py --
    COOKIE_AGE = 60  # ref: COOKIE_AGE definition
    timeout = 5
    -- conf.py --
    class Lazy:
        def __getattr__(self, name):
            return name


    settings = Lazy()
    -- app.py --
    from conf import settings


    class Other:
        COOKIE_AGE = 1  # ref: Other.COOKIE_AGE definition


    def age(config, other: Other):
        settings.COOKIE_AGE  # ref: COOKIE_AGE read possible
        config.COOKIE_AGE  # ref: COOKIE_AGE read possible ;; Other.COOKIE_AGE read possible
        other.COOKIE_AGE  # ref: Other.COOKIE_AGE read
        return settings.timeout
    """)


def test_members_are_found_by_declared_types_and_assigned_values(check: Check) -> None:
    check("""
    -- net.py --
    from __future__ import annotations
    class Base:
        def close(self):  # ref: Base.close definition
            pass
    class Client(Base):
        def __init__(self, host: str):
            self.host = host  # ref: Client.host definition
        def send(self):  # ref: Client.send definition
            self.close()  # ref: Base.close call
            return self.host  # ref: Client.host read
        @classmethod
        def local(cls) -> Client:
            return cls('localhost')
    class Session:
        client: Client
        def send(self):
            self.client.send()  # ref: Client.send call
    -- app.py --
    from typing import Optional
    import net
    from net import Client, Session
    def make() -> Client:
        return Client('a')
    def made():
        return net.Client('b')
    def run(one: 'Optional[Client]', many: list[Client], session):
        one.send()  # ref: Client.send call
        many[0].send()  # ref: Client.send call
        for each in many:
            each.send()  # ref: Client.send call
        make().send()  # ref: Client.send call
        made().send()  # ref: Client.send call
        Client.local().close()  # ref: Base.close call
        with Client('c') as opened:
            opened.host = 'd'  # ref: Client.host write
        Session().send()
        session.client.send  # ref: Client.send read possible
    """)


def test_an_unknown_receiver_matches_rare_names(check: Check) -> None:
    check("""
    -- net.py --
    class Client:
        def transmit(self):  # ref: Client.transmit definition
            pass
        def append(self):  # ref: Client.append definition
            pass
    -- app.py --
    import radio
    def run(client):
        client.transmit()  # ref: Client.transmit call possible
        find()().transmit()  # ref: Client.transmit call likely
        radio.transmit()
        radio.Set().transmit()
        client.append()
    """)


def test_defaults_annotations_and_first_iterables_are_outside_the_function(
    check: Check,
) -> None:
    check("""
    -- a.py --
    a = [1]  # ref: a definition
    def d(
        a  # ref: d.a definition
        =a,  # ref: a read
    ):
        return a  # ref: d.a read
    f = (lambda a  # ref: f.a definition
        =a:  # ref: a read
        a)  # ref: f.a read
    g = [
        a
        for a
        in range(a)  # ref: a read
        for b in a
    ]
    def h(a, b=lambda: [
        a  # ref: a read
        for c in a  # ref: a read
    ]):
        return a
    @a.append  # ref: a read
    def i(a): ...
    class C:
        a = 2  # ref: C.a definition
        def j(self,
            a  # ref: j.a definition
            =a):  # ref: C.a read
            return a  # ref: j.a read
        k = [a for a in range(3)]
        m = [
            a for a in range(
                a  # ref: C.a read
            )
        ]
    -- net.py --
    class client:
        def send(self): ...  # ref: client.send definition
    -- app.py --
    import net
    from net import client
    def run(net: net.client, many: net.client):
        net.send()  # ref: client.send call
        many.send()  # ref: client.send call
    def walk(client) -> list[client]:
        pass
    walk()[0].send()  # ref: client.send call
    """)


def test_parts_of_a_module_name_are_modules(check: Check) -> None:
    check(r"""
    -- pkg/__init__.py --
    from .core import core  # ref: core import
    -- pkg/core.py --
    def core(): ...  # ref: core definition
    -- pkg/app.py --
    from pkg.core \
        import core  # ref: core import
    import pkg.core
    import pkg.core as other
    from ..pkg.core \
        import *
    core()  # ref: core call
    pkg.core  # ref: core read
    """)


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


def test_patterns_bind_names(check: Check) -> None:
    check("""
    -- a.py --
    class Point:
        def __init__(self):
            self.side = 1  # ref: Point.side definition
        def move(self): ...  # ref: Point.move definition
    x = 1  # ref: x definition
    def run(it, x):  # ref: run.x definition
        match it:
            case {"k": x}:  # ref: run.x write
                x  # ref: run.x read
            case [1, *x]:  # ref: run.x write
                pass
            case {**x}:  # ref: run.x write
                pass
            case Point(
                side=x  # ref: run.x write ;; Point.side write
            ) | Point(x):  # ref: run.x write
                pass
            case Point() as p:
                p.move()  # ref: Point.move call
            case (1 | 2) as x if x:  # ref: run.x write ;; run.x read
                pass
            case x.y:  # ref: run.x read
                pass
            case x:  # ref: run.x write
                pass
    x  # ref: x read
    """)


def test_a_reassigned_name_can_have_either_type(check: Check) -> None:
    check("""
    -- a.py --
    import radio
    class Base:
        def stop(self): ...  # ref: Base.stop definition
    class One(Base):
        def go(self): ...  # ref: One.go definition
    class Two(Base):
        def go(self): ...  # ref: Two.go definition
        def call(self): ...  # ref: Two.call definition
    r = One()
    r.go()  # ref: One.go call likely ;; Two.go call likely
    r = Two()
    r.go()  # ref: One.go call likely ;; Two.go call likely
    r.stop()  # ref: Base.stop call
    r.call()  # ref: Two.call call likely
    def run(which, one: One):
        if which:
            s = One()
        elif s:
            s = None
        else:
            s = One()
        s.go()  # ref: One.go call
        kind = One if which else Two
        kind().go()  # ref: One.go call likely ;; Two.go call likely
        if which:
            t = radio.Set()
        else:
            t = Two()
        t.go()  # ref: Two.go call likely
        u: One = make()
        u = Two()
        u.go()  # ref: One.go call
    class Holder:
        def __init__(self):
            self.it = One()
        def change(self):
            self.it = Two()
            self.it.go()  # ref: One.go call likely ;; Two.go call likely
    if radio.on:
        Known = One
    else:
        Known = Two
    class Three(Known):
        def three(self):
            self.call()  # ref: Two.call call
    """)
