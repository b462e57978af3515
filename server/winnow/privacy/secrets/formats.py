"""Find tokens with a known format, as documented by the services that issue them.

Tokens contain a run of letters, digits, `_` and `-` that is rare elsewhere. Format names are
searched only in such runs, a tenth of source text, and a format's pattern runs only if its name
occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from winnow.privacy.secrets.detector import SecretMatch
from winnow.privacy.secrets.values import has_variety

# Minimum length of the run in a token.
_RUN = 20
_RUN_CHARACTERS = bytes(
    0x61 if (chr(byte).isalnum() and byte < 0x80) or byte in b"_-" else 0x20 for byte in range(256)
)
_BEFORE_RUN = 12
# An id may consist of capital letters, like the name of a constant.
_AWS_IDS = (b"AKIA", b"ASIA", b"ABIA", b"ACCA")
# The other half of a key pair is searched within this distance.
_BESIDE = 400


class TokenFormat(NamedTuple):
    """A token format; every match contains ``name``. The secret is the group "value", if any."""

    rule: str
    name: bytes
    pattern: bytes


def _tokens(rule: str, names: str, rest: str, *, boundary: str = "A-Za-z0-9") -> list[TokenFormat]:
    r"""Return formats of tokens that begin with their name, at the start of a word or after an
    escape such as `\n`."""
    return [
        # The boundary follows the name: a pattern that begins with a literal is fast.
        _format(rule, name, rf"{text}(?:(?<![{boundary}]{text})|(?<=\\[nrt]{text})){rest}")
        for name, text in ((name, re.escape(name)) for name in names.split())
    ]


def _format(rule: str, name: str, pattern: str) -> TokenFormat:
    return TokenFormat(rule, name.encode(), f"{pattern}(?![A-Za-z0-9])".encode())


@cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    """Compile a format's pattern on first use: most are never needed, and compiling all is slow."""
    return re.compile(pattern)


