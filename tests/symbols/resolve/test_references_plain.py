"""References in languages for which only names and definitions are extracted."""

from __future__ import annotations

from pathlib import Path

from symbols.references import check_references


def test_names_with_one_definition_are_likely(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib.rb": (
                "class Client # ref: Client definition\n"
                "  def transmit(data) # ref: Client.transmit definition\n"
                "    data\n"
                "  end\n"
                "end\n"
            ),
            "use.rb": (
                "any.transmit( # ref: Client.transmit call likely\n"
                "  Client.new # ref: Client read likely\n"
                ")\n"
                "# transmit\n"
                'puts "transmit"\n'
            ),
        },
    )


def test_receivers_and_mentioned_names_choose_between_definitions(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "lib.rb": (
                "class Client\n"
                "  def self.open # ref: Client.open definition\n"
                "    self.open # ref: Client.open call likely\n"
                "  end\n"
                "end\n"
                "class Door\n"
                "  def self.open\n"
                "  end\n"
                "end\n"
            ),
            "near.rb": (
                "Client.open # ref: Client.open call likely\n"
                "Door.open\n"
                "thing.open # ref: Client.open call likely\n"
            ),
            "far.rb": "thing.open # ref: Client.open call possible\n",
        },
    )


def test_parameters_stay_in_their_function(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.lua": (
                "function limit() end\n"
                "local function run(limit) -- ref: run.limit definition\n"
                "  return limit; -- ref: run.limit read likely\n"
                "end\n"
                "local function other(x) return limit end\n"
            ),
        },
    )


def test_modules_of_elixir_are_found_by_any_part_of_their_name(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib/session.ex": "defmodule Shop.Session do # ref: Shop.Session definition\nend\n",
            "lib/data.ex": "defmodule Shop.Session.Data do # ref: Shop.Session read likely\nend\n",
            "lib/web.ex": (
                "defmodule Web do\n"
                "  alias Shop.Session # ref: Shop.Session import likely\n"
                "  def run(x), do: Session.save(x) # ref: Shop.Session read likely\n"
                "  def go(x), do: Shop.Session.save(x) # ref: Shop.Session read likely\n"
                "end\n"
            ),
        },
    )


def test_modules_of_haskell_are_found_by_any_part_of_their_name(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Shop/Cart.hs": "module Shop.Cart where -- ref: Shop.Cart definition\n",
            "Main.hs": "import Shop.Cart -- ref: Shop.Cart import likely\n",
        },
    )


def test_annotations_of_constructors_and_implicit_parameters_use_types_of_scala(
    tmp_path: Path,
) -> None:
    check_references(
        tmp_path,
        {
            "inject.scala": "class Inject // ref: Inject definition\n",
            "request.scala": "class Request // ref: Request definition\n",
            "use.scala": (
                "class A @Inject() (val a: Int)(implicit b: Int) { // ref: Inject type likely\n"
                "  def index = Action { implicit r: Request => // ref: Request type likely\n"
                "    1\n"
                "  }\n"
                "}\n"
            ),
        },
    )


def test_members_of_dart_are_found_through_their_class(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib/shop.dart": (
                "class Shop { // ref: Shop definition\n"
                "  final int count; // ref: Shop.count definition\n"
                "  Shop(this.count); // ref: Shop definition ;; Shop.count read likely\n"
                "  int twice() { // ref: Shop.twice definition\n"
                "    return this.count * 2; // ref: Shop.count read likely\n"
                "  }\n"
                "}\n"
            ),
            "lib/use.dart": (
                "void main(Shop shop) { // ref: Shop type likely\n"
                "  shop.twice(); // ref: Shop.twice call likely\n"
                "  final count = 1;\n"
                "  print(count);\n"
                "  Shop(2); // ref: Shop call likely\n"
                "}\n"
            ),
        },
    )


def test_only_related_languages_share_names(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "lib.kt": "class Transmitter // ref: Transmitter definition\n",
            "use.kts": "val one = Transmitter() // ref: Transmitter call likely\n",
            "use.rb": "Transmitter.new\n",
            "use.py": "Transmitter()\n",
        },
    )


