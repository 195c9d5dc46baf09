"""Which engine suggests edits: flags that several actions of `parley nes` take."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from parley._argtypes import positive_float
from parley.errors import ConfigError, ConnectFailed

from .reporting import Exit, Failure, say

if TYPE_CHECKING:
    from parley.nes import Engine, ModelEngine

__all__ = ["add_engine_arguments", "engine_of", "engine_words", "names_model"]

_PREDICTORS = ("embedded", "model", "both")


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a model."""
    group = parser.add_argument_group("with a model")
    group.add_argument(
        "--model-url",
        metavar="URL",
        help="an OpenAI-compatible server, such as http://localhost:8080",
    )
    group.add_argument("--model", metavar="NAME", default="", help="the name of the model there")
    group.add_argument(
        "--prompt-format",
        metavar="NAME",
        default="infer",
        help="the prompt format, such as chat or zeta2_1; by default from the model's name",
    )
    group.add_argument(
        "--api-key-file",
        metavar="FILE",
        help="the file with the API key; $PARLEY_NES_API_KEY by default",
    )
    group.add_argument(
        "--ca-file", metavar="FILE", help="certificates to trust instead of the system's"
    )
    group.add_argument(
        "--plain-token",
        action="store_true",
        help="send the key to another machine without TLS, where others can read it",
    )
    group.add_argument(
        "--model-timeout",
        metavar="SECONDS",
        type=positive_float,
        default=1.5,
        help="how long to wait for the model; 1.5 by default",
    )
    group.add_argument(
        "--predictor",
        choices=_PREDICTORS,
        default="both",
        help="which engine suggests: `both` uses the rules when they are certain",
    )


def names_model(arguments: argparse.Namespace) -> bool:
    """Return whether a flag concerns a model."""
    is_asked_for = arguments.predictor == "model" or arguments.prompt_format != "infer"
    return is_asked_for or arguments.model_url is not None or any(_of_a_model(arguments))


def engine_words(arguments: argparse.Namespace) -> list[str]:
    """Return the flags again, for another process; none if they name no model.

    Raises:
        Failure: They name no engine that there is.
    """
    engine_of(arguments)
    if arguments.model_url is None:
        return []
    named = {
        "--model-url": arguments.model_url,
        "--model": arguments.model,
        "--prompt-format": arguments.prompt_format,
        "--api-key-file": arguments.api_key_file,
        "--ca-file": arguments.ca_file,
        "--model-timeout": arguments.model_timeout,
        "--predictor": arguments.predictor,
    }
    words = [f"{name}={value}" for name, value in named.items() if value]
    return [*words, *(["--plain-token"] if arguments.plain_token else [])]


def engine_of(arguments: argparse.Namespace) -> Engine:
    """Return the engine that the flags name; the one without a model if they name none."""
    is_inferred = arguments.prompt_format == "infer"
    if arguments.model_url is None:
        if names_model(arguments):
            raise Failure("a model needs an address: add --model-url URL", Exit.USAGE)
        from parley.nes import EmbeddedEngine

        return EmbeddedEngine()
    if not arguments.model and is_inferred:
        reason = "the model is not named: add --model NAME, or --prompt-format NAME"
        raise Failure(reason, Exit.USAGE)
    from parley.nes import CombinedEngine, EmbeddedEngine

    model = _model_of(arguments)
    if is_inferred:
        _announce_format(model)
    return CombinedEngine(EmbeddedEngine(), model, which=arguments.predictor)


def _of_a_model(arguments: argparse.Namespace) -> tuple[str | None, ...]:
    """Return what means nothing without a model."""
    return (
        arguments.model,
        arguments.api_key_file,
        arguments.ca_file,
        "--plain-token" if arguments.plain_token else None,
    )


def _model_of(arguments: argparse.Namespace) -> ModelEngine:
    from parley.nes import ModelEngine
    from parley.nes.model import read_api_key

    try:
        return ModelEngine(
            arguments.model_url,
            arguments.model,
            format=arguments.prompt_format,
            api_key=read_api_key(arguments.api_key_file),
            timeout=arguments.model_timeout,
            ca_file=arguments.ca_file,
            allows_plain_token=arguments.plain_token,
        )
    except (ConfigError, ConnectFailed) as error:
        raise Failure(str(error), Exit.USAGE) from error


def _announce_format(model: ModelEngine) -> None:
    """Report the inferred prompt format, because it decides how good a model is."""
    from parley.nes.model._formats.fim import FILL_IN_FORMATS

    name = model.format.name
    limit = ", which only writes at the cursor" if name in FILL_IN_FORMATS else ""
    say(
        f"parley: {model.model} is asked in the prompt format {name}{limit}; "
        "--prompt-format names another"
    )
