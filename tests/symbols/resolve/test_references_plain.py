"""References in languages for which only names and definitions are extracted."""

from __future__ import annotations

from pathlib import Path

from symbols.references import check_references


def test_names_with_one_definition_are_likely(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib.rb": (
                "class Client # ref: Client definition likely\n"
                "  def transmit(data) # ref: Client.transmit definition likely\n"
                "    data\n"
                "  end\n"
                "end\n"
            ),
            "use.rb": (
                "any.transmit( # ref: Client.transmit call likely\n"
                "  Client.new # ref: Client read likely\n"
                ")\n"
                "# transmit\n"
                'puts "transmit"\n'
            ),
        },
    )


def test_receivers_and_mentioned_names_choose_between_definitions(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "lib.rb": (
                "class Client\n"
                "  def self.open # ref: Client.open definition likely\n"
                "    self.open # ref: Client.open read likely\n"
                "  end\n"
                "end\n"
                "class Door\n"
                "  def self.open\n"
                "  end\n"
                "end\n"
            ),
            "near.rb": (
                "Client.open # ref: Client.open read likely\n"
                "Door.open\n"
                "thing.open # ref: Client.open read likely\n"
            ),
            "far.rb": "thing.open # ref: Client.open read possible\n",
        },
    )


def test_parameters_stay_in_their_function(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.lua": (
                "function limit() end\n"
                "local function run(limit) -- ref: run.limit definition likely\n"
                "  return limit; -- ref: run.limit read likely\n"
                "end\n"
                "local function other(x) return limit end\n"
            ),
        },
    )


def test_only_related_languages_share_names(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib.kt": "class Transmitter // ref: Transmitter definition likely\n",
            "use.kts": "val one = Transmitter() // ref: Transmitter call likely\n",
            "use.rb": "Transmitter.new\n",
            "use.py": "Transmitter()\n",
        },
    )
