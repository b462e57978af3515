"""References in C."""

from __future__ import annotations

from pathlib import Path

from conftest import write_files
from indexed import indexed
from symbols.references import check_references
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts


def test_linkage_makes_names_global_and_static_names_stay_in_their_file(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "poll.h": "int poll_all(int wait);  // ref: poll_all definition\n",
            "one.c": (
                '#include "poll.h"\n'
                "static int wait_for(int n) { return n; }  // ref: wait_for definition\n"
                "int poll_all(int wait) {  // ref: poll_all definition\n"
                "    return wait_for(wait);  // ref: wait_for call\n"
                "}\n"
            ),
            "two.c": (
                "static int wait_for(int n) { return -n; }\n"
                "extern int poll_all(int);  // ref: poll_all definition\n"
                "int main(void) { return poll_all(wait_for(1)); }  // ref: poll_all call\n"
            ),
            "three.c": "int three(int poll_all) { return poll_all; }\n",
        },
    )


def test_private_names_of_a_header_are_visible_to_its_includers(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "unix/net.h": (
                "typedef int port_t;  // ref: port_t definition\n"
                "enum { LIMIT = 5 };  // ref: LIMIT definition\n"
                "static inline port_t any(void) { return 0; }  // ref: port_t type\n"
            ),
            "win/net.h": "typedef long port_t;\nenum { LIMIT = 7 };\n",
            "unix/all.h": '#include "net.h"\n',
            "unix/a.c": (
                '#include "all.h"\nport_t port = LIMIT;  // ref: port_t type ;; LIMIT read\n'
            ),
            "win/b.c": '#include "net.h"\nport_t port = LIMIT;\n',
        },
    )


def test_tags_types_variables_and_members_have_separate_name_spaces(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.h": (
                "struct item {  // ref: item definition\n"
                "    int size;\n"
                "};\n"
                "typedef struct item *list;  // ref: item type\n"
                "struct list { list item; };  // ref: list.item definition\n"
            ),
            "a.c": (
                '#include "a.h"\n'
                "struct item *first(list item, struct list *all) {  // ref: item type\n"
                "    return all->item ? all->item : item;"
                "  // ref: list.item read ;; list.item read\n"
                "}\n"
            ),
        },
    )


def test_a_variable_can_have_the_name_of_its_type(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.c": (
                "typedef struct { int length; } queue;"
                "  // ref: queue definition ;; length definition\n"
                "int count(queue *queue) {  // ref: queue type\n"
                "    return queue->length;  // ref: length read\n"
                "}\n"
            ),
        },
    )


def test_members_are_found_by_declared_types(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "tree.h": (
                "typedef struct node {\n"
                "    struct node *next;  // ref: node.next definition\n"
                "    union {\n"
                "        long number;  // ref: node.number definition\n"
                "        struct { char *start; } text;\n"
                "    };\n"
                "    struct { int number; } other;  // ref: other definition\n"
                "} node_t;\n"
                "struct pair { struct node left[2]; node_t *next; };\n"
                "node_t *root(void);\n"
                "extern struct pair pairs[];\n"
            ),
            "a.c": (
                '#include "tree.h"\n'
                "#define LAST pairs[0].left[1]\n"
                "long use(void *data, struct pair p) {\n"
                "    root()->next = p.left[0].next;  // ref: node.next write ;; node.next read\n"
                "    p.next->next = 0;  // ref: node.next write\n"
                "    ((node_t *)data)->number = 1;  // ref: node.number write\n"
                "    (*root()).other.number = 2;  // ref: other read\n"
                "    LAST.number = pairs[1].left->number;"
                "  // ref: node.number write ;; node.number read\n"
                "    return __builtin_offsetof(struct pair, next);\n"
                "}\n"
                "struct pair two = {.left = {{.number = 3}}};  // ref: node.number write\n"
                "node_t one = {.next = 0, .other = {.number = 4}};"
                "  // ref: node.next write ;; other write\n"
            ),
        },
    )


def test_initializers_name_fields_of_nested_objects(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.c": (
                "struct at { int index; };\n"
                "struct key {\n"
                "    char *name;\n"
                "    union {\n"
                "        struct { int index; } list;  // ref: list.index definition\n"
                "        struct { int index; } word;\n"
                "    } by;  // ref: by definition\n"
                "};\n"
                "struct key keys[] = {\n"
                '    {"a", .by.list.index = 1},'
                "  // ref: by read ;; list.index write\n"
                '    {"b", .by.list = {.index = 2}},'
                "  // ref: by read ;; list.index write\n"
                "};\n"
                "struct all { int n; struct key key; } all = {1, {.by.list.index = 3}};"
                "  // ref: by read ;; list.index write\n"
            ),
        },
    )


