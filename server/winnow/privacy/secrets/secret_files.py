"""Recognize files that hold secrets by their names: Winnow never indexes or sends them."""

from __future__ import annotations

import re

# Folders with keys; public files in `.ssh` are excepted below.
_FOLDERS = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".git", ".password-store", ".gcloud", ".oci"}
)
_PUBLIC = re.compile(r".*\.pub|known_hosts.*|authorized_keys")
# Files with a common name, recognized by their folder.
_IN_FOLDERS = re.compile(
    r"""
    (?:.*/)?(?:
      \.docker/config\.json | \.config/(?:gh|glab-cli|hub)/[^/]+ | \.config/gcloud/.*
    | \.config/(?:rclone/.*|containers/auth\.json|doctl/.*|heroku/.*|netlify/.*|op/.*|sops/age/.*)
    | \.m2/settings(?:-security)?\.xml | \.gradle/gradle\.properties
    | \.cargo/credentials(?:\.toml)?
    | \.gem/credentials | \.bundle/config | \.composer/auth\.json | \.nuget/nuget\.config
    | \.pip/pip\.(?:conf|ini) | \.fly/config\.yml | \.terraform\.d/credentials\.tfrc\.json
    | etc/(?:g?shadow|sudoers|ppp/(?:chap|pap)-secrets|wireguard/.*|krb5\.keytab)-?
    | \.bitcoin/wallet\.dat | \.databricks/token-cache\.json | \.subversion/auth/.*
    )
    """,
    re.VERBOSE,
)
_NAMES = re.compile(
    r"""
    \.env | \.env\.[^/]* | \.envrc | [^/]+\.env | \.dev\.vars | \.flaskenv\.local
  | id_[a-z0-9_-]+
  | id_(?:rsa|dsa|ecdsa|ed25519)[^/]*
  | [^/]+\.(?:pem|key|p12|pfx|pkcs12|p8|jks|jceks|bcfks|keystore|bks|kdbx?|ppk|agekey|ovpn|keytab
      |publishsettings|tblk|psafe3)
  | [^/]+\.(?:tfstate|tfvars)(?:\.[^/]*)?
  | \.?credentials | credentials(?:\.[a-z0-9_-]+)?\.(?:json|ya?ml|toml|csv|ini|xml|properties|enc)
  | (?:client_secrets?|service[-_]?account|application_default_credentials)[^/]*\.json
  | [a-z0-9_-]*[-_.]credentials\.json | [a-z0-9_-]*adminsdk[a-z0-9_-]*\.json
  | \.?secrets?(?:\.[a-z0-9_-]+)?\.(?:json|ya?ml|toml|ini|env|properties|xml|tfvars)
  | (?:access[-_]?|refresh[-_]?|auth[-_]?|oauth2?[-_]?|api[-_]?)?token\.(?:json|pickle)
  | \.npmrc | \.yarnrc\.yml | \.pypirc | pip\.(?:conf|ini) | [._]netrc | \.pgpass | pgpass\.conf
  | \.my\.cnf | \.mylogin\.cnf | \.htpasswd | \.?htpasswd | \.htdigest | \.git-credentials
  | \.dockercfg | \.dockerconfigjson | kubeconfig(?:\.(?:ya?ml|json|conf|txt))?
  | [^/]+[-_.]kubeconfig(?:\.ya?ml)?
  | \.s3cfg | \.boto | \.?rclone\.conf | \.terraformrc | terraform\.rc | settings-security\.xml
  | \.vault[-_]pass(?:word)?(?:\.txt)? | \.vault-token | auth\.json | wp-config(?:-[a-z]+)?\.php
  | secring\.(?:gpg|skr) | wallet\.dat
  | \.(?:ldaprc|fetchmailrc|msmtprc|muttrc|esmtprc|offlineimaprc|mbsyncrc|smbcredentials|rhosts
      |remote-sync\.json|ftpconfig|sshpass|psql_history|passwd)
  | g?shadow-? | sftp(?:-config)?\.json | filezilla\.xml | sitemanager\.xml | recentservers\.xml
  | \.[a-z_]+_history | local\.settings\.json
  | appsettings\.(?:production|secrets)\.json | (?:gradle-)?signing\.properties
  | keystore\.properties | \.databrickscfg
    """,
    re.VERBOSE,
)
# Templates to copy and fill in.
_TEMPLATE = re.compile(
    r"\.env\.(?:[^/]*\.)?(?:example|sample|template|tmpl|dist|defaults?)"
    r"|(?:example|sample|template)\.env"
    r"|(?![^/]*\.(?:pem|key|p12|pfx|p8|jks|keystore|ppk)$)(?:"
    r"[^/]*[-_.](?:example|sample|template|tmpl|dist|skel)(?:\.[a-z]{1,12})?"
    r"|(?:example|sample|template)[-_.][^/]*)"
)


def is_secret_file(path: str) -> bool:
    """Return True if a file holds secrets, judged by its name and folder without regard to case."""
    path = path.replace("\\", "/").lower()
    *folders, name = path.split("/")
    if _TEMPLATE.fullmatch(name) or _PUBLIC.fullmatch(name):
        return False
    if not _FOLDERS.isdisjoint(folders) or _NAMES.fullmatch(name):
        return True
    return bool(folders) and _IN_FOLDERS.fullmatch(path) is not None
