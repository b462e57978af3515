"""References in TypeScript, TSX and JavaScript."""

from __future__ import annotations

from pathlib import Path

from conftest import write_files
from indexed import indexed
from symbols.references import Check, check_references
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts


def test_imports_are_followed_through_aliases_re_exports_stars_and_defaults(
    check: Check,
) -> None:
    check("""
    -- src/net/connect.ts --
    export function connect(host: string) {  // ref: connect definition
      return connect(host);  // ref: connect call
    }
    function hidden() {}  // ref: hidden definition
    export default class Client {}  // ref: Client definition
    -- src/net/index.ts --
    export * from './connect.js';
    export { connect as open } from './connect';  // ref: connect import ;; connect import
    export { default as Client } from './connect';  // ref: Client import ;; Client import
    -- src/star.ts --
    import { connect, hidden } from './net';  // ref: connect import
    connect('a');  // ref: connect call
    hidden();
    -- src/space.ts --
    import * as net from './net/index';
    net.connect('b');  // ref: connect call
    const made = new net.Client();  // ref: Client call
    -- src/default.ts --
    import Client from './net/connect';  // ref: Client import
    export const one: Client = new Client();  // ref: Client type ;; Client call
    -- src/lazy.ts --
    export async function later() {
      const { connect } = await import('./net');  // ref: connect read
      (await import('./net/connect')).connect('c');  // ref: connect call
    }
    -- src/other.ts --
    import { connect } from 'elsewhere';
    connect();
    """)


def test_uses_under_an_import_alias_are_found(check: Check) -> None:
    check("""
    -- a.ts --
    export const limit = 1;  // ref: limit definition
    -- b.ts --
    import { limit as most } from './a';  // ref: limit import ;; limit import
    console.log(most);  // ref: limit read
    """)


def test_an_inner_name_hides_an_outer_name(check: Check) -> None:
    check("""
    -- a.ts --
    export const limit = 1;  // ref: limit definition
    export function one(limit: number) {
      return limit;
    }
    export const two = (n: number) => {
      if (n) {
        const limit = 2;
        return limit;
      }
      for (let limit = 0; limit < n; limit++) {}
      return limit;  // ref: limit read
    };
    try {} catch (limit) { throw limit; }
    export const three = [1].map((x) => x + limit);  // ref: limit read
    """)


def test_types_and_values_with_one_name_are_separate(check: Check) -> None:
    check("""
    -- a.ts --
    export interface Shape { area: number }  // ref: Shape definition
    export const Shape = (area: number): Shape => ({ area });  // ref: Shape type
    export { Shape as Form };  // ref: Shape read ;; Shape import
    -- b.ts --
    import { Shape } from './a';  // ref: Shape import
    const one: Shape = make();  // ref: Shape type
    -- c.ts --
    import * as a from './a';
    a.Shape(2);
    """)


def test_members_are_found_by_declared_types_and_assigned_values(check: Check) -> None:
    check("""
    -- net.ts --
    export class Base {
      close() {}  // ref: Base.close definition
    }
    export class Client extends Base {
      constructor(private readonly name: string) { super(); }  // ref: Client.name definition
      #secret = 1;
      send(text: string): Client {  // ref: Client.send definition
        this.close();  // ref: Base.close call
        return this.name ? this : this.send(text);  // ref: Client.name read ;; Client.send call
      }
      get next(): Client { return this; }
    }
    export class Other {
      send() {}
      close() {}
      name = '';
    }
    -- use.ts --
    import { Client, Other } from './net';
    const client = new Client('a');
    client.send('a').send('b');  // ref: Client.send call ;; Client.send call
    client.next?.send('c');  // ref: Client.send call
    new Other().send();
    export function all(clients: Client[], by: Map<string, Other>) {
      clients.forEach((one) => one.close());  // ref: Base.close call
      for (const one of clients) one!.close();  // ref: Base.close call
      const [first] = clients;
      first.send('d');  // ref: Client.send call
      (by as unknown as Client).close();  // ref: Base.close call
    }
    """)


def test_a_member_and_its_overrides_are_one_symbol(check: Check) -> None:
    check("""
    -- a.ts --
    export interface Closable {
      close(): void;  // ref: Closable.close definition
    }
    class File implements Closable {
      close() {}  // ref: Closable.close definition
      static open = 1;  // ref: File.open definition
    }
    class Door { close() {} open = 2 }
    new File().close();  // ref: Closable.close call
    new Door().close();
    File.open;  // ref: File.open read
    new Door().open;
    const made: Closable = {
      close() {},  // ref: Closable.close definition
    };
    """)


