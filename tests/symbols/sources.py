"""A small source for every grammar without a query, and the definitions in it."""

from __future__ import annotations

from collections.abc import Mapping

SOURCES: Mapping[str, tuple[str, str]] = {
    "actionscript": (
        "package demo {\n"
        " public class Shop extends Base {\n"
        "  private var count:int = 1;\n"
        "  public static const MAX:int = 3;\n"
        "  public function Shop() {}\n"
        "  public function run(x:int):void { var y:int = 1; }\n"
        " }\n"
        "}\n",
        "module:demo class:demo.Shop field:demo.Shop.count constant:demo.Shop.MAX"
        " method:demo.Shop.Shop method:demo.Shop.run",
    ),
    "ada": (
        "package Demo is\n"
        "   Max : constant Integer := 3;\n"
        "   type Color is (Red, Green);\n"
        "   type Point is record\n"
        "      X : Integer;\n"
        "   end record;\n"
        "   procedure Run (A : Integer);\n"
        "   function Total return Integer;\n"
        "end Demo;\n"
        "package body Demo is\n"
        "   procedure Run (A : Integer) is\n"
        "   begin\n"
        "      null;\n"
        "   end Run;\n"
        "end Demo;\n",
        "module:Demo type:Demo.Color enum:Demo.Red type:Demo.Point field:Demo.X"
        " function:Demo.Run function:Demo.Total module:Demo function:Demo.Run",
    ),
    "agda": (
        "module Demo where\n"
        "\n"
        "data Nat : Set where\n"
        "  zero : Nat\n"
        "  suc : Nat -> Nat\n"
        "\n"
        "add : Nat -> Nat -> Nat\n"
        "add zero m = m\n",
        "type:Nat",
    ),
    "apex": (
        "public class Shop {\n"
        "  private Integer count = 1;\n"
        "  public static final Integer MAX = 3;\n"
        "  public Shop() {}\n"
        "  public void run(Integer x) { Integer y = 1; }\n"
        "  public enum Color { RED, GREEN }\n"
        "}\n",
        "class:Shop field:Shop.count field:Shop.MAX constructor:Shop.Shop method:Shop.run"
        " enum:Shop.Color enum_member:Shop.Color.RED enum_member:Shop.Color.GREEN",
    ),
    "bicep": (
        "param location string = 'x'\n"
        "var name = 'y'\n"
        "resource store 'Microsoft.Storage/x@2021' = {\n"
        "  name: name\n"
        "}\n"
        "module web './web.bicep' = {\n"
        "  name: 'web'\n"
        "}\n"
        "output id string = store.id\n"
        "type T = string\n"
        "func f(a string) string => a\n",
        "variable:name variable:store module:web variable:id type:T",
    ),
    "bitbake": (
        'SUMMARY = "x"\n'
        'DEPENDS = "y"\n'
        "do_install() {\n"
        "  install -d x\n"
        "}\n"
        "python do_thing() {\n"
        "  pass\n"
        "}\n"
        "def helper(d):\n"
        "  return 1\n",
        "function:do_install function:helper",
    ),
    "bsl": (
        "Процедура Запуск(А)\n"
        "КонецПроцедуры\n"
        "Функция Сумма(А)\n"
        " Возврат 1;\n"
        "КонецФункции\n"
        "Перем Имя;\n",
        "function:Запуск function:Сумма variable:Имя",
    ),
    "cairo": (
        "const MAX: felt252 = 3;\n"
        "struct Point { x: u32 }\n"
        "trait Run { fn go(self: @Point); }\n"
        "fn add(a: u32) -> u32 { a }\n",
        "constant:MAX struct:Point field:Point.x trait:Run method:Run.go function:add",
    ),
    "capnp": (
        "@0xdbb9ad1f14bf0b36;\n"
        "struct Person {\n"
        "  name @0 :Text;\n"
        "}\n"
        "enum Color { red @0; green @1; }\n"
        "interface Run { go @0 (x :Int32) -> (); }\n"
        "const max :Int32 = 3;\n",
        "struct:Person enum:Color interface:Run method:Run.go",
    ),
    "clarity": (
        "(define-constant MAX u3)\n"
        "(define-data-var count uint u0)\n"
        "(define-public (run (x uint)) (ok x))\n"
        "(define-private (hid) 1)\n",
        "constant:MAX variable:count function:run function:hid",
    ),
    "d": (
        "module demo;\n"
        "struct Point { int x; }\n"
        "class Shop : Base { int count; this() {} void run(int a) { int y; } }\n"
        "interface Run { void go(); }\n"
        "enum Color { red, green }\n"
        "int add(int a) { return a; }\n"
        "alias T = int;\n"
        "enum max = 3;\n"
        "template Foo(T) { }\n",
        "struct:Point field:Point.x class:Shop field:Shop.count method:Shop.run"
        " interface:Run method:Run.go enum:Color enum_member:Color.red"
        " enum_member:Color.green function:add macro:Foo",
    ),
    "elm": (
        "module Demo exposing (..)\n"
        "\n"
        "type Msg = Increment | Set Int\n"
        "\n"
        "type alias Model = { count : Int }\n"
        "\n"
        "update : Msg -> Model -> Model\n"
        "update msg model =\n"
        "    model\n",
        "module:Demo type:Msg type:Model variable:msg",
    ),
    "erlang": (
        "-module(demo).\n"
        "-export([run/1]).\n"
        "-define(MAX, 3).\n"
        "-record(point, {x, y}).\n"
        "-type color() :: red | green.\n"
        "-spec run(integer()) -> integer().\n"
        "run(X) -> X;\n"
        "run(_) -> 0.\n"
        "hid() -> ok.\n",
        "module:demo macro:MAX struct:point field:point.x field:point.y type:color"
        " function:run function:hid",
    ),
    "fish": (
        "function run --description 'Runs'\n  echo hi\nend\nset -g name 1\nalias ll 'ls -l'\n",
        "function:run",
    ),
    "fortran": (
        "module demo\n"
        "  implicit none\n"
        "  integer, parameter :: max = 3\n"
        "  type :: point\n"
        "    integer :: x\n"
        "  end type point\n"
        "contains\n"
        "  subroutine run(a)\n"
        "    integer :: a\n"
        "  end subroutine run\n"
        "  function total(a) result(b)\n"
        "    integer :: a, b\n"
        "  end function total\n"
        "end module demo\n"
        "program main\n"
        "end program main\n",
        "module:demo variable:demo.max struct:demo.point field:demo.point.x"
        " function:demo.run function:demo.total module:main",
    ),
    "fsharp": (
        "module Demo\n"
        "\n"
        "type Color = Red | Green\n"
        "type Point = { X: int; Y: int }\n"
        "let max = 3\n"
        "let add a b = a + b\n"
        "type Shop(name: string) =\n"
        "    member this.Run(x) = x\n"
        "    member val Count = 1 with get, set\n",
        "type:Color type:Point function:max function:add type:Shop",
    ),
    "fsharp_signature": (
        "module Demo\n\nval add : int -> int\n",
        "variable:add",
    ),
    "func": (
        "int add(int a, int b) {\n  return a + b;\n}\n() run() impure { }\n",
        "function:add function:run",
    ),
    "gdscript": (
        "class_name Shop\n"
        "extends Node\n"
        "signal sold(item)\n"
        "const MAX = 3\n"
        "enum Color { RED, GREEN }\n"
        "@export var count = 1\n"
        'var name: String = "x"\n'
        "func _ready():\n"
        "\tvar y = 1\n"
        "static func run(x: int) -> int:\n"
        "\treturn x\n"
        "class Inner:\n"
        "\tfunc f():\n"
        "\t\tpass\n",
        "class:Shop event:sold constant:MAX enum:Color enum_member:Color.RED"
        " enum_member:Color.GREEN variable:count variable:name function:_ready"
        " function:run class:Inner method:Inner.f",
    ),
    "gleam": (
        "import gleam/io\n"
        "pub const max = 3\n"
        "pub type Color {\n"
        "  Red\n"
        "  Green(Int)\n"
        "}\n"
        "type Alias = Int\n"
        "pub fn run(x: Int) -> Int {\n"
        "  x\n"
        "}\n"
        "fn hid() { 1 }\n",
        "constant:max type:Color type:Alias function:run function:hid",
    ),
    "glsl": (
        "uniform float t;\n"
        "struct P { float x; };\n"
        "float add(float a) { return a; }\n"
        "void main() { }\n",
        "struct:P field:P.x function:add function:main",
    ),
    "hack": (
        "<?hh\n"
        "namespace Demo;\n"
        "class Shop extends Base {\n"
        "  private int $count = 1;\n"
        "  const int MAX = 3;\n"
        "  public function run(int $x): void {}\n"
        "}\n"
        "interface IRun {}\n"
        "trait T {}\n"
        "enum Color: int { RED = 1; }\n"
        "function add(int $a): int { return $a; }\n"
        "type Alias = int;\n",
        "module:Demo class:Shop property:Shop.$count constant:Shop.MAX method:Shop.run"
        " interface:IRun trait:T enum:Color enum_member:Color.RED function:add type:Alias",
    ),
    "hare": (
        "use fmt;\n"
        "def MAX: int = 3;\n"
        "type point = struct { x: int };\n"
        "export fn run(a: int) int = {\n"
        "\tlet y = 1;\n"
        "\treturn a;\n"
        "};\n"
        "let count: int = 1;\n",
        "constant:MAX type:point function:run variable:count",
    ),
    "haxe": (
        "package demo;\n"
        "class Shop extends Base {\n"
        "  var count:Int = 1;\n"
        "  public function run(x:Int):Void { var y = 1; }\n"
        "}\n"
        "interface Run {}\n",
        "module:demo class:Shop field:Shop.count method:Shop.run interface:Run",
    ),
    "hlsl": (
        "cbuffer B { float4 c; };\n"
        "struct P { float x; };\n"
        "float4 main(float a) : SV_Target { return a; }\n",
        "function:B struct:P field:P.x function:main",
    ),
    "ispc": (
        "export void run(uniform float a[]) { }\nstruct P { float x; };\n",
        "function:run struct:P field:P.x",
    ),
    "julia": (
        "module Demo\n"
        "export run\n"
        "const MAX = 3\n"
        "abstract type Shape end\n"
        "struct Point <: Shape\n"
        "  x::Int\n"
        "end\n"
        "mutable struct M\n"
        "  y\n"
        "end\n"
        "function run(x::Int)\n"
        "  y = 1\n"
        "end\n"
        "add(a, b) = a + b\n"
        "macro m(x) end\n"
        "Base.show(io, p::Point) = 1\n"
        "end\n",
        "module:Demo constant:Demo.MAX type:Demo.Shape struct:Demo.Point struct:Demo.M"
        " function:Demo.run function:Demo.add macro:Demo.m",
    ),
    "llvm": (
        "@g = global i32 1\n"
        "%T = type { i32 }\n"
        "define i32 @run(i32 %a) {\n"
        "  ret i32 %a\n"
        "}\n"
        "declare void @ext()\n",
        "function:@run function:@ext",
    ),
    "luau": (
        "local M = {}\n"
        "type Point = { x: number }\n"
        "export type T = string\n"
        "function M.run(x: number): number return x end\n"
        "local function hid() end\n",
        "variable:M type:Point type:T function:M.run function:hid",
    ),
    "nim": (
        "const max = 3\n"
        "type\n"
        "  Color = enum red, green\n"
        "  Point = object\n"
        "    x*: int\n"
        "var count = 1\n"
        "proc run*(a: int): int =\n"
        "  let y = 1\n"
        "  a\n"
        "func add(a: int): int = a\n"
        "template t() = discard\n"
        "macro m() = discard\n",
        "variable:max type:Color enum_member:red enum_member:green type:Point"
        " variable:count function:run* function:add macro:t macro:m",
    ),
    "nix": (
        "{ pkgs }:\n"
        "let\n"
        "  max = 3;\n"
        "  add = a: b: a + b;\n"
        "in\n"
        "{\n"
        '  name = "x";\n'
        "  meta.license = max;\n"
        "  nested = { deep = 1; };\n"
        "}\n",
        "variable:max variable:add variable:name variable:meta variable:nested",
    ),
    "ocaml": (
        "module Demo = struct\n"
        "  let x = 1\n"
        "end\n"
        "type color = Red | Green of int\n"
        "type point = { x : int; mutable y : int }\n"
        "exception Bad of string\n"
        "let max = 3\n"
        "let add a b = let y = 1 in a + b\n"
        "let rec fact n = n and odd m = m\n"
        "class shop = object method run x = x val mutable count = 1 end\n"
        "module type S = sig val f : int end\n"
        'external ext : int -> int = "ext"\n',
        "module:Demo variable:Demo.x type:color enum_member:Red enum_member:Green"
        " type:point property:x property:y type:Bad variable:max function:add"
        " function:fact function:odd class:shop method:shop.run field:shop.count module:S"
        " variable:S.f function:ext",
    ),
    "ocaml_interface": (
        "val add : int -> int\n"
        "type color = Red | Green\n"
        "module M : sig val x : int end\n"
        "exception Bad\n",
        "function:add type:color enum_member:Red enum_member:Green module:M function:M.x type:Bad",
    ),
    "odin": (
        "package demo\n"
        "MAX :: 3\n"
        "Point :: struct { x: int }\n"
        "Color :: enum { Red, Green }\n"
        "run :: proc(a: int) -> int {\n"
        "\ty := 1\n"
        "\treturn a\n"
        "}\n"
        "count: int = 1\n",
        "module:demo constant:MAX struct:Point enum:Color function:run variable:count",
    ),
    "pascal": (
        "unit Demo;\n"
        "interface\n"
        "const Max = 3;\n"
        "type\n"
        "  TColor = (Red, Green);\n"
        "  TShop = class(TBase)\n"
        "  private\n"
        "    FCount: Integer;\n"
        "  public\n"
        "    procedure Run(X: Integer);\n"
        "    property Count: Integer read FCount;\n"
        "  end;\n"
        "var Total: Integer;\n"
        "function Add(A: Integer): Integer;\n"
        "implementation\n"
        "procedure TShop.Run(X: Integer);\n"
        "begin\n"
        "end;\n"
        "end.\n",
        "constant:Max type:TColor enum_member:Red enum_member:Green type:TShop"
        " function:Run property:Count variable:Total function:Add function:TShop.Run",
    ),
    "perl": (
        "package Demo::Shop;\n"
        "use strict;\n"
        "# Runs.\n"
        "sub run { my $x = shift; }\n"
        "sub hid { 1 }\n"
        "1;\n",
        "module:Demo::Shop function:run function:hid",
    ),
    "pony": (
        "actor Main\n"
        "  let count: U32 = 1\n"
        "  new create(env: Env) => None\n"
        "  fun run(x: U32): U32 => x\n"
        "  be go() => None\n"
        "class Shop\n"
        '  var name: String = ""\n'
        "interface Run\n"
        "  fun go()\n"
        "type T is U32\n",
        "class:Main constructor:Main.create method:Main.run class:Shop interface:Run"
        " method:Run.go type:T",
    ),
    "powershell": (
        "function Get-Shop {\n"
        "  param($Name)\n"
        "  $y = 1\n"
        "}\n"
        "class Shop {\n"
        "  [int]$Count\n"
        "  Shop() {}\n"
        "  [void] Run([int]$x) {}\n"
        "}\n"
        "enum Color { Red; Green }\n"
        "$Total = 1\n"
        "filter Only { $_ }\n",
        "function:Get-Shop class:Shop property:Shop.$Count method:Shop.Shop"
        " method:Shop.Run enum:Color enum_member:Color.Red enum_member:Color.Green"
        " function:Only",
    ),
    "puppet": (
        "class demo ($name) {\n}\ndefine item ($x) { }\nfunction add($a) { $a }\n",
        "class:demo function:add",
    ),
    "purescript": (
        "module Demo where\n"
        "\n"
        "data Color = Red | Green Int\n"
        "newtype Id = Id Int\n"
        "type P = { x :: Int }\n"
        "class Run a where\n"
        "  go :: a -> Int\n"
        "add :: Int -> Int -> Int\n"
        "add a b = a\n",
        "type:Color type:Id type:P class:a function:add",
    ),
    "qmljs": (
        "import QtQuick 2.0\n"
        "Item {\n"
        "  id: root\n"
        "  property int count: 1\n"
        "  signal sold(int x)\n"
        "  function run(x) { var y = 1 }\n"
        "  Rectangle { id: box }\n"
        "}\n",
        "variable:id function:run variable:id",
    ),
    "smithy": (
        '$version: "2"\n'
        "namespace demo\n"
        "structure Point { x: Integer }\n"
        "service Shop { operations: [Run] }\n"
        "operation Run { input: Point }\n"
        "string Name\n",
        "struct:Point class:Shop",
    ),
    "solidity": (
        "pragma solidity ^0.8.0;\n"
        "uint constant TOP = 3;\n"
        "interface IRun { function go() external; }\n"
        "library L { }\n"
        "contract Shop is Base {\n"
        "  uint public count;\n"
        "  struct Point { uint x; }\n"
        "  enum Color { Red, Green }\n"
        "  event Sold(uint x);\n"
        "  error Bad(uint x);\n"
        "  modifier only() { _; }\n"
        "  mapping(address => uint) private m;\n"
        "  constructor() {}\n"
        "  function run(uint x) public returns (uint) { uint y = 1; return y; }\n"
        "}\n",
        "constant:TOP interface:IRun method:IRun.go module:L class:Shop field:Shop.count"
        " struct:Shop.Point enum:Shop.Color event:Shop.Sold type:Shop.Bad macro:Shop.only"
        " field:Shop.m method:Shop.run",
    ),
    "squirrel": (
        "class Shop extends Base {\n"
        "  count = 1;\n"
        "  constructor() {}\n"
        "  function run(x) { local y = 1; }\n"
        "}\n"
        "function add(a) { return a; }\n"
        "const MAX = 3;\n"
        "enum Color { Red, Green }\n"
        "local top = 1;\n",
        "class:Shop field:Shop.count method:Shop.run function:add constant:MAX enum:Color",
    ),
    "starlark": (
        'load(":x.bzl", "y")\n'
        "MAX = 3\n"
        "def run(x):\n"
        '  """Runs."""\n'
        "  y = 1\n"
        "  return x\n"
        'cc_library(name = "demo", srcs = [])\n',
        "function:run",
    ),
    "tablegen": (
        "class Shop<int x> {\n"
        "  int Count = x;\n"
        "}\n"
        "def Demo : Shop<1>;\n"
        "multiclass M { def a; }\n"
        "defm D : M;\n",
        "class:Shop",
    ),
    "tcl": (
        "namespace eval demo {\n"
        "  variable max 3\n"
        "  proc run {x} { set y 1 }\n"
        "}\n"
        "proc add {a b} { expr {$a + $b} }\n",
        "function:run function:add",
    ),
    "thrift": (
        "namespace py demo\n"
        "const i32 MAX = 3\n"
        "typedef i32 Id\n"
        "enum Color { RED = 1, GREEN }\n"
        "struct Point { 1: i32 x }\n"
        "exception Bad { 1: string why }\n"
        "service Shop {\n"
        "  i32 run(1: i32 a)\n"
        "}\n",
        "constant:MAX type:Id enum:Color struct:Point type:Bad class:Shop method:Shop.run",
    ),
    "v": (
        "module demo\n"
        "struct Point { x int }\n"
        "enum Color { red green }\n"
        "fn add(a int) int { return a }\n",
        "struct:Point field:Point.x enum:Color enum_member:Color.red"
        " enum_member:Color.green function:add",
    ),
    "verilog": (
        "module demo(input clk, output reg q);\n"
        "  parameter MAX = 3;\n"
        "  wire w;\n"
        "  always @(posedge clk) q <= 1;\n"
        "  function integer add(input integer a); add = a; endfunction\n"
        "  task run; begin end endtask\n"
        "endmodule\n"
        "class Shop; int count; function void go(); endfunction endclass\n"
        "package p; typedef int T; endpackage\n"
        "interface bus; endinterface\n",
        "module:demo function:run class:Shop module:p type:p.T interface:bus",
    ),
    "vhdl": (
        "entity demo is\n"
        "  port (clk : in std_logic);\n"
        "end demo;\n"
        "architecture rtl of demo is\n"
        "  signal s : std_logic;\n"
        "  constant MAX : integer := 3;\n"
        "  component c is end component;\n"
        "  function add(a : integer) return integer is begin return a; end;\n"
        "begin\n"
        "  p : process(clk) begin end process;\n"
        "end rtl;\n"
        "package pk is\n"
        "  type color is (red, green);\n"
        "end pk;\n",
        "class:demo module:rtl event:rtl.s constant:rtl.MAX field:rtl.c module:pk"
        " type:pk.color enum:pk.red",
    ),
    "vim": (
        "let g:max = 3\n"
        "function! Run(x) abort\n"
        "  let y = 1\n"
        "endfunction\n"
        "function s:hid()\n"
        "endfunction\n"
        "function demo#auto()\n"
        "endfunction\n"
        "command! -nargs=1 Go call Run(<q-args>)\n"
        "augroup Demo\n"
        "augroup END\n",
        "variable:max function:Run variable:y function:s:hid function:demo#auto",
    ),
    "wgsl": (
        "struct Point { x: f32, y: f32 }\nfn add(a: i32) -> i32 { var y = 1; return a; }\n",
        "struct:Point field:Point.x field:Point.y function:add",
    ),
}
