"""References in Go."""

from __future__ import annotations

from pathlib import Path

from symbols.references import check_references

MODULE = "module example.org/shop\n\ngo 1.21\n"


def test_files_of_a_package_share_names_and_imports_lead_to_other_packages(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "go.mod": MODULE,
            "net/client.go": (
                "package net\n\n"
                "func Dial(host string) string { // ref: Dial definition\n"
                "\treturn host\n"
                "}\n"
            ),
            "net/retry.go": ('package net\n\nfunc retry() {\n\tDial("a") // ref: Dial call\n}\n'),
            "net/outer_test.go": (
                "package net_test\n\n"
                'import "example.org/shop/net"\n\n'
                "func use() {\n"
                '\tnet.Dial("b") // ref: Dial call\n'
                "}\n"
            ),
            "cmd/main.go": (
                "package main\n\n"
                "import (\n"
                '\tother "example.org/shop/net"\n'
                '\t"net"\n'
                ")\n\n"
                "func main() {\n"
                '\tother.Dial("c") // ref: Dial call\n'
                '\tnet.Dial("tcp", "d")\n'
                "}\n"
            ),
            "cmd/own.go": (
                "package main\n\n"
                "func Dial() {} // ref: main.Dial definition\n\n"
                "func again() {\n"
                "\tDial() // ref: main.Dial call\n"
                "}\n"
            ),
        },
    )


def test_methods_and_fields_belong_to_the_declared_type(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "go.mod": MODULE,
            "types.go": (
                "package shop\n\n"
                "type Item struct {\n"
                "\tName string // ref: Item.Name definition\n"
                "}\n\n"
                "type Cart struct {\n"
                "\titems []*Item\n"
                "\tbyName map[string]Item\n"
                "\tName string // ref: Cart.Name definition\n"
                "}\n\n"
                "func NewCart() (*Cart, error) { return nil, nil }\n"
            ),
            "methods.go": (
                "package shop\n\n"
                "func (c *Cart) Total() int { // ref: Cart.Total definition\n"
                "\tfor _, item := range c.items {\n"
                "\t\titem.Name = c.Name // ref: Item.Name write ;; Cart.Name read\n"
                "\t}\n"
                '\treturn len(c.byName["a"].Name) // ref: Item.Name read\n'
                "}\n\n"
                "func (i Item) Total() int { return len(i.Name) } // ref: Item.Name read\n"
            ),
            "use.go": (
                "package shop\n\n"
                "func use(any interface{}, cart Cart) {\n"
                "\tmade, err := NewCart()\n"
                "\tmade.Total() // ref: Cart.Total call\n"
                "\terr.Total()\n"
                "\tcart.Total() // ref: Cart.Total call\n"
                '\t(&Cart{Name: "a"}).Total() // ref: Cart.Name read ;; Cart.Total call\n'
                '\tlist := []Item{{Name: "b"}} // ref: Item.Name read\n'
                "\tlist[0].Total()\n"
                "\tany.(*Cart).Total() // ref: Cart.Total call\n"
                "\tswitch one := any.(type) {\n"
                "\tcase *Cart:\n"
                "\t\tone.Total() // ref: Cart.Total call\n"
                "\tcase Item:\n"
                "\t\tone.Total()\n"
                "\t}\n"
                "}\n"
            ),
        },
    )


def test_members_of_embedded_types_are_promoted(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "go.mod": MODULE,
            "a.go": (
                "package shop\n\n"
                "type Base struct{ id int } // ref: Base.id definition\n\n"
                "func (b *Base) Save() {} // ref: Base.Save definition\n\n"
                "type Order struct {\n"
                "\t*Base\n"
                "\tother Other\n"
                "}\n\n"
                "type Other struct{ id int }\n\n"
                "func run(o Order) {\n"
                "\to.Save() // ref: Base.Save call\n"
                "\to.Base.Save() // ref: Base.Save call\n"
                "\to.id = o.other.id // ref: Base.id write\n"
                "}\n"
            ),
        },
    )


def test_a_call_through_an_interface_can_reach_types_that_satisfy_it(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "go.mod": MODULE,
            "disk.go": (
                "package shop\n\n"
                "type Disk struct{}\n\n"
                "func (d *Disk) Keep() {}\n"
                "func (d *Disk) Load() {} // ref: Disk.Load definition\n\n"
                "func run(s Store, p Part) {\n"
                "\ts.Load() // ref: Disk.Load call likely\n"
                "\tp.Load()\n"
                "}\n"
            ),
            "store.go": (
                "package shop\n\n"
                "type Store interface {\n"
                "\tLoad() // ref: Disk.Load definition likely\n"
                "\tKeep()\n"
                "}\n\n"
                "type Part struct{}\n\n"
                "func (p Part) Load() {}\n"
            ),
        },
    )


def test_inner_names_hide_outer_names(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "go.mod": MODULE,
            "a.go": (
                "package shop\n\n"
                "var limit = 1 // ref: limit definition\n\n"
                "func run(count int) int { // ref: run.count definition\n"
                "\tif limit := 2; limit > count { // ref: run.count read\n"
                "\t\treturn limit\n"
                "\t}\n"
                "\tf := func(count int) int { return count }\n"
                "\treturn f(limit) // ref: limit read\n"
                "}\n"
            ),
        },
    )