def test_keys_and_patterns_are_members_of_the_expected_type(check: Check) -> None:
    check("""
    -- a.ts --
    export interface Options {
      limit: number;  // ref: Options.limit definition
    }
    interface Elsewhere { limit: string }
    export function run({ limit }: Options) {  // ref: Options.limit read
      return limit;
    }
    run({ limit: 1 });  // ref: Options.limit read
    const other: Elsewhere = { limit: '' };
    const { limit: most } = {} as Options;  // ref: Options.limit read
    type Limit = Options['limit'];  // ref: Options.limit type
    """)


def test_callback_parameters_have_the_expected_types(check: Check) -> None:
    check("""
    -- a.ts --
    export class Sink {
      next(value: number) {}  // ref: Sink.next definition
    }
    class Walker { next() {} }
    class Source {
      constructor(start: (sink: Sink) => void) {}
    }
    new Source((sink) => sink.next(1));  // ref: Sink.next call
    interface Starter { (sink: Sink, walker: Walker): void }
    const start: Starter = (sink, walker) => {
      sink.next(2);  // ref: Sink.next call
      walker.next();
    };
    """)


def test_unknown_receivers_are_likely_for_rare_names(
    check: Check,
) -> None:
    check("""
    -- a.ts --
    import { make } from './b';
    export class Client {
      transmit() {}  // ref: Client.transmit definition
    }
    export function one(thing: any) {
      thing.transmit();  // ref: Client.transmit call possible
      make().transmit();  // ref: Client.transmit call likely
      JSON.transmit();
    }
    -- b.ts --
    export declare const make: <T>() => T;
    """)


def test_namespaces_are_merged_and_nested(check: Check) -> None:
    check("""
    -- a.ts --
    export namespace Shape {
      export const unit = 1;  // ref: Shape.unit definition
      export namespace Inner { export type Side = number }  // ref: Shape.Inner.Side definition
    }
    export namespace Shape {
      export const two = unit + 1;  // ref: Shape.unit read
    }
    export interface Shape { area: number }
    -- b.ts --
    import { Shape } from './a';
    const side: Shape.Inner.Side = Shape.unit;  // ref: Shape.Inner.Side type ;; Shape.unit read
    -- c.ts --
    import * as all from './a';
    all.Shape.unit;  // ref: Shape.unit read
    """)


def test_doc_comments_mention_symbols(check: Check) -> None:
    check("""
    -- a.ts --
    export class Client {}  // ref: Client definition
    /** See {@link Client}. */  // ref: Client read
    export const one = 1;
    """)


def test_creating_an_object_uses_its_constructor(check: Check) -> None:
    check("""
    -- a.ts --
    export class Client {
      constructor(name: string) {}  // ref: Client.constructor definition
    }
    class Inner extends Client {
      constructor() {
        super('a');  // ref: Client.constructor call
      }
    }
    const kind = Client;
    -- b.ts --
    import { Client } from './a';
    new Client('b');  // ref: Client.constructor call
    """)


def test_common_js_modules_are_followed(check: Check) -> None:
    check("""
    -- lib.js --
    exports.connect = function () {};  // ref: connect definition
    -- whole.js --
    class Client {}  // ref: Client definition
    module.exports = Client;  // ref: Client read
    -- use.js --
    const { connect } = require('./lib');  // ref: connect import
    const lib = require('./lib');
    const Client = require('./whole');  // ref: Client import
    connect(new Client());  // ref: connect call ;; Client call
    lib.connect();  // ref: connect call
    """)


def test_components_and_their_properties_are_found(check: Check) -> None:
    check("""
    -- button.tsx --
    export interface Props {
      label: string;  // ref: Props.label definition
    }
    export function Button({ label }: Props) {  // ref: Button definition ;; Props.label read
      return <b title={label}>{label}</b>;
    }
    -- app.tsx --
    import { Button } from './button';  // ref: Button import
    const label = 'x';
    export const app = <Button label={label} />;  // ref: Button read ;; Props.label write
    """)


