import pytest
from loader import load_plugin
from registry import UnknownPlugin


def test_a_plugin_is_loaded_by_its_name():
    assert load_plugin("upper")("a") == "A"


def test_an_unknown_plugin_is_named():
    with pytest.raises(UnknownPlugin, match="lower"):
        load_plugin("lower")