def test_members_of_unknown_objects_are_likely_without_rivals(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.h": (
                "struct page {\n"
                "    int dirty;  // ref: page.dirty definition\n"
                "    int size;  // ref: page.size definition\n"
                "};\n"
                "struct file { int size; };\n"
                "#define PAGE(n) (pages + n)\n"
            ),
            "a.c": (
                '#include "a.h"\n'
                "#include <sys/stat.h>\n"
                "void use(struct stat *found) {\n"
                "    PAGE(3)->dirty = PAGE(3)->size;  // ref: page.dirty write likely\n"
                "    found->dirty = container(found, dirty);  // ref: page.dirty read likely\n"
                "}\n"
            ),
        },
    )


def test_using_a_macro_uses_the_names_in_its_text(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "log.h": (
                "int log_line(int level);  // ref: log_line definition\n"
                "#define LOG(level) \\\n"
                "    /* which is a function */ \\\n"
                "    log_line(level)  // ref: log_line call likely\n"
                "#define WARN() LOG(2)\n"
            ),
            "a.c": (
                '#include "log.h"\n'
                "int level;  // ref: level definition\n"
                "void use(void) {\n"
                "    LOG(level);  // ref: level read ;; log_line call likely\n"
                "    WARN();  // ref: log_line call likely\n"
                "#undef WARN\n"
                '    "log_line";\n'
                "}\n"
            ),
            "log_marks.txt": "",
        },
    )


def test_a_macro_hides_its_name_unless_it_expands_to_it(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.h": (
                "enum token {\n"
                "    PLUS = 1,  // ref: PLUS definition\n"
                "    MINUS = 2,  // ref: MINUS definition\n"
                "};\n"
                "#define PLUS 1\n"
                "#define MINUS MINUS  // ref: MINUS read likely\n"
            ),
            "a.c": (
                '#include "a.h"\nint tokens[] = {PLUS, MINUS};  // ref: MINUS read\n#undef PLUS\n'
            ),
        },
    )


def test_labels_parameters_and_blocks_have_their_own_names(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.c": (
                "int one(a, b)\n"
                "    int a;  // ref: a write\n"
                "    char *b;\n"
                "{\n"
                "    if (a) goto done;  // ref: done definition\n"
                "    for (int i = 0; i < 3; i++) { int a = i; b[a] = 0; }\n"
                "done:  // ref: done definition\n"
                "    return 0;\n"
                "}\n"
                "int two(void) { goto done; done: return 1; }\n"
            ).replace("  // ref: a write", ""),
        },
    )


def test_macros_before_declarations_are_not_types(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.h": "#define PUBLIC extern  // ref: PUBLIC definition\n",
            "a.c": (
                '#include "a.h"\n'
                "PUBLIC struct box { int w; } *make(int n);  // ref: PUBLIC read\n"
                "typedef struct box box_t;  // ref: box_t definition\n"
                "PUBLIC box_t *copy(box_t *b);  // ref: PUBLIC read ;; box_t type ;; box_t type\n"
                "PUBLIC void fill(struct box *b) {  // ref: PUBLIC read ;; fill definition\n"
                "    fill(make(b->w));  // ref: fill call\n"
                "}\n"
            ),
        },
    )


def test_a_struct_and_its_typedef_are_one_symbol(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "s.h": (
                "typedef struct client {\n"
                "    struct client *next;\n"
                "} client;\n"
                "struct other { int n; };\n"
                "typedef struct item other;\n"
            ),
            "a.c": (
                '#include "s.h"\n'
                "struct client *next(client *one) { return one->next; }\n"
                "int n(struct other *one, other *two) { int client = one->n; return client; }\n"
            ),
        },
    )
    with indexed(tmp_path) as view:
        navigation = Navigation(view, SourceTexts([tmp_path], {}, 1_000_000))
        answers = {}
        for name in ("client", "other"):
            asked = navigation.of_definition(*navigation.named(name)[0])
            found = [
                [Path(use.path).name, source.line_at(use.at) + 1]
                for use in navigation.references(asked)
                if (source := navigation.sources.read(use.path)) is not None
            ]
            answers[name] = (
                [place.definition.kind for place in asked.places if place.definition],
                sorted(found),
            )
    assert answers == {
        "client": (
            ["struct", "type"],
            [["a.c", 2], ["a.c", 2], ["s.h", 1], ["s.h", 2], ["s.h", 3]],
        ),
        "other": (["struct"], [["a.c", 3], ["s.h", 4]]),
    }
