"""Secrets that must never be stored or sent."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import secrets_in_files
from planted import BASE64, LOOK_ALIKES, Draw, Planted, all_planted, private_key
from secret_samples import FIXED, GENERIC, is_left, samples
from secret_samples import LOOK_ALIKES as SAMPLES_ALIKE
from winnow.privacy.secrets import (
    Redacted,
    count_redactions,
    is_secret_file,
    mask_secrets,
    redact_path,
    redact_secrets,
)

PLANTED = all_planted(seed=5)
LINE_ENDS = re.compile(rb"\r\n|\r|\n")
# Texts with work for the rules: pieces of secrets between arbitrary others.
PIECES = st.lists(
    st.one_of(
        st.sampled_from([secret.text for secret in PLANTED]),
        st.sampled_from(["[REDACTED:jwt]", "password", " = ", '"', "://a:", "@b", "\r\n", "\n"]),
        st.sampled_from(private_key(Draw(1))[0].splitlines(keepends=True)),
        st.text(max_size=20),
    ),
    max_size=12,
)


def test_every_format_and_syntax_is_replaced_entirely() -> None:
    def replaced(secret: Planted) -> Planted:
        return Planted(secret.rule, redact_secrets(secret.text).text, secret.value)

    def expected(secret: Planted) -> Planted:
        marker = f"[REDACTED:{secret.rule}]"
        return Planted(secret.rule, secret.text.replace(secret.value, marker), secret.value)

    assert list(map(replaced, PLANTED)) == list(map(expected, PLANTED))


def test_every_format_and_syntax_is_masked_at_the_same_length() -> None:
    for secret in PLANTED:
        stars = "*" * len(secret.value)
        assert mask_secrets(secret.text.encode()) == (
            secret.text.replace(secret.value, stars).encode(),
            1,
        )


def test_many_secrets_in_one_text_are_all_found() -> None:
    text = "\n\n".join(secret.text for secret in PLANTED)
    cleaned = redact_secrets(text)
    assert [secret.value for secret in PLANTED if secret.value in cleaned.text] == []
    assert cleaned.text.count("\n") == text.count("\n")
    assert sum(cleaned.counts.values()) == len(PLANTED)
    assert count_redactions(cleaned.text) == cleaned.counts


def test_values_that_only_look_like_secrets_are_not_redacted() -> None:
    assert [line for line in LOOK_ALIKES.splitlines() if redact_secrets(line).counts] == []
    assert redact_secrets(LOOK_ALIKES) == Redacted(LOOK_ALIKES, {})
    assert mask_secrets(LOOK_ALIKES.encode()) == (LOOK_ALIKES.encode(), 0)


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP "])
def test_a_redacted_private_key_keeps_its_marks_and_lines(kind: str) -> None:
    text, lines = private_key(Draw(2), kind)
    first, *_, last, _ = text.split("\n")
    stars = "\r\n".join([first, *("*" * len(line) for line in lines), last, ""])
    assert mask_secrets(text.replace("\n", "\r\n").encode()) == (stars.encode(), 1)
    marked = redact_secrets(text).text.split("\n")
    assert marked == [first + "[REDACTED:private-key]", *[""] * len(lines), last, ""]


def test_a_private_key_in_a_string_is_replaced() -> None:
    text, lines = private_key(Draw(3))
    escaped = '{"private_key": "' + text.replace("\n", "\\n") + '", "type": "account"}'
    cleaned = redact_secrets(escaped).text
    assert [line for line in lines if line in cleaned] == []
    assert cleaned.endswith('", "type": "account"}')


def test_a_part_of_a_private_key_is_replaced() -> None:
    text, lines = private_key(Draw(4))
    rows = text.splitlines()
    for part in (rows[:6], rows[6:], rows[3:9]):
        cleaned = redact_secrets("\n".join(["some text", *part, "more text here"])).text.split("\n")
        assert [line for line in lines if line in cleaned] == []
        assert (len(cleaned), cleaned[0], cleaned[-1]) == (
            len(part) + 2,
            "some text",
            "more text here",
        )


@pytest.mark.parametrize(
    "form",
    ['client_secret: "{}"\n', "HEROKU_API_KEY={}\n", "db_password = '{}'\n", "x --password {} y\n"],
)
def test_a_uuid_assigned_to_a_secret_is_replaced(form: str) -> None:
    draw = Draw(8)
    value = "-".join(draw.of("0123456789abcdef", count) for count in (8, 4, 4, 4, 12))
    assert value not in redact_secrets(form.format(value)).text
    assert (
        value in redact_secrets(form.replace("_KEY", "_KEY_ID").format(value)).text
        or "KEY" not in form
    )


@pytest.mark.parametrize("form", ['passphrase = "{}"\n', "password: '{}'\n", '"secret": "{}"\n'])
def test_a_passphrase_is_replaced_and_a_sentence_is_not(form: str) -> None:
    phrase = "copper lantern meadow violet"
    assert [
        word for word in phrase.split() if word in redact_secrets(form.format(phrase)).text
    ] == []
    for sentence in ("Enter copper lantern meadow", "enter the copper lantern", "copper lantern"):
        assert redact_secrets(form.format(sentence)).counts == {}


def test_held_out_samples_are_redacted_entirely() -> None:
    for seed in (101, 102, 103):
        for table, least in ((FIXED, 0.97), (GENERIC, 0.85)):
            made = samples(table, seed)
            left = [
                secret.name for secret in made if is_left(secret, redact_secrets(secret.text).text)
            ]
            assert len(left) <= (1 - least) * len(made), left
    lines = SAMPLES_ALIKE.splitlines()
    changed = [line for line in lines if redact_secrets(line).counts]
    assert len(changed) <= 0.04 * len(lines), changed


def test_secrets_in_the_syntax_of_real_files_are_redacted() -> None:
    """Issue #21, finding H7."""
    for seed in range(3):
        for table, least in ((secrets_in_files.FIXED, 0.97), (secrets_in_files.GENERIC, 0.92)):
            made = secrets_in_files.samples(table, seed)
            left = [
                secret.text for secret in made if is_left(secret, redact_secrets(secret.text).text)
            ]
            assert len(left) <= (1 - least) * len(made), left
        alike = secrets_in_files.look_alikes(seed)
        changed = [text for text in alike if redact_secrets(text).counts]
        assert len(changed) <= 0.01 * len(alike), changed


