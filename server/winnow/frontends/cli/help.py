"""The help texts of all commands."""

from __future__ import annotations

from winnow.tools import TOOLS
from winnow.tools.registry import CommandHelp

COMMANDS = {tool.command: tool.command_help for tool in TOOLS.values()} | {
    "cluster": CommandHelp(
        "Push repositories into the search cluster of a team, and show what it holds.\n"
        "Requires `cluster.addresses` in your settings, and the extra: pip install"
        " 'winnow-ls[cluster]'.",
        "winnow cluster push --repository team/project",
        "winnow cluster status",
    ),
    "serve": CommandHelp(
        "Run the language server on standard input and output, or on a local port.",
        "winnow serve --tcp 2087",
        "winnow serve",
    ),
    "mcp": CommandHelp(
        "Run the MCP server for agents on standard input and output.\n"
        "Requires the extra: pip install 'winnow-ls[mcp]'. `winnow init-agent` configures agents.",
        "winnow mcp --tools all",
        "winnow mcp ../server ../client",
    ),
    "init-agent": CommandHelp(
        "Add `winnow mcp` to the configuration files of agents in this folder.\n"
        "Without a name, writes .mcp.json and the files of agents that this folder or your home\n"
        "folder shows signs of. Other content of the files stays.",
        "winnow init-agent cursor zed",
        "winnow init-agent --print",
    ),
    "doctor": CommandHelp(
        "Report what is installed and what is missing, with the commands to install it.",
        "winnow doctor",
        "winnow doctor --json",
    ),
    "completions": CommandHelp(
        "Print the completions for a shell.",
        "winnow completions bash >~/.local/share/bash-completion/completions/winnow",
        "winnow completions fish >~/.config/fish/completions/winnow.fish",
    ),
}
