"""Judge by its form if a value can be a secret.

Secrets are not made of words, whether a person or a generator made them. A value is split at its
separators. A part is made of words if most of it is runs of letters with the pairs that occur in
names. The rest must be long and varied enough.
"""

from __future__ import annotations

import re
from functools import lru_cache

# The 200 most frequent pairs of letters in the words of the sources of Django, redis and rxjs (each
# word counted by the logarithm of its frequency): 88 % of the pairs in such words. Of words of four
# or more letters, 93 % have at least 60 % of their pairs among them; of random runs of eight
# letters 5 %, of sixteen 3 %.
_PAIRS = frozenset(
    b"ab ac ad ag ai al am an ap ar as at au av ay ba be bi bl bo bs bu ca ce ch ci ck cl co cr ct"
    b" cu da dd de di do ds du ea ec ed ee ef eg el em en ep er es et ev ew ex ey fa fe ff fi fl fo"
    b" fr ge gi gr gs ha he hi ho ia ib ic id ie if ig il im in io ip ir is it iv iz ke la ld le li"
    b" ll lo ls lt lu ly ma me mi mo mp mu na nc nd ne nf ng ni no ns nt nu ob oc od og oi ol om on"
    b" oo op or os ot ou ov ow pa pe pi pl po pp pr pt pu qu ra rc rd re rg ri rl rm rn ro rr rs rt"
    b" ru ry sa sc se sh si sl so sp ss st su ta tc te th ti tl to tr ts tt tu ty ua ub uc ud ue ul"
    b" um un up ur us ut va ve vi wa we wi xt ze".split()
)
_WORD_SHARE = 0.6
_WORD_LETTERS = 4
# Shorter runs of letters between separators are abbreviations ("id", "get"), not secrets.
_SHORT_LETTERS = 3
_SUFFIX_DIGITS = 4
# Letters around digits may look like words by chance.
_WORD_SHARE_AROUND_DIGITS = 0.8
# Names in camel case have longer parts than random letters, half of which are capitals.
_CAMEL_LETTERS = 3
# A secret has this many characters outside words, and this share of all; less if it is long and has
# digits and letters of both cases, as random values do and names seldom.
_OPAQUE_CHARACTERS = 6
_OPAQUE_SHARE = 0.6
_OPAQUE_SHARE_VARIED = 0.3
_VARIED = 16
_OPAQUE_LETTERS = 12  # for letters of one case only
_DISTINCT = 5

_SEGMENT = re.compile(rb"[A-Za-z0-9]+")
_PIECE = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_VARIED_CHARACTERS = re.compile(rb"(?=[^\n]*[a-z])(?=[^\n]*[A-Z])[^\n]*[0-9][A-Za-z]")
_CHOSEN = re.compile(rb"(?=[^\n]*[A-Za-z])(?=[^\n]*[0-9])[^\n]*[A-Za-z0-9][!@#$%^&*?~+]")

# Placeholders for a secret.
_PLACEHOLDER = re.compile(
    rb"""
    \*\*\* | \.\.\. | \xe2\x80\xa6 | xxxx | 000000
  | example | change[^a-z]?me | changeit | placeholder | redacted | dummy | sample | foobar
  | your | insert[-_ ] | replace | notreal | not[-_ ]?(?:a[-_ ])?secret
  | (?:goes|key|token|secret|password)[-_ ]?here | \Aqwerty | abcdefg | 1234567 | insecure
    """,
    re.VERBOSE,
)
_PLACEHOLDER_WORDS = re.compile(
    rb"(?:^|[-_])(?:fake|todo|test|mock|invalid|none|null|undefined)(?:[-_]|$)"
)
# A long random value may contain a short word by chance.
_PLACEHOLDER_IN_LONG = re.compile(rb"EXAMPLE|example|placeholder|(.)\1{7}|REDACTED|1234567890")
_LONG = 40

