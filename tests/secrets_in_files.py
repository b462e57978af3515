"""Secrets and look-alikes in the syntax of real files, written before the rules were changed (#21).

`secret_samples` has the older set. All values are random (with a seed) and assembled from pieces,
so that no file of the project contains text that looks like a key.
"""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import base64
import re
import string
from collections.abc import Callable
from urllib.parse import quote

from secret_samples import HEX, LOWER, URL, WORD, Draw, Sample

B64 = WORD + "+/"
LETTERS = string.ascii_letters
DIGITS = string.digits
CRYPT = WORD + "./"
# The placeholder for the value in a form.
HOLE = "§"
SYLLABLES = "mer sol ran tik vor bel hun dra pol nim gar lek wis tor fal jun kep ost".split()
NAMES = "ada grace linus ken barbara dennis".split()


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _word(draw: Draw) -> str:
    """Return a word of letters, like a chosen password."""
    return "".join(draw.random.choices(SYLLABLES, k=3)).title()


def _words(draw: Draw) -> str:
    """Return four words without separators."""
    return "".join("".join(draw.random.choices(SYLLABLES, k=2)) for _ in range(4))


def _letters(draw: Draw) -> str:
    return draw.of(LETTERS, 14)


def _chosen(draw: Draw) -> str:
    """Return a short word with digits."""
    return "".join(draw.random.choices(SYLLABLES, k=2)) + draw.of(DIGITS, 1)


def _typed(draw: Draw) -> str:
    """Return a password that satisfies the usual rules for one."""
    return _word(draw) + draw.random.choice("!#*-_.") + draw.of(DIGITS, 2)


def _random(draw: Draw) -> str:
    return draw.of(WORD, 20)


def _long(draw: Draw) -> str:
    return draw.of(WORD, 40)


def _hex(draw: Draw) -> str:
    return draw.of(HEX, 32)


def _encoded(draw: Draw) -> str:
    """Return a percent-encoded password with special characters, as in a URL or a form."""
    return quote(draw.of(WORD, 4) + "@" + draw.of(WORD, 5) + "/" + draw.of(WORD, 4) + "#", safe="")


def _pem_lines(draw: Draw) -> str:
    return "\n".join(draw.of(B64, 64) for _ in range(5))


def _pem(draw: Draw, kind: str = "") -> str:
    begin, end = f"-----BEGIN {kind}PRIV" + "ATE KEY-----", f"-----END {kind}PRIV" + "ATE KEY-----"
    return f"{begin}\n{_pem_lines(draw)}\n{end}\n"


def _jwt(draw: Draw) -> str:
    parts = (
        b'{"alg":"HS256","typ":"JWT"}',
        b'{"sub":"%d","role":"x"}' % draw.random.getrandbits(70),
    )
    head, body = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{head}.{body}.{draw.of(URL, 43)}"


def _discord(draw: Draw) -> str:
    head = _b64(draw.of("123456789", 18)).rstrip("=")
    return f"{head}.{draw.of(URL, 6)}.{draw.of(URL, 38)}"


def _bedrock(draw: Draw) -> str:
    name = "BedrockAPIKey-" + draw.of(LOWER, 4) + "-at-" + draw.of(DIGITS, 12)
    return "AB" + "SK" + _b64(f"{name}:{draw.of(B64, 44)}")


Form = tuple[str, Callable[[Draw], str], tuple[str, ...]]