def test_names_without_parentheses_are_calls_in_ruby_unless_they_are_local(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "story.rb": (
                "class Story\n"
                "  def is_gone? # ref: Story.is_gone? definition\n"
                "  end\n"
                "  def hotness # ref: Story.hotness definition\n"
                "    return 0 if is_gone? # ref: Story.is_gone? call likely\n"
                "    items.map(&:hotness) # ref: Story.hotness call likely\n"
                "  end\n"
                "  def rank\n"
                "    self.score = hotness # ref: Story.hotness call likely\n"
                "    items.each { |hotness| puts hotness }\n"
                "    items.each { |item| puts hotness } # ref: Story.hotness call likely\n"
                "  end\n"
                "  def local\n"
                "    hotness = 1\n"
                "    items.each { hotness }\n"
                "    case self\n"
                "    in {hotness:} then hotness\n"
                "    end\n"
                "  end\n"
                "end\n"
            ),
        },
    )


def test_kinds_of_uses_in_csharp(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Client.cs": (
                "namespace Net;\n"
                "public class Client { // ref: Client definition\n"
                "  public Client() {} // ref: Client definition\n"
                "}\n"
            ),
            "Use.cs": (
                "class Other : Client { // ref: Client type likely\n"
                "  private readonly Client? _one; // ref: Client type likely\n"
                "  List<Net.Client[]> All { get; } // ref: Client type likely\n"
                "  Client Make(Client it) { // ref: Client type likely ;; Client type likely\n"
                "    var found = new Client(1); // ref: Client call likely\n"
                "    return it as Client; // ref: Client type likely\n"
                "  }\n"
                "}\n"
            ),
        },
    )


def test_kinds_of_uses_in_other_languages(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a.kt": "class Kot // ref: Kot definition\n",
            "b.kt": (
                "import a.Kot // ref: Kot import likely\n"
                "fun f(x: List<Kot?>) = Kot() // ref: Kot type likely ;; Kot call likely\n"
            ),
            "a.swift": (
                "func spin(f: Int) {} // ref: spin definition\n"
                "class Swi {} // ref: Swi definition\n"
            ),
            "b.swift": (
                "func f(x: [Swi]) -> Int { // ref: Swi type likely\n"
                "  spin { 1 } // ref: spin call likely\n"
                "}\n"
            ),
            "a.php": "<?php\nclass Php {} // ref: Php definition\n",
            "b.php": (
                "<?php\n"
                "use A\\Php; // ref: Php import likely\n"
                "class B extends Php { // ref: Php type likely\n"
                "  function m(?Php $x) { // ref: Php type likely\n"
                "    return new Php; // ref: Php call likely\n"
                "  }\n"
                "}\n"
            ),
            "a.scala": "class Sca // ref: Sca definition\n",
            "b.scala": (
                "import a.Sca // ref: Sca import likely\n"
                "class B extends Sca { // ref: Sca type likely\n"
                "  val f: List[Sca] = new Sca // ref: Sca type likely ;; Sca call likely\n"
                "}\n"
            ),
            "a.ex": "defmodule A do\n  def eli(x), do: x # ref: A.eli definition\nend\n",
            "b.ex": ("defmodule B do\n  def f(x), do: x |> A.eli # ref: A.eli call likely\nend\n"),
            "a.lua": "function lu(x) end -- ref: lu definition\n",
            "b.lua": 'lu "x" -- ref: lu call likely\nlocal y = lu -- ref: lu read likely\n',
            "a.sh": "bas() { :; } # ref: bas definition\n",
            "b.sh": "bas 1 # ref: bas call likely\n",
        },
    )


def test_templates_of_blade_use_names_of_php(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "helpers.php": "<?php\nfunction brand($key) {} // ref: brand definition\n",
            "page.blade.php": (
                "{{brand('a')}} // ref: brand call likely\n"
                "@section('title', strtoupper(brand('b'))) brand // ref: brand call likely\n"
                "@if (brand('c')) <b>brand</b> // ref: brand call likely\n"
                "@foreach (brand('d') as $each) // ref: brand call likely\n"
                "{!! $each ?? brand('e') !!} // ref: brand call likely\n"
                "@php $all = brand('f'); @endphp // ref: brand call likely\n"
                "{{-- brand() --}} @{{ brand() }} <?= brand('g') ?> // ref: brand call likely\n"
            ),
        },
    )


