"""References in C++."""

from __future__ import annotations

from pathlib import Path

from symbols.references import Check, check_references


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


def test_namespaces_keep_names_apart(check: Check) -> None:
    check("""
    -- a.hpp --
    namespace a {
    inline namespace v1 {
    int open(int);  // ref: open definition
    }
    namespace { int hidden; }
    enum class Mode { read, write };  // ref: Mode.read definition
    }
    namespace b { int open(int); int read; }
    -- a.cpp --
    #include "a.hpp"
    namespace short_a = a;
    int f() { return a::open(1) + b::open(2) + short_a::open(3); }  // ref: open call ;; open call
    namespace a { int g() { return open(4); } }  // ref: open call
    auto mode = a::Mode::read;  // ref: Mode.read read
    auto other = b::read;
    """)


def test_templates_smart_pointers_lambdas_and_handlers_preserve_types(check: Check) -> None:
    check("""
    -- a.cc --
    #include <memory>
    template <typename T> struct Box {
      T value;  // ref: Box.value definition
      T get() { return value; }  // ref: Box.value read
    };
    struct Error { int value; };
    using Owned = std::unique_ptr<Box<int>>;
    template <> struct Box<char>;
    int f(Owned owned, Box<int>& box) {
      auto read = [&](Box<int>& one) { return one.value; };  // ref: Box.value read
      try { return owned->value + read(box); }  // ref: Box.value read
      catch (Error& error) { return error.value; }
    }
    """)


def test_namespaces_that_macros_open_are_seen_through(check: Check) -> None:
    check("""
    -- lib.hpp --
    #define LIB_BEGIN namespace lib {
    #define LIB_END }
    #define LIB_API
    LIB_BEGIN
    class Writer {  // ref: Writer definition
     public:
      LIB_API void put(int c);  // ref: Writer.put definition
    };
    LIB_END
    -- use.cpp --
    #include "lib.hpp"
    void f(lib::Writer& w) { w.put(1); }  // ref: Writer type ;; Writer.put call
    """)


def test_a_class_and_its_constructors_are_one_in_macro_namespaces(
    check: Check,
) -> None:
    check("""
    -- a.h --
    #define BEG namespace q {
    #define END }
    BEG
    struct B {};  // ref: B definition
    struct F : B { int w; constexpr F() : w(0) {} };  // ref: F definition ;; F definition ;; B type
    END
    -- b.h --
    #include "a.h"
    BEG
    namespace detail {
    int width(const F& s);  // ref: F type ;; width definition
    inline int positive(int a) { return a; }  // ref: positive definition
    }
    END
    -- c.cpp --
    #include "b.h"
    int i = detail::positive(q::detail::positive(1));  // ref: positive call ;; positive call
    int j = unseen::detail::positive(2);  // ref: positive call likely
    int k = std::detail::positive(2) + other::positive(3);
    int l = q::detail::width(q::F());  // ref: F call ;; width call
    namespace other { int positive(int); }
    """)


def test_destructors_initializers_and_qualifiers_have_their_own_roles(check: Check) -> None:
    check("""
    -- w.hpp --
    namespace n {  // ref: n definition
    struct Base { Base(int); };  // ref: Base definition ;; Base definition
    template <class T> struct Box {  // ref: Box definition
      int get();
    };
    class W : Base {  // ref: W definition ;; Base type
     public:
      W();  // ref: W definition
      ~W();  // ref: W definition
      static int make();
      int v_;  // ref: v_ definition
    };
    }
    -- w.cpp --
    #include "w.hpp"
    n::W::W()  // ref: n read ;; W type ;; W definition
        : Base(1),  // ref: Base call
          v_(0) {}  // ref: v_ write
    n::W::~W() {  // ref: n read ;; W type ;; W definition
      v_ = n::W::make();  // ref: v_ write ;; n read ;; W type
    }
    template <class T>
    int n::Box<T>::get() { return 1; }  // ref: n read ;; Box type
    """)


def test_names_in_macros_of_classes_are_uses(check: Check) -> None:
    check("""
    -- w.hpp --
    class Window : public QObject {  // ref: Window definition
      Q_OBJECT
      Q_PROPERTY(int sides READ side NOTIFY moved)  // ref: side read ;; moved read
      READ_ONLY(side);  // ref: side read
     public:
      Window();  // ref: Window definition
      int side() const;  // ref: side definition
     signals:
      void moved();  // ref: moved definition
     public slots:
      void move(int side);  // ref: move definition
    };
    -- w.cpp --
    #include "w.hpp"
    void Window::move(int side) {  // ref: Window type ;; move definition
      if (side) emit moved();  // ref: moved call
      Q_EMIT this->moved();  // ref: moved call
      other->connect(this, SIGNAL(moved()),  // ref: moved call likely
          SLOT(move(int)));  // ref: move call likely
    }
    """)


def test_members_are_found_through_templates_of_other_libraries(check: Check) -> None:
    check("""
    -- db.hpp --
    class Group;
    class Database {  // ref: Database definition
     public:
      void open();  // ref: Database.open definition
      Group* root();  // ref: root definition
      QList<Group*> groups();
      static QSharedPointer<Database> make();  // ref: Database type
    };
    class Group { public: void open();  // ref: Group.open definition
    };
    template <class T> class Own { public: T* operator->(); int size(); };
    -- use.cpp --
    #include "db.hpp"
    struct User {
      QSharedPointer<Database> m_db;  // ref: Database type
      QList<QPointer<Database>> all;  // ref: Database type
      Own<Database> own;  // ref: Database type
      void use(absl::Foreign<QFile>& file, void* data);
    };
    void User::use(absl::Foreign<QFile>& file, void* data) {
      m_db->open();  // ref: Database.open call
      (*m_db).open();  // ref: Database.open call
      this->all[0]->open();  // ref: Database.open call
      m_db.open();
      file->open();
      own->open();
      auto* root = m_db->root();  // ref: root call
      root->open();  // ref: Group.open call
      for (auto* group : m_db->groups()) group->open();  // ref: Group.open call
      auto made = Database::make();  // ref: Database type
      made->open();  // ref: Database.open call
      static_cast<Database*>(data)->open();  // ref: Database type ;; Database.open call
      auto other = std::make_shared<Database>();  // ref: Database type
      other->open();  // ref: Database.open call
      auto created = Qt::SharedPointer<Database>::create();  // ref: Database type
      created->open();  // ref: Database.open call
      std::find(all.begin(), all.end(), 1)->open();
    }
    """)


def test_members_that_their_class_does_not_declare_are_found(check: Check) -> None:
    check("""
    -- a.cpp --
    void Missing::hide() { show(); }  // ref: hide definition
    void Missing::show() { this->hide(); }  // ref: hide call
    void other::hide() {}
    struct Known { int a; };
    void Known::lost() {}  // ref: lost definition
    -- b.cpp --
    void f(Missing* missing, other* o) { missing->hide(); o->hide(); }  // ref: hide call
    void g(Known k) { k.lost(); }  // ref: lost call
    """)