def test_other_workspace_packages_are_found(check: Check) -> None:
    check("""
    -- packages/net/package.json --
    {"name": "@own/net"}
    -- packages/net/src/index.ts --
    export const connect = 1;  // ref: connect definition
    -- packages/net/src/tools.ts --
    export const tool = 1;  // ref: tool definition
    -- packages/app/package.json --
    {"name": "app"}
    -- packages/app/src/main.ts --
    import { connect } from '@own/net';  // ref: connect import
    import { tool } from '@own/net/tools';  // ref: tool import
    import { deep } from '@/deep/one';  // ref: deep import
    import { connect as far } from 'far';
    export const used = [connect, tool, deep, far];  // ref: connect read ;; tool read ;; deep read
    -- packages/app/src/deep/one.ts --
    export const deep = 1;  // ref: deep definition
    """)


def test_configured_paths_are_followed(check: Check) -> None:
    check("""
    -- tsconfig.json --
    {
      // Comments and commas at the end are allowed.
      "extends": "./configs/base",
      "compilerOptions": {"strict": true,},
    }
    -- configs/base.json --
    {"compilerOptions": {"baseUrl": "..", "paths": {
      "~core": ["src/lib/core.ts"], "@lib/*": ["gone/*", "src/lib/*"],
      "@lib/special/*": ["special/*"]}}}
    -- web/jsconfig.json --
    {"compilerOptions": {"baseUrl": "./code"}}
    -- web/code/tools/one.js --
    export const one = 1;  // ref: one definition
    -- web/code/main.js --
    import { one } from 'tools/one';  // ref: one import
    import { Svc } from '~core';  // ref: Svc import
    -- src/lib/core.ts --
    export class Svc {  // ref: Svc definition
      act() {}  // ref: Svc.act definition
    }
    export const useThing = () => new Svc();  // ref: Svc call
    -- src/lib/far.ts --
    export const far = 1;  // ref: far definition
    -- special/far.ts --
    export const far = 2;
    -- src/app/main.ts --
    import { Svc, useThing } from '~core';  // ref: Svc import
    import { far } from '@lib/far';  // ref: far import
    import { far as other } from '@lib/special/far';
    import { Svc as Same } from 'src/lib/core';  // ref: Svc import ;; Svc import
    import { far as foreign } from 'far';
    useThing().act();  // ref: Svc.act call
    new Svc().act();  // ref: Svc call ;; Svc.act call
    """)


def test_package_exports_are_followed(check: Check) -> None:
    check("""
    -- packages/a/package.json --
    {"name": "@own/net", "exports": {
      ".": {"types": "./dist/main.d.ts", "default": "./dist/main.js"},
      "./tools/*": "./helpers/*.ts"},
     "imports": {"#inner": "./inside/inner.ts"}}
    -- packages/a/src/main.ts --
    import { deep } from '#inner';  // ref: deep import
    export const connect = deep;  // ref: connect definition ;; deep read
    -- packages/a/helpers/tool.ts --
    export const tool = 1;  // ref: tool definition
    -- packages/a/inside/inner.ts --
    export const deep = 1;  // ref: deep definition
    -- packages/b/package.json --
    {"name": "plain", "main": "lib/start.js"}
    -- packages/b/lib/start.js --
    exports.begin = () => 1;  // ref: begin definition
    -- app/main.ts --
    import { connect } from '@own/net';  // ref: connect import
    import { tool } from '@own/net/tools/tool';  // ref: tool import
    import { begin } from 'plain';  // ref: begin import
    import { deep } from '#inner';
    """)


def test_constructor_functions_are_classes(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "old.js": (
                "function Old(size) {  // ref: Old definition\n"
                "  this.size = size;  // ref: Old.size definition\n"
                "}\n"
                "Old.prototype.grow = function () {"
                "  // ref: Old read ;; Old.grow definition\n"
                "  this.size += 1;  // ref: Old.size write\n"
                "  this.shrink();  // ref: Old.shrink call\n"
                "  return grow(this);\n"
                "};\n"
                "Old.make = function () { return new Old(1); };"
                "  // ref: Old read ;; Old call ;; Old.make definition\n"
                "const Whole = function () { this.part = 1; };"
                "  // ref: Whole definition ;; Whole.part definition\n"
                "Whole.prototype = {  // ref: Whole read\n"
                "  shrink() { return this.part; },"
                "  // ref: Whole.shrink definition ;; Whole.part read\n"
                "};\n"
                "Old.prototype.shrink = function () {};"
                "  // ref: Old read ;; Old.shrink definition\n"
                "new Whole().shrink();  // ref: Whole call ;; Whole.shrink call\n"
                "module.exports = Old;  // ref: Old read\n"
            ),
            "use.js": (
                "const Old = require('./old');  // ref: Old import\n"
                "const one = new Old(2);  // ref: Old call\n"
                "one.grow();  // ref: Old.grow call\n"
                "one.shrink();  // ref: Old.shrink call\n"
                "Old.make().size;  // ref: Old read ;; Old.make call ;; Old.size read\n"
            ),
        },
    )


