"""References in C++."""

from __future__ import annotations

from pathlib import Path

from symbols.references import check_references


def test_declarations_definitions_and_overrides_are_one_method(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "shape.hpp": (
                "namespace draw {\n"
                "class Shape {  // ref: Shape definition\n"
                " public:\n"
                "  Shape(int sides);  // ref: Shape definition\n"
                "  virtual double area() const;  // ref: area definition\n"
                "  int sides_ = 0;  // ref: sides_ definition\n"
                "};\n"
                "class Square : public Shape {  // ref: Shape type\n"
                "  double area() const override { return sides_; }"
                "  // ref: area definition ;; sides_ read\n"
                "};\n"
                "}\n"
            ),
            "shape.cpp": (
                '#include "shape.hpp"\n'
                "using namespace draw;\n"
                "Shape::Shape(int sides) : sides_(sides) {}"
                "  // ref: Shape type ;; Shape definition ;; sides_ write\n"
                "double Shape::area() const { return this->sides_; }"
                "  // ref: Shape type ;; area definition ;; sides_ read\n"
                "double use(Shape *given) {  // ref: Shape type\n"
                "  auto made = Shape(3);  // ref: Shape call\n"
                "  draw::Square square(4);\n"
                "  return made.area() + given->area() + square.area();"
                "  // ref: area call ;; area call ;; area call\n"
                "}\n"
            ),
            "other.cpp": "struct Other { int area(); };\nint f(Other o) { return o.area(); }\n",
        },
    )


def test_namespaces_keep_names_apart(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.hpp": (
                "namespace a {\n"
                "inline namespace v1 {\n"
                "int open(int);  // ref: open definition\n"
                "}\n"
                "namespace { int hidden; }\n"
                "enum class Mode { read, write };  // ref: Mode.read definition\n"
                "}\n"
                "namespace b { int open(int); int read; }\n"
            ),
            "a.cpp": (
                '#include "a.hpp"\n'
                "namespace short_a = a;\n"
                "int f() { return a::open(1) + b::open(2) + short_a::open(3); }"
                "  // ref: open call ;; open call\n"
                "namespace a { int g() { return open(4); } }  // ref: open call\n"
                "auto mode = a::Mode::read;  // ref: Mode.read read\n"
                "auto other = b::read;\n"
            ),
        },
    )


def test_templates_smart_pointers_lambdas_and_handlers_preserve_types(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.cc": (
                "#include <memory>\n"
                "template <typename T> struct Box {\n"
                "  T value;  // ref: Box.value definition\n"
                "  T get() { return value; }  // ref: Box.value read\n"
                "};\n"
                "struct Error { int value; };\n"
                "using Owned = std::unique_ptr<Box<int>>;\n"
                "template <> struct Box<char>;\n"
                "int f(Owned owned, Box<int>& box) {\n"
                "  auto read = [&](Box<int>& one) { return one.value; };  // ref: Box.value read\n"
                "  try { return owned->value + read(box); }  // ref: Box.value read\n"
                "  catch (Error& error) { return error.value; }\n"
                "}\n"
            ),
        },
    )


def test_namespaces_that_macros_open_are_seen_through(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib.hpp": (
                "#define LIB_BEGIN namespace lib {\n"
                "#define LIB_END }\n"
                "#define LIB_API\n"
                "LIB_BEGIN\n"
                "class Writer {  // ref: Writer definition\n"
                " public:\n"
                "  LIB_API void put(int c);  // ref: Writer.put definition\n"
                "};\n"
                "LIB_END\n"
            ),
            "use.cpp": (
                '#include "lib.hpp"\n'
                "void f(lib::Writer& w) { w.put(1); }  // ref: Writer type ;; Writer.put call\n"
            ),
        },
    )


def test_a_class_and_its_constructors_are_one_in_macro_namespaces(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "a.h": (
                "#define BEG namespace q {\n"
                "#define END }\n"
                "BEG\n"
                "struct B {};  // ref: B definition\n"
                "struct F : B { int w; constexpr F() : w(0) {} };"
                "  // ref: F definition ;; F definition ;; B type\n"
                "END\n"
            ),
            "b.h": (
                '#include "a.h"\n'
                "BEG\n"
                "namespace detail {\n"
                "int width(const F& s);  // ref: F type ;; width definition\n"
                "inline int positive(int a) { return a; }  // ref: positive definition\n"
                "}\n"
                "END\n"
            ),
            "c.cpp": (
                '#include "b.h"\n'
                "int i = detail::positive(q::detail::positive(1));"
                "  // ref: positive call ;; positive call\n"
                "int j = unseen::detail::positive(2);  // ref: positive call likely\n"
                "int k = std::detail::positive(2) + other::positive(3);\n"
                "int l = q::detail::width(q::F());  // ref: F call ;; width call\n"
                "namespace other { int positive(int); }\n"
            ),
        },
    )


