"""Stack traces and error messages, as interpreters and compilers print them."""

from __future__ import annotations

from typing import Any

import pytest

from winnow.ranking.query.errors import ErrorMessage
from winnow.ranking.query.frames import Frame
from winnow.ranking.query.parts import parse_query

TRACES: dict[str, tuple[str, list[tuple[Any, ...]], list[tuple[str, str]]]] = {
    "python": (
        """\
Traceback (most recent call last):
  File "/app/main.py", line 12, in index
    session["x"]
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/venv/site-packages/flask/app.py", line 1511, in wsgi_app
    response = self.full_dispatch_request()
               ^^^^^^^^^^^
  File "/venv/site-packages/flask/sessions.py", line 102, in _fail
    raise RuntimeError(
RuntimeError: The session is unavailable
""",
        [
            ("/venv/site-packages/flask/sessions.py", 102, "_fail", "raise RuntimeError("),
            (
                *("/venv/site-packages/flask/app.py", 1511, "wsgi_app"),
                "response = self.full_dispatch_request()",
            ),
            ("/app/main.py", 12, "index", 'session["x"]'),
        ],
        [("The session is unavailable", "RuntimeError"), ("'x'", "KeyError")],
    ),
    "pytest": (
        "E   ValueError: too large: 12\ntests/test_x.py:33: ValueError",
        [("tests/test_x.py", 33, "")],
        [("too large: 12", "ValueError")],
    ),
    "pytest in long": (
        """\
    def test_x():
>       load("a")

tests/test_x.py:5:
_ _ _ _ _ _ _ _ _ _ _ _

    def load(name):
>       raise ValueError(f"too large: {name}")
E       ValueError: too large: a

src/load.py:10: ValueError
""",
        [
            ("src/load.py", 10, "", 'raise ValueError(f"too large: {name}")'),
            ("tests/test_x.py", 5, "", 'load("a")'),
        ],
        [("too large: a", "ValueError")],
    ),
    "pytest in short": (
        """/usr/lib/site-packages/_pytest/runner.py:341: in from_call
    result: Optional[TResult] = func()
<frozen importlib._bootstrap>:1014: in _gcd_import
    ???
/usr/lib/site-packages/_pytest/rewrite.py:760: in is_disabled
    return "X" in docstring
E   TypeError: argument of type 'int' is not iterable
tests/test_y.py:3: in test_y
    assert load()
E   ValueError: too large
""",
        [
            (
                "/usr/lib/site-packages/_pytest/rewrite.py",
                760,
                "is_disabled",
                'return "X" in docstring',
            ),
            (
                *("/usr/lib/site-packages/_pytest/runner.py", 341, "from_call"),
                "result: Optional[TResult] = func()",
            ),
            ("tests/test_y.py", 3, "test_y", "assert load()"),
        ],
        [("argument of type 'int' is not iterable", "TypeError"), ("too large", "ValueError")],
    ),
    "node": (
        """\
Error: The reducer for key "a" returned undefined.
    at assertShape (webpack:///./node_modules/redux/dist/redux.js:310:13)
    at async Promise.all (index 0)
    at new Foo (file:///home/u/a.mjs:1:2)
    at /home/u/app.ts:12:3
    at Module._compile (node:internal/modules/cjs/loader:1554:14)
""",
        [
            ("./node_modules/redux/dist/redux.js", 310, "assertShape"),
            ("/home/u/a.mjs", 1, "Foo"),
            ("/home/u/app.ts", 12, ""),
        ],
        [('The reducer for key "a" returned undefined.', "Error")],
    ),
    "firefox": (
        "TypeError: a is undefined\nfoo/<@http://localhost:3000/src/x.js:12:3",
        [("src/x.js", 12, "foo")],
        [("a is undefined", "TypeError")],
    ),
    "go": (
        """\
panic: assignment to entry in nil map

goroutine 1 [running]:
github.com/spf13/cobra.(*Command).ExecuteC(0xc0000e6000)
\t/go/pkg/mod/github.com/spf13/cobra@v1.8.0/command.go:1068 +0x2b9
main.main()
\t/src/main.go:12 +0x1d
exit status 2
""",
        [
            (
                "/go/pkg/mod/github.com/spf13/cobra@v1.8.0/command.go",
                1068,
                "cobra.(*Command).ExecuteC",
            ),
            ("/src/main.go", 12, "main.main"),
        ],
        [("assignment to entry in nil map", "")],
    ),
    "rust": (
        """\
thread 'main' panicked at src/main.rs:5:5:
called `Result::unwrap()` on an `Err` value: NotFound
stack backtrace:
   0: axum::routing::Router<S>::route
             at /registry/axum-0.7.5/src/routing/mod.rs:105:13
""",
        [
            ("src/main.rs", 5, ""),
            ("/registry/axum-0.7.5/src/routing/mod.rs", 105, "axum::routing::Router<S>::route"),
        ],
        [("called `Result::unwrap()` on an `Err` value: NotFound", "")],
    ),
    "rust on one line": (
        "thread 'main' panicked at src/main.rs:5:5: there is no reactor running, must be called",
        [("src/main.rs", 5, "")],
        [("there is no reactor running, must be called", "")],
    ),
    "java": (
        """\
Exception in thread "main" java.lang.RuntimeException: outer
\tat com.x.Main.main(Main.java:5)
Caused by: java.lang.IllegalArgumentException: The object is null
\tat org.apache.commons.lang3.Validate.notNull(Validate.java:158) ~[lang.jar:3.14]
\tat org.apache.commons.lang3.Outer$Inner.lambda$foo$0(Outer.java:15)
\tat java.base/jdk.internal.Accessor.invoke0(Native Method)
\t... 1 more
""",
        [
            ("org/apache/commons/lang3/Validate.java", 158, "Validate.notNull"),
            ("org/apache/commons/lang3/Outer.java", 15, "Inner.foo"),
            ("com/x/Main.java", 5, "Main.main"),
        ],
        [
            ("The object is null", "java.lang.IllegalArgumentException"),
            ("outer", "java.lang.RuntimeException"),
        ],
    ),
    "c#": (
        """\
Unhandled exception. Newtonsoft.Json.JsonReaderException: Unexpected character: x.
   at Newtonsoft.Json.JsonTextReader.ParseValue() in /_/Src/JsonTextReader.cs:line 1688
   at Program.Main(String[] args) in C:\\src\\Program.cs:line 12
""",
        [
            ("/_/Src/JsonTextReader.cs", 1688, "Newtonsoft.Json.JsonTextReader.ParseValue"),
            ("C:/src/Program.cs", 12, "Program.Main"),
        ],
        [("Unexpected character: x.", "Newtonsoft.Json.JsonReaderException")],
    ),
    "ruby": (
        """\
/app/x.rb:3:in 'Foo#bar': undefined method 'x' for nil (NoMethodError)
\tfrom /app/y.rb:10:in `block in call'
""",
        [("/app/x.rb", 3, "Foo#bar"), ("/app/y.rb", 10, "call")],
        [("undefined method 'x' for nil", "NoMethodError")],
    ),
    "php": (
        """\
PHP Fatal error:  Uncaught InvalidArgumentException: Level "x" is not defined in /v/Logger.php:333
Stack trace:
#0 /app/x.php(12): Monolog\\Logger::toMonologLevel('x')
#1 {main}
""",
        [("/v/Logger.php", 333, "Monolog\\Logger::toMonologLevel"), ("/app/x.php", 12, "")],
        [('Level "x" is not defined', "InvalidArgumentException")],
    ),
    "elixir": (
        """\
** (Ecto.NoResultsError) expected at least one result
    (ecto 3.11.0) lib/ecto/repo/queryable.ex:154: Ecto.Repo.Queryable.one!/3
    lib/app.ex:3: anonymous fn/1 in App.run/0
""",
        [
            ("lib/ecto/repo/queryable.ex", 154, "Ecto.Repo.Queryable.one!"),
            ("lib/app.ex", 3, "App.run"),
        ],
        [("expected at least one result", "Ecto.NoResultsError")],
    ),
    "c++": (
        """\
terminate called after throwing an instance of 'fmt::v10::format_error'
  what():  invalid format string
#0  0x00007ffff in raise () from /lib/libc.so
#1  0x00005555 in fmt::detail::report (message=0x5 "x") at ../include/fmt/format-inl.h:12
    #2 0x4f5 in run(int) /src/file.cc:12:3
""",
        [("../include/fmt/format-inl.h", 12, "fmt::detail::report"), ("/src/file.cc", 12, "run")],
        [("invalid format string", "fmt::v10::format_error")],
    ),
    "a failed assertion": (
        "main: /x/file.cc:12: int f(int): Assertion `x > 0' failed.",
        [("/x/file.cc", 12, "")],
        [("x > 0", "")],
    ),
    "a compiler": (
        "src/foo.c:12:5: error: expected ';' before 'x'",
        [("src/foo.c", 12, "")],
        [("expected ';' before 'x'", "")],
    ),
    "lua": (
        """\
lua: ./a/x.lua:12: attempt to index a nil value
stack traceback:
\t./a/y.lua:3: in function 'foo'
\t[C]: in ?
""",
        [("./a/x.lua", 12, ""), ("./a/y.lua", 3, "foo")],
        [("attempt to index a nil value", "")],
    ),
    "perl": (
        "Bad \"x\" at /usr/share/perl5/Foo.pm line 12.\n\tmain::f('x') called at x.pl line 3\n",
        [("/usr/share/perl5/Foo.pm", 12, ""), ("x.pl", 3, "")],
        [('Bad "x"', "")],
    ),
    "haskell": (
        "CallStack (from HasCallStack):\n  error, called at src/Text/X.hs:74:14 in base:GHC.Err",
        [("src/Text/X.hs", 74, "")],
        [],
    ),
    "zig": (
        "thread 12 panic: index out of bounds\n/x/src/analysis.zig:12:5: 0x1234 in foo (zls)",
        [("/x/src/analysis.zig", 12, "")],
        [("index out of bounds", "")],
    ),
    "ansible": (
        "TASK [node : Check the rack] ****\nok: [node1]\n\n"
        "TASK [node : Node | Install (1st try)] ****\n"
        'fatal: [node1]: FAILED! => {"changed": false, "msg": "No \\"tea\\" is left"}\n'
        'failed: [node2] (item=cup) => {"rc": 1}\n',
        [],
        [("Node | Install (1st try)", ""), ('No \\"tea\\" is left', "")],
    ),
    "a log": (
        "2024-01-02 10:11:12,345 ERROR aiohttp.server: Error handling request\n"
        'time="2024-01-02" level=error msg="failed to load config"',
        [],
        [("Error handling request", ""), ("failed to load config", "")],
    ),
}