def test_secrets_in_the_syntax_of_real_files_are_masked_in_the_index() -> None:
    """Issue #21, finding H7."""
    for table in (secrets_in_files.FIXED, secrets_in_files.GENERIC):
        made = secrets_in_files.samples(table, 3)
        left = [
            secret.text
            for secret in made
            if secret.value.encode() in mask_secrets(secret.text.encode())[0]
        ]
        assert len(left) <= 0.05 * len(made), left


@pytest.mark.parametrize(
    "text",
    [
        'password = "zzSECRETCabcDEF"',
        'password = "kJhGfDsAqWeRtY"',
        "DB_PASSWORD=kJhGfDsAqWeRtYuI",
        '{"password": "correcthorsebatterystaple"}',
        "PASSWORD=hunter2",
        "db_password: Sommerregen",
        "db_admin_password: Sommerregen",
        "[client]\nuser = ada\npassword = Sommerregen",
        "mysql -u root -pSommerregen shop",
        'variable "db_password" {\n  default = "Sommerregen"\n}',
        "kind: Secret\nmetadata:\n  name: a\ndata:\n  odd: U29tbWVycmVnZW4=",
        "kind: Secret\nstringData:\n  file: |\n    Sommerregen\n    am Abend",
        "kind: List\nitems:\n- kind: Secret\n  stringData:\n    odd: Sommerregen",
        "x=%7B%22password%22%3A%22Sommerregen%22%7D",
        '"{\\\\\\"password\\\\\\": \\\\\\"Sommerregen\\\\\\"}"',
    ],
)
def test_a_password_of_letters_is_redacted(text: str) -> None:
    """Issue #21, finding H7."""
    cleaned = redact_secrets(f"{text}\n").text
    values = ("SECRETC", "kJhGfDs", "battery", "hunter2", "Sommerregen", "U29tbWVy")
    assert [value for value in values if value in cleaned] == []
    assert cleaned != f"{text}\n"


