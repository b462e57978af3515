"""Calls that make libraries fail, and the places that raise the errors.

The places were written down before the search for errors existed. A place is a file, and a text of
the lines that raise the error. If a file raises the same message in several places, each of them
counts for a message; `trace` cases are unambiguous.
"""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A call and the place of its error. With `trace`, the stack trace is a query, too."""

    code: str
    file: str
    text: str
    trace: bool = False


PYTHON = (
    Case("with app.test_request_context(): flask.session['k'] = 1", "flask/sessions.py", "The session is unavailable because no secret", True),
    Case("app.config.from_envvar('MISSING_SETTINGS')", "flask/config.py", "The environment variable {variable_name!r} is not set", True),
    Case("flask.Blueprint('a.b', 'x')", "flask/sansio/blueprints.py", "'name' may not contain a dot '.' character.", True),
    Case("app.register_blueprint(flask.Blueprint('b', 'x')); app.register_blueprint(flask.Blueprint('b', 'y'))", "flask/sansio/blueprints.py", "The name '{self_name}' is already registered for", True),
    Case("app.add_url_rule('/', 'e', lambda: 1); app.add_url_rule('/x', 'e', lambda: 2)", "flask/sansio/app.py", "View function mapping is overwriting an existing", True),
    Case("app.add_url_rule('/', 'e', lambda: 1, methods='POST')", "flask/sansio/app.py", "Allowed methods must be a list of strings, for"),
    Case("with app.app_context(): flask.url_for('x')", "flask/app.py", "Unable to build URLs outside an active request"),
    Case("flask.after_this_request(lambda response: response)", "flask/ctx.py", "'after_this_request' can only be used when a request"),
    Case("from flask import cli; cli.locate_app('no_such_module', None)", "flask/cli.py", "Could not import {module_name!r}.", True),
    Case("app.json.response(1, x=2)", "flask/json/provider.py", "app.json.response() takes either args or kwargs"),
    Case("requests.get('example.org/x')", "requests/models.py", "Invalid URL {url!r}: No scheme supplied. ", True),
    Case("requests.get('foo://x')", "requests/sessions.py", "No connection adapters were found for", True),
    Case("requests.Request('GET', 'http://x', headers={'a': ' b'}).prepare()", "requests/utils.py", "Invalid leading whitespace, reserved character(s), or return "),
    Case("requests.Request('POST', 'http://x', data=iter([b'a']), files={'a': b'b'}).prepare()", "requests/models.py", "Streamed bodies and files are mutually exclusive."),
    Case("click.Option(['--a'], is_flag=True, count=True)", "click/core.py", "'count' is not valid with 'is_flag'."),
    Case("click.FloatRange(0, min_open=True, clamp=True)", "click/types.py", "Clamping is not supported for open bounds."),
    Case("r = requests.Response(); r.status_code = 404; r.reason = 'Not Found'; r.url = 'http://x/y'; r.raise_for_status()", "requests/models.py", "Client Error: {reason} for url: ", True),
)  # fmt: skip

SCRIPT = (
    Case("createStore(3)", "redux/src/createStore.ts", "Expected the root reducer to be a function. Instead, received", True),
    Case("createStore(s => 1).dispatch({})", "redux/src/createStore.ts", "Actions may not have an undefined \"type\" property", True),
    Case("createStore(s => 1).dispatch(1)", "redux/src/createStore.ts", "Actions must be plain objects. Instead, the actual type was", True),
    Case("combineReducers({a: () => undefined})({}, {type: 'x'})", "redux/src/combineReducers.ts", "returned undefined during initialization", True),
    Case("const s = createStore((state, a) => { if (a.type === 'x') s.dispatch({type: 'y'}); return 1 }); s.dispatch({type: 'x'})", "redux/src/createStore.ts", "Reducers may not dispatch actions."),
    Case("createStore(s => 1, applyMiddleware(api => { api.dispatch({type: 'x'}) }))", "redux/src/applyMiddleware.ts", "Dispatching while constructing your middleware is not allowed."),
    Case("createStore(s => 1, x => x, x => x)", "redux/src/createStore.ts", "It looks like you are passing several store enhancers to"),
    Case("z.toJSONSchema(z.bigint())", "zod/src/v4/core/to-json-schema.ts", "BigInt cannot be represented in JSON Schema", True),
    Case("z.literal([])", "zod/src/v4/core/schemas.ts", "Cannot create literal schema with no valid values", True),
    Case("z.object({a: z.string()}).refine(() => true).extend({a: z.number()})", "zod/src/v4/core/util.ts", "Object schemas containing refinements cannot be extended."),
    Case("z.discriminatedUnion('t', [z.object({t: z.literal('a')}), z.object({t: z.literal('a')})]).parse({t: 'a'})", "zod/src/v4/core/schemas.ts", "Duplicate discriminator value"),
    Case("z.toJSONSchema(z.map(z.string(), z.string()))", "zod/src/v4/core/to-json-schema.ts", "Map cannot be represented in JSON Schema"),
    Case("express().use()", "express/lib/application.js", "app.use() requires a middleware function", True),
    Case("express.Router().get('/', 'x')", "express/lib/router/route.js", "var msg = 'Route.' + method + '() requires a callback function", True),
    Case("express().set('etag', 'often')", "express/lib/utils.js", "unknown value for etag function: ", True),
    Case("express.response.sendFile.call({req: {}})", "express/lib/response.js", "path argument is required to res.sendFile"),
    Case("new Command().option('--x <y>').parse(['--foo'], {from: 'user'})", "commander/lib/command.js", "error: unknown option '${flag}'"),
    Case("new Command().argument('<file>').action(() => 0).parse([], {from: 'user'})", "commander/lib/command.js", "error: missing required argument '${name}'"),
    Case("new Command().requiredOption('--size <n>').action(() => 0).parse([], {from: 'user'})", "commander/lib/command.js", "error: required option '${option.flags}' not specified"),
)  # fmt: skip

GO = (
    Case('run(&cobra.Command{Use: "app", Args: cobra.ExactArgs(2), Run: nothing}, "a")', "cobra/args.go", "accepts %d arg(s), received %d"),
    Case('run(&cobra.Command{Use: "app", Args: cobra.RangeArgs(2, 3), Run: nothing}, "a")', "cobra/args.go", "accepts between %d and %d arg(s), received %d"),
    Case('c := &cobra.Command{Use: "app", Run: nothing}; c.Flags().String("name", "", ""); c.MarkFlagRequired("name"); run(c)', "cobra/command.go", "required flag(s) "),
    Case('c := &cobra.Command{Use: "app"}; c.AddCommand(&cobra.Command{Use: "sub", GroupID: "g", Run: nothing}); run(c)', "cobra/command.go", "group id '%s' is not defined for subcommand '%s'", True),
    Case('c := &cobra.Command{Use: "app"}; c.AddCommand(c)', "cobra/command.go", "Command can't be a child of itself", True),
    Case('c := &cobra.Command{Use: "app"}; c.MarkFlagsRequiredTogether("a", "b")', "cobra/flag_groups.go", "and mark it as being required in a flag group", True),
    Case('c := &cobra.Command{Use: "app", Run: nothing}; c.Flags().Bool("a", false, ""); c.Flags().Bool("b", false, ""); c.MarkFlagsMutuallyExclusive("a", "b"); run(c, "--a", "--b")', "cobra/flag_groups.go", "are set none of the others can be"),
    Case('f := pflag.NewFlagSet("app", pflag.ExitOnError); _, err := f.GetInt("n"); fail(err)', "pflag/flag.go", "flag accessed but not defined: %s"),
    Case('f := pflag.NewFlagSet("app", pflag.ExitOnError); f.Bool("n", false, ""); _, err := f.GetInt("n"); fail(err)', "pflag/flag.go", "trying to get %s value of flag of type %s"),
    Case('f := pflag.NewFlagSet("app", pflag.ExitOnError); f.Bool("n", false, ""); f.Bool("n", false, "")', "pflag/flag.go", "flag redefined: %s", True),
    Case('f := pflag.NewFlagSet("app", pflag.ContinueOnError); f.SetOutput(io.Discard); f.Int("n", 0, ""); fail(f.Parse([]string{"--n=abc"}))', "pflag/flag.go", "invalid argument %q for %q flag: %v"),
)  # fmt: skip

RUST = (
    Case('axum::Router::<()>::new().route("x", axum::routing::get(|| async {}));', "axum/src/routing/path_router.rs", "Paths must start with a `/`"),
    Case('axum::Router::<()>::new().route("/", axum::routing::get(|| async {})).route("/", axum::routing::get(|| async {}));', "axum/src/routing/method_routing.rs", "Overlapping method route. Handler for `{name} {path}` already exists", True),
    Case("let r = || axum::Router::<()>::new().fallback(|| async {}); r().merge(r());", "axum/src/routing/mod.rs", "Cannot merge two `Router`s that both have a fallback"),
    Case("let r = tokio::runtime::Builder::new_current_thread().build().unwrap(); r.block_on(async { tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {}) });", "tokio/src/runtime/context/runtime.rs", "Cannot start a runtime from within a runtime. This happens", True),
    Case("tokio::runtime::Handle::current();", "tokio/src/util/error.rs", "there is no reactor running, must be called from the context"),
    Case("tokio::time::interval(std::time::Duration::ZERO);", "tokio/src/time/interval.rs", "`period` must be non-zero."),
    Case("tokio::sync::mpsc::channel::<u8>(0);", "tokio/src/sync/mpsc/bounded.rs", "mpsc bounded channel requires buffer > 0", True),
    Case("tokio::sync::Semaphore::new(usize::MAX);", "tokio/src/sync/batch_semaphore.rs", "a semaphore may not have more than MAX_PERMITS permits"),
    Case('clap::Command::new("app").arg(clap::Arg::new("a")).arg(clap::Arg::new("a")).get_matches_from(["app"]);', "clap_builder/src/builder/debug_asserts.rs", "Argument names must be unique, but '{}' is in use", True),
    Case('clap::Command::new("app").get_matches_from(["app", "--foo"]);', "clap_builder/src/error/format.rs", "unexpected argument '{invalid}{invalid_arg}{invalid:#}' found"),
)  # fmt: skip

JAVA = (
    Case('NumberUtils.createNumber("abc");', "math/NumberUtils.java", 'throw new NumberFormatException(str + " is not a valid number.");'),
    Case("Fraction.getFraction(1, 0);", "math/Fraction.java", 'throw new ArithmeticException("The denominator must not be zero");'),
    Case('DateUtils.parseDate("x", "yyyy");', "time/DateUtils.java", "Unable to parse the date: ", True),
    Case("RandomStringUtils.random(-1);", "lang3/RandomStringUtils.java", "Requested random string length ", True),
    Case("Range.between(null, 1);", "lang3/Range.java", "Elements in a range must not be null: element1=", True),
    Case('ArrayUtils.toMap(new Object[] {"a"});', "lang3/ArrayUtils.java", "', is neither of type Map.Entry nor an Array", True),
    Case("Conversion.hexDigitToInt('z');", "lang3/Conversion.java", "as a hexadecimal digit"),
    Case('FastDateFormat.getInstance("bbb");', "time/FastDatePrinter.java", "Illegal pattern component: ", True),
    Case("new StopWatch().stop();", "time/StopWatch.java", 'throw new IllegalStateException("Stopwatch is not running. ");'),
    Case('BooleanUtils.toBoolean("a", "b", "c");', "lang3/BooleanUtils.java", "The String did not match either specified value", True),
    Case('MethodUtils.invokeExactMethod("a", "nope");', "reflect/MethodUtils.java", '"No such accessible method: "'),
)  # fmt: skip

CPP = (
    Case('fmt::format(fmt::runtime("{} {1}"), 1, 2);', "fmt/core.h", "cannot switch from automatic to manual argument indexing"),
    Case('fmt::format(fmt::runtime("{1} {}"), 1, 2);', "fmt/core.h", "cannot switch from manual to automatic argument indexing"),
    Case('fmt::format(fmt::runtime("{:{}}"), 1, -2);', "fmt/format.h", "negative width"),
    Case('fmt::format(fmt::runtime("{:.{}}"), 1.5, -2);', "fmt/format.h", "negative precision"),
    Case('fmt::format(fmt::runtime("{}"), static_cast<const char*>(nullptr));', "fmt/format.h", "string pointer is null"),
    Case('fmt::format(fmt::runtime("{:.2}"), 1);', "fmt/core.h", "precision not allowed for this argument type"),
)  # fmt: skip

PERL = (
    Case("use Time::Local; timelocal(0, 0, 0, 32, 1, 2000);", "Time/Local.pm", "out of range 1..$md"),
    Case("use Time::Local; timelocal(0, 0, 25, 1, 1, 2000);", "Time/Local.pm", "Hour '$hour' out of range 0..23"),
    Case("use Getopt::Long; Getopt::Long::Configure('often');", "Getopt/Long.pm", "unknown or erroneous config parameter"),
    Case("use JSON::PP; decode_json('x');", "JSON/PP.pm", "malformed JSON string, neither array, object, number"),
)  # fmt: skip

CASES = {
    "Python": PYTHON,
    "JavaScript and TypeScript": SCRIPT,
    "Go": GO,
    "Rust": RUST,
    "Java": JAVA,
    "C++": CPP,
    "Perl": PERL,
}