@pytest.mark.parametrize("language", TRACES)
def test_frames_and_messages_are_parsed(language: str) -> None:
    text, frames, errors = TRACES[language]
    parts = parse_query(text)
    assert parts.frames == tuple(Frame(*frame) for frame in frames)
    assert parts.errors == tuple(ErrorMessage(*error) for error in errors)


@pytest.mark.parametrize("language", TRACES)
def test_a_trace_in_a_bug_report_is_parsed_alike(language: str) -> None:
    text, frames, errors = TRACES[language]
    parts = parse_query(f"The server stops\n\nIt prints:\n\n```\n{text}\n```\n\nWhy?\n")
    assert parts.title == "The server stops"
    assert parts.frames == tuple(Frame(*frame) for frame in frames)
    assert parts.errors == tuple(ErrorMessage(*error) for error in errors)


@pytest.mark.parametrize("language", sorted(TRACES.keys() - {"a log", "ansible", "pytest in long"}))
def test_a_trace_pasted_into_a_field_of_one_line_is_parsed_alike(language: str) -> None:
    text, frames, errors = TRACES[language]
    parts = parse_query(" ".join(text.splitlines()))
    # The function of a frame of Go is on the line before, whose beginning is not certain.
    of_go = language == "go"
    assert parts.frames == tuple(
        Frame(path, line, "" if of_go else name, *code) for path, line, name, *code in frames
    )
    assert parts.errors == tuple(ErrorMessage(*error) for error in errors)