# Formats that a provider or a program defines: name, value, and files that contain it.
FIXED: list[Form] = [
    ("aws id of letters", lambda d: "AK" + "IA" + d.of(string.ascii_uppercase, 16), (
        "[default]\naws_access_key_id = §\nregion = eu-central-1\n",
        'provider "aws" {\n  region     = "us-east-1"\n  access_key = "§"\n}\n')),
    ("aws secret key", lambda d: d.of(B64, 40), (
        "      - run: aws s3 sync . s3://site\n        env:\n          AWS_SECRET_ACCESS_KEY: §\n",
        "const s3 = new S3({ credentials: { accessKeyId: id, secretAccessKey: '§' } });\n")),
    ("aws session token", lambda d: "IQoJb3JpZ2lu" + "X2Vj" + d.of(B64, 260) + "==", (
        'export AWS_SESSION_TOKEN="§"\n',
        '{\n  "Credentials": {\n    "SessionToken": "§",\n    "Expiration": "2026-01-01T00:00:00Z"\n  }\n}\n')),
    ("aws bedrock", _bedrock, (
        "AWS_BEARER_TOKEN_BEDROCK=§\n",
        "Paste your key, e.g. §, into the field.\n")),
    ("discord bot", _discord, (
        "client.login('§');\n",
        'bot.run("§", log_handler=None)\n')),
    ("github app", lambda d: "gh" + "u_" + d.of(WORD, 36), (
        "[remote \"origin\"]\n\turl = https://x-access-token:§@github.com/a/b.git\n",
        "github.com:\n    user: ada\n    oauth_token: §\n    git_protocol: https\n")),
    ("gitlab trigger", lambda d: "glp" + "tt-" + d.of(HEX, 40), (
        "curl -X POST -F token=§ -F ref=main https://git.host/api/v4/projects/1/trigger/pipeline\n",
        "deploy:\n  script:\n    - ./trigger.sh '§' main\n")),
    ("slack configuration", lambda d: "xox" + "e.xox" + "p-1-" + d.of(B64.replace("+/", ""), 166), (
        'SLACK_CONFIG="§"\n',
        '{"ok": true, "token": "§", "exp": 1700000000}\n')),
    ("stripe restricted", lambda d: "rk" + "_live_" + d.of(WORD, 99), (
        "Stripe.api_key = '§'\n",
        "  stripe: §\n")),
    ("google service account", lambda d: _pem_lines(d).replace("\n", "\\n"), (
        '{\n  "type": "service_account",\n  "private_key_id": "0",\n  "private_key": "-----BEGIN PRIV' + 'ATE KEY-----\\n§\\n-----END PRIV' + 'ATE KEY-----\\n",\n  "client_email": "a@b"\n}\n',
        "GOOGLE_CREDENTIALS='{\"type\":\"service_account\",\"private_key\":\"-----BEGIN PRIV" + "ATE KEY-----\\n§\\n-----END PRIV" + "ATE KEY-----\\n\"}'\n")),
    ("google refresh token", lambda d: "1/" + "/0" + d.of(URL, 100), (
        '{"client_id": "1.apps.host", "refresh_token": "§", "type": "authorized_user"}\n',
        "creds = Credentials(None, refresh_token='§', token_uri=URI)\n")),
    ("firebase server", lambda d: "AAAA" + d.of(URL, 7) + ":" + "APA91b" + d.of(URL, 134), (
        "Authorization: key=§\n",
        "    private static final String SERVER = \"§\";\n")),
    ("azure storage", lambda d: d.of(B64, 86) + "==", (
        '"AzureWebJobsStorage": "DefaultEndpointsProtocol=https;AccountName=app;AccountKey=§;EndpointSuffix=core.windows.net"\n',
        "az storage blob list --account-name app --account-key §\n")),
    ("azure shared access signature", lambda d: quote(d.of(B64, 43) + "=", safe=""), (
        "https://app.blob.core.windows.net/c?sv=2022-11-02&ss=b&srt=sco&sp=rwdl&se=2030-01-01T00:00:00Z&spr=https&sig=§\n",
        "SAS=?sv=2020-08-04&st=2024-01-01&sr=c&sp=racwl&sig=§\n")),
    ("azure service bus", lambda d: d.of(B64, 43) + "=", (
        "Endpoint=sb://app.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=§\n",
        '  "ServiceBus": "Endpoint=sb://app.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=§;EntityPath=q",\n')),
    ("openai admin", lambda d: "sk-" + "admin-" + d.of(URL, 58) + "T3Blbk" + "FJ" + d.of(URL, 58), (
        "client = OpenAI(api_key='§')\n",
        "# §\n")),
    ("openrouter", lambda d: "sk-" + "or-v1-" + d.of(HEX, 64), (
        "OPENROUTER_API_KEY=§\n",
        'headers: { Authorization: `Bearer §` },\n')),
    ("npm legacy", lambda d: _b64("ada:" + d.of(WORD, 18)), (
        "registry=https://npm.host/\n_auth=§\nalways-auth=true\n",
        "//npm.host/repository/:_auth = \"§\"\n")),
    ("pypi", lambda d: "py" + "pi-AgEIcHlwaS5vcmc" + d.of(URL, 150), (
        "[pypi]\nusername = __token__\npassword = §\n",
        "twine upload -u __token__ -p § dist/*\n")),
    ("twilio token", _hex, (
        "TWILIO_ACCOUNT_SID=AC00000000000000000000000000000000\nTWILIO_AUTH_TOKEN=§\n",
        'client = Client("AC00000000000000000000000000000000", auth_token="§")\n')),
    ("mapbox secret", lambda d: "sk." + "eyJ1Ijoi" + d.of(WORD, 60) + "." + d.of(URL, 22), (
        "MAPBOX_DOWNLOADS=§\n",
        "mapboxgl.accessToken = '§';\n")),
    ("htpasswd", lambda d: "$apr1$" + d.of(CRYPT, 8) + "$" + d.of(CRYPT, 22), (
        "ada:§\ngrace:$apr1$\n",
        '          basicAuth:\n            users:\n              - "admin:§"\n')),
    ("htpasswd with bcrypt", lambda d: "$2y$" + "10$" + d.of(CRYPT, 53), (
        "admin:§\n",
        "INSERT INTO users VALUES (1, 'ada', '§', NOW());\n")),
    ("shadow", lambda d: "$6$" + d.of(CRYPT, 16) + "$" + d.of(CRYPT, 86), (
        "root:§:19000:0:99999:7:::\n",
        "users:\n  - name: ada\n    passwd: §\n    sudo: ALL\n")),
    ("key of ssh", lambda d: "b3BlbnNzaC1rZXktdjE" + d.of(B64, 51) + "\n      " + "\n      ".join(d.of(B64, 70) for _ in range(4)), (
        "ssh:\n  key: |\n      -----BEGIN OPENSSH PRIV" + "ATE KEY-----\n      §\n      -----END OPENSSH PRIV" + "ATE KEY-----\n",
        "cat > id <<END\n      -----BEGIN OPENSSH PRIV" + "ATE KEY-----\n      §\n      -----END OPENSSH PRIV" + "ATE KEY-----\nEND\n")),
    ("key of a cluster's user", lambda d: _b64(_pem(d, "RSA ")), (
        "users:\n- name: admin\n  user:\n    client-certificate-data: LS0t\n    client-key-data: §\n",
        '{"user": {"client-key-data": "§"}}\n')),
    ("jwt", _jwt, (
        "NEXT_PUBLIC_SUPABASE_SERVICE_ROLE=§\n",
        "Set-Cookie: session=§; Path=/; HttpOnly\n")),
    ("docker registry", lambda d: _b64("robot:" + d.of(WORD, 22)), (
        '{\n\t"auths": {\n\t\t"registry.host": {\n\t\t\t"auth": "§"\n\t\t}\n\t}\n}\n',
        "DOCKER_AUTH_CONFIG: '{\"auths\":{\"registry.host\":{\"auth\":\"§\"}}}'\n")),
    ("tailscale", lambda d: "tskey" + "-auth-" + d.of(WORD, 12) + "CNTRL-" + d.of(WORD, 32), (
        "tailscale up --authkey=§\n",
        "    TS_AUTHKEY: §\n")),
    ("wireguard", lambda d: d.of(B64, 42) + "E=", (
        "[Interface]\nAddress = 10.0.0.2/32\nPrivateKey = §\n[Peer]\n",
        "      wg_private_key: §\n")),
]  # fmt: skip

