"""Remove links from a model's text, however they are spelled.

When a person or an agent opens a link in an answer, it can send what the model has read to the
owner of the host. Terminals, editors and chat windows turn much into links that is not a valid URL:
`www.host`, `host/path`, `//host`, an email address. Paths, module names and versions look similar
and must stay. So only a host with a top-level domain, or with a query behind it, counts as a link.
"""

from __future__ import annotations

import re
import unicodedata

from winnow.text.html_references import unescaped

# Countries; then generic domains that are old or have many hosts, and reserved ones.
_DOMAINS = frozenset(
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo"
    " br bs bt bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm"
    " do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm gn gp gq gr gs"
    " gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km"
    " kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp"
    " mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk"
    " pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr ss"
    " st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va"
    " vc ve vg vi vn vu wf ws ye yt za zm zw com net org edu gov mil int arpa info biz name"
    " pro mobi tel asia cat jobs travel museum coop aero post xxx example test invalid"
    " localhost local internal lan corp onion i2p alt academy agency app art attorney auction"
    " audio auto baby band bank bar beauty beer best bet bid bike bingo bio black blog blue"
    " boats bond boo book boutique box broker build builders business buy buzz cab cafe cam"
    " camera camp capital car cards care careers cars casa cash casino catering center ceo"
    " charity chat cheap church city claims cleaning click clinic clothing cloud club coach"
    " codes coffee college community company computer condos construction consulting contact"
    " contractors cooking cool country coupons courses credit creditcard cricket cruises cyou"
    " dad dance date dating day deals degree delivery democrat dental dentist design dev"
    " diamonds diet digital direct directory discount doctor dog domains download earth eco"
    " education email energy engineer engineering enterprises equipment esq estate events"
    " exchange expert exposed express fail faith family fan fans farm fashion feedback film"
    " finance financial fish fishing fit fitness flights florist flowers foo football forsale"
    " forum foundation fun fund furniture futbol fyi gallery game games garden gay gift gifts"
    " gives glass global gmbh gold golf google graphics gratis green gripe group guide guitars"
    " guru hair haus health healthcare help here hiphop hiv hockey holdings holiday homes"
    " horse hospital host hosting hot hotel house how icu immo immobilien inc industries ink"
    " institute insurance insure international investments irish jewelry juegos kaufen kim"
    " kitchen kiwi land lat law lawyer lease legal lgbt life lighting limited limo link live"
    " llc loan loans lol london lotto love ltd luxe luxury maison makeup management market"
    " marketing mba media memorial men menu miami moda moe mom monster mortgage motorcycles"
    " mov movie navy network new news nexus ngo ninja nyc observer one ong onl online ooo"
    " organic page paris partners parts party pet phd photo photography photos pics pictures"
    " pink pizza place plumbing plus poker porn press prod productions prof promo properties"
    " property pub qpon quest racing realestate recipes red rehab reise reisen ren rent"
    " rentals repair report republican rest restaurant review reviews rich rip rocks rodeo"
    " rsvp rugby run sale salon school science security services sex sexy shoes shop shopping"
    " show singles site ski skin soccer social software solar solutions space sport store"
    " stream studio study style sucks supplies supply support surf surgery systems tattoo tax"
    " taxi team tech technology tennis theater theatre tickets tienda tips tires today tokyo"
    " tools top tours town toys trade trading training tube university uno vacations vegas"
    " ventures vet viajes video villas vin vip vision vodka vote voting voto voyage wales"
    " watch web webcam website wed wedding wiki win wine work works world wtf xyz yachts yoga"
    " zip zone".split()
)
# Those of the domains that are as often file extensions.
_EXTENSIONS = frozenset(
    "py md rs sh pl cc so ml mm mk ps pm in st tf ai cs sc my do id am as ad la tm test zip mov"
    " new name info app local build properties software".split()
)
# Characters that look like a dot, a slash or a colon.
_LIKE_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("\u3002\uff0e\uff61\u2024\ufe52\u00b7\u0701\u0702\ua4f8", "."),
        **dict.fromkeys("\uff0f\u2044\u2215\u29f8\u2571\u1735", "/"),
        **dict.fromkeys("\uff1a\ufe55\u2236\ua789\u0589\u05c3\u02d0", ":"),
        **dict.fromkeys("\uff3c\u2216\u29f5\ufe68", "\\"),
    }
)
_DEFANGED = re.compile(r"[\[({<](\.|:|://|/|dot)[\])}>]", re.I)
_ENCODED = re.compile(r"%(3a|2f|2e|5c)", re.I)
_SLASH = r"[/\\]"
# A link extends from the space before it to the space after it: data can be on either side.
_LINK = re.compile(
    rf"""
    \S* : {_SLASH}{{2}} \S*                                          # scheme://host
  | \S* (?:https?|h[x*]{{2}}ps?|s?ftps?|wss?|gopher|ldaps?|ssh|git|smb|nfs) : (?=\S) \S*
  | (?<![A-Za-z]) (?:javascript|vbscript|data|command|mailto|vscode|vscode-insiders|file|blob|tel
      |sms|view-source|about|chrome|intent|magnet|x-[a-z-]{{1,30}}) : (?=\S) \S*
  | (?<![\w/\\:.]) {_SLASH}{{2,}} (?=[\w\[]) \S*                     # //host
  | \S* www\d{{0,3}} \. (?=\w) \S*
  | \S* [0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}} (?::[0-9]{{1,5}})? (?=[/\\?\#]\S) \S*
  | \S* \[ [0-9a-f]{{0,4}} : [0-9a-f:.]{{1,60}} \] (?=[:/\\?\#]) \S*    # an address of IPv6
    """,
    re.VERBOSE | re.I,
)
_HOST = re.compile(
    r"(?:(?<![\w/\\.@-])|(?<=[/\\]{2}))(?:[^\s@/\\]{1,100}@)?"
    r"(?P<host>(?:[\w-]{1,63}\.){1,20}(?P<domain>[^\W_][\w-]{1,62}))\.?"
    r"(?P<port>:[0-9]{1,5})?(?P<rest>[/\\]\S*|[?#]\w\S*)",
    re.I,
)
_EMAIL = re.compile(r"[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,10}(?P<domain>[^\W\d_]{2,63})(?![\w(])")
_QUERY = re.compile(r"[?=&#%@;]")


def without_links(text: str) -> str:
    """Return the text, on one line, without links.

    Variants of characters, such as full-width letters, are replaced by the plain ones.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_LIKE_PUNCTUATION))
        text = text.translate(_LIKE_PUNCTUATION)
    text = _DEFANGED.sub(_refanged, unescaped(text))
    text = _ENCODED.sub(lambda pair: chr(int(pair[1], 16)), text)
    text = _LINK.sub(" ", text)
    return _EMAIL.sub(_without_address, _HOST.sub(_without_host, text))


def _refanged(sign: re.Match[str]) -> str:
    return "." if sign[1].lower() == "dot" else sign[1]


def _without_host(match: re.Match[str]) -> str:
    domain, rest = match["domain"].lower(), match["rest"]
    is_domain = domain in _DOMAINS or domain.startswith("xn--") or not domain.isascii()
    if _QUERY.search(rest) or match["port"] or (is_domain and domain not in _EXTENSIONS):
        return " "
    if is_domain:
        # "models.py/views.py" are two files. With spaces between them, they are not a link.
        return match["host"] + re.sub(_SLASH, " / ", rest)
    return match[0]


def _without_address(match: re.Match[str]) -> str:
    return " " if match["domain"].lower() in _DOMAINS else match[0]