def test_variables_of_php_are_no_methods(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Song.php": (
                "<?php\n"
                "class Song {\n"
                "  public function stream() {} // ref: Song.stream definition\n"
                "  public static function open($stream) {\n"
                "    fclose($stream);\n"
                "  }\n"
                "}\n"
            ),
            "use.php": (
                "<?php\n"
                "$opened = $song->stream(); // ref: Song.stream call likely\n"
                "function f() { $stream = 1; return $stream; }\n"
            ),
        },
    )


def test_computed_attributes_of_laravel_are_read_in_snake_case(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Song.php": (
                "<?php\n"
                "class Song {\n"
                "  protected function albumArtist(): Attribute {} // ref: albumArtist definition\n"
                "  function trackTitle(): string {} // ref: trackTitle definition\n"
                "}\n"
            ),
            "use.php": (
                "<?php\n"
                "$albumArtist = $song->album_artist; // ref: albumArtist read possible\n"
                "echo $song->track_title . $album_artist;\n"
            ),
        },
    )


def test_java_uses_definitions_and_accessors_of_kotlin(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Card.kt": (
                "class Card(\n"
                "  val embedUrl: String, // ref: Card.embedUrl definition\n"
                "  var isOpen: Boolean, // ref: Card.isOpen definition\n"
                ") {\n"
                "  fun shuffle() {} // ref: Card.shuffle definition\n"
                "}\n"
            ),
            "Use.java": (
                "class Use {\n"
                '  String getEmbedUrl() { return ""; }\n'
                "  void run(Card card, Use use) {\n"
                "    card.shuffle(); // ref: Card.shuffle call likely\n"
                "    card.setOpen(card.isOpen()); // ref: Card.isOpen call likely"
                " ;; Card.isOpen call possible\n"
                "    card.getEmbedUrl(); // ref: Card.embedUrl call possible\n"
                "    use.getEmbedUrl();\n"
                "  }\n"
                "}\n"
            ),
        },
    )


def test_kotlin_uses_accessors_of_java_as_properties(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Card.java": (
                "class Card {\n"
                '  String getTitle() { return ""; } // ref: Card.getTitle definition\n'
                "  void setTitle(String to) {} // ref: Card.setTitle definition\n"
                "}\n"
            ),
            "Use.kt": (
                "fun use(card: Card, title: String) =\n"
                "  card.title // ref: Card.getTitle read possible ;; Card.setTitle read possible\n"
            ),
        },
    )


def test_swift_and_c_use_objective_c(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Menu.m": (
                "@implementation Menu\n"
                "- (void)disableIcons { } // ref: Menu.disableIcons definition\n"
                "@end\n"
                "int counted(void) { return 1; } // ref: counted definition\n"
            ),
            "Use.swift": "menu.disableIcons() // ref: Menu.disableIcons call likely\n",
            "use.c": "int all(void) { return counted(); } // ref: counted call likely\n",
        },
    )


def test_swift_and_objective_c_use_c(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "count.h": "int counted(int a); // ref: counted definition\n",
            "count.c": (
                '#include "count.h"\nint counted(int a) { return a; } // ref: counted definition\n'
            ),
            "Use.swift": "let all = counted(1) // ref: counted call likely\n",
            "Use.m": "int all(void) { return counted(2); } // ref: counted call likely\n",
        },
    )