# Generic forms: the value itself has no specific format.
GENERIC: list[Form] = [
    ("letters in code", _letters, (
        'password = "§"\n',
        "  const dbPassword = '§';\n",
        'var adminPassword string = "§"\n')),
    ("words without spaces", _words, (
        '{"user": "admin", "password": "§"}\n',
        "PASSPHRASE='§'\n",
        '    passphrase => "§",\n')),
    ("word in configuration", _word, (
        "database:\n  host: db\n  db_password: §\n",
        "spring.datasource.password=§\n",
        '[database]\nuser = "app"\npassword = "§"\n')),
    ("short in the environment", _chosen, (
        "USER=app\nPASSWORD=§\n",
        "    environment:\n      MYSQL_ROOT_PASSWORD: §\n",
        "ENV POSTGRES_USER=app POSTGRES_PASSWORD=§\n")),
    ("terraform", _letters, (
        'variable "db_password" {\n  type    = string\n  default = "§"\n}\n',
        'variable "api_token" {\n  description = "Token of the deployment"\n  sensitive   = true\n  default     = "§"\n}\n',
        'locals {\n  admin_password = "§"\n}\n')),
    ("netrc", _chosen, (
        "machine git.host login ada password §\n",
        "machine git.host\n  login ada\n  password §\n",
        'RUN echo "machine git.host login ci password §" > ~/.netrc\n')),
    ("kubernetes data", lambda d: _b64(_typed(d)), (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ntype: Opaque\ndata:\n  username: YWRh\n  rabbit: §\n",
        "---\nkind: Secret\nmetadata:\n  name: app\ndata:\n  config.yaml: §\n---\nkind: ConfigMap\ndata:\n  color: blue\n",
        '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"tls": "§"}}\n')),
    ("kubernetes string data", _typed, (
        "kind: Secret\nmetadata:\n  name: app\nstringData:\n  rabbit: §\n",
        "kind: Secret\napiVersion: v1\nstringData:\n  smtp-login: \"§\"\nmetadata:\n  name: app\n",
        "apiVersion: v1\nstringData:\n    redis-conn: '§'\nkind: Secret\n")),
    ("command of mysql", _letters, (
        "mysql -u root -p§ shop < dump.sql\n",
        "\tdocker exec db mysqldump -uroot -p§ --all-databases\n",
        "      - mysqladmin -h 127.0.0.1 -uroot -p'§' ping\n")),
    ("address with credentials", _word, (
        "DATABASE_URL=postgres://app:§@db.host:5432/shop\n",
        "CELERY_BROKER = 'redis://:§@cache.host:6379/0'\n",
        "http_proxy=http://ada:§@proxy.host:3128\n")),
    ("address with an encoded password", _encoded, (
        'mongo_uri = "mongodb+srv://app:§@cluster.host/shop?retryWrites=true"\n',
        "jdbc:sqlserver://db:1433;user=app;password=§;encrypt=true\n",
        "sftp://deploy:§@files.host/in\n")),
    ("json in a string", _letters, (
        '{"SecretString": "{\\"username\\":\\"admin\\",\\"password\\":\\"§\\"}"}\n',
        '"body": "{\\"event\\":\\"{\\\\\\"token\\\\\\":\\\\\\"§\\\\\\"}\\"}"\n',
        "payload = '{\"client\": \"web\", \"client_secret\": \"§\"}'\n")),
    ("encoded form", _encoded, (
        "grant_type=password&username=ada&password=§&scope=all\n",
        "curl 'https://host/oauth/token?client_id=web&client_secret=§'\n",
        'data: "user=ada&passwd=§",\n')),
    ("base64 of a secret", lambda d: _b64("export DB_PASSWORD=" + d.of(WORD, 16) + "\n"), (
        "echo § | base64 -d > env.sh\n",
        "env_file: §\n",
        'CONFIG = base64.b64decode("§")\n')),
    ("base64 of a token", lambda d: _b64("gh" + "p_" + d.of(WORD, 36)), (
        "  ci: §\n",
        'atob("§")\n',
        "CI_B64=§\n")),
    ("cookie", lambda d: d.of(LOWER, 32), (
        "Cookie: theme=dark; sessionid=§; lang=en\n",
        "curl -b 'PHPSESSID=§' https://host/admin\n",
        "Set-Cookie: connect.sid=§; Path=/; Secure\n")),
    ("key of a framework", lambda d: d.of(LOWER + "!@#*(-_=+)", 50), (
        "SECRET_KEY = 'django-ins" + "ecure-§'\n",
        "SECRET_KEY = '§'\n",
        'app.secret_key = "§"\n')),
    ("properties", _typed, (
        "server.ssl.key-store-password=§\n",
        "jdbc.password : §\n",
        "mail.smtp.pwd = §\n")),
    ("xml", _letters, (
        "<server>\n  <id>releases</id>\n  <username>ada</username>\n  <password>§</password>\n</server>\n",
        '<property name="hibernate.connection.password">§</property>\n',
        '<add name="Main" connectionString="Server=db;User Id=sa;Password=§;" />\n')),
    ("option of a command", _word, (
        "redis-cli -h cache -a § ping\n",
        "curl -u admin:§ https://host/api\n",
        "docker login registry.host -u ada -p §\n")),
    ("argument of openssl", _chosen, (
        "openssl rsa -in key.pem -passin pass:§ -out plain.pem\n",
        "keytool -list -keystore app.jks -storepass §\n",
        "echo 'root:§' | chpasswd\n")),
    ("file of ci", _random, (
        "variables:\n  DEPLOY_TOKEN:\n    value: §\n    description: for the registry\n",
        "        withEnv(['NEXUS_PASSWORD=§']) {\n",
        "ARG GRADLE_ENCRYPTION_KEY=§\n")),
    ("name beside a value", _random, (
        "        - name: DB_PASSWORD\n          value: §\n",
        '"environment": [{"name": "API_TOKEN", "value": "§"}]\n',
        '    <entry key="apiSecret" value="§"/>\n')),
    ("sql", _word, (
        "CREATE USER 'app'@'%' IDENTIFIED BY '§';\n",
        "ALTER ROLE app WITH LOGIN PASSWORD '§';\n",
        "ALTER USER root@localhost IDENTIFIED WITH mysql_native_password BY '§';\n")),
    ("typed constant", _long, (
        '    private static final String CLIENT_SECRET = "§";\n',
        'static let apiKey: String = "§"\n',
        'const SIGNING_KEY: &str = "§";\n')),
    ("argument of a call", _letters, (
        'connect(host="db", user="app", password="§")\n',
        'new Sequelize("shop", "app", null, { password: `§` })\n',
        'factory.setPassword("§");\n')),
    ("default of a lookup", _random, (
        'os.environ.get("JWT_SECRET", "§")\n',
        "secret: process.env.JWT_SECRET || '§',\n",
        "password: ${DB_PASSWORD:§}\n")),
    ("ansible and servers", _word, (
        "db1 ansible_user=ada ansible_ssh_pass=§\n",
        "ansible_become_password: §\n",
        "bindpw §\nbinddn cn=reader,dc=host\n")),
    ("wireless and mail", _typed, (
        '#define WIFI_PASSWORD "§"\n',
        'network={\n  ssid="home"\n  psk="§"\n}\n',
        "EMAIL_HOST_PASSWORD = '§'\n")),
    ("pair of a name and a password", _letters, (
        "requests.get(url, auth=('ada', '§'))\n",
        "auth: { user: 'ada', pass: '§' }\n",
        "# password: §\n")),
]  # fmt: skip