# Values inserted later, and names: variables, templates, references to a vault.
_REFERENCE = re.compile(
    rb"""
    [<>]|\$[({A-Za-z_]|%[({]|\{\{|\}\}|\#\{|%[sdr@]|%[A-Z_]+%|\{[a-z_.0-9!:]*\}|<%
  | (?i: (?:enc|vault|op|ssm|arn|kms|secretref|secrets?|env|process|config|settings|self|this|os|var
      |data|local|props?|request|options?|params?)[:.\[] )
    """,
    re.VERBOSE,
)
_ANYWHERE = re.compile(rb"[<>]|\$[({]|%\(|\{\{|\}\}|#\{|%[sdr](?![0-9A-Za-z])|\{[a-z_.]*\}|://")
_UUID = re.compile(rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
# Random words from a list. Sentences begin with a capital letter or contain one of the small words.
_PHRASE = re.compile(rb"[a-z]{3,10}(?:[ ][a-z]{3,10}){3,11}")
_SENTENCE = frozenset(
    b"the and for you your with this that not are was has have must can will from into use enter"
    b" please when than but all any one new old its der die das und ist les des una con para"
    b" password passphrase secret token key".split()
)
# Regular expressions, and escapes of other characters.
_PATTERN = re.compile(rb"\\[dwsbDWS]|\(\?|[\])][+*{?]|\[[^\]]*-[^\]]*\]|\.[*+]|^\^|\$$")
_OTHER = re.compile(
    rb"""
    [0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}   # a UUID
  | 0[xX][0-9a-fA-F_]{1,31}[uUlL]* | [-+]?[0-9][0-9_.,:eE+-]*[a-zA-Z]{0,3}         # a number
  | v?[0-9]+(?:\.[0-9]+)+(?:[-+.][0-9A-Za-z.-]+)?                                 # a version
  | (?i:sha-?[0-9]+|md5)[-:=$].*                                                  # a hash
  | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                                  # an address
  | [\w./-]+\.(?:py|js|ts|json|ya?ml|txt|html?|css|pem|crt|key|pub|php|rb|go|java|xml|svg|png|conf)
  | (?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.~ -]*[/\\][\w./\\~ -]*                        # a path
    """,
    re.VERBOSE,
)

# Words in place of a password: dummies, its name in other languages, types, states. Other words may
# follow each word, so no alternative may be a sequence of others.
_DUMMY = re.compile(
    rb"(?:pass(?:word|wd|wort|phrase|code)?|pwd|pw|secret|token|key|user(?:name)?|admin|root|guest"
    rb"|test(?:ing|er)?|my|the|your|new|old|bad|wrong|good|some|this|db|dev|local|foo|bar|baz|qux"
    rb"|login|postgres|mysql|mariadb|redis|mongo|rabbit|host|port|client|server|demo|value"
    rb"|[-_.:/0-9 ]){1,30}"
)
_LABEL = frozenset(
    b"string text bytes byte char varchar int integer bool boolean number object array none null"
    b" undefined true false required optional hidden enabled disabled default basic digest bearer"
    b" plain plaintext scram trust unknown empty blank missing invalid valid input prompt always"
    b" never visible hashed encrypted masked supersecret"
    b" success failed failure error warning passed changed updated unchanged expired"
    b" password passwords passwort passworter kennwort kennworter contrasena senha wachtwoord"
    b" losenord passord adgangskode kodeord salasana haslo heslo parola parole sifre jelszo geslo"
    b" lozinka slaptazodis parool sandi clave zaporka contrasenya contrasinal lykilord geheimnis"
    b" geheimcode secreto segredo segreto secretstr credential credentials".split()
)
# A name or label that says what it is: "userPassword", "PasswordInput", "Passworte".
_ABOUT = re.compile(
    rb"passw|passphrase|passcode|passwd|pwd|secret|token|credential|kennwort|contrase|motdepasse"
    rb"|wachtwoord|auth|login|key"
)
_NICE_NAME = re.compile(
    rb"(?:[a-z]{2,}|[A-Z][a-z]+)(?:[-_.:/ ]?[A-Z]?[a-z]+|[-_.:/ ]?[0-9]{1,2}){0,9}"
    rb"|[A-Z]{2,}(?:[-_.][A-Z0-9]{1,20}){0,9}"
)
# "user_settings", "django.contrib.auth", "SOME_NAME": two words or more with separators.
_JOINED_WORDS = re.compile(
    rb"_{0,2}(?:[a-z]{2,}[0-9]{0,2}(?:[-_./:][a-z]{2,}[0-9]{0,2}){1,12}"
    rb"|[A-Z]{2,}[0-9]{0,2}(?:[-_./:][A-Z]{2,}[0-9]{0,2}){1,12})_{0,2}"
)
_LETTER = re.compile(rb"[A-Za-z]")
_SHORTEST_PASSWORD = 6
_DISTINCT_IN_PASSWORD = 4


def is_placeholder(value: bytes) -> bool:
    """Return True if a value is a placeholder for another."""
    if len(value) >= _LONG:
        return _PLACEHOLDER_IN_LONG.search(value) is not None
    folded = value.lower()
    return bool(_PLACEHOLDER.search(folded) or _PLACEHOLDER_WORDS.search(folded))


@lru_cache(maxsize=512)
def is_opaque(value: bytes) -> bool:
    """Return True if a value looks random: no words, number, or name."""
    if is_placeholder(value) or (not value.isalpha() and _stands_for_other(value)):
        return False
    segments = _SEGMENT.findall(value)
    opaque = b"".join(segment for segment in segments if not _is_wordy(segment))
    total = sum(map(len, segments))
    varied = total >= _VARIED and _VARIED_CHARACTERS.match(value)
    share = _OPAQUE_SHARE_VARIED if varied else _OPAQUE_SHARE
    return (
        len(opaque) >= max(_OPAQUE_CHARACTERS, share * total)
        and len(set(opaque)) >= _DISTINCT
        and not opaque.isdigit()
        # Words of other languages have other pairs of letters.
        and (
            len(opaque) >= _OPAQUE_LETTERS
            or not (_has_one_case(opaque) or (opaque.isalpha() and opaque.istitle()))
        )
    )


@lru_cache(maxsize=512)
def is_chosen_password(value: bytes) -> bool:
    """Return True if a value looks chosen: letters, digits and a special character."""
    if is_placeholder(value) or _stands_for_other(value) or _PATTERN.search(value):
        return False
    return _CHOSEN.match(value) is not None and len(set(value)) >= _DISTINCT


@lru_cache(maxsize=512)
def is_password(value: bytes) -> bool:
    """Return True if a literal that is assigned to a password can be that password.

    The name is strong evidence: only placeholders, references, labels and names of other things are
    excluded. A value outside ASCII must look like a password because translations don't.
    """
    if len(value) < _SHORTEST_PASSWORD or len(set(value)) < _DISTINCT_IN_PASSWORD:
        return False
    if is_opaque(value) or is_chosen_password(value):
        return True
    if is_placeholder(value) or _stands_for_other(value) or _PATTERN.search(value):
        return False
    folded = value.lower()
    return not (
        not value.isascii()
        or b" " in value
        or not _LETTER.search(value)
        or folded.strip(b"*:!?.") in _LABEL
        or _DUMMY.fullmatch(folded)
        or _JOINED_WORDS.fullmatch(value)
        or (_ABOUT.search(folded) and _NICE_NAME.fullmatch(value))
    )


def is_uuid(value: bytes) -> bool:
    """Return True if a value is a random UUID, not one of zeros or an example."""
    return _UUID.fullmatch(value) is not None and len(set(value.lower())) > 8


def is_passphrase(value: bytes) -> bool:
    """Return True if a value is four or more words that don't form a sentence."""
    return _PHRASE.fullmatch(value) is not None and _SENTENCE.isdisjoint(value.split())


def is_made_of_words(value: bytes) -> bool:
    """Return True if a value consists of words and short numbers."""
    return all(map(_is_wordy, _SEGMENT.findall(value)))


def has_variety(value: bytes) -> bool:
    """Return True unless a value in a provider's format is filled with one character."""
    return len(set(value)) >= 8 and not _PLACEHOLDER_IN_LONG.search(value)


def _stands_for_other(value: bytes) -> bool:
    if value.isalnum():
        return _OTHER.fullmatch(value) is not None
    return bool(
        _REFERENCE.match(value)
        or _ANYWHERE.search(value)
        or _OTHER.fullmatch(value)
        or (b"[" in value and _PATTERN.search(value))
    )


def _has_one_case(letters: bytes) -> bool:
    return letters.isalpha() and (letters.islower() or letters.isupper())


def _is_wordy(segment: bytes) -> bool:
    """Return True if letters and digits are made of words: "userPassword2", "sha256", "id"."""
    if segment.isdigit():
        return len(segment) <= 2 * _SUFFIX_DIGITS
    letters = segment.rstrip(b"0123456789")
    digits = len(segment) - len(letters)
    if digits > 2 * _SUFFIX_DIGITS:
        return False
    if not letters.isalpha():
        return _words(letters) >= _WORD_SHARE_AROUND_DIGITS * len(letters)
    if len(letters) <= _SHORT_LETTERS:
        return digits <= _SUFFIX_DIGITS and (_has_one_case(letters) or letters.istitle())
    return _words(letters) >= _WORD_SHARE * len(letters) or _is_camel_case(letters)


def _is_camel_case(letters: bytes) -> bool:
    """Return True for a name such as "getIdOfUser", whose parts are too short to be words."""
    pieces = _PIECE.findall(letters)
    return 1 < len(pieces) <= len(letters) / _CAMEL_LETTERS and all(
        len(piece) < _WORD_LETTERS or _is_word(piece) for piece in pieces
    )


def _words(segment: bytes) -> int:
    """Return the number of letters in words."""
    return sum(len(piece) for piece in _PIECE.findall(segment) if _is_word(piece))


def _is_word(piece: bytes) -> bool:
    if len(piece) < _WORD_LETTERS or not piece.isalpha():
        return False
    word = piece.lower()
    known = sum(word[place : place + 2] in _PAIRS for place in range(len(word) - 1))
    return known >= _WORD_SHARE * (len(word) - 1)