def test_private_members_are_found_by_the_word_after_the_hash(tmp_path: Path) -> None:
    text = "class A {\n  #close() {}\n  end() { this.#close(); }\n}\n"
    write_files(tmp_path, {"a.js": text})
    path = (tmp_path / "a.js").as_posix()
    with indexed(tmp_path) as view:
        navigation = Navigation(view, SourceTexts([tmp_path], {}, 1_000_000))
        for at in (text.index("#"), text.index("close"), text.index("close();") + 5):
            asked = navigation.at(path, at)
            assert asked is not None
            uses = [(use.at, use.name, use.kind) for use in navigation.references(asked)]
            assert uses == [
                (text.index("#close"), "#close", "definition"),
                (text.index("#close();"), "#close", "call"),
            ]
        assert navigation.symbols_on(path, 1) == [(text.index("#close"), "#close")]
        for name in ("#close", "A.#close", "A#close"):
            assert [one.qualified_name for _, one in navigation.named(name)] == ["A.#close"]


def test_a_parameter_property_is_reported_as_the_field(tmp_path: Path) -> None:
    text = "class Square {\n  constructor(private side: number) { side; this.side; }\n}\n"
    write_files(tmp_path, {"a.ts": text})
    path = (tmp_path / "a.ts").as_posix()
    with indexed(tmp_path) as view:
        navigation = Navigation(view, SourceTexts([tmp_path], {}, 1_000_000))
        asked = navigation.at(path, text.index("side"))
        assert asked is not None
        found = [one.definition for one in asked.places]
        assert [(one.qualified_name, one.kind) for one in found if one] == [
            ("Square.side", "field")
        ]
        assert len(list(navigation.references(asked))) == 3


def test_a_pattern_reads_a_member_and_binds_a_variable(check: Check) -> None:
    check("""
    -- a.ts --
    export class Dep {
      act() {}  // ref: Dep.act definition
    }
    export const useThing = () => new Dep();
    -- b.ts --
    import { useThing } from './a';
    const { act } = useThing();  // ref: Dep.act read
    act();
    -- c.ts --
    import { useThing } from './a';
    export const { act: other } = useThing();  // ref: Dep.act read
    other();
    """)


def test_an_import_string_leads_to_the_file(tmp_path: Path) -> None:
    text = "import { lift } from './util/lift';\nconst other = './util/lift.js';\n"
    write_files(tmp_path, {"a.ts": text, "util/lift.ts": "export const lift = 1;\n"})
    path = (tmp_path / "a.ts").as_posix()
    with indexed(tmp_path) as view:
        navigation = Navigation(view, SourceTexts([tmp_path], {}, 1_000_000))
        for word in ("./util", "/util", "lift'"):
            asked = navigation.at(path, text.index(word))
            assert asked is not None
            assert [(one.path, one.at) for one in asked.places] == [
                ((tmp_path / "util/lift.ts").as_posix(), 0)
            ]
        assert navigation.at(path, text.index("lift.js")) is None


def test_links_anywhere_in_doc_comments_are_found(check: Check) -> None:
    check("""
    -- a.ts --
    export class Client {}  // ref: Client definition
    /**
     * @see {@link Client}  // ref: Client read
     * @throws {Client} see {@link Client()}  // ref: Client type ;; Client read
     */
    export function one() {}
    """)