def test_messages_of_objective_c_are_uses_of_methods(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Shop.h": (
                "@interface Shop // ref: Shop definition\n"
                "- (void)sell:(int)a to:(id)b; // ref: Shop.sell definition\n"
                "@end\n"
            ),
            "Shop.m": (
                "@implementation Shop // ref: Shop type likely\n"
                "- (void)sell:(int)a to:(id)b { // ref: Shop.sell definition\n"
                "  [self sell:1 to:b]; // ref: Shop.sell call likely\n"
                "}\n"
                "@end\n"
            ),
            "Door.m": (
                "@implementation Door\n"
                "- (void)sell:(int)a { [self sell:1]; }\n"
                "- (void)use:(Shop *)shop { // ref: Shop type likely\n"
                "  [shop sell:1 to:nil]; // ref: Shop.sell call likely\n"
                "}\n"
                "@end\n"
            ),
        },
    )


def test_extensions_of_two_classes_are_two_symbols(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "binding.kt": (
                "fun Activity.bind() = 1 // ref: Activity.bind definition\n"
                "fun Fragment.bind() = 2 // ref: Fragment.bind definition\n"
                "fun Fragment.twice() = this.bind() // ref: Fragment.bind call likely\n"
            ),
        },
    )


def test_types_that_the_grammar_of_swift_does_not_parse_are_used(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "errors.swift": "enum SaveError: Error {} // ref: SaveError definition\n",
            "use.swift": (
                "struct Shop {\n"
                "  func save() throws(SaveError) {} // ref: SaveError type likely\n"
                "}\n"
            ),
        },
    )


def test_overriding_methods_are_definitions_of_the_method(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Listener.kt": (
                "interface Listener { fun onPick(a: Int) } // ref: Listener.onPick definition\n"
            ),
            "Use.kt": (
                "class One : Base(), Listener {\n"
                "  override fun onPick(a: Int) {} // ref: Listener.onPick definition likely\n"
                "}\n"
                "class Two : One() {\n"
                "  override fun onPick(a: Int) {} // ref: Listener.onPick definition likely\n"
                "  fun show() = add(object : Listener {\n"
                "    override fun onPick(a: Int) {} // ref: Listener.onPick definition likely\n"
                "  })\n"
                "}\n"
                "class Other { fun onPick(a: Int) {} }\n"
            ),
            "Three.java": (
                "class Three implements Listener {\n"
                "  public void onPick(int a) {} // ref: Listener.onPick definition likely\n"
                "}\n"
                "class Fourth { void onPick(int a) {} }\n"
            ),
            "delegate.swift": (
                "protocol Delegate { func changed() } // ref: Delegate.changed definition\n"
            ),
            "use.swift": (
                "extension Window: Delegate {\n"
                "  func changed() {} // ref: Delegate.changed definition likely\n"
                "}\n"
                "class Door { func changed() {} }\n"
            ),
        },
    )


def test_local_variables_are_no_members(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "article.swift": (
                "class Article {\n"
                "  var url: String? // ref: Article.url definition\n"
                "  func show(other: Article) {\n"
                "    if let url = url { // ref: Article.url read likely\n"
                "      open(url)\n"
                "    }\n"
                "    let old = url // ref: Article.url read likely\n"
                "    let url = other.url // ref: Article.url read likely\n"
                "    print(url)\n"
                "    all.map { url in url }\n"
                "  }\n"
                "}\n"
                "struct Feed { var url: String }\n"
            ),
            "use.swift": (
                "class Saved: Article {\n"
                "  func again() { print(url) } // ref: Article.url read likely\n"
                "}\n"
                "func run(article: Article) {\n"
                "  for url in all { print(url) }\n"
                "  print(url)\n"
                "  fetch(url: 1)\n"
                "  Article(url: 2) // ref: Article.url write likely\n"
                "  article.url = nil // ref: Article.url write likely\n"
                "}\n"
            ),
            "Card.kt": (
                "data class Card(val title: String) // ref: Card.title definition\n"
                "fun use(card: Card) {\n"
                "  val title = card.title // ref: Card.title read likely\n"
                "  print(title)\n"
                "  Card(title = title) // ref: Card.title write likely\n"
                "  card.copy(title = title) // ref: Card.title write likely\n"
                "  show(title = title)\n"
                "  cards.map { (title, b) -> title }\n"
                "}\n"
                "class Page(val title: String)\n"
            ),
        },
    )