def test_a_trace_in_json_is_parsed() -> None:
    text = r'{"msg":"no cup","stack":"a.Brew\n\t/go/shop/brew.go:12\nmain.main\n\t/go/main.go:4"}'
    assert [(frame.path, frame.line) for frame in parse_query(text).frames] == [
        ("/go/shop/brew.go", 12),
        ("/go/main.go", 4),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "where are retries of failed uploads scheduled",
        "Note: the error handler is at the end",
        "How does the panic handler work?",
        "look at the router (the one from 2020)",
        "http://localhost:8080/index.html is served",
        "def f(x): return x",
    ],
)
def test_prose_has_no_frames_and_no_errors(text: str) -> None:
    parts = parse_query(text)
    assert (parts.frames, parts.errors) == ((), ())


def test_an_endless_recursion_has_few_frames() -> None:
    frames = "".join(f'  File "a.py", line {n}, in f\n    f()\n' for n in range(1, 5000))
    parts = parse_query(f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n")
    assert len(parts.frames) == 200
    assert parts.errors == (ErrorMessage("too deep", "RecursionError"),)


CALLS = {
    ".NET": (
        "System.InvalidOperationException: Sequence contains no elements\n"
        "   at System.Linq.ThrowHelper.ThrowNoElementsException()\n"
        "   at Acme.Media.Player`1.Start(StreamState state, Nullable`1 offset)\n"
        "   at Acme.Media.Player.<StopAsync>d__12.MoveNext()\n"
        "   at Acme.Media.Player.<>c__DisplayClass5_0.<Seek>b__1(Int32 at)\n"
        "   at Acme.Media.Outer+Inner..ctor(String name)\n",
        [
            "System.Linq.ThrowHelper.ThrowNoElementsException",
            "Acme.Media.Player.Start",
            "Acme.Media.Player.StopAsync",
            "Acme.Media.Player.Seek",
            "Acme.Media.Outer.Inner",
        ],
    ),
    "Rust": (
        "thread 'main' panicked at 'no server', src/lib.rs:3:5\n"
        "stack backtrace:\n"
        "   0: rust_begin_unwind\n"
        "             at /rustc/9d1b/library/std/src/panicking.rs:498:5\n"
        "   1: core::panicking::panic_fmt\n"
        "             at /rustc/9d1b/library/core/src/panicking.rs:116:14\n"
        "   2: acme::player::Player<T>::start::h0123456789abcdef\n"
        "   3: acme::run::{{closure}}\n"
        "   4: <acme::ui::Prompt as acme::ui::Component<C>>::handle_event\n",
        ["acme::player::Player::start", "acme::run", "acme::ui::Prompt::handle_event"],
    ),
}


@pytest.mark.parametrize("language", CALLS)
@pytest.mark.parametrize("separator", ["\n", " "], ids=["lines", "one line"])
def test_frames_without_a_place_name_their_function(language: str, separator: str) -> None:
    text, calls = CALLS[language]
    assert list(parse_query(text.replace("\n", separator)).calls) == calls


def test_a_function_of_php_is_around_the_place_of_the_frame_above() -> None:
    text = (
        "#0 /app/Shop.php(12): App\\Bank->pay(3)\n"
        "#1 /app/Web.php(5): App\\Shop->App\\{closure}()\n"
        "#2 {main}\n"
    )
    assert parse_query(text).frames == (
        Frame("/app/Shop.php", 12, "App\\Shop->App\\{closure}"),
        Frame("/app/Web.php", 5),
    )


@pytest.mark.parametrize(
    "text",
    [
        "src/app.cs(12,34): error CS0103: The name 'x' does not exist",
        "error[E0425]: cannot find value `x`\n  --> src/app.cs:12:34",
        "see src/app.cs line 12",
        "it fails in src/app.cs, line 12.",
        "src/app.cs:line 12",
        "what about src/app.cs(12)?",
        "The error appears to be in 'src/app.cs': line 12, column 3",
        '│ Error: Unsupported argument\n│\n│   on src/app.cs line 12, in module "x":\n',
    ],
)
def test_a_place_is_read_as_compilers_and_people_write_it(text: str) -> None:
    assert parse_query(text).frames == (Frame("src/app.cs", 12),)
