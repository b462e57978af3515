"""References in languages for which only names and definitions are extracted."""

from __future__ import annotations

from symbols.references import Check


def test_names_with_one_definition_are_likely(check: Check) -> None:
    check("""
    -- lib.rb --
    class Client # ref: Client definition
      def transmit(data) # ref: Client.transmit definition
        data
      end
    end
    -- use.rb --
    any.transmit( # ref: Client.transmit call likely
      Client.new # ref: Client read likely
    )
    # transmit
    puts "transmit"
    """)


def test_receivers_and_mentioned_names_choose_between_definitions(
    check: Check,
) -> None:
    check("""
    -- lib.rb --
    class Client
      def self.open # ref: Client.open definition
        self.open # ref: Client.open call likely
      end
    end
    class Door
      def self.open
      end
    end
    -- near.rb --
    Client.open # ref: Client.open call likely
    Door.open
    thing.open # ref: Client.open call likely
    -- far.rb --
    thing.open # ref: Client.open call possible
    """)


def test_parameters_stay_in_their_function(check: Check) -> None:
    check("""
    -- a.lua --
    function limit() end
    local function run(limit) -- ref: run.limit definition
      return limit; -- ref: run.limit read likely
    end
    local function other(x) return limit end
    """)


def test_modules_of_elixir_are_found_by_any_part_of_their_name(check: Check) -> None:
    check("""
    -- lib/session.ex --
    defmodule Shop.Session do # ref: Shop.Session definition
    end
    -- lib/data.ex --
    defmodule Shop.Session.Data do # ref: Shop.Session read likely
    end
    -- lib/web.ex --
    defmodule Web do
      alias Shop.Session # ref: Shop.Session import likely
      def run(x), do: Session.save(x) # ref: Shop.Session read likely
      def go(x), do: Shop.Session.save(x) # ref: Shop.Session read likely
    end
    """)


def test_modules_of_haskell_are_found_by_any_part_of_their_name(check: Check) -> None:
    check("""
    -- Shop/Cart.hs --
    module Shop.Cart where -- ref: Shop.Cart definition
    -- Main.hs --
    import Shop.Cart -- ref: Shop.Cart import likely
    """)


def test_annotations_of_constructors_and_implicit_parameters_use_types_of_scala(
    check: Check,
) -> None:
    check("""
    -- inject.scala --
    class Inject // ref: Inject definition
    -- request.scala --
    class Request // ref: Request definition
    -- use.scala --
    class A @Inject() (val a: Int)(implicit b: Int) { // ref: Inject type likely
      def index = Action { implicit r: Request => // ref: Request type likely
        1
      }
    }
    """)


def test_members_of_dart_are_found_through_their_class(check: Check) -> None:
    check("""
    -- lib/shop.dart --
    class Shop { // ref: Shop definition
      final int count; // ref: Shop.count definition
      Shop(this.count); // ref: Shop definition ;; Shop.count read likely
      int twice() { // ref: Shop.twice definition
        return this.count * 2; // ref: Shop.count read likely
      }
    }
    -- lib/use.dart --
    void main(Shop shop) { // ref: Shop type likely
      shop.twice(); // ref: Shop.twice call likely
      final count = 1;
      print(count);
      Shop(2); // ref: Shop call likely
    }
    """)


def test_only_related_languages_share_names(check: Check) -> None:
    check("""
    -- lib.kt --
    class Transmitter // ref: Transmitter definition
    -- use.kts --
    val one = Transmitter() // ref: Transmitter call likely
    -- use.rb --
    Transmitter.new
    -- use.py --
    Transmitter()
    """)


def test_names_without_parentheses_are_calls_in_ruby_unless_they_are_local(check: Check) -> None:
    check("""
    -- story.rb --
    class Story
      def is_gone? # ref: Story.is_gone? definition
      end
      def hotness # ref: Story.hotness definition
        return 0 if is_gone? # ref: Story.is_gone? call likely
        items.map(&:hotness) # ref: Story.hotness call likely
      end
      def rank
        self.score = hotness # ref: Story.hotness call likely
        items.each { |hotness| puts hotness }
        items.each { |item| puts hotness } # ref: Story.hotness call likely
      end
      def local
        hotness = 1
        items.each { hotness }
        case self
        in {hotness:} then hotness
        end
      end
    end
    """)


def test_kinds_of_uses_in_csharp(check: Check) -> None:
    check("""
    -- Client.cs --
    namespace Net;
    public class Client { // ref: Client definition
      public Client() {} // ref: Client definition
    }
    -- Use.cs --
    class Other : Client { // ref: Client type likely
      private readonly Client? _one; // ref: Client type likely
      List<Net.Client[]> All { get; } // ref: Client type likely
      Client Make(Client it) { // ref: Client type likely ;; Client type likely
        var found = new Client(1); // ref: Client call likely
        return it as Client; // ref: Client type likely
      }
    }
    """)


