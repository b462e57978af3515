"""The settings and mappings of the index in the cluster.

A document is a text of a repository, whatever branches and paths have it (``kind`` "text"), or the
state of a branch (``kind`` "branch"). All documents of a repository are on one shard. The terms in
``passages``, ``comment``, ``head`` and ``type`` are those of the local index, as numbers: so the
cluster counts what the ranker counts.
"""

from __future__ import annotations

import hashlib
from typing import Any

from winnow.index.store.generations import version

# Fields of terms, by unit; the ranker needs how many units have a term, and their lengths.
PASSAGE_FIELDS = ("body", "definition")
TEXT_FIELDS = ("comment", "head", "type")
# A shard holds about 50 GB: enough for two thousand repositories. More can be set at creation.
SHARDS = 2
# One node may fail without loss.
REPLICAS = 1
# A passage with a longer text is not in the field for substrings (Lucene's limit is 32,766 bytes).
MOST_BYTES = 32_000

_CODE = {
    "type": "custom",
    "tokenizer": "code_words",
    "filter": ["code_parts", "flatten_graph", "lowercase", "code_stems"],
}


def format_of_records() -> str:
    """Return what identifies the format of the ranker's data, which versions of Winnow change."""
    return hashlib.sha256(version("cluster").encode()).hexdigest()[:12]


def index_body() -> dict[str, Any]:
    """Return the body of the request that creates the index."""
    terms = {"type": "text", "analyzer": "terms", "norms": False}
    # A `wildcard` field would read each text that has the trigrams, which this machine does anyway.
    text = {"type": "text", "analyzer": "trigrams", "norms": False, "index_options": "docs"}
    # With values by column: the source is not checked.
    name = {"type": "wildcard", "normalizer": "folded", "doc_values": True}
    count = {"type": "integer"}
    passages = {
        "type": "nested",
        "properties": {
            "text": text,
            "long": {"type": "keyword", "index": False, "doc_values": False},
            **dict.fromkeys(PASSAGE_FIELDS, terms),
            **{f"{field}_length": count for field in PASSAGE_FIELDS},
        },
    }
    code = {"type": "text", "analyzer": "code", "norms": False}
    return {
        "settings": {
            "number_of_shards": SHARDS,
            "number_of_replicas": REPLICAS,
            "codec": "best_compression",
            "refresh_interval": "5s",
            "mapping.nested_objects.limit": 70_000,
            "analysis": {
                "tokenizer": {
                    "code_words": {"type": "pattern", "pattern": "[^\\p{L}\\p{N}_$]+"},
                    "three_characters": {"type": "ngram", "min_gram": 3, "max_gram": 3},
                },
                "filter": {
                    "code_parts": {
                        "type": "word_delimiter_graph",
                        "split_on_case_change": True,
                        "split_on_numerics": True,
                        "preserve_original": True,
                    },
                    "code_stems": {"type": "stemmer", "language": "english"},
                },
                "char_filter": {"long_s": {"type": "mapping", "mappings": ["\u017f => s"]}},
                "normalizer": {
                    "folded": {"type": "custom", "char_filter": ["long_s"], "filter": ["lowercase"]}
                },
                "analyzer": {
                    "code": _CODE,
                    "terms": {"type": "custom", "tokenizer": "whitespace"},
                    "trigrams": {
                        "type": "custom",
                        "char_filter": ["long_s"],
                        "tokenizer": "three_characters",
                        "filter": ["lowercase"],
                    },
                },
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_routing": {"required": True},
            "properties": {
                "kind": {"type": "keyword"},
                "repository": {"type": "keyword"},
                "format": {"type": "keyword"},
                "key": {"type": "keyword"},
                "locations": {
                    "properties": {
                        "ref": {"type": "keyword"},
                        "path": {"type": "keyword", "fields": {"code": code}},
                    }
                },
                "passages": passages,
                "is_long": {"type": "boolean"},
                **dict.fromkeys(TEXT_FIELDS, terms),
                **{f"{field}_length": count for field in TEXT_FIELDS},
                "names": {**name, "fields": {"code": code}},
                "symbols": {"type": "binary"},
                "contents": {"type": "binary"},
                "ref": {"type": "keyword"},
                "branch": {"type": "object", "enabled": False},
            },
        },
    }
