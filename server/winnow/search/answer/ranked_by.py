"""The ranker in an answer, and what a language model got; loads no search."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import InFile, Result


class RankedBy(Result, frozen=True, kw_only=True):
    """The ranker that sorted the files."""

    kind: Annotated[
        Literal["llm", "local"], Meta(description="A language model, or the local ranker.")
    ]
    model: Annotated[str | None, Meta(description="Name of the model.")] = None
    provider: Annotated[str | None, Meta(description="The wire format that it speaks.")] = None
    fallback_reason: Annotated[
        str | None, Meta(description="Why no model ranked, if the params allow one.")
    ] = None
    needs_consent: Annotated[
        list[str] | None,
        Meta(
            description="Destinations of models that need the user's consent, if the user has not"
            " refused: see `$/consent`."
        ),
    ] = None


class NotChosen(InFile, frozen=True, kw_only=True):
    """A file that a model saw and did not select."""

    line: Annotated[int | None, Meta(description="The line to open.")] = None
    preview_uri: Annotated[
        str | None, Meta(description="Of a document: its text at the line to open.")
    ] = None


class Payload(Result, frozen=True, kw_only=True):
    """The request that a model would get."""

    model: Annotated[str, Meta(description="Name of the model.")]
    provider: Annotated[str, Meta(description="The wire format that it speaks.")]
    endpoint: Annotated[str, Meta(description="The address of the request.")]
    system: Annotated[str, Meta(description="The system prompt.")]
    prompt: Annotated[str, Meta(description="The prompt, with the matches.")]
    body: Annotated[
        str | None,
        Meta(
            description="The complete first request, byte for byte: the body of the HTTP request,"
            " or the params of `$/complete`. Absent if the provider's SDK cannot be imported."
        ),
    ] = None
    bytes: Annotated[int, Meta(description="Size of the system prompt and the prompt.")]
    estimated_tokens: Annotated[int, Meta(description="Estimated number of tokens.")]
