"""References in TypeScript, TSX and JavaScript."""

from __future__ import annotations

from pathlib import Path

from conftest import write_files
from indexed import indexed
from symbols.references import check_references
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts


def test_imports_are_followed_through_aliases_re_exports_stars_and_defaults(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "src/net/connect.ts": (
                "export function connect(host: string) {  // ref: connect definition\n"
                "  return connect(host);  // ref: connect call\n"
                "}\n"
                "function hidden() {}  // ref: hidden definition\n"
                "export default class Client {}  // ref: Client definition\n"
            ),
            "src/net/index.ts": (
                "export * from './connect.js';\n"
                "export { connect as open } from './connect';"
                "  // ref: connect import ;; connect import\n"
                "export { default as Client } from './connect';"
                "  // ref: Client import ;; Client import\n"
            ),
            "src/star.ts": (
                "import { connect, hidden } from './net';  // ref: connect import\n"
                "connect('a');  // ref: connect call\n"
                "hidden();\n"
            ),
            "src/space.ts": (
                "import * as net from './net/index';\n"
                "net.connect('b');  // ref: connect call\n"
                "const made = new net.Client();  // ref: Client call\n"
            ),
            "src/default.ts": (
                "import Client from './net/connect';  // ref: Client import\n"
                "export const one: Client = new Client();  // ref: Client type ;; Client call\n"
            ),
            "src/lazy.ts": (
                "export async function later() {\n"
                "  const { connect } = await import('./net');  // ref: connect read\n"
                "  (await import('./net/connect')).connect('c');  // ref: connect call\n"
                "}\n"
            ),
            "src/other.ts": "import { connect } from 'elsewhere';\nconnect();\n",
        },
    )


def test_uses_under_an_import_alias_are_found(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": "export const limit = 1;  // ref: limit definition\n",
            "b.ts": (
                "import { limit as most } from './a';  // ref: limit import ;; limit import\n"
                "console.log(most);  // ref: limit read\n"
            ),
        },
    )


def test_an_inner_name_hides_an_outer_name(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export const limit = 1;  // ref: limit definition\n"
                "export function one(limit: number) {\n"
                "  return limit;\n"
                "}\n"
                "export const two = (n: number) => {\n"
                "  if (n) {\n"
                "    const limit = 2;\n"
                "    return limit;\n"
                "  }\n"
                "  for (let limit = 0; limit < n; limit++) {}\n"
                "  return limit;  // ref: limit read\n"
                "};\n"
                "try {} catch (limit) { throw limit; }\n"
                "export const three = [1].map((x) => x + limit);  // ref: limit read\n"
            ),
        },
    )


def test_types_and_values_with_one_name_are_separate(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export interface Shape { area: number }  // ref: Shape definition\n"
                "export const Shape = (area: number): Shape => ({ area });  // ref: Shape type\n"
                "export { Shape as Form };  // ref: Shape read ;; Shape import\n"
            ),
            "b.ts": (
                "import { Shape } from './a';  // ref: Shape import\n"
                "const one: Shape = make();  // ref: Shape type\n"
            ),
            "c.ts": "import * as a from './a';\na.Shape(2);\n",
        },
    )


def test_members_are_found_by_declared_types_and_assigned_values(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "net.ts": (
                "export class Base {\n"
                "  close() {}  // ref: Base.close definition\n"
                "}\n"
                "export class Client extends Base {\n"
                "  constructor(private readonly name: string) { super(); }"
                "  // ref: Client.name definition\n"
                "  #secret = 1;\n"
                "  send(text: string): Client {  // ref: Client.send definition\n"
                "    this.close();  // ref: Base.close call\n"
                "    return this.name ? this : this.send(text);"
                "  // ref: Client.name read ;; Client.send call\n"
                "  }\n"
                "  get next(): Client { return this; }\n"
                "}\n"
                "export class Other {\n"
                "  send() {}\n"
                "  close() {}\n"
                "  name = '';\n"
                "}\n"
            ),
            "use.ts": (
                "import { Client, Other } from './net';\n"
                "const client = new Client('a');\n"
                "client.send('a').send('b');  // ref: Client.send call ;; Client.send call\n"
                "client.next?.send('c');  // ref: Client.send call\n"
                "new Other().send();\n"
                "export function all(clients: Client[], by: Map<string, Other>) {\n"
                "  clients.forEach((one) => one.close());  // ref: Base.close call\n"
                "  for (const one of clients) one!.close();  // ref: Base.close call\n"
                "  const [first] = clients;\n"
                "  first.send('d');  // ref: Client.send call\n"
                "  (by as unknown as Client).close();  // ref: Base.close call\n"
                "}\n"
            ),
        },
    )