# A marker such as §hex40§ stands for this number of random characters.
LINES = r"""
password = "<your-password>"
DB_PASSWORD=<password>
password: changeme
password = "change_me_in_production"
api_key = "xxxxxxxxxxxxxxxx"
password: ${DB_PASSWORD}
password: "${env.DB_PASSWORD}"
SECRET_KEY=${SECRET_KEY:?must be set}
token: {{ value }}
password: "{{ vault_db_password }}"
password = "%(pw)s"
password=%DB_PASSWORD%
password = "$(cat /run/secrets/db)"
password: !Ref DatabasePassword
password: "{{resolve:secretsmanager:app:SecretString:password}}"
api_key: $API_KEY
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
password = "..."
password = ""
password: null
secret = None
password: "********"
token = "TODO"
api_key = "YOUR_API_KEY"
apiKey: "your-api-key-here",
password = "example"
password = "password"
password: "test"
secret = "dummy"
password = getpass.getpass()
token = self.next_token()
password = forms.CharField(widget=forms.PasswordInput)
password = models.CharField(_("password"), max_length=128)
password = Column(String(128), nullable=False)
password = serializers.CharField(write_only=True)
password = hash_password(raw_password)
const token = await getAccessTokenSilently();
String password = request.getParameter("password");
password := os.Getenv("DB_PASSWORD")
let secret = env::var("JWT_SECRET").expect("JWT_SECRET must be set");
api_key = config["api_key"]
password = credentials.password
self.password = password
password: str
password: Optional[str] = None
password: SecretStr
password?: string;
private String password;
def check_password(self, raw_password: str) -> bool:
func Login(username, password string) error {
token *oauth2.Token
public required string Password { get; set; }
type Token = { kind: TokenKind; value: string };
password VARCHAR(255) NOT NULL,
<input type="password" name="password" id="password" placeholder="Password">
<label for="id_password">Password:</label>
<label>Secret: <input name="secret"></label>
fields = ["username", "password", "email"]
readonly_fields = ("password", "last_login")
sensitive_post_parameters("password1", "password2")
{"type": "string", "format": "password", "title": "Password"}
"password": {"type": "string", "minLength": 8},
"password": "Passwort",
"password": "Mot de passe oublié ?",
"forgot_password": "Hast du dein Passwort vergessen?",
password_reset: "Réinitialiser le mot de passe"
"login.password.label": "Contraseña",
password: Passwort
msgid "Password"
msgstr "Ihr Passwort wurde geändert."
error_password = "The two password fields did not match."
raise ValidationError("Password is too short", code="password_too_short")
throw new Error("Invalid token: expected string");
"invalid_token": "The token has expired",
password_mismatch = _("The passwords do not match")
logger.info("token refreshed for user %s", user)
console.log("password changed");
assert response.context["form"].errors["password"] == ["This field is required."]
ssh-rsa AAAAB3NzaC1yc2E§b64200§ ada@host
age1§bech58§
"publicKey": "§b6443§=",
"key_fingerprint": "SHA256:§b6443§",
commit §hex40§
uses: actions/checkout@§hex40§
"gitHead": "§hex40§",
§hex64§  winnow-1.0.0.tar.gz
sha256 = "§hex64§"
    --hash=sha256:§hex64§ \
image: registry.host/app@sha256:§hex64§
"integrity": "sha512-§b6486§==",
"shasum": "§hex40§",
h1:§b6443§=
github.com/pkg/errors v0.9.1 h1:§b6443§=
"contentHash": "§b6488§",
"id": "§uuid0§",
ProjectGuid>{§uuid0§}</ProjectGuid>
x-request-id: §uuid0§
ETag: "§hex32§"
<script src="/static/app.§hex20§.js" integrity="sha384-§b6464§"></script>
<path d="M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zm0 18c-4.41"/>
background: url(data:image/png;base64,iVBORw0KGgo§b64120§);
.password-field { color: #a1b2c3; padding: 4px 8px }
.token.keyword { color: #07a }
!function(e,t){"object"==typeof exports?module.exports=t():e.token=t}(this,function(){return n.password||r});
var a=e.password,b=e.token,c=t.secret;if(a!==b)throw Error("secret");
//# sourceMappingURL=app.§hex20§.js.map
key = "name"
cache_key = "user_profile_settings"
sort_key = lambda item: item.key
primary_key = "customer_id"
for key, value in settings.items():
KEY_PASSWORD = "password"
TOKEN_PREFIX = "Bearer "
SESSION_COOKIE_NAME = "sessionid"
CSRF_COOKIE_NAME = "csrftoken"
token_endpoint = "https://login.host/oauth2/v2.0/token"
"passwordUrl": "https://host/accounts/password/change",
https://host.example/reset-password/confirm?next=/login
git clone https://github.com/django/django.git
postgres://localhost:5432/shop
redis://cache:6379/0
postgresql://${USER}:${PASSWORD}@host/db
postgres://user:pass@localhost/db
Use a strong password and never share your secret token with others.
The password is stored as a salted hash; see the chapter about tokens.
--password-file=/run/secrets/db
mysql -u root -p shop < dump.sql
docker login -u ada --password-stdin
mkdir -p build/output && cp -p a b
openssl rsa -passin env:KEY_PASS -in key.pem
machine learning and password hashing
max_tokens = 4096
tokenizer = Tokenizer.from_file("tokenizer.json")
secretName: app-tls
secretKeyRef: {name: db, key: password}
passwordSecretRef: database-credentials
PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = []
"scripts": {"token": "node scripts/token.js"},
if token.type == "identifier" and token.value == "password":
"""
BLOCKS = (
    "-----BEGIN CERTIFICATE-----\n§b6464§\n§b6464§\n§b6440§==\n-----END CERTIFICATE-----\n",
    "-----BEGIN PUBLIC KEY-----\n§b6464§\n§b6464§\n-----END PUBLIC KEY-----\n",
    "kind: ConfigMap\nmetadata:\n  name: app\ndata:\n  motto: §b6424§\n  level: debug\n",
    "kind: ExternalSecret\nspec:\n  data:\n  - secretKey: password\n    remoteRef:\n      key: prod/db\n",
    'variable "db_password" {\n  type      = string\n  sensitive = true\n  default   = ""\n}\n',
    'variable "region" {\n  description = "Where the tokens live"\n  default     = "eu-central-1"\n}\n',
    "        - name: DB_PASSWORD\n          valueFrom:\n            secretKeyRef:\n              name: db\n              key: password\n",
    '[[package]]\nname = "tokens"\nversion = "1.0.0"\nchecksum = "§hex64§"\n',
    'msgid "Password"\nmsgstr "Kennwort"\n\nmsgid "Secret"\nmsgstr "Geheimnis"\n',
    "class LoginForm(forms.Form):\n    username = forms.CharField()\n    password = forms.CharField(strip=False)\n",
)  # fmt: skip


def samples(table: list[Form], seed: int) -> list[Sample]:
    """Generate each value in each of its files."""
    draw = Draw(seed)
    return [
        Sample(name, form.replace(HOLE, value), value)
        for name, make, forms in table
        for form in forms
        for value in [make(draw)]
    ]


def look_alikes(seed: int) -> list[str]:
    """Return the texts that a filter must not change."""
    draw = Draw(seed)
    alphabets = {"hex": HEX, "b64": B64, "bech": "qpzry9x8gf2tvdw0s3jn54khce6mua7l"}

    def drawn(marker: re.Match[str]) -> str:
        kind, count = marker.groups()
        return draw.uuid() if kind == "uuid" else draw.of(alphabets[kind], int(count))

    marked = re.compile(f"{HOLE}(hex|b64|bech|uuid)([0-9]+){HOLE}")
    texts = [f"{line}\n" for line in LINES.strip("\n").split("\n")] + list(BLOCKS)
    return [marked.sub(drawn, text) for text in texts]