def test_destructors_initializers_and_qualifiers_have_their_own_roles(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "w.hpp": (
                "namespace n {  // ref: n definition\n"
                "struct Base { Base(int); };  // ref: Base definition ;; Base definition\n"
                "template <class T> struct Box {  // ref: Box definition\n"
                "  int get();\n"
                "};\n"
                "class W : Base {  // ref: W definition ;; Base type\n"
                " public:\n"
                "  W();  // ref: W definition\n"
                "  ~W();  // ref: W definition\n"
                "  static int make();\n"
                "  int v_;  // ref: v_ definition\n"
                "};\n"
                "}\n"
            ),
            "w.cpp": (
                '#include "w.hpp"\n'
                "n::W::W()  // ref: n read ;; W type ;; W definition\n"
                "    : Base(1),  // ref: Base call\n"
                "      v_(0) {}  // ref: v_ write\n"
                "n::W::~W() {  // ref: n read ;; W type ;; W definition\n"
                "  v_ = n::W::make();  // ref: v_ write ;; n read ;; W type\n"
                "}\n"
                "template <class T>\n"
                "int n::Box<T>::get() { return 1; }  // ref: n read ;; Box type\n"
            ),
        },
    )


def test_names_in_macros_of_classes_are_uses(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "w.hpp": (
                "class Window : public QObject {  // ref: Window definition\n"
                "  Q_OBJECT\n"
                "  Q_PROPERTY(int sides READ side NOTIFY moved)  // ref: side read ;; moved read\n"
                "  READ_ONLY(side);  // ref: side read\n"
                " public:\n"
                "  Window();  // ref: Window definition\n"
                "  int side() const;  // ref: side definition\n"
                " signals:\n"
                "  void moved();  // ref: moved definition\n"
                " public slots:\n"
                "  void move(int side);  // ref: move definition\n"
                "};\n"
            ),
            "w.cpp": (
                '#include "w.hpp"\n'
                "void Window::move(int side) {  // ref: Window type ;; move definition\n"
                "  if (side) emit moved();  // ref: moved call\n"
                "  Q_EMIT this->moved();  // ref: moved call\n"
                "  other->connect(this, SIGNAL(moved()),  // ref: moved call likely\n"
                "      SLOT(move(int)));  // ref: move call likely\n"
                "}\n"
            ),
        },
    )


def test_members_are_found_through_templates_of_other_libraries(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "db.hpp": (
                "class Group;\n"
                "class Database {  // ref: Database definition\n"
                " public:\n"
                "  void open();  // ref: Database.open definition\n"
                "  Group* root();  // ref: root definition\n"
                "  QList<Group*> groups();\n"
                "  static QSharedPointer<Database> make();  // ref: Database type\n"
                "};\n"
                "class Group { public: void open();  // ref: Group.open definition\n};\n"
                "template <class T> class Own { public: T* operator->(); int size(); };\n"
            ),
            "use.cpp": (
                '#include "db.hpp"\n'
                "struct User {\n"
                "  QSharedPointer<Database> m_db;  // ref: Database type\n"
                "  QList<QPointer<Database>> all;  // ref: Database type\n"
                "  Own<Database> own;  // ref: Database type\n"
                "  void use(absl::Foreign<QFile>& file, void* data);\n"
                "};\n"
                "void User::use(absl::Foreign<QFile>& file, void* data) {\n"
                "  m_db->open();  // ref: Database.open call\n"
                "  (*m_db).open();  // ref: Database.open call\n"
                "  this->all[0]->open();  // ref: Database.open call\n"
                "  m_db.open();\n"
                "  file->open();\n"
                "  own->open();\n"
                "  auto* root = m_db->root();  // ref: root call\n"
                "  root->open();  // ref: Group.open call\n"
                "  for (auto* group : m_db->groups()) group->open();  // ref: Group.open call\n"
                "  auto made = Database::make();  // ref: Database type\n"
                "  made->open();  // ref: Database.open call\n"
                "  static_cast<Database*>(data)->open();"
                "  // ref: Database type ;; Database.open call\n"
                "  auto other = std::make_shared<Database>();  // ref: Database type\n"
                "  other->open();  // ref: Database.open call\n"
                "  auto created = Qt::SharedPointer<Database>::create();  // ref: Database type\n"
                "  created->open();  // ref: Database.open call\n"
                "  std::find(all.begin(), all.end(), 1)->open();\n"
                "}\n"
            ),
        },
    )


def test_members_that_their_class_does_not_declare_are_found(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.cpp": (
                "void Missing::hide() { show(); }  // ref: hide definition\n"
                "void Missing::show() { this->hide(); }  // ref: hide call\n"
                "void other::hide() {}\n"
                "struct Known { int a; };\n"
                "void Known::lost() {}  // ref: lost definition\n"
            ),
            "b.cpp": (
                "void f(Missing* missing, other* o) { missing->hide(); o->hide(); }"
                "  // ref: hide call\n"
                "void g(Known k) { k.lost(); }  // ref: lost call\n"
            ),
        },
    )