def test_a_member_and_its_overrides_are_one_symbol(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export interface Closable {\n"
                "  close(): void;  // ref: Closable.close definition\n"
                "}\n"
                "class File implements Closable {\n"
                "  close() {}  // ref: Closable.close definition\n"
                "  static open = 1;  // ref: File.open definition\n"
                "}\n"
                "class Door { close() {} open = 2 }\n"
                "new File().close();  // ref: Closable.close call\n"
                "new Door().close();\n"
                "File.open;  // ref: File.open read\n"
                "new Door().open;\n"
                "const made: Closable = {\n"
                "  close() {},  // ref: Closable.close definition\n"
                "};\n"
            ),
        },
    )


def test_keys_and_patterns_are_members_of_the_expected_type(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export interface Options {\n"
                "  limit: number;  // ref: Options.limit definition\n"
                "}\n"
                "interface Elsewhere { limit: string }\n"
                "export function run({ limit }: Options) {  // ref: Options.limit read\n"
                "  return limit;\n"
                "}\n"
                "run({ limit: 1 });  // ref: Options.limit read\n"
                "const other: Elsewhere = { limit: '' };\n"
                "const { limit: most } = {} as Options;  // ref: Options.limit read\n"
                "type Limit = Options['limit'];  // ref: Options.limit type\n"
            ),
        },
    )


def test_callback_parameters_have_the_expected_types(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export class Sink {\n"
                "  next(value: number) {}  // ref: Sink.next definition\n"
                "}\n"
                "class Walker { next() {} }\n"
                "class Source {\n"
                "  constructor(start: (sink: Sink) => void) {}\n"
                "}\n"
                "new Source((sink) => sink.next(1));  // ref: Sink.next call\n"
                "interface Starter { (sink: Sink, walker: Walker): void }\n"
                "const start: Starter = (sink, walker) => {\n"
                "  sink.next(2);  // ref: Sink.next call\n"
                "  walker.next();\n"
                "};\n"
            ),
        },
    )


def test_unknown_receivers_are_likely_for_rare_names(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "import { make } from './b';\n"
                "export class Client {\n"
                "  transmit() {}  // ref: Client.transmit definition\n"
                "}\n"
                "export function one(thing: any) {\n"
                "  thing.transmit();  // ref: Client.transmit call possible\n"
                "  make().transmit();  // ref: Client.transmit call likely\n"
                "  JSON.transmit();\n"
                "}\n"
            ),
            "b.ts": "export declare const make: <T>() => T;\n",
        },
    )


def test_namespaces_are_merged_and_nested(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export namespace Shape {\n"
                "  export const unit = 1;  // ref: Shape.unit definition\n"
                "  export namespace Inner { export type Side = number }"
                "  // ref: Shape.Inner.Side definition\n"
                "}\n"
                "export namespace Shape {\n"
                "  export const two = unit + 1;  // ref: Shape.unit read\n"
                "}\n"
                "export interface Shape { area: number }\n"
            ),
            "b.ts": (
                "import { Shape } from './a';\n"
                "const side: Shape.Inner.Side = Shape.unit;"
                "  // ref: Shape.Inner.Side type ;; Shape.unit read\n"
            ),
            "c.ts": ("import * as all from './a';\nall.Shape.unit;  // ref: Shape.unit read\n"),
        },
    )


def test_doc_comments_mention_symbols(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export class Client {}  // ref: Client definition\n"
                "/** See {@link Client}. */  // ref: Client read\n"
                "export const one = 1;\n"
            ),
        },
    )


