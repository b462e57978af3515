"""Generated secrets and look-alikes to evaluate filters, independent of the tests of the rules.

Values are random (with a seed) and assembled from pieces, so that no text in this file looks like a
key. server/README.md lists the misses for which the rules were changed.
"""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

from msgspec import Struct

HEX = "0123456789abcdef"
WORD = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
URL = WORD + "_-"
# This number of consecutive characters of a value in the redacted text is a leak.
LEAK = 8
WORDS = (
    "maple harbor violet copper meadow lantern granite walnut ember orchid saddle pepper falcon"
    " timber marble canyon velvet anchor"
).split()


class Sample(Struct, frozen=True):
    """A text with a secret that must be redacted completely."""

    name: str
    text: str
    value: str


class Draw:
    """A generator of random text with at least one character of each kind in the alphabet."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, alphabet: str, count: int) -> str:
        kinds = [
            kind for kind in (str.isdigit, str.islower, str.isupper) if any(map(kind, alphabet))
        ]
        while True:
            text = "".join(self.random.choices(alphabet, k=count))
            if count < len(kinds) or (all(any(map(kind, text)) for kind in kinds)):
                return text

    def uuid(self) -> str:
        return "-".join(self.of(HEX, count) for count in (8, 4, 4, 4, 12))

    def phrase(self, count: int) -> str:
        return " ".join(self.random.sample(WORDS, count))

    def chosen(self) -> str:
        """Return a password like those that people choose."""
        word = self.random.choice(WORDS)
        return word.title() + self.of(string.digits, 4) + self.random.choice("!$%&*")


def _jwt(draw: Draw) -> str:
    head, body = (
        base64.urlsafe_b64encode(text).decode().rstrip("=")
        for text in (b'{"typ":"JWT","alg":"ES256"}', b'{"iss":"%d"}' % draw.random.getrandbits(80))
    )
    return f"{head}.{body}.{draw.of(URL, 86)}"


def _pem(draw: Draw) -> str:
    return "\\n".join(draw.of(WORD + "+/", 64) for _ in range(6))


# A name, the function that generates the value, and the text that contains it.
FIXED: list[tuple[str, Callable[[Draw], str], str]] = [
    ("aws id", lambda d: "AK" + "IA" + d.of(string.ascii_uppercase + "234567", 16), "id: {}\n"),
    ("aws temporary id", lambda d: "AS" + "IA" + d.of(string.ascii_uppercase + "234567", 16), "'{}',"),
    ("github classic", lambda d: "gh" + "p_" + d.of(WORD, 36), "git clone https://x:{}@host/r.git"),
    ("github server", lambda d: "gh" + "s_" + d.of(WORD, 36), 'token: "{}"\n'),
    ("github fine", lambda d: "github" + "_pat_" + d.of(WORD, 22) + "_" + d.of(WORD, 59), "{}\n"),
    ("gitlab personal", lambda d: "gl" + "pat-" + d.of(URL, 20), "PRIVATE-TOKEN: {}\n"),
    ("gitlab deploy", lambda d: "gl" + "dt-" + d.of(URL, 20), "x={}\n"),
    ("slack bot", lambda d: "xox" + "b-" + d.of(string.digits, 12) + "-" + d.of(string.digits, 12) + "-" + d.of(WORD, 24), "WebClient('{}')"),
    ("slack user", lambda d: "xox" + "p-" + d.of(string.digits, 12) + "-" + d.of(string.digits, 12) + "-" + d.of(string.digits, 12) + "-" + d.of(HEX, 32), '"{}"'),
    ("slack hook", lambda d: f"T{d.of(UPPER, 8)}/B{d.of(UPPER, 10)}/{d.of(WORD, 24)}", "https://hooks." + "slack.com/services/{}\n"),
    ("stripe live", lambda d: "sk" + "_live_" + d.of(WORD, 99), "Stripe('{}')"),
    ("stripe test", lambda d: "sk" + "_test_" + d.of(WORD, 24), "stripe.api_key = '{}'\n"),
    ("google api", lambda d: "AI" + "za" + d.of(URL, 35), "?key={}&v=3"),
    ("google oauth", lambda d: "GOC" + "SPX-" + d.of(URL, 28), '"client_secret":"{}"'),
    ("anthropic", lambda d: "sk-" + "ant-api03-" + d.of(URL, 93) + "AA", "export K={}\n"),
    ("openai project", lambda d: "sk-" + "proj-" + d.of(URL, 74) + "T3Blbk" + "FJ" + d.of(URL, 74), "OpenAI(api_key='{}')"),
    ("openai service", lambda d: "sk-" + "svcacct-" + d.of(URL, 74) + "T3Blbk" + "FJ" + d.of(URL, 74), "key: {}\n"),
    ("npm", lambda d: "np" + "m_" + d.of(WORD, 36), "//registry.host/:_authToken={}\n"),
    ("pypi", lambda d: "py" + "pi-AgEIcHlwaS5vcmc" + d.of(URL, 70), "password = {}\n"),
    ("twilio", lambda d: "S" + "K" + d.of(HEX, 32), "Client('{}', x)"),
    ("sendgrid", lambda d: "S" + "G." + d.of(URL, 22) + "." + d.of(URL, 43), "{}\n"),
    ("mailgun", lambda d: "key" + "-" + d.of(HEX, 32), "curl -s --user 'api:{}' https://host"),
    ("digitalocean", lambda d: "do" + "o_v1_" + d.of(HEX, 64), "{}\n"),
    ("hugging face", lambda d: "h" + "f_" + d.of(string.ascii_letters, 34), "login(token='{}')"),
    ("jwt", _jwt, "Cookie: session={}; path=/\n"),
    ("age", lambda d: "AGE-" + "SECRET-KEY-1" + d.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58), "# k\n{}\n"),
    ("shopify", lambda d: "shp" + "pa_" + d.of(HEX, 32), "'{}'"),
    ("telegram", lambda d: d.of("123456789", 10) + ":A" + "A" + d.of(URL, 33), "https://api." + "telegram.org/bot{}/getMe"),
    ("discord hook", lambda d: d.of("123456789", 19) + "/" + d.of(URL, 68), "https://discord" + ".com/api/webhooks/{}\n"),
    ("vault", lambda d: "hv" + "s." + d.of(URL, 95), "VAULT_TOKEN={}\n"),
    ("terraform", lambda d: d.of(WORD, 14) + ".atlas" + "v1." + d.of(URL, 67), 'token = "{}"\n'),
    ("doppler", lambda d: "d" + "p.pt." + d.of(WORD, 43), "{}\n"),
    ("linear", lambda d: "lin" + "_api_" + d.of(WORD, 40), "Authorization: {}\n"),
    ("databricks", lambda d: "da" + "pi" + d.of(HEX, 32), "token = {}\n"),
    ("docker", lambda d: "dckr" + "_pat_" + d.of(URL, 27), "docker login -u me -p {}\n"),
    ("grafana", lambda d: "gl" + "sa_" + d.of(WORD, 32) + "_" + d.of(HEX, 8), "Bearer {}\n"),
    ("new relic", lambda d: "NR" + "AK-" + d.of(UPPER, 27), "license: {}\n"),
    ("postman", lambda d: "PM" + "AK-" + d.of(HEX, 24) + "-" + d.of(HEX, 34), "X-Api-Key: {}\n"),
    ("figma", lambda d: "fi" + "gd_" + d.of(URL, 40), "X-Figma-Token: {}\n"),
    ("azure storage", lambda d: d.of(WORD + "+/", 86) + "==", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=host\n"),
    ("pem in json", _pem, '{{"private_key": "-----BEGIN PRIV' + "ATE KEY-----\\\\n{}\\\\n-----END PRIV" + 'ATE KEY-----\\\\n"}}'),
    ("openssh", lambda d: "b3BlbnNzaC1rZXktdjE" + "\n".join(d.of(WORD + "+/", 70) for _ in range(5)), "-----BEGIN OPENSSH PRIV" + "ATE KEY-----\n{}\n-----END OPENSSH PRIV" + "ATE KEY-----\n"),
    ("aws secret beside its id", lambda d: d.of(WORD + "+/", 40), "aws_access_key_id = AK" + "IAQ3EGRZ7KXWNPT2MV" + "\naws_secret_access_key = {}\n"),
]  # fmt: skip

GENERIC: list[tuple[str, Callable[[Draw], str], str]] = [
    ("compose list", lambda d: d.of(WORD, 24), "    environment:\n      - POSTGRES_PASSWORD={}\n"),
    ("kubernetes data", lambda d: base64.b64encode(d.of(WORD, 18).encode()).decode(), "kind: Secret\ndata:\n  password: {}\n"),
    ("terraform variable", lambda d: d.of(WORD, 20), 'resource "db" "x" {{\n  master_password = "{}"\n}}\n'),
    ("ado.net", lambda d: d.chosen(), '"Server=tcp:h,1433;User ID=sa;Password={};Encrypt=True"'),
    ("jdbc", lambda d: d.of(WORD, 16), "jdbc:postgresql://h/db?user=a&password={}\n"),
    ("mongo address", lambda d: d.of(WORD, 18), "mongodb+srv://app:{}@cluster0.host/db\n"),
    ("rabbit address", lambda d: d.chosen().rstrip("%"), "amqp://app:{}@broker:5672//\n"),
    ("netrc", lambda d: d.of(WORD, 20), "machine host login me password {}\n"),
    ("pgpass", lambda d: d.of(WORD, 20), "db.host:5432:shop:app:{}\n"),
    ("option with a space", lambda d: d.of(WORD, 16), "mysqladmin --user root --password {} status\n"),
    ("option for a token", lambda d: d.of(WORD, 32), "tool login --token {} --quiet\n"),
    ("option for an api key", lambda d: d.of(HEX, 32), "tool push --api-key {}\n"),
    ("options as a list", lambda d: d.of(WORD, 20), 'run(["tool", "--password", "{}", "x"])\n'),
    ("sshpass", lambda d: d.of(WORD, 14), "sshpass -p '{}' ssh me@host\n"),
    ("passphrase", lambda d: d.phrase(5), 'passphrase = "{}"\n'),
    ("passphrase in yaml", lambda d: d.phrase(4), "gpg_passphrase: '{}'\n"),
    ("uuid as a secret", lambda d: d.uuid(), 'client_secret: "{}"\n'),
    ("uuid as an api key", lambda d: d.uuid(), "HEROKU_API_KEY={}\n"),
    ("uuid as a password", lambda d: d.uuid(), 'db_password = "{}"\n'),
    ("chosen password", lambda d: d.chosen(), '"password": "{}",\n'),
    ("chosen in a property", lambda d: d.chosen(), "mail.smtp.password={}\n"),
    ("chosen in xml", lambda d: d.chosen().replace("&", "!"), '<user name="a" password="{}"/>\n'),
    ("secret key", lambda d: d.of(LOWER + "!@#$^*(-_=+)", 50), "SECRET_KEY = 'django-ins" + "ecure-{}'\n"),
    ("flask", lambda d: d.of(HEX, 48), "app.config['SECRET_KEY'] = '{}'\n"),
    ("header", lambda d: d.of(WORD, 32), 'requests.get(u, headers={{"X-API-Key": "{}"}})\n'),
    ("bearer", lambda d: d.of(URL, 48), 'curl -H "Authorization: Bearer {}" https://h\n'),
    ("basic", lambda d: base64.b64encode(f"me:{d.of(WORD, 15)}".encode()).decode(), "Authorization: Basic {}\n"),
    ("go struct", lambda d: d.of(WORD, 28), 'Config{{APIKey: "{}", Debug: true}}\n'),
    ("ruby hash", lambda d: d.of(HEX, 40), "  secret_key_base: '{}'\n"),
    ("php array", lambda d: d.of(WORD, 22), "'secret' => '{}',\n"),
    ("shell default", lambda d: d.of(WORD, 24), "TOKEN=${{TOKEN:-{}}}\n"),
    ("dockerfile", lambda d: d.of(WORD, 30), "ENV AUTH_TOKEN {}\n"),
    ("powershell", lambda d: d.chosen(), '$password = ConvertTo-SecureString "{}" -AsPlainText\n'),
    ("webhook", lambda d: d.of(WORD, 32), "WEBHOOK_SECRET='{}'\n"),
]  # fmt: skip

LOOK_ALIKES = """\
password = input("Password: ")
password = "hunter2hunter2" if DEBUG else None  # noqa: placeholder in docs
self.password_validator = PasswordValidator(min_length=12)
parser.add_argument("--password", help="the password to use for the database")
parser.add_argument("--token", metavar="TOKEN", default=None)
tool --password PASSWORD --user USER
tool login --token $TOKEN
tool login --token "${GITHUB_TOKEN}" --quiet
tool --api-key <your api key>
tool --password-file /run/secrets/db_password
--secret id=npmrc,src=$HOME/.npmrc
--password-stdin < password.txt
the password must be changed every ninety days
password must not be longer than eight characters
Enter the passphrase for your key:
passphrase = "Enter the passphrase for your key"
password_help = "Your password must contain at least 8 characters"
password: "Das Passwort ist zu kurz"
"password": "Passwort eingeben",
secret_message = "this is not the answer"
token_uri: https://oauth2.host/token
request_id: 5f0c9c3e-8f7b-4a53-9d7c-0f3b1a1c2d3e
uuid = "5f0c9c3e-8f7b-4a53-9d7c-0f3b1a1c2d3e"
trace_token_id = "5f0c9c3e-8f7b-4a53-9d7c-0f3b1a1c2d3e"
secret_id = "5f0c9c3e-8f7b-4a53-9d7c-0f3b1a1c2d3e"
client_id: 5f0c9c3e-8f7b-4a53-9d7c-0f3b1a1c2d3e
api_key_id = "5f0c9c3e-8f7b-4a53-9d7c-0f3b1a1c2d3e"
keyvault: /subscriptions/5f0c9c3e-8f7b-4a53-9d7c-0f3b1a1c2d3e/secrets
password = "00000000-0000-0000-0000-000000000000"
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
commit = "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"
checksum = "md5:5d41402abc4b2a76b9719d911017c592"
"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
AKIAIOSFODNN7EXAMPLE
wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
sk-your-api-key-here
sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
xoxb-your-token-goes-here
API_KEY=your_api_key_here
api_key="REPLACE_ME"
password: ${DB_PASSWORD}
password: {{ .Values.db.password }}
password: !vault |
password = os.getenv("DB_PASSWORD", "")
password = settings.DATABASES["default"]["PASSWORD"]
secret = await vault.read("secret/data/db")
token = jwt.encode(payload, key, algorithm="HS256")
token = request.headers["Authorization"].split(" ")[1]
if token == "__end_of_text__":
tokens = ["<s>", "</s>", "<pad>", "<unk>"]
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
max_new_tokens: 1024
key = "user.settings.appearance.theme"
cache_key = f"user:{user_id}:profile:v2"
public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
http://user:password@localhost:8080/
postgres://postgres:postgres@localhost:5432/test
mongodb://<username>:<password>@host/db
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
curl -u username:password https://host
password = forms.CharField(widget=forms.PasswordInput, label="New password")
"""


def samples(table: list[tuple[str, Callable[[Draw], str], str]], seed: int) -> list[Sample]:
    """Generate one sample of each form; literal braces in a form are doubled."""
    draw = Draw(seed)
    made = []
    for name, make, form in table:
        value = make(draw)
        made.append(Sample(name, form.format(value), value))
    return made


def is_left(sample: Sample, text: str) -> bool:
    """Return True if a part of the value remains in the text."""
    size = min(LEAK, len(sample.value))
    pieces = (sample.value[i : i + size] for i in range(len(sample.value) - size + 1))
    return any(piece in text for piece in pieces)