# For patterns that don't begin with a name, which would be tried at every letter.
_WORD_START = r"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrt]))"
# Their names begin a word, in a run or right before it.
_TOKENS = (
    *_tokens("aws-access-key-id", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}"),
    *_tokens("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,255}"),
    *_tokens("github-token", "github_pat_", "[A-Za-z0-9_]{22,255}"),
    *_tokens(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas-",
        r"[A-Za-z0-9_-]{20,200}(?:\.[a-z0-9.]{5,20})?",
    ),
    *_tokens("gitlab-token", "GR1348941", "[A-Za-z0-9_-]{20}"),
    *_tokens("slack-token", "xox", r"[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,250}"),
    *_tokens("slack-token", "xapp-", "[0-9]-[A-Za-z0-9-]{20,250}"),
    *_tokens("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", "[A-Za-z0-9]{10,250}"),
    *_tokens("stripe-key", "whsec_", "[A-Za-z0-9+/]{24,80}={0,2}"),
    *_tokens("google-api-key", "AIza", "[A-Za-z0-9_-]{35}"),
    *_tokens("google-oauth-secret", "GOCSPX-", "[A-Za-z0-9_-]{28}"),
    *_tokens("anthropic-key", "sk-ant-", "[A-Za-z0-9_-]{20,250}"),
    *_tokens(
        "openai-key",
        "sk-",
        "(?:[A-Za-z0-9]{32,64}|(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,250})",
    ),
    *_tokens("npm-token", "npm_", "[A-Za-z0-9]{36}"),
    *_tokens("pypi-token", "pypi-", "[A-Za-z0-9_-]{50,1000}"),
    *_tokens("twilio-key", "SK", "[0-9a-f]{32}"),
    *_tokens("mailgun-key", "key-", "[0-9a-z]{32}"),
    *_tokens("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[0-9a-f]{64}"),
    *_tokens("hugging-face-token", "hf_ api_org_", "[A-Za-z0-9]{30,60}"),
    *_tokens(
        "jwt",
        "eyJ",
        r"[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]{0,8000}){1,4}?\.[A-Za-z0-9_-]{10,8000}=?",
        boundary="A-Za-z0-9_-",
    ),
    *_tokens("age-key", "AGE-SECRET-KEY-", "(?:PQ-)?1[A-Z0-9]{50,3000}"),
    *_tokens("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]{32}"),
    *_tokens("square-token", "sq0", "(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    *_tokens("linear-key", "lin_api_", "[A-Za-z0-9]{40}"),
    *_tokens("notion-token", "ntn_", "[A-Za-z0-9]{40,60}"),
    *_tokens("notion-token", "secret_", "[A-Za-z0-9]{43}"),
    *_tokens("databricks-token", "dapi", "[0-9a-f]{32}(?:-[0-9])?"),
    *_tokens("docker-token", "dckr_", "(?:pat|oat)_[A-Za-z0-9_-]{27,40}"),
    *_tokens("grafana-token", "glsa_", "[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    *_tokens("grafana-token", "glc_", "eyJ[A-Za-z0-9+/]{30,400}={0,2}"),
    *_tokens("sentry-token", "sntrys_", "[A-Za-z0-9+/=_-]{40,400}"),
    *_tokens("sentry-token", "sntryu_", "[A-Za-z0-9]{40,80}"),
    *_tokens("new-relic-key", "NRAK-", "[A-Z0-9]{27}"),
    *_tokens("postman-key", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}"),
    *_tokens("atlassian-token", "ATATT3 ATCTT3 ATBB", "[A-Za-z0-9_=-]{28,400}"),
    *_tokens("figma-token", "figd_", "[A-Za-z0-9_-]{40}"),
    *_tokens("supabase-token", "sbp_", "[0-9a-f]{40}"),
    *_tokens("supabase-token", "sb_secret_", "[A-Za-z0-9_-]{31}"),
    *_tokens("planetscale-token", "pscale_", "(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,64}"),
    *_tokens("rubygems-key", "rubygems_", "[0-9a-f]{48}"),
    *_tokens("crates-io-token", "cio", "[A-Za-z0-9]{32}"),
    *_tokens("nuget-key", "oy2", "[a-z0-9]{43}"),
    *_tokens("groq-key", "gsk_", "[A-Za-z0-9]{48,60}"),
    *_tokens("xai-key", "xai-", "[A-Za-z0-9]{70,90}"),
    *_tokens("replicate-token", "r8_", "[A-Za-z0-9]{37}"),
    *_tokens("perplexity-key", "pplx-", "[A-Za-z0-9]{40,60}"),
    *_tokens("pulumi-token", "pul-", "[0-9a-f]{40}"),
    *_tokens("fly-token", "fm1", "[ar]?_[A-Za-z0-9+/_-]{60,1000}={0,2}"),
    *_tokens("fly-token", "fm2_", "[A-Za-z0-9+/_-]{60,1000}={0,2}"),
    *_tokens("alibaba-key-id", "LTAI", "[A-Za-z0-9]{16,24}"),
    *_tokens("tencent-key-id", "AKID", "[A-Za-z0-9]{32}"),
    *_tokens("heroku-key", "HRKU-", "[A-Za-z0-9_-]{36,70}"),
    *_tokens("easypost-key", "EZAK EZTK", "[A-Za-z0-9]{54}"),
    *_tokens("duffel-token", "duffel_", "(?:test|live)_[A-Za-z0-9_-]{43}"),
    *_tokens("brevo-key", "xkeysib-", "[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    *_tokens("doppler-token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}"),
    *_tokens("dynatrace-token", "dt0", r"[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    *_tokens("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    *_tokens("google-token", "ya29.", "[A-Za-z0-9_-]{20,400}"),
    *_tokens("google-token", "1//0", "[A-Za-z0-9_-]{40,200}"),
    *_tokens("vault-token", "hvs. hvb. hvr.", "[A-Za-z0-9_-]{24,300}"),
    *_tokens("aws-bedrock-key", "ABSK", "[A-Za-z0-9+/]{80,300}={0,2}"),
    *_tokens("aws-bedrock-key", "bedrock-api-key-", "[A-Za-z0-9+/]{80,4000}={0,2}"),
    *_tokens("mapbox-token", "sk.", r"eyJ[A-Za-z0-9_-]{20,200}\.[A-Za-z0-9_-]{20,60}"),
    *_tokens("tailscale-key", "tskey-", "[a-z]{3,12}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,50}"),
    *_tokens("langsmith-key", "lsv2_", "(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    *_tokens("nvidia-key", "nvapi-", "[A-Za-z0-9_-]{50,90}"),
    *_tokens("netlify-token", "nfp_", "[A-Za-z0-9_-]{36,60}"),
    *_tokens("buildkite-token", "bkua_", "[0-9a-f]{40}"),
    *_tokens("circleci-token", "CCIPAT_ CCIPRJ_", "[A-Za-z0-9]{15,30}_[0-9a-f]{40}"),
    *_tokens("sourcegraph-token", "sgp_", "[A-Za-z0-9_]{40,80}"),
    *_tokens("pinecone-key", "pcsk_", "[A-Za-z0-9]{4,10}_[A-Za-z0-9]{50,80}"),
    *_tokens("1password-token", "ops_", "eyJ[A-Za-z0-9_-]{200,2000}={0,2}"),
    *_tokens("cloudflare-key", "v1.0-", "[0-9a-f]{24}-[0-9a-f]{146}"),
    *_tokens("contentful-token", "CFPAT-", "[A-Za-z0-9_-]{43}"),
    *_tokens("dropbox-token", "sl.", "[A-Za-z0-9_-]{120,1500}"),
    *_tokens("facebook-token", "EAA", "[A-Z][A-Za-z0-9]{80,300}"),
    *_tokens("square-token", "EAAA", "[A-Za-z0-9_-]{60}"),
)
# Their names are elsewhere in a run, or right before it.
_IN_RUNS = (
    _format("mailchimp-key", "-us", _WORD_START + "[0-9a-f]{32}-us[0-9]{1,2}"),
    _format("azure-key", "JQQJ9", _WORD_START + "[A-Za-z0-9]{40,60}JQQJ9[A-Za-z0-9]{20,40}"),
    _format("azure-key", "AZDO", _WORD_START + "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _format(
        "terraform-token",
        ".atlasv1.",
        _WORD_START + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}",
    ),
    _format(
        "telegram-token", ":AA", f"(?:{_WORD_START}|(?<=/bot))[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{33}}"
    ),
    _format(
        "firebase-key", ":APA91b", _WORD_START + "AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{120,140}"
    ),
)
# Their names may be outside a run.
_IN_TEXT = (
    _format("azure-secret", "Q~", _WORD_START + r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    _format("azure-secret", "sig=", "sig=(?P<value>[A-Za-z0-9%+/]{40,60}(?:%3[dD]|=))"),
    _format(
        "slack-webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?P<value>(?:services|workflows|triggers)/"
        r"[A-Za-z0-9+/]{30,100})",
    ),
    _format(
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(?P<value>[0-9]{15,22}/[A-Za-z0-9_-]{50,90})",
    ),
)
# The first part is an account number in base64, so it begins with one of few letters.
_DISCORD_RUN = re.compile(rb"(?m)(?<![A-Za-z0-9_-])[MNO][DTjz][A-Za-z0-9_-]{21,24}$")
_DISCORD = _format(
    "discord-token",
    "",
    r"(?<![A-Za-z0-9_-])[MNO][DTjz][A-Za-z0-9_-]{21,24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
)
_AWS_SECRET = re.compile(rb"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_KEY_ID = "aws-access-key-id"
_BY_NAME = {
    token.name: [shorter for shorter in _TOKENS if token.name.startswith(shorter.name)]
    for token in _TOKENS
}


def _names(names: Sequence[bytes]) -> re.Pattern[bytes]:
    """Return one pattern that finds the longest name at the start of a word."""
    firsts = sorted({name[:1] for name in names})
    trie = [
        first
        + b"(?:"
        + b"|".join(
            re.escape(name[1:]) for name in sorted(names, reverse=True) if name[:1] == first
        )
        + b")"
        for first in firsts
    ]
    return re.compile(rb"[^A-Za-z0-9](?:(?<=\\)[nrt])?(?=(" + b"|".join(trie) + b"))")


_NAMES = _names(list(_BY_NAME))


def known_formats(text: bytes) -> Iterator[SecretMatch]:
    """Yield secrets in known formats, and the AWS secret beside an AWS key id."""
    runs = _runs(text)
    formats = {token for name in set(_NAMES.findall(runs)) for token in _BY_NAME[name]}
    formats.update(token for token in _IN_RUNS if token.name in runs)
    formats.update(token for token in _IN_TEXT if token.name in text)
    if _DISCORD_RUN.search(runs):
        formats.add(_DISCORD)
    key_ids: list[int] = []
    for format_ in formats:
        pattern = _compiled(format_.pattern)
        value = "value" if "value" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            if has_variety(match[value]):
                yield SecretMatch(match.start(value), match.end(value), format_.rule)
                if format_.rule == _AWS_KEY_ID:
                    key_ids.append(match.start())
    yield from _aws_secrets(text, sorted(key_ids))


def _aws_secrets(text: bytes, key_ids: Sequence[int]) -> Iterator[SecretMatch]:
    """Yield AWS secrets, which have no format but a length, near their key ids."""
    seen = 0
    for place in key_ids:
        start, seen = max(seen, place - _BESIDE), place + _BESIDE
        for match in _AWS_SECRET.finditer(text, start, seen):
            value = match[0]
            # A hash has letters of one case only.
            if value != value.lower() and value != value.upper() and has_variety(value):
                yield SecretMatch(match.start(), match.end(), "aws-secret-key")


def _runs(text: bytes) -> bytes:
    """Return the runs with the characters before them, one per line."""
    lines = [text[max(0, start - _BEFORE_RUN) : start] + run for start, run in runs_of(text)]
    return b"\n".join([b"", *lines])


def runs_of(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the runs that are as long as a token's, with their offsets; runs of letters of one case
    are left out because they are names in programs."""
    shape, shortest = text.translate(_RUN_CHARACTERS), b"\x61" * _RUN
    start = shape.find(shortest)
    while start >= 0:
        end = shape.find(b" ", start)
        if end < 0:
            end = len(shape)
        run = text[start:end]
        one_case = run.islower() or (run.isupper() and not run.startswith(_AWS_IDS))
        if not one_case or len(run.translate(None, b"0123456789")) < len(run):
            yield start, run
        start = shape.find(shortest, end)