def test_creating_an_object_uses_its_constructor(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export class Client {\n"
                "  constructor(name: string) {}  // ref: Client.constructor definition\n"
                "}\n"
                "class Inner extends Client {\n"
                "  constructor() {\n"
                "    super('a');  // ref: Client.constructor call\n"
                "  }\n"
                "}\n"
                "const kind = Client;\n"
            ),
            "b.ts": (
                "import { Client } from './a';\nnew Client('b');  // ref: Client.constructor call\n"
            ),
        },
    )


def test_common_js_modules_are_followed(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib.js": ("exports.connect = function () {};  // ref: connect definition\n"),
            "whole.js": (
                "class Client {}  // ref: Client definition\n"
                "module.exports = Client;  // ref: Client read\n"
            ),
            "use.js": (
                "const { connect } = require('./lib');  // ref: connect import\n"
                "const lib = require('./lib');\n"
                "const Client = require('./whole');  // ref: Client import\n"
                "connect(new Client());  // ref: connect call ;; Client call\n"
                "lib.connect();  // ref: connect call\n"
            ),
        },
    )


def test_components_and_their_properties_are_found(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "button.tsx": (
                "export interface Props {\n"
                "  label: string;  // ref: Props.label definition\n"
                "}\n"
                "export function Button({ label }: Props) {"
                "  // ref: Button definition ;; Props.label read\n"
                "  return <b title={label}>{label}</b>;\n"
                "}\n"
            ),
            "app.tsx": (
                "import { Button } from './button';  // ref: Button import\n"
                "const label = 'x';\n"
                "export const app = <Button label={label} />;"
                "  // ref: Button read ;; Props.label write\n"
            ),
        },
    )


def test_other_workspace_packages_are_found(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "packages/net/package.json": '{"name": "@own/net"}\n',
            "packages/net/src/index.ts": (
                "export const connect = 1;  // ref: connect definition\n"
            ),
            "packages/net/src/tools.ts": "export const tool = 1;  // ref: tool definition\n",
            "packages/app/package.json": '{"name": "app"}\n',
            "packages/app/src/main.ts": (
                "import { connect } from '@own/net';  // ref: connect import\n"
                "import { tool } from '@own/net/tools';  // ref: tool import\n"
                "import { deep } from '@/deep/one';  // ref: deep import\n"
                "import { connect as far } from 'far';\n"
                "export const used = [connect, tool, deep, far];"
                "  // ref: connect read ;; tool read ;; deep read\n"
            ),
            "packages/app/src/deep/one.ts": "export const deep = 1;  // ref: deep definition\n",
        },
    )


def test_configured_paths_are_followed(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "tsconfig.json": (
                "{\n"
                "  // Comments and commas at the end are allowed.\n"
                '  "extends": "./configs/base",\n'
                '  "compilerOptions": {"strict": true,},\n'
                "}\n"
            ),
            "configs/base.json": (
                '{"compilerOptions": {"baseUrl": "..", "paths": {\n'
                '  "~core": ["src/lib/core.ts"], "@lib/*": ["gone/*", "src/lib/*"],\n'
                '  "@lib/special/*": ["special/*"]}}}\n'
            ),
            "web/jsconfig.json": '{"compilerOptions": {"baseUrl": "./code"}}\n',
            "web/code/tools/one.js": "export const one = 1;  // ref: one definition\n",
            "web/code/main.js": (
                "import { one } from 'tools/one';  // ref: one import\n"
                "import { Svc } from '~core';  // ref: Svc import\n"
            ),
            "src/lib/core.ts": (
                "export class Svc {  // ref: Svc definition\n"
                "  act() {}  // ref: Svc.act definition\n"
                "}\n"
                "export const useThing = () => new Svc();  // ref: Svc call\n"
            ),
            "src/lib/far.ts": "export const far = 1;  // ref: far definition\n",
            "special/far.ts": "export const far = 2;\n",
            "src/app/main.ts": (
                "import { Svc, useThing } from '~core';  // ref: Svc import\n"
                "import { far } from '@lib/far';  // ref: far import\n"
                "import { far as other } from '@lib/special/far';\n"
                "import { Svc as Same } from 'src/lib/core';  // ref: Svc import ;; Svc import\n"
                "import { far as foreign } from 'far';\n"
                "useThing().act();  // ref: Svc.act call\n"
                "new Svc().act();  // ref: Svc call ;; Svc.act call\n"
            ),
        },
    )


