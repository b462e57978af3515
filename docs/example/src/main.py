"""Reads a line and passes it through the plugins of `plugins.ini`."""

from configparser import ConfigParser

from loader import load_plugins

config = ConfigParser()
config.read("plugins.ini")
text = input()
for plugin in load_plugins(list(config["plugins"].values())):
    text = plugin(text)
print(text)