def test_kinds_of_uses_in_other_languages(check: Check) -> None:
    check(r"""
    -- a.kt --
    class Kot // ref: Kot definition
    -- b.kt --
    import a.Kot // ref: Kot import likely
    fun f(x: List<Kot?>) = Kot() // ref: Kot type likely ;; Kot call likely
    -- a.swift --
    func spin(f: Int) {} // ref: spin definition
    class Swi {} // ref: Swi definition
    -- b.swift --
    func f(x: [Swi]) -> Int { // ref: Swi type likely
      spin { 1 } // ref: spin call likely
    }
    -- a.php --
    <?php
    class Php {} // ref: Php definition
    -- b.php --
    <?php
    use A\Php; // ref: Php import likely
    class B extends Php { // ref: Php type likely
      function m(?Php $x) { // ref: Php type likely
        return new Php; // ref: Php call likely
      }
    }
    -- a.scala --
    class Sca // ref: Sca definition
    -- b.scala --
    import a.Sca // ref: Sca import likely
    class B extends Sca { // ref: Sca type likely
      val f: List[Sca] = new Sca // ref: Sca type likely ;; Sca call likely
    }
    -- a.ex --
    defmodule A do
      def eli(x), do: x # ref: A.eli definition
    end
    -- b.ex --
    defmodule B do
      def f(x), do: x |> A.eli # ref: A.eli call likely
    end
    -- a.lua --
    function lu(x) end -- ref: lu definition
    -- b.lua --
    lu "x" -- ref: lu call likely
    local y = lu -- ref: lu read likely
    -- a.sh --
    bas() { :; } # ref: bas definition
    -- b.sh --
    bas 1 # ref: bas call likely
    """)


def test_templates_of_blade_use_names_of_php(check: Check) -> None:
    check("""
    -- helpers.php --
    <?php
    function brand($key) {} // ref: brand definition
    -- page.blade.php --
    {{brand('a')}} // ref: brand call likely
    @section('title', strtoupper(brand('b'))) brand // ref: brand call likely
    @if (brand('c')) <b>brand</b> // ref: brand call likely
    @foreach (brand('d') as $each) // ref: brand call likely
    {!! $each ?? brand('e') !!} // ref: brand call likely
    @php $all = brand('f'); @endphp // ref: brand call likely
    {{-- brand() --}} @{{ brand() }} <?= brand('g') ?> // ref: brand call likely
    """)


def test_variables_of_php_are_no_methods(check: Check) -> None:
    check("""
    -- Song.php --
    <?php
    class Song {
      public function stream() {} // ref: Song.stream definition
      public static function open($stream) {
        fclose($stream);
      }
    }
    -- use.php --
    <?php
    $opened = $song->stream(); // ref: Song.stream call likely
    function f() { $stream = 1; return $stream; }
    """)


def test_computed_attributes_of_laravel_are_read_in_snake_case(check: Check) -> None:
    check("""
    -- Song.php --
    <?php
    class Song {
      protected function albumArtist(): Attribute {} // ref: albumArtist definition
      function trackTitle(): string {} // ref: trackTitle definition
    }
    -- use.php --
    <?php
    $albumArtist = $song->album_artist; // ref: albumArtist read possible
    echo $song->track_title . $album_artist;
    """)


def test_java_uses_definitions_and_accessors_of_kotlin(check: Check) -> None:
    check("""
    -- Card.kt --
    class Card(
      val embedUrl: String, // ref: Card.embedUrl definition
      var isOpen: Boolean, // ref: Card.isOpen definition
    ) {
      fun shuffle() {} // ref: Card.shuffle definition
    }
    -- Use.java --
    class Use {
      String getEmbedUrl() { return ""; }
      void run(Card card, Use use) {
        card.shuffle(); // ref: Card.shuffle call likely
        card.setOpen(card.isOpen()); // ref: Card.isOpen call likely ;; Card.isOpen call possible
        card.getEmbedUrl(); // ref: Card.embedUrl call possible
        use.getEmbedUrl();
      }
    }
    """)


def test_kotlin_uses_accessors_of_java_as_properties(check: Check) -> None:
    check("""
    -- Card.java --
    class Card {
      String getTitle() { return ""; } // ref: Card.getTitle definition
      void setTitle(String to) {} // ref: Card.setTitle definition
    }
    -- Use.kt --
    fun use(card: Card, title: String) =
      card.title // ref: Card.getTitle read possible ;; Card.setTitle read possible
    """)


