"""Params and results of consent."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, Params, Result


class ConsentParams(Params, frozen=True, kw_only=True):
    """What somebody has decided."""

    action: Annotated[
        Literal["show", "give", "refuse", "withdraw"],
        Meta(
            description="'give': code of this workspace may be sent to the destinations; 'refuse':"
            " it may not, and nobody is to be asked; 'withdraw': forget what was decided; 'show':"
            " change nothing."
        ),
    ] = "show"
    destinations: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=1_000)]],
        Meta(
            description="With 'give': these of the destinations that models have, as they were"
            " shown to whoever decides; without, all of them.",
            max_length=100,
        ),
    ] = []


class Destination(Result, frozen=True, kw_only=True):
    """Where code of this workspace could be sent."""

    destination: Annotated[str, Meta(description="Scheme, host and port.")]
    models: Annotated[list[str], Meta(description="The models there that have all they need.")]
    state: Annotated[
        Literal["needed", "given", "refused", "always"],
        Meta(
            description="'needed': nothing is sent until somebody consents; 'given', 'refused':"
            " decided; 'always': allowed for every workspace by `llm.consent`."
        ),
    ]


class ConsentResult(Answer, frozen=True, kw_only=True):
    """What may be sent where. Models on this machine need no consent, and the model that the editor
    offers is that editor's to ask for; `total_found` and `returned` count the destinations."""

    destinations: Annotated[
        list[Destination], Meta(description="All destinations, in the order of preference.")
    ]
    workspace: Annotated[list[str], Meta(description="The folders that it is decided for.")]