def test_package_exports_are_followed(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "packages/a/package.json": (
                '{"name": "@own/net", "exports": {\n'
                '  ".": {"types": "./dist/main.d.ts", "default": "./dist/main.js"},\n'
                '  "./tools/*": "./helpers/*.ts"},\n'
                ' "imports": {"#inner": "./inside/inner.ts"}}\n'
            ),
            "packages/a/src/main.ts": (
                "import { deep } from '#inner';  // ref: deep import\n"
                "export const connect = deep;  // ref: connect definition ;; deep read\n"
            ),
            "packages/a/helpers/tool.ts": "export const tool = 1;  // ref: tool definition\n",
            "packages/a/inside/inner.ts": "export const deep = 1;  // ref: deep definition\n",
            "packages/b/package.json": '{"name": "plain", "main": "lib/start.js"}\n',
            "packages/b/lib/start.js": "exports.begin = () => 1;  // ref: begin definition\n",
            "app/main.ts": (
                "import { connect } from '@own/net';  // ref: connect import\n"
                "import { tool } from '@own/net/tools/tool';  // ref: tool import\n"
                "import { begin } from 'plain';  // ref: begin import\n"
                "import { deep } from '#inner';\n"
            ),
        },
    )


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


def test_a_pattern_reads_a_member_and_binds_a_variable(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export class Dep {\n"
                "  act() {}  // ref: Dep.act definition\n"
                "}\n"
                "export const useThing = () => new Dep();\n"
            ),
            "b.ts": (
                "import { useThing } from './a';\n"
                "const { act } = useThing();  // ref: Dep.act read\n"
                "act();\n"
            ),
            "c.ts": (
                "import { useThing } from './a';\n"
                "export const { act: other } = useThing();  // ref: Dep.act read\n"
                "other();\n"
            ),
        },
    )


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


def test_links_anywhere_in_doc_comments_are_found(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.ts": (
                "export class Client {}  // ref: Client definition\n"
                "/**\n"
                " * @see {@link Client}  // ref: Client read\n"
                " * @throws {Client} see {@link Client()}  // ref: Client type ;; Client read\n"
                " */\n"
                "export function one() {}\n"
            ),
        },
    )


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


def test_scripts_of_components_import_as_modules_do(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "useCache.ts": (
                "export const useCache = () => {  // ref: useCache definition\n"
                "  const drop = () => 1  // ref: drop definition\n"
                "  return { drop }  // ref: drop read\n"
                "}\n"
                "export function useTheme() {}  // ref: useTheme definition\n"
            ),
            "Menu.vue": (
                "<template><b/></template>\n"
                '<script setup lang="ts">\n'
                "import { useCache as cached } from './useCache'"
                "  // ref: useCache import ;; useCache import\n"
                "const { drop } = cached()  // ref: useCache call ;; drop read\n"
                "useTheme()  // ref: useTheme call likely\n"
                "</script>\n"
            ),
            "Other.vue": "<script setup>\nconst drop = 1\nconst useTheme = drop\n</script>\n",
        },
    )


def test_a_value_is_exported_as_the_default(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "settings.ts": "export default read({ a: 1 })  // ref: default definition\n",
            "use.ts": (
                "import settings from './settings'  // ref: default import\n"
                "export const a = settings.a  // ref: default read\n"
            ),
        },
    )


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
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "useCache.ts": (
                "export const useCache = () => {\n"
                "  const drop = () => 1  // ref: drop definition\n"
                "  const hidden = () => 1  // ref: hidden definition\n"
                "  return { drop }  // ref: drop read\n"
                "}\n"
            ),
            "Menu.vue": (
                '<script setup lang="ts">\n'
                "import { useCache } from './useCache'\n"
                "const { drop, hidden } = useCache()  // ref: drop read\n"
                "const cache = useCache()\n"
                "cache.drop(); cache.hidden()  // ref: drop call\n"
                "useCache().drop()  // ref: drop call\n"
                "</script>\n"
            ),
        },
    )