@pytest.mark.parametrize(
    "text",
    [
        "kind: List\nitems:\n- kind: ConfigMap\n  data:\n    color: Sommerregen\n- kind: Secret\n",
        "kind: Secret\nmetadata:\n  labels:\n    data: Sommerregen\n",
        "kind: Secret\ndata:\n  key: {{ .Values.key | b64enc }}\n",
        "login({\n  user: name,\n  password: newValue\n})\n",
        "call(\n    user=name,\n    password=given\n)\n",
        "class A:\n    password: Secretive\n",
        '<string name="password">Kennwort</string>\n',
        '<label for="password">Kennwort</label>\n',
        '<input type="password" value="Anmelden">\n',
        'en = {"password": "Password", "confirm_password": "Repeat", "new_password": "Neues"}\n',
        "the option --password requires a value\n",
        "auth: httpx.Auth\n",
        "token = SyntaxKind.Unknown;\n",
        "docker run -p 8080:80 mysql\n",
        "kind = Kind.Secret\n",
        "GET /a?next=%2Flogin%3Fpassword%3D HTTP/1.1\n",
    ],
)
def test_words_that_are_not_passwords_are_not_redacted(text: str) -> None:
    """Issue #21, finding H7."""
    assert redact_secrets(text) == Redacted(text, {})


@pytest.mark.parametrize("kind", ["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY"])
def test_certificates_and_public_keys_are_not_redacted(kind: str) -> None:
    lines = "\n".join(Draw(9).of(BASE64, 64) for _ in range(9))
    text = f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"
    assert redact_secrets(text) == Redacted(text, {})
    assert redact_secrets(lines).counts == {"base64-lines": 1}


def test_secrets_in_a_path_are_redacted() -> None:
    token, password = (
        next(secret.value for secret in PLANTED if secret.rule == "npm-token"),
        "Sommerregen7",
    )
    assert redact_path(f"a/{token}/b.py") == "a/[REDACTED:npm-token]/b.py"
    assert redact_path(f"a/password={password}/b.py") == "a/password=[REDACTED:password]/b.py"
    assert redact_path("src/password/token.py") == "src/password/token.py"


def test_custom_rules_and_allowed_values_apply() -> None:
    draw = Draw(14)
    value = "ac" + "me_" + draw.of("abcdef0123456789", 32)
    jwt = next(secret.value for secret in PLANTED if secret.rule == "jwt")
    text = f"see {value}, not_{value} and {jwt}\n"
    assert redact_secrets(text).counts == {"jwt": 1}
    cleaned = redact_secrets(text, ["acme_[a-f0-9]{32}"])
    assert cleaned.text == f"see [REDACTED:added-rule], not_{value} and [REDACTED:jwt]\n".replace(
        f"not_{value}", "not_[REDACTED:added-rule]"
    )
    assert redact_secrets(text, ["acme_[a-f0-9]{32}"], [jwt, value]) == Redacted(text, {})
    # An allowed part of a secret does not expose the rest.
    assert jwt not in redact_secrets(text, (), [jwt[:20]]).text


def test_the_secret_next_to_an_access_key_is_replaced_but_a_hash_is_not() -> None:
    draw = Draw(6)
    secret, commit = draw.of("abcdefABCDEF0123456789/+", 40), draw.of("0123456789abcdef", 40)
    key_id = "AK" + "IA" + draw.of("ABCDEFGH234567", 16)
    cleaned = redact_secrets(f"{key_id}\n{secret}\n{commit}\n")
    assert cleaned == Redacted(
        f"[REDACTED:aws-access-key-id]\n[REDACTED:aws-secret-key]\n{commit}\n",
        {"aws-access-key-id": 1, "aws-secret-key": 1},
    )


def test_a_password_with_special_characters_is_replaced() -> None:
    for value in ("Tr0ub4dor&3", "Grüße!2024", "p@ss:W0rd!x", "Summer2024!"):
        assert (
            redact_secrets(f'password = "{value}"\n').text == 'password = "[REDACTED:password]"\n'
        )


