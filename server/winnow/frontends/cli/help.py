"""Help texts for people. Descriptions of tools are written for models; these are shorter."""

from __future__ import annotations

from typing import Any, NamedTuple

from winnow.tools.registry import Tool


class CommandHelp(NamedTuple):
    """The summary of a command and an example of its use."""

    summary: str
    example: str = ""

    @property
    def title(self) -> str:
        """The first sentence, as `winnow --help` lists it."""
        first = self.summary.partition(".\n")[0].rstrip(".")
        return first[:1].lower() + first[1:]

    @property
    def text(self) -> str:
        """The summary and the example, as the command's own `--help` shows them."""
        return f"{self.summary}\n\nExample:\n  {self.example}" if self.example else self.summary


COMMANDS = {
    "audit": CommandHelp(
        "List the requests sent to language models, from all workspaces.",
        "winnow audit --limit 5",
    ),
    "bash": CommandHelp(
        "Run a pipeline of read-only programs, without a shell.",
        "winnow bash 'rg -n TODO src | head -5'",
    ),
    "code-search": CommandHelp(
        "Find a file, a symbol, text or an answer with one query.\n"
        "Winnow picks the kind of search from the query and reports which one it ran.",
        "winnow code-search 'where are sessions expired'",
    ),
    "consent": CommandHelp(
        "Allow or refuse sending code of this workspace to a remote language model.",
        "winnow consent give",
    ),
    "document-text": CommandHelp(
        "Print a document as text: PDF, office formats, e-books, mail, archives.",
        "winnow document-text legal/contract.pdf --start 40 --end 60",
    ),
    "feedback": CommandHelp(
        "Record that a search result was useful or not, for later rankings.\n"
        "The JSON result of a search contains its `search_id`.",
        "winnow feedback 5ea7c41d5ea7 src/loader.py opened",
    ),
    "find-references": CommandHelp(
        "Find the uses of a symbol, without those of other symbols of that name.",
        "winnow find-references load_plugin",
    ),
    "find-symbol": CommandHelp(
        "Find definitions of functions, classes and other symbols by name.\n"
        "Accepts part of a name, initials, or a qualified name.",
        "winnow find-symbol Client.send",
    ),
    "glob": CommandHelp(
        "Find files by name.",
        "winnow glob '**/*_test.py' --sort-by size",
    ),
    "grep": CommandHelp(
        "Search files for a regular expression or exact text.",
        "winnow grep 'def load_\\w+' src --include '*.py'",
    ),
    "index": CommandHelp(
        "Build, pause, resume or delete the index of this workspace.",
        "winnow index build",
    ),
    "index-status": CommandHelp(
        "Show what the index covers, what it leaves out, and its size.",
        "winnow index-status",
    ),
    "keyword-search": CommandHelp(
        "Rank the files that matter for a question, given terms the code might use.\n"
        "Each term is a case-insensitive regular expression. List the most important first.",
        "winnow keyword-search 'how are plugins loaded' load_plugin 'entry_points?'",
    ),
    "read": CommandHelp(
        "Print a file or lines of it.",
        "winnow read src/loader.py --spans 8-10 --spans 18-",
    ),
    "refresh": CommandHelp(
        "Update the index with changed files now.",
        "winnow refresh --paths src/loader.py",
    ),
    "search-docs": CommandHelp(
        "Search PDFs, office documents, e-books, mail, archives and databases.",
        "winnow search-docs 'termination clause' 'legal/*.pdf'",
    ),
    "search-metrics": CommandHelp(
        "Show what is recorded about searches in this workspace, and what would improve them.",
        "winnow search-metrics",
    ),
    "semantic-search": CommandHelp(
        "Find passages by what the code does, in plain words.",
        "winnow semantic-search 'how are failed requests retried' --top-k 5",
    ),
    "tools": CommandHelp(
        "Print the tools with their descriptions and schemas, to pass to a language model.",
        "winnow tools --json",
    ),
    "tree": CommandHelp(
        "Show the structure of a folder.",
        "winnow tree server",
    ),
    "serve": CommandHelp(
        "Run the language server on standard input and output, or on a local port.",
        "winnow serve --tcp 2087",
    ),
    "mcp": CommandHelp(
        "Run the MCP server for agents on standard input and output.\n"
        "Requires the extra: pip install 'winnow-ls[mcp]'. `winnow init-agent` configures agents.",
        "winnow mcp --text-only",
    ),
    "init-agent": CommandHelp(
        "Add `winnow mcp` to the configuration files of agents in this folder.\n"
        "Without a name, writes .mcp.json and the files of agents that this folder or your home\n"
        "folder shows signs of. Other content of the files stays.",
        "winnow init-agent cursor zed",
    ),
    "doctor": CommandHelp(
        "Report what is installed and what is missing, with the commands to install it.",
        "winnow doctor",
    ),
    "completions": CommandHelp(
        "Print the completions for a shell.",
        "winnow completions bash >~/.local/share/bash-completion/completions/winnow",
    ),
}


def of_tool(tool: Tool[Any, Any]) -> CommandHelp:
    """Return the help for a tool's command; without one here, the tool's description."""
    return COMMANDS.get(tool.command) or CommandHelp(tool.description)