def test_names_of_scripts_and_global_declarations_are_visible_in_all_files(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "types.d.ts": (
                "declare module 'a' { import type { B } from 'b'\n export default B }\n"
                "interface Song { title: string }"
                "  // ref: Song definition ;; Song.title definition\n"
                "type Playable = Song | number  // ref: Playable definition ;; Song type\n"
            ),
            "more.ts": (
                "export {}\n"
                "declare global {\n"
                "  interface Station { song: Song }  // ref: Station definition ;; Song type\n"
                "}\n"
            ),
            "use.ts": (
                "import './types'\n"
                "export const play = (song: Song, at: Station) => song.title"
                "  // ref: Song type ;; Station type ;; Song.title read\n"
            ),
            "own.ts": "export interface Song {}\nexport const own = (song: Song) => song\n",
            "page.js": "function show() {}  // ref: show definition\n",
            "other.js": "export const later = () => show()  // ref: show call likely\n",
        },
    )


def test_scripts_of_components_import_as_modules_do(check: Check) -> None:
    check("""
    -- useCache.ts --
    export const useCache = () => {  // ref: useCache definition
      const drop = () => 1  // ref: drop definition
      return { drop }  // ref: drop read
    }
    export function useTheme() {}  // ref: useTheme definition
    -- Menu.vue --
    <template><b/></template>
    <script setup lang="ts">
    import { useCache as cached } from './useCache'  // ref: useCache import ;; useCache import
    const { drop } = cached()  // ref: useCache call ;; drop read
    useTheme()  // ref: useTheme call likely
    </script>
    -- Other.vue --
    <script setup>
    const drop = 1
    const useTheme = drop
    </script>
    """)


def test_a_value_is_exported_as_the_default(check: Check) -> None:
    check("""
    -- settings.ts --
    export default read({ a: 1 })  // ref: default definition
    -- use.ts --
    import settings from './settings'  // ref: default import
    export const a = settings.a  // ref: default read
    """)


def test_a_component_has_the_name_of_its_file(tmp_path: Path) -> None:
    files = {
        "ui/AlertBox.vue": (
            "<template><b/><alert-box/></template>\n<script>\nexport default { a: 1 }\n</script>\n"
        ),
        "Form.vue": (
            "<template><AlertBox/></template>\n"
            "<script setup>\nimport AlertBox from './ui/AlertBox.vue'\n</script>\n"
        ),
        "Auto.vue": "<template><AlertBox/></template>\n",
        "Hyphens.vue": (
            "<template><alert-box a/><ion-icon/></template>\n"
            "<script>\nimport AlertBox from './ui/AlertBox.vue'\n</script>\n"
        ),
        "lazy.ts": (
            "export const Later = defineAsyncComponent(() => import('./ui/AlertBox.vue'))\n"
            "export const shown = Later\n"
        ),
        "Other.vue": "<template><AlertBox/></template>\n<script>\nconst AlertBox = 1\n</script>\n",
    }
    write_files(tmp_path, files)
    with indexed(tmp_path) as view:
        navigation = Navigation(view, SourceTexts([tmp_path], {}, 1_000_000))
        [(file, definition)] = [
            found for found in navigation.named("AlertBox") if found[1].kind == "module"
        ]
        symbol = navigation.of_definition(file, definition)
        uses = [
            f"{use.path.removeprefix(f'{tmp_path}/')}:{use.at} {use.name} {use.kind} {use.tier}"
            for use in navigation.references(symbol)
        ]
    assert not navigation.changed
    assert sorted(uses) == [
        "Auto.vue:11 AlertBox call likely",
        "Form.vue:11 AlertBox call certain",
        "Form.vue:55 AlertBox import certain",
        "Hyphens.vue:11 alert-box call certain",
        "Hyphens.vue:63 AlertBox import certain",
        "lazy.ts:13 Later import certain",
        "lazy.ts:98 Later read certain",
        "ui/AlertBox.vue:0 AlertBox definition certain",
        "ui/AlertBox.vue:15 alert-box call certain",
        "ui/AlertBox.vue:54 default definition certain",
    ]


def test_names_that_a_function_returns_in_an_object_are_used_through_its_calls(
    check: Check,
) -> None:
    check("""
    -- useCache.ts --
    export const useCache = () => {
      const drop = () => 1  // ref: drop definition
      const hidden = () => 1  // ref: hidden definition
      return { drop }  // ref: drop read
    }
    -- Menu.vue --
    <script setup lang="ts">
    import { useCache } from './useCache'
    const { drop, hidden } = useCache()  // ref: drop read
    const cache = useCache()
    cache.drop(); cache.hidden()  // ref: drop call
    useCache().drop()  // ref: drop call
    </script>
    """)
