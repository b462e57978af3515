"""Generated secrets, and look-alikes that are not secrets.

All values are random and assembled from pieces, so that no file of the project contains text that
looks like a key.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from dataclasses import dataclass

LOWER_HEX = "0123456789abcdef"
WORD = string.ascii_letters + string.digits
URL = WORD + "_-"
BASE64 = WORD + "+/"
UPPER = string.ascii_uppercase + string.digits


@dataclass(frozen=True)
class Planted:
    """A text with a secret: exactly ``value`` must be redacted."""

    rule: str
    text: str
    value: str


class Draw:
    """A generator of random text with at least one digit, lowercase and uppercase letter, if the
    alphabet has them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, alphabet: str, count: int) -> str:
        kinds = (str.isdigit, str.islower, str.isupper)
        required = [kind for kind in kinds if any(map(kind, alphabet))]
        while True:
            text = "".join(self.random.choices(alphabet, k=count))
            if all(any(map(kind, text)) for kind in required) and text[-1].isalnum():
                return text


def _jwt(draw: Draw) -> str:
    head = base64.urlsafe_b64encode(b'{"alg": "HS256"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(b'{"sub": "%d"}' % draw.random.getrandbits(60))
    return f"{head}.{body.decode().rstrip('=')}.{draw.of(URL, 43)}"


# The format of each provider: rule, and the function that generates a value.
FORMATS: list[tuple[str, Callable[[Draw], str]]] = [
    *(
        ("aws-access-key-id", lambda d, n=name: n + "IA" + d.of(UPPER, 16))
        for name in ("AK", "AS")
    ),
    *(
        ("github-token", lambda d, n=name: "gh" + n + "_" + d.of(WORD, 36))
        for name in "pousr"
    ),
    ("github-token", lambda d: "github" + "_pat_" + d.of(WORD, 22) + "_" + d.of(WORD, 59)),
    ("gitlab-token", lambda d: "glp" + "at-" + d.of(URL, 20)),
    ("gitlab-token", lambda d: "gl" + "rt-" + d.of(URL, 20)),
    ("slack-token", lambda d: "xo" + "xb-" + "-".join((d.of("0123456789", 12), d.of(WORD, 24)))),
    ("slack-token", lambda d: "xa" + "pp-1-A" + d.of(UPPER, 10) + "-" + d.of(LOWER_HEX, 64)),
    ("stripe-key", lambda d: "sk" + "_live_" + d.of(WORD, 24)),
    ("stripe-key", lambda d: "rk" + "_test_" + d.of(WORD, 99)),
    ("stripe-key", lambda d: "wh" + "sec_" + d.of(WORD, 32)),
    ("google-api-key", lambda d: "AI" + "za" + d.of(URL, 35)),
    ("google-oauth-secret", lambda d: "GOC" + "SPX-" + d.of(URL, 28)),
    ("google-token", lambda d: "ya" + "29." + d.of(URL, 60)),
    ("anthropic-key", lambda d: "sk-" + "ant-api03-" + d.of(URL, 93) + "AA"),
    ("openai-key", lambda d: "sk" + "-" + d.of(WORD, 20) + "T3Blbk" + "FJ" + d.of(WORD, 20)),
    ("openai-key", lambda d: "sk-" + "proj-" + d.of(URL, 74) + "T3Blbk" + "FJ" + d.of(URL, 74)),
    ("npm-token", lambda d: "np" + "m_" + d.of(WORD, 36)),
    ("pypi-token", lambda d: "py" + "pi-AgEI" + d.of(URL, 160)),
    ("twilio-key", lambda d: "S" + "K" + d.of(LOWER_HEX, 32)),
    ("sendgrid-key", lambda d: "S" + "G." + d.of(URL, 22) + "." + d.of(URL, 43)),
    ("mailgun-key", lambda d: "key" + "-" + d.of(LOWER_HEX, 32)),
    ("mailchimp-key", lambda d: d.of(LOWER_HEX, 32) + "-us" + "12"),
    ("azure-secret", lambda d: d.of(WORD, 3) + "8" + "Q~" + d.of(WORD + "_~.-", 34)),
    ("azure-key", lambda d: d.of(WORD, 52) + "JQ" + "QJ99" + d.of(WORD, 26)),
    ("azure-key", lambda d: d.of(WORD, 76) + "AZ" + "DO" + d.of(WORD, 4)),
    ("digitalocean-token", lambda d: "do" + "p_v1_" + d.of(LOWER_HEX, 64)),
    ("hugging-face-token", lambda d: "h" + "f_" + d.of(string.ascii_letters, 34)),
    ("jwt", _jwt),
    ("age-key", lambda d: "AGE-" + "SECRET-KEY-1" + d.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    ("shopify-token", lambda d: "shp" + "at_" + d.of(LOWER_HEX, 32)),
    ("square-token", lambda d: "sq" + "0csp-" + d.of(URL, 43)),
    ("telegram-token", lambda d: d.of("123456789", 10) + ":A" + "A" + d.of(URL, 33)),
    ("vault-token", lambda d: "hv" + "s." + d.of(URL, 95)),
    ("terraform-token", lambda d: d.of(WORD, 14) + ".atlas" + "v1." + d.of(URL, 67)),
    ("doppler-token", lambda d: "d" + "p.pt." + d.of(WORD, 43)),
    ("linear-key", lambda d: "lin" + "_api_" + d.of(WORD, 40)),
    ("notion-token", lambda d: "nt" + "n_" + d.of(WORD, 46)),
    ("databricks-token", lambda d: "da" + "pi" + d.of(LOWER_HEX, 32)),
    ("docker-token", lambda d: "dckr" + "_pat_" + d.of(URL, 27)),
    ("grafana-token", lambda d: "gl" + "sa_" + d.of(WORD, 32) + "_" + d.of(LOWER_HEX, 8)),
    ("sentry-token", lambda d: "sntr" + "yu_" + d.of(LOWER_HEX, 64)),
    ("new-relic-key", lambda d: "NR" + "AK-" + d.of(UPPER, 27)),
    ("postman-key", lambda d: "PM" + "AK-" + d.of(LOWER_HEX, 24) + "-" + d.of(LOWER_HEX, 34)),
    ("atlassian-token", lambda d: "AT" + "ATT3" + d.of(URL, 180)),
    ("figma-token", lambda d: "fi" + "gd_" + d.of(URL, 40)),
    ("supabase-token", lambda d: "sb" + "p_" + d.of(LOWER_HEX, 40)),
    ("planetscale-token", lambda d: "pscale" + "_tkn_" + d.of(URL, 43)),
    ("rubygems-key", lambda d: "ruby" + "gems_" + d.of(LOWER_HEX, 48)),
    ("crates-io-token", lambda d: "c" + "io" + d.of(WORD, 32)),
    ("nuget-key", lambda d: "oy" + "2" + d.of(string.ascii_lowercase + string.digits, 43)),
    ("groq-key", lambda d: "gs" + "k_" + d.of(WORD, 52)),
    ("xai-key", lambda d: "xa" + "i-" + d.of(WORD, 80)),
    ("replicate-token", lambda d: "r" + "8_" + d.of(WORD, 37)),
    ("perplexity-key", lambda d: "pp" + "lx-" + d.of(WORD, 48)),
    ("pulumi-token", lambda d: "pu" + "l-" + d.of(LOWER_HEX, 40)),
    ("heroku-key", lambda d: "HR" + "KU-" + d.of(URL, 60)),
    ("brevo-key", lambda d: "xkey" + "sib-" + d.of(LOWER_HEX, 64) + "-" + d.of(WORD, 16)),
]  # fmt: skip
# The context of a value in a file.
AROUND = ["{}", 'x = "{}"\n', "- {}\n", "send({}, 3)\n", '{{"a":"b\\n{}"}}', "see {}\n", "{},\n"]

VALUES: list[Callable[[Draw], str]] = [
    lambda d: d.of(WORD, 12),
    lambda d: d.of(WORD, 40),
    lambda d: d.of(LOWER_HEX, 32),
    lambda d: d.of(string.ascii_lowercase + string.digits, 16),
    lambda d: d.of(BASE64, 43) + "=",
    lambda d: d.of(URL, 24),
]
# Assignments of a value, with the rule that finds it.
GENERIC = [
    ("password", 'password = "{}"\n'),
    ("password", "PASSWORD = '{}'\n"),
    ("password", 'db.password: str = "{}"\n'),
    ("password", 'const char password[] = "{}";\n'),
    ("password", "$config['db_password'] = '{}';\n"),
    ("password", "define('DB_PASSWORD', '{}');\n"),
    ("password", "'passwd' => '{}',\n"),
    ("password", 'setPassword("{}");\n'),
    ("password", "<password>{}</password>\n"),
    ("password", '<add key="SmtpPassword" value="{}" />\n'),
    ("password", "spring.datasource.password={}\n"),
    ("password", "DB_PASSWORD={}\n"),
    ("password", "export PGPASSWORD={}\n"),
    ("password", "  password: {}\n"),
    ("password", "passphrase: {}  # of the key\n"),
    ("password", "Server=db;User Id=sa;Pwd={};Encrypt=yes\n"),
    ("password", "mysqldump --password={} shop\n"),
    ("password", "CREATE USER shop WITH PASSWORD '{}';\n"),
    ("password", '{{\\"password\\": \\"{}\\"}}\n'),
    ("password", 'if password == "{}":\n'),
    ("secret", '"client_secret": "{}",\n'),
    ("secret", 'clientSecret := "{}"\n'),
    ("secret", 'let secret = Some("{}");\n'),
    ("secret", 'SECRET = (\n    "{}"\n)\n'),
    ("secret", "CLIENT_SECRET: '{}'\n"),
    ("token", "const token: string = '{}';\n"),
    ("token", 'os.environ.get("AUTH_TOKEN", "{}")\n'),
    ("token", "https://host/path?access_token={}&page=2\n"),
    ("token", 'curl -H "X-Auth-Token: {}" https://host\n'),
    ("token", "//registry.host/:_authToken={}\n"),
    ("api-key", 'apiKey: "{}",\n'),
    ("api-key", 'API_KEY="{}"\n'),
    ("api-key", '"api-key": "{}"\n'),
    ("api-key", '<string name="api_key">{}</string>\n'),
    ("api-key", "<key>ApiKey</key>\n<string>{}</string>\n"),
    ("api-key", 'SECRET_KEY = b"{}"\n'),
    ("api-key", "#define ENCRYPTION_KEY \"{}\"\n"),
    ("authorization", "Authorization: Bearer {}\n"),
    ("authorization", 'headers["Authorization"] = "Bearer {}"\n'),
    ("url-password", "postgres://shop:{}@db.host:5432/shop\n"),
    ("url-password", "git clone https://bot:{}@git.host/a.git\n"),
    ("curl-password", "curl -u bot:{} https://host\n"),
    ("password", "mysqldump --password {} shop\n"),
    ("password", "sshpass -p '{}' ssh host\n"),
    ("password", "machine host login bot password {}\n"),
    ("password", 'ConvertTo-SecureString "{}" -AsPlainText\n'),
    ("token", "RUN tool --api-key {} --quiet\n"),
    ("token", "tool login --auth-token='{}'\n"),
    ("token", "ENV NPM_TOKEN {}\n"),
]  # fmt: skip
# Forms in which a value cannot contain every character.
PLAIN_FORMS = ("://", "?access_token")

LOOK_ALIKES = """\
password: string
password: Optional[str] = None
def login(user: str, password: Password) -> Token:
token: Token
token = self.next_token()
token = next(tokens)
tokens = tokenizer.encode(text, add_special_tokens=False)
password = getpass.getpass("Password for the database: ")
password = os.environ["DATABASE_PASSWORD"]
const password = process.env.DB_PASSWORD2;
api_key = config.get("api_key", "")
password = "changeme"
PASSWORD=changeit
password = "your-password-here"
api_key = "<your-api-key>"
api_key: ${{ secrets.API_KEY_2 }}
apiKey: "${API_KEY_V2}"
token = "{token1234}"
secret = "%(secret_key)s"
API_KEY=xxxxxxxxxxxxxxxxxxxx
secret_key = "********"
password = "AKIAIOSFODNN7EXAMPLE"
password_field = "user_password_1"
password_label = "Password 12345"
token_url = "https://host/oauth2/token"
token_type = "urn:ietf:params:oauth:token-type:jwt"
secretName: my-app-secret-v1
"passwordResetUrl": "/accounts/password/reset/"
"csrf_token": "9a8b7c6d5e4f3a2b1c0d9e8f"
"integrity": "sha512-Kx9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b==",
"resolved": "https://registry.host/a/-/a-1.0.0.tgz#9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b"
token: 123e4567-e89b-12d3-a456-426614174000
secret: /run/secrets/db_password
key = "keyboard-shortcuts-enabled"
sort_key = "created_at_9a8b7c6d5e4f"
public_key = "9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"
primary_key=True
i18n.t("login.password.too_short")
expect(screen.getByLabelText("password")).toHaveValue("correct horse")
secret = "correct-horse-battery-staple"
password = "00000000-0000-0000-0000-000000000000"
secret_id = "123e4567-e89b-12d3-a456-426614174000"
passphrase = "Enter the passphrase of your key"
password = "the words are no phrase"
tool --password PASSWORD --user USER
tool --token "$GITHUB_TOKEN" --quiet
tool --password-file /run/secrets/db_password_9a8b7c6d
ENV PASSWORD_FILE /run/secrets/db_9a8b7c6d5e
auth: httpx.AsyncAuth
__all__ = ["APIKeys", "AsyncAPIKeysWithRawResponse"]
pass
compass = "9a8b7c6d5e4f3a2b1c0d"
author = "9a8b7c6d5e4f3a2b1c0d"
postgres://user:password@localhost/app
redis://:${REDIS_PASSWORD}@host:6379
https://example.com:8080/a@b
Authorization: Bearer <token>
Authorization: Basic ${AUTH}
if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):
sk-fading-circle-with-a-long-class-name
ghp_is_a_prefix_of_tokens
commit 9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b
max_tokens=4096, pad_token_id=50256
"""


def private_key(draw: Draw, kind: str = "RSA ") -> tuple[str, list[str]]:
    """Return a private key in its file format, and the lines of its value."""
    lines = [draw.of(BASE64, 64) for _ in range(12)] + [draw.of(BASE64, 26) + "=="]
    begin, end = f"-----BEGIN {kind}PRIV" + "ATE KEY-----", f"-----END {kind}PRIV" + "ATE KEY-----"
    return "\n".join([begin, *lines, end, ""]), lines


def all_planted(seed: int) -> list[Planted]:
    """Generate one value of each format in each context, and each form with each kind of value."""
    draw = Draw(seed)
    planted = [
        Planted(rule, form.format(value), value)
        for rule, make in FORMATS
        for form in AROUND
        for value in [make(draw)]
    ]
    for rule, form in GENERIC:
        for make in VALUES:
            value = make(draw)
            if not any(plain in form for plain in PLAIN_FORMS) or not set("+/=") & set(value):
                planted.append(Planted(rule, form.format(value), value))
    return planted
