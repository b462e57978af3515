"""Lines that define a name, in many languages."""

from __future__ import annotations

import pytest

from winnow.text.definition_lines import defines, definition_in
from winnow.text.ripgrep import Line


def line(text: str, term: str, start: int = 0) -> Line:
    """Return a line with a match at the first occurrence of ``term``."""
    at = text.lower().find(term.lower())
    return Line(text, len(text) + 1, ((start + at, start + at + len(term)),), start)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("class Session(Base):", "Session"),  # Python
        ("    async def session(self):", "session"),
        ("export default class Session {", "Session"),  # JavaScript
        ("export const session = () => {", "session"),
        ("  session(id, options) {", "session"),
        ("exports.session = function (id) {", "exports.session"),
        ("export interface Session<T> {", "Session"),  # TypeScript
        ("func (s *Server) Session() error {", "Session"),  # Go
        ("pub(crate) async fn session() {}", "session"),  # Rust
        ("    public static Result<T> session(int id) throws IOException {", "session"),  # Java
        ("    protected override void Session(int id) {", "Session"),  # C#
        ("data class Session(val id: Int)", "Session"),  # Kotlin
        ("public extension Session {", "Session"),  # Swift
        ("static int session(struct state *data)", "session"),  # C
        ("#define SESSION 1", "SESSION"),
        ("defmodule App.Session do", "App.Session"),  # Elixir
        ("  def self.session(id)", "self.session"),  # Ruby
        ("function M.session(opts)", "M.session"),  # Lua
        ("local function session(opts)", "session"),
        ("    public function session(): void", "session"),  # PHP
        ("session() {", "session"),  # shell
        ("session :: Config -> IO ()", "session"),  # Haskell
        ("pub const Session = struct {", "Session"),  # Zig
        ('resource "aws_instance" "session" {', "session"),  # Terraform
        ('variable "session" {', "session"),
    ],
)
def test_a_line_that_defines_a_name(text: str, name: str) -> None:
    found = definition_in(text)
    assert found is not None
    assert (found.name, text[found.start : found.end]) == (name, name)
    assert defines(line(text, "session")) == len("session") / len(name)


@pytest.mark.parametrize(
    "text",
    [
        "    x = session.get(1)",
        "    session(1, 2)",
        "def other(session):",
        "    const session = open();",
        "    local session = open()",
        "    if (session) {",
        "    return session;",
        "# the class of a session",
        "import { session } from 'session'",
    ],
)
def test_a_use_is_no_definition(text: str) -> None:
    assert defines(line(text, "session")) == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("class Session:", "class"),
        ("pub trait Session {", "trait"),
        ("export const SESSION = 1", "constant"),
        ("def session():", "function"),
    ],
)
def test_the_kind_is_guessed(text: str, kind: str) -> None:
    found = definition_in(text)
    assert found is not None
    assert found.kind == kind


def test_a_definition_needs_a_match_in_its_name() -> None:
    assert defines(Line("class Session:", 15)) == 0
    assert defines(Line("class Session:", 15, ((0, 5),))) == 0


def test_a_line_cut_at_its_end_defines_a_name() -> None:
    assert defines(line("def session(" + "argument, " * 20 + "…", "session")) == 1


def test_a_line_cut_at_its_beginning_does_not() -> None:
    text = "…class Session { constructor() {}"

    assert defines(line(text, "Session", start=499)) == 0