def test_swift_and_c_use_objective_c(check: Check) -> None:
    check("""
    -- Menu.m --
    @implementation Menu
    - (void)disableIcons { } // ref: Menu.disableIcons definition
    @end
    int counted(void) { return 1; } // ref: counted definition
    -- Use.swift --
    menu.disableIcons() // ref: Menu.disableIcons call likely
    -- use.c --
    int all(void) { return counted(); } // ref: counted call likely
    """)


def test_swift_and_objective_c_use_c(check: Check) -> None:
    check("""
    -- count.h --
    int counted(int a); // ref: counted definition
    -- count.c --
    #include "count.h"
    int counted(int a) { return a; } // ref: counted definition
    -- Use.swift --
    let all = counted(1) // ref: counted call likely
    -- Use.m --
    int all(void) { return counted(2); } // ref: counted call likely
    """)


def test_messages_of_objective_c_are_uses_of_methods(check: Check) -> None:
    check("""
    -- Shop.h --
    @interface Shop // ref: Shop definition
    - (void)sell:(int)a to:(id)b; // ref: Shop.sell definition
    @end
    -- Shop.m --
    @implementation Shop // ref: Shop type likely
    - (void)sell:(int)a to:(id)b { // ref: Shop.sell definition
      [self sell:1 to:b]; // ref: Shop.sell call likely
    }
    @end
    -- Door.m --
    @implementation Door
    - (void)sell:(int)a { [self sell:1]; }
    - (void)use:(Shop *)shop { // ref: Shop type likely
      [shop sell:1 to:nil]; // ref: Shop.sell call likely
    }
    @end
    """)


def test_extensions_of_two_classes_are_two_symbols(check: Check) -> None:
    check("""
    -- binding.kt --
    fun Activity.bind() = 1 // ref: Activity.bind definition
    fun Fragment.bind() = 2 // ref: Fragment.bind definition
    fun Fragment.twice() = this.bind() // ref: Fragment.bind call likely
    """)


def test_types_that_the_grammar_of_swift_does_not_parse_are_used(check: Check) -> None:
    check("""
    -- errors.swift --
    enum SaveError: Error {} // ref: SaveError definition
    -- use.swift --
    struct Shop {
      func save() throws(SaveError) {} // ref: SaveError type likely
    }
    """)


def test_overriding_methods_are_definitions_of_the_method(check: Check) -> None:
    check("""
    -- Listener.kt --
    interface Listener { fun onPick(a: Int) } // ref: Listener.onPick definition
    -- Use.kt --
    class One : Base(), Listener {
      override fun onPick(a: Int) {} // ref: Listener.onPick definition likely
    }
    class Two : One() {
      override fun onPick(a: Int) {} // ref: Listener.onPick definition likely
      fun show() = add(object : Listener {
        override fun onPick(a: Int) {} // ref: Listener.onPick definition likely
      })
    }
    class Other { fun onPick(a: Int) {} }
    -- Three.java --
    class Three implements Listener {
      public void onPick(int a) {} // ref: Listener.onPick definition likely
    }
    class Fourth { void onPick(int a) {} }
    -- delegate.swift --
    protocol Delegate { func changed() } // ref: Delegate.changed definition
    -- use.swift --
    extension Window: Delegate {
      func changed() {} // ref: Delegate.changed definition likely
    }
    class Door { func changed() {} }
    """)


def test_local_variables_are_no_members(check: Check) -> None:
    check("""
    -- article.swift --
    class Article {
      var url: String? // ref: Article.url definition
      func show(other: Article) {
        if let url = url { // ref: Article.url read likely
          open(url)
        }
        let old = url // ref: Article.url read likely
        let url = other.url // ref: Article.url read likely
        print(url)
        all.map { url in url }
      }
    }
    struct Feed { var url: String }
    -- use.swift --
    class Saved: Article {
      func again() { print(url) } // ref: Article.url read likely
    }
    func run(article: Article) {
      for url in all { print(url) }
      print(url)
      fetch(url: 1)
      Article(url: 2) // ref: Article.url write likely
      article.url = nil // ref: Article.url write likely
    }
    -- Card.kt --
    data class Card(val title: String) // ref: Card.title definition
    fun use(card: Card) {
      val title = card.title // ref: Card.title read likely
      print(title)
      Card(title = title) // ref: Card.title write likely
      card.copy(title = title) // ref: Card.title write likely
      show(title = title)
      cards.map { (title, b) -> title }
    }
    class Page(val title: String)
    """)
