"""References in Python."""

from __future__ import annotations

from pathlib import Path

from symbols.references import check_references


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


def test_an_inner_name_hides_an_outer_one(tmp_path: Path) -> None:
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
                "    return [limit for limit in range(limit)]\n"
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


def test_members_are_found_by_what_is_declared_and_assigned(tmp_path: Path) -> None:
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


def test_an_unknown_receiver_counts_where_hardly_anything_has_the_name(tmp_path: Path) -> None:
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