@given(st.binary(max_size=400))
def test_masking_any_bytes_keeps_length_and_line_ends(raw: bytes) -> None:
    _keeps_length_and_line_ends(raw)


@given(PIECES, st.binary(max_size=5))
def test_masking_secrets_keeps_length_and_line_ends(pieces: list[str], raw: bytes) -> None:
    _keeps_length_and_line_ends(
        raw.join(piece.encode("utf-8", "surrogatepass") for piece in pieces)
    )


def _keeps_length_and_line_ends(raw: bytes) -> None:
    after, count = mask_secrets(raw)
    assert len(after) == len(raw)
    assert [end.span() for end in LINE_ENDS.finditer(after)] == [
        end.span() for end in LINE_ENDS.finditer(raw)
    ]
    assert (after == raw) == (count == 0)
    changed = {after[place] for place in range(len(raw)) if after[place] != raw[place]}
    assert changed <= {ord("*")}


@given(PIECES)
def test_redaction_is_idempotent(pieces: list[str]) -> None:
    once = redact_secrets("".join(pieces))
    assert redact_secrets(once.text) == Redacted(once.text, {})
    ends = [character for character in "".join(pieces) if character in "\r\n"]
    assert [character for character in once.text if character in "\r\n"] == ends


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "deploy/.env.production",
        "prod.env",
        "a/server.pem",
        "TLS.KEY",
        "id_rsa",
        "keys/id_ed25519",
        "id_work",
        "id_rsa.old",
        "store.p12",
        "store.pfx",
        "safe.kdbx",
        ".npmrc",
        ".pypirc",
        ".netrc",
        "_netrc",
        "home/.aws/credentials",
        "credentials.json",
        "infra/terraform.tfstate",
        "terraform.tfstate.backup",
        ".git-credentials",
        ".ssh/config",
        ".docker/config.json",
        "client_secret_123.json",
        "config/secrets.yml",
        ".bash_history",
        "sub\\.env",
        "infra/prod.tfvars",
        "prod.auto.tfvars.json",
        "prod.tfvars.backup",
        "kubeconfig",
        "deploy/kubeconfig.yaml",
        "prod-kubeconfig.yml",
        ".dockerconfigjson",
        ".config/gh/hosts.yml",
        "home/.config/gh/hosts.yml",
        ".m2/settings.xml",
        "home/.m2/settings-security.xml",
        "pip.conf",
        "pip.ini",
        ".yarnrc.yml",
        "www/wp-config.php",
        "token.json",
        "access_token.json",
        "secring.gpg",
        ".htpasswd",
        "nginx/htpasswd",
        ".pgpass",
        "etc/shadow",
        "host.keytab",
        "application_default_credentials.json",
        "my-app-firebase-adminsdk-x1.json",
        ".cargo/credentials.toml",
        ".gradle/gradle.properties",
        "config/master.key",
        "local.settings.json",
        "secrets.production.yaml",
        ".databrickscfg",
        "WP-CONFIG.PHP",
    ],
)
def test_secret_files_are_recognized_by_name(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        "a/.env.template",
        ".env.production.example",
        "example.env",
        "id_rsa.pub",
        ".ssh/known_hosts",
        "environment.py",
        "env",
        "id_map.c",
        "src/keys.py",
        "key.go",
        "credentials.py",
        "secrets.py",
        "credentials/reader.go",
        "docs/config.json",
        "main.tf",
        ".gitignore",
        ".github/workflows/test.yml",
        "terraform.tfvars.example",
        "example.tfvars",
        "sample.tfvars",
        "wp-config-sample.php",
        "kubeconfig.go",
        "kubeconfig_test.py",
        "settings.xml",
        "hosts.yml",
        "gradle.properties",
        "appsettings.json",
        "tokens.py",
        "tokens.json",
        "token.ts",
        "token_data.json",
        "tokenizer.json",
        "design-tokens.json",
        "shadow.css",
        "credentials_test.go",
        ".npmignore",
        ".yarnrc.yml.example",
        "config/credentials.example.yml",
        "docs/secrets.md",
    ],
)
def test_other_files_are_not_secret_files(path: str) -> None:
    assert not is_secret_file(path)
