"""References in Rust."""

from __future__ import annotations

from pathlib import Path

from symbols.references import check_references

CARGO = '[package]\nname = "shop"\nversion = "0.1.0"\n'


def test_paths_lead_through_modules_and_re_exports(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": (
                "mod net;\n"
                "pub use net::client::{connect, Client}; // ref: connect import ;; Client import\n"
                "pub mod inner {\n"
                "    pub use super::connect as dial; // ref: connect import\n"
                "    pub fn connect() {} // ref: inner.connect definition\n"
                "}\n"
            ),
            "src/net/mod.rs": "pub mod client;\n",
            "src/net/client.rs": (
                "pub struct Client; // ref: Client definition\n"
                "pub fn connect() { // ref: connect definition\n"
                "}\n"
            ),
            "src/use_all.rs": (
                "use crate::net::client::*;\n"
                "use crate::inner;\n"
                "fn run() {\n"
                "    connect(); // ref: connect call\n"
                "    inner::connect(); // ref: inner.connect call\n"
                "    inner::dial();\n"
                "    crate::connect(); // ref: connect call\n"
                "    super::net::client::connect(); // ref: connect call\n"
                "    other::connect();\n"
                "}\n"
            ),
            "tests/all.rs": (
                "use shop::{connect, inner}; // ref: connect import\n"
                "fn run() {\n"
                "    connect(); // ref: connect call\n"
                "    inner::connect(); // ref: inner.connect call\n"
                "    shop::connect(); // ref: connect call\n"
                "}\n"
            ),
        },
    )


def test_fields_and_methods_are_separate_and_found_by_type(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": ("pub mod cart;\nmod more;\n"),
            "src/cart.rs": (
                "use std::sync::{Arc, Mutex};\n"
                "pub struct Item { pub name: String } // ref: Item.name definition\n"
                "pub struct Cart {\n"
                "    name: String,\n"
                "    items: Vec<Item>,\n"
                "    shared: Arc<Mutex<Item>>,\n"
                "}\n"
                "impl Item {\n"
                "    pub fn new(name: String) -> Self {\n"
                "        Self { name } // ref: Item.name read\n"
                "    }\n"
                "}\n"
                "impl Cart {\n"
                "    pub fn name(&self) -> &str { &self.name }\n"
                "    pub fn run(&self, other: &Item) {\n"
                "        for item in self.items.iter() {\n"
                "            let _ = &item.name; // ref: Item.name read\n"
                "        }\n"
                "        let _ = self.shared.lock().unwrap().name; // ref: Item.name read\n"
                "        let made = Arc::new(Item::new(String::new()));\n"
                "        let _ = (made.name, self.name()); // ref: Item.name read\n"
                "        let Item { name } = other; // ref: Item.name read\n"
                "    }\n"
                "}\n"
            ),
            "src/more.rs": (
                "use crate::cart::Cart;\n"
                "impl Cart {\n"
                "    pub fn more(self) -> Self { self } // ref: Cart.more definition\n"
                "}\n"
                "pub fn run(cart: Cart) {\n"
                "    cart.more().more(); // ref: Cart.more call ;; Cart.more call\n"
                "}\n"
            ),
        },
    )


def test_a_trait_and_its_implementations_are_one_family(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": (
                "pub trait Shape {\n"
                "    fn area(&self) -> u8; // ref: Shape.area definition\n"
                "    fn twice(&self) -> u8 { self.area() * 2 } // ref: Shape.area call\n"
                "}\n"
                "pub struct Square;\n"
                "impl Shape for Square {\n"
                "    fn area(&self) -> u8 { 1 } // ref: Shape.area definition\n"
                "}\n"
                "pub struct Field;\n"
                "impl Field { pub fn area(&self) -> u8 { 2 } }\n"
                "pub fn run<T: Shape>(one: T, two: &dyn Shape, three: Field) {\n"
                "    one.area(); // ref: Shape.area call\n"
                "    two.area(); // ref: Shape.area call\n"
                "    three.area();\n"
                "    Square.area(); // ref: Shape.area call\n"
                "}\n"
            ),
        },
    )


def test_variants_macros_and_names_inside_macros(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": (
                "#[macro_use]\n"
                "mod macros;\n"
                "when_on! { // ref: when_on read\n"
                "    pub mod state;\n"
                "    pub use state::State;\n"
                "}\n"
                "pub fn run(state: State) {\n"
                "    match state {\n"
                "        State::Open(_) => {} // ref: State.Open call\n"
                "        State::Shut => {}\n"
                "    }\n"
                '    println!("{}", state.id()); // ref: State.id call\n'
                "}\n"
            ),
            "src/macros.rs": (
                "macro_rules! when_on { // ref: when_on definition\n"
                "    ($($item:item)*) => { $($item)* };\n"
                "}\n"
            ),
            "src/state.rs": (
                "pub enum State {\n"
                "    Open(u8), // ref: State.Open definition\n"
                "    Shut,\n"
                "}\n"
                "when_on! { // ref: when_on read\n"
                "    impl State {\n"
                "        pub fn id(&self) -> u8 { 0 } // ref: State.id definition\n"
                "    }\n"
                "}\n"
                "pub fn open() -> State { State::Open(1) } // ref: State.Open call\n"
            ),
        },
    )


def test_parts_of_tuples_have_their_own_types(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": (
                "pub struct Engine;\n"
                "impl Engine {\n"
                "    pub fn turn(&self) {} // ref: Engine.turn definition\n"
                "}\n"
                "fn made() -> (u8, Engine) { (0, Engine) }\n"
                "pub fn run() {\n"
                "    let (_, engine) = made();\n"
                "    engine.turn(); // ref: Engine.turn call\n"
                "    let (.., last) = made();\n"
                "    last.turn(); // ref: Engine.turn call likely\n"
                "}\n"
            ),
        },
    )


def test_variables_of_patterns_in_macro_calls_have_unknown_types(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": (
                "pub struct Engine;\n"
                "impl Engine {\n"
                "    pub fn turn(&self) -> u8 { 1 } // ref: Engine.turn definition\n"
                "}\n"
                "pub fn run(all: &[Engine], one: Engine, two: &str) {\n"
                "    assert!(all.iter().any(|it| it.turn())); // ref: Engine.turn call likely\n"
                '    println!("{}", one.turn()); // ref: Engine.turn call\n'
                '    println!("{}", two.turn());\n'
                "}\n"
            ),
        },
    )


def test_type_arguments_of_a_trait_are_no_bases_but_the_target_of_deref_is(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "src/lib.rs": (
                "use std::ops::Deref;\n"
                "pub struct Value;\n"
                "impl Value {\n"
                "    pub fn text(&self) {} // ref: Value.text definition\n"
                "}\n"
                "pub struct Inner;\n"
                "impl Inner {\n"
                "    pub fn get(&self) -> Option<&Value> { None } // ref: Inner.get definition\n"
                "}\n"
                "pub struct Columns;\n"
                "impl Columns {\n"
                "    pub fn get(&self) -> &str { todo!() }\n"
                "}\n"
                "pub struct Record;\n"
                "impl From<Columns> for Record {\n"
                "    fn from(_: Columns) -> Self { Record }\n"
                "}\n"
                "impl Deref for Record {\n"
                "    type Target = Inner;\n"
                "    fn deref(&self) -> &Inner { todo!() }\n"
                "}\n"
                "pub fn run(record: &Record) {\n"
                "    if let Some(one) = record.get() { // ref: Inner.get call\n"
                "        one.text(); // ref: Value.text call\n"
                "    }\n"
                "}\n"
            ),
        },
    )
