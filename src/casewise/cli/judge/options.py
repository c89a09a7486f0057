"""The options of `casewise judge`, in groups, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.watching import DryRunOption, OverBatchOptions, SpendingOptions, YesOption, command_line
from casewise.errors import ConfigurationError

__all__ = [
    "AskingOptions",
    "BaseUrlOption",
    "HowOptions",
    "ItemOptions",
    "LimitOptions",
    "LocalModelOptions",
    "PlanOptions",
    "ReachOptions",
    "run_options",
]

BaseUrlOption = Annotated[
    str | None, typer.Option("--base-url", help="Address of a chat-completions server, up to and with /v1.")
]


@dataclass(frozen=True)
class PlanOptions:
    """What is asked of each item."""

    elicit: Annotated[
        str | None,
        typer.Option("--elicit", help="How to ask: binary, score, probability, scalar; several with commas."),
    ] = None
    no_context: Annotated[bool, typer.Option("--no-context", help="Show the query alone.")] = False
    omit: Annotated[
        list[str] | None,
        typer.Option("--omit", help="An arm without these parameters or groups, with commas."),
    ] = None
    ablate: Annotated[str | None, typer.Option("--ablate", help="Arms for an ablation: groups or parameters.")] = None
    arms: Annotated[
        str | None, typer.Option("--arms", help="Arms by name, with spaces: 'full none without:recipient'.")
    ] = None
    known: Annotated[
        Path | None,
        typer.Option(
            "--known", help="Beside the arms, one with only what this file knows (casewise contexts extract)."
        ),
    ] = None
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often to ask each item.")] = 1
    retry_unscored: Annotated[
        int,
        typer.Option("--retry-unscored", min=0, help="How often to ask again at most where there was no verdict."),
    ] = 0

    def chosen_arms(self, benchmark: api.Benchmark) -> tuple[api.Arm, ...]:
        """The arms that these options name together."""
        arms = api.arms_named(
            self.arms,
            no_context=self.no_context,
            omit=self.omit or (),
            ablate=self.ablate,
            parameters=benchmark.parameters,
        )
        if self.known is None:
            return arms
        own = api.arms_under_attack(benchmark, (), defences=f"known:{self.known}", noise="none")
        return tuple(dict.fromkeys((*arms, *own)))


@dataclass(frozen=True)
class ItemOptions:
    """Which items are asked about."""

    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first so many items only.")] = None
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="So many items at random, whole queries at a time.")
    ] = None
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Items of this category only; may be repeated.")
    ] = None
    items: Annotated[
        str | None, typer.Option("--items", help="Only these items: clear, close, low-margin or hard (casewise audit).")
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the sample; where it is given, models get it too.")
    ] = None

    def selection(self, benchmark: api.Benchmark) -> api.Selection:
        """The items that these options name."""
        ids = api.ids_in(benchmark, self.items)
        return api.Selection(tuple(self.category or ()), self.sample, self.seed or 0, self.limit, ids)


@dataclass(frozen=True)
class AskingOptions:
    """How a model is reached, and in what words it is asked."""

    base_url: BaseUrlOption = None
    prompts: Annotated[
        str,
        typer.Option(
            "--prompts", help="casewise, published (once fetched), bridge (a chatbot's own messages), or a TOML file."
        ),
    ] = "casewise"
    context_role: Annotated[
        str, typer.Option("--context-role", help="The message that holds the context: user or system.")
    ] = "user"
    temperature: Annotated[float, typer.Option("--temperature", min=0.0, help="Of the model's replies.")] = 0.0
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of a reply, thinking included.")] = 1024
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="Your own policy, a text file, for a guard that takes one (guard:NAME@MODEL)."),
    ] = None
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            help="published: ask as the paper's judges were, API models and hf: models each in their way; or "
            "published-api, published-open.",
        ),
    ] = None
    structured: Annotated[
        bool, typer.Option("--structured", help="Hold the endpoint to a JSON schema; it changes what a model replies.")
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Read JSON as it was asked for and nothing else; the rest is unscored.")
    ] = False

    def live(
        self, limits: LimitOptions, local: LocalModelOptions, *, seed: int | None, needs_key: bool
    ) -> api.LiveOptions:
        """All that a model needs to know.

        Raises ConfigurationError: the context's role is neither `user` nor `system`, or one price is given without the
        other.
        """
        if self.context_role not in ("user", "system"):
            raise ConfigurationError(f"--context-role is {self.context_role!r}; it is user or system")
        return api.LiveOptions(
            self.prompts,
            "user" if self.context_role == "user" else "system",
            api.AskOptions(self.temperature, self.max_tokens, seed, structured=self.structured, strict=self.strict),
            limits.model(self.base_url, local, needs_key=needs_key),
            self.protocol,
            api.deciding.policy_in(self.policy) if self.policy else None,
        )


@dataclass(frozen=True)
class ReachOptions(SpendingOptions):
    """What it may cost, and how hard it tries."""

    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Calls at a time, at most.")] = 32
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds to wait for a reply.")] = 120.0
    tries: Annotated[int, typer.Option("--retries", min=0, help="Further tries of a call that fails.")] = 6

    def limits(self) -> api.Limits:
        """What the run may take."""
        return api.Limits(self.concurrency, self.max_cost, self.max_tokens_total)

    def model(self, base_url: str | None, local: LocalModelOptions, *, needs_key: bool) -> api.ModelOptions:
        """How a model is reached. Raises ConfigurationError: one price is given without the other."""
        return api.ModelOptions(
            base_url,
            self.prices(),
            api.ClientOptions(self.concurrency, self.timeout, api.RetryPolicy(retries=self.tries)),
            local.options(),
            needs_key=needs_key,
        )


@dataclass(frozen=True)
class LimitOptions(ReachOptions, OverBatchOptions):
    """The same, and whether it goes over a batch interface."""

    def model(self, base_url: str | None, local: LocalModelOptions, *, needs_key: bool) -> api.ModelOptions:
        """How a model is reached. Raises as `ReachOptions.model`."""
        return replace(super().model(base_url, local, needs_key=needs_key), batch=self.batches() is not None)


def run_options(
    source: str, found: api.Benchmark, live: api.LiveOptions, *, items: ItemOptions, limits: LimitOptions
) -> api.RunOptions:
    """How a run over a benchmark, named `source`, is done."""
    return api.RunOptions(
        seed=items.seed or 0,
        limits=limits.limits(),
        selection=items.selection(found),
        live=live,
        batch=limits.batches(),
        command=command_line(),
        benchmark_source=api.source_of(source, found),
    )


@dataclass(frozen=True)
class LocalModelOptions:
    """How a model on this machine is loaded and run."""

    device: Annotated[str, typer.Option("--device", help="For hf: models: auto, cpu, cuda, mps.")] = "auto"
    dtype: Annotated[str, typer.Option("--dtype", help="For hf: models: auto, float32, bfloat16, float16.")] = "auto"
    batch_tokens: Annotated[
        int, typer.Option("--batch-tokens", min=1, help="For hf: models: tokens that go through at once.")
    ] = 8192
    engine: Annotated[
        str,
        typer.Option(
            "--engine", help="For hf: models: here, or ray (copies in processes of their own, see docs/scale)."
        ),
    ] = "here"
    ray_address: Annotated[
        str | None,
        typer.Option(
            "--ray-address", help="The Ray cluster. Default: RAY_ADDRESS, or else one started on this machine."
        ),
    ] = None
    ray_copies: Annotated[
        int | None,
        typer.Option("--ray-copies", min=1, help="Copies of the model. Default: one a GPU, or without one a machine."),
    ] = None

    adapter: Annotated[
        str | None, typer.Option("--adapter", help="For an hf: chat model: the folder of a PEFT adapter (needs peft).")
    ] = None

    def options(self) -> api.LocalOptions:
        """As the api knows them.

        Raises ConfigurationError: there is no such engine, or Ray's options are given without it.
        """
        if self.engine not in ("here", "ray"):
            raise ConfigurationError(f"--engine is {self.engine!r}; it is here or ray")
        if self.engine == "here" and (self.ray_address or self.ray_copies):
            raise ConfigurationError("--ray-address and --ray-copies go with --engine ray")
        ray = api.RayOptions(self.ray_address, self.ray_copies) if self.engine == "ray" else None
        return api.LocalOptions(self.dtype, self.device, self.batch_tokens, ray, self.adapter)


@dataclass(frozen=True)
class HowOptions:
    """Whether it is done, or only tried or reckoned."""

    dry_run: DryRunOption = False
    test_connection: Annotated[
        bool, typer.Option("--test-connection", help="Make one call, say what the endpoint can do, and stop.")
    ] = False
    yes: YesOption = False
