"""References in C."""

from __future__ import annotations

from pathlib import Path

from conftest import write_files
from indexed import indexed
from symbols.references import Check, check_references
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts


def test_linkage_makes_names_global_and_static_names_stay_in_their_file(
    check: Check,
) -> None:
    check("""
    -- poll.h --
    int poll_all(int wait);  // ref: poll_all definition
    -- one.c --
    #include "poll.h"
    static int wait_for(int n) { return n; }  // ref: wait_for definition
    int poll_all(int wait) {  // ref: poll_all definition
        return wait_for(wait);  // ref: wait_for call
    }
    -- two.c --
    static int wait_for(int n) { return -n; }
    extern int poll_all(int);  // ref: poll_all definition
    int main(void) { return poll_all(wait_for(1)); }  // ref: poll_all call
    -- three.c --
    int three(int poll_all) { return poll_all; }
    """)


def test_private_names_of_a_header_are_visible_to_its_includers(check: Check) -> None:
    check("""
    -- unix/net.h --
    typedef int port_t;  // ref: port_t definition
    enum { LIMIT = 5 };  // ref: LIMIT definition
    static inline port_t any(void) { return 0; }  // ref: port_t type
    -- win/net.h --
    typedef long port_t;
    enum { LIMIT = 7 };
    -- unix/all.h --
    #include "net.h"
    -- unix/a.c --
    #include "all.h"
    port_t port = LIMIT;  // ref: port_t type ;; LIMIT read
    -- win/b.c --
    #include "net.h"
    port_t port = LIMIT;
    """)


def test_tags_types_variables_and_members_have_separate_name_spaces(check: Check) -> None:
    check("""
    -- a.h --
    struct item {  // ref: item definition
        int size;
    };
    typedef struct item *list;  // ref: item type
    struct list { list item; };  // ref: list.item definition
    -- a.c --
    #include "a.h"
    struct item *first(list item, struct list *all) {  // ref: item type
        return all->item ? all->item : item;  // ref: list.item read ;; list.item read
    }
    """)


def test_a_variable_can_have_the_name_of_its_type(check: Check) -> None:
    check("""
    -- a.c --
    typedef struct { int length; } queue;  // ref: queue definition ;; length definition
    int count(queue *queue) {  // ref: queue type
        return queue->length;  // ref: length read
    }
    """)


def test_members_are_found_by_declared_types(check: Check) -> None:
    check("""
    -- tree.h --
    typedef struct node {
        struct node *next;  // ref: node.next definition
        union {
            long number;  // ref: node.number definition
            struct { char *start; } text;
        };
        struct { int number; } other;  // ref: other definition
    } node_t;
    struct pair { struct node left[2]; node_t *next; };
    node_t *root(void);
    extern struct pair pairs[];
    -- a.c --
    #include "tree.h"
    #define LAST pairs[0].left[1]
    long use(void *data, struct pair p) {
        root()->next = p.left[0].next;  // ref: node.next write ;; node.next read
        p.next->next = 0;  // ref: node.next write
        ((node_t *)data)->number = 1;  // ref: node.number write
        (*root()).other.number = 2;  // ref: other read
        LAST.number = pairs[1].left->number;  // ref: node.number write ;; node.number read
        return __builtin_offsetof(struct pair, next);
    }
    struct pair two = {.left = {{.number = 3}}};  // ref: node.number write
    node_t one = {.next = 0, .other = {.number = 4}};  // ref: node.next write ;; other write
    """)


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


def test_members_of_unknown_objects_are_likely_without_rivals(check: Check) -> None:
    check("""
    -- a.h --
    struct page {
        int dirty;  // ref: page.dirty definition
        int size;  // ref: page.size definition
    };
    struct file { int size; };
    #define PAGE(n) (pages + n)
    -- a.c --
    #include "a.h"
    #include <sys/stat.h>
    void use(struct stat *found) {
        PAGE(3)->dirty = PAGE(3)->size;  // ref: page.dirty write likely
        found->dirty = container(found, dirty);  // ref: page.dirty read likely
    }
    """)


def test_using_a_macro_uses_the_names_in_its_text(check: Check) -> None:
    check(r"""
    -- log.h --
    int log_line(int level);  // ref: log_line definition
    #define LOG(level) \
        /* which is a function */ \
        log_line(level)  // ref: log_line call likely
    #define WARN() LOG(2)
    -- a.c --
    #include "log.h"
    int level;  // ref: level definition
    void use(void) {
        LOG(level);  // ref: level read ;; log_line call likely
        WARN();  // ref: log_line call likely
    #undef WARN
        "log_line";
    }
    -- log_marks.txt --

    """)


def test_a_macro_hides_its_name_unless_it_expands_to_it(check: Check) -> None:
    check("""
    -- a.h --
    enum token {
        PLUS = 1,  // ref: PLUS definition
        MINUS = 2,  // ref: MINUS definition
    };
    #define PLUS 1
    #define MINUS MINUS  // ref: MINUS read likely
    -- a.c --
    #include "a.h"
    int tokens[] = {PLUS, MINUS};  // ref: MINUS read
    #undef PLUS
    """)


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


def test_macros_before_declarations_are_not_types(check: Check) -> None:
    check("""
    -- a.h --
    #define PUBLIC extern  // ref: PUBLIC definition
    -- a.c --
    #include "a.h"
    PUBLIC struct box { int w; } *make(int n);  // ref: PUBLIC read
    typedef struct box box_t;  // ref: box_t definition
    PUBLIC box_t *copy(box_t *b);  // ref: PUBLIC read ;; box_t type ;; box_t type
    PUBLIC void fill(struct box *b) {  // ref: PUBLIC read ;; fill definition
        fill(make(b->w));  // ref: fill call
    }
    """)


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
