"""Files that hold secrets by their name: they are never indexed and never sent."""

from __future__ import annotations

import re

# Folders of programs that keep keys; what is public in `.ssh` is told apart below.
_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".git", ".password-store"})
_PUBLIC = re.compile(r".*\.pub|known_hosts.*|authorized_keys")
_NAMES = re.compile(
    r"""
    \.env | \.env\.[^/]* | \.envrc | [^/]+\.env
  | id_[a-z0-9_-]+
  | id_(?:rsa|dsa|ecdsa|ed25519)[^/]*
  | [^/]+\.(?:pem|key|p12|pfx|pkcs12|p8|jks|keystore|bks|kdbx?|ppk|agekey|ovpn|tfstate)
  | [^/]+\.tfstate\.[^/]*
  | \.?credentials | credentials\.(?:json|ya?ml|toml|csv|ini|xml)
  | (?:client_secrets?|service[-_]account)[^/]*\.json
  | \.?secrets?\.(?:json|ya?ml|toml|ini|env)
  | \.npmrc | \.pypirc | [._]netrc | \.pgpass | pgpass\.conf | \.my\.cnf | \.mylogin\.cnf
  | \.htpasswd | \.git-credentials | \.dockercfg | kubeconfig | \.s3cfg | \.boto | \.?rclone\.conf
  | \.terraformrc | terraform\.rc | \.vault[-_]pass(?:word)?(?:\.txt)? | \.vault-token | auth\.json
  | \.[a-z_]+_history
    """,
    re.VERBOSE,
)
# What is there to be copied and filled in.
_TEMPLATE = re.compile(
    r"\.env\.(?:[^/]*\.)?(?:example|sample|template|tmpl|dist|defaults?)"
    r"|(?:example|sample|template)\.env"
)


def is_secret_file(path: str) -> bool:
    """Whether a file holds secrets by its name, or by the folder it is in; upper and lower case are
    alike."""
    *folders, name = path.replace("\\", "/").lower().split("/")
    if _TEMPLATE.fullmatch(name) or _PUBLIC.fullmatch(name):
        return False
    if folders and folders[-1] == ".docker" and name == "config.json":
        return True
    return not _FOLDERS.isdisjoint(folders) or _NAMES.fullmatch(name) is not None
