"""Loading a model on this machine: where it runs, in which numbers, and what kind of model it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.records.base import digest

__all__ = ["LocalOptions", "RayOptions", "adapted", "adapter_digest", "is_classifier", "load_pretrained", "settings_of"]


@dataclass(frozen=True)
class RayOptions:
    """Which Ray cluster holds copies of a model, and how many.

    Without an address that of `RAY_ADDRESS` counts, and without that a cluster is started here. Without a number there is
    one copy on each GPU, or where there is none one on each machine.
    """

    address: str | None = None
    copies: int | None = None


@dataclass(frozen=True)
class LocalOptions:
    """Where and how a local model runs.

    `dtype` and `device` are torch's names, or `auto`; `batch_tokens` bounds the tokens (padding included) that go
    through the model at once. With `ray` it runs in copies, in processes of their own.
    """

    dtype: str = "auto"
    device: str = "auto"
    batch_tokens: int = 8192
    ray: RayOptions | None = None
    adapter: str | None = None
    """The folder of a PEFT adapter that is put on the chat model."""


@dataclass(frozen=True)
class Pretrained:
    """A model of transformers, ready to be asked, and its tokenizer."""

    model: Any
    tokenizer: Any


def is_classifier(name: str) -> bool:
    """Whether `hf:PATH_OR_ID` names a sequence classifier, by the architecture that its configuration states.

    Raises ConfigurationError: the extra `[local]` is not installed, or there is no such model.
    """
    config = tried(transformers(name).AutoConfig.from_pretrained, name)
    return any(one.endswith("ForSequenceClassification") for one in config.architectures or ())


def load_pretrained(name: str, options: LocalOptions, *, kind: str) -> Pretrained:
    """The model and the tokenizer that `hf:PATH_OR_ID` names; `kind` is one of transformers' `AutoModelFor…`.

    Raises ConfigurationError: the extra `[local]` is not installed, there is no such model, or device or type are none
    of torch's.
    """
    library = transformers(name)
    import torch

    device = found_device(torch, options.device)
    dtype = found_dtype(torch, options.dtype, device)
    tokenizer = tried(library.AutoTokenizer.from_pretrained, name)
    model = tried(lambda where: getattr(library, kind).from_pretrained(where, dtype=dtype), name)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = tokenizer.eos_token_id or 0
    return Pretrained(model.to(device).eval(), tokenizer)


def adapted(model: Any, adapter: str) -> Any:
    """The model with a PEFT adapter on it.

    Raises ConfigurationError: peft is not installed, or there is no such adapter for this model.
    """
    try:
        from peft import PeftModel
    except ImportError as error:
        raise ConfigurationError(
            f"--adapter {adapter} needs peft: pip install 'casewise[local,adapter]' ({error})"
        ) from error
    try:
        return PeftModel.from_pretrained(model, adapter).eval()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ConfigurationError(f"cannot put the adapter {adapter!r} on the model: {error}") from error


def adapter_digest(adapter: str) -> str:
    """Tells one adapter's files from another's."""
    files = [one for one in sorted(Path(adapter).glob("*")) if one.is_file()]
    hashes = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files}
    return digest(hashes)[:12]


def transformers(name: str) -> Any:
    try:
        import torch  # noqa: F401 - transformers comes without it, and then cannot run anything
        import transformers as library
    except ImportError as error:
        raise ConfigurationError(
            f"{name} needs torch and transformers: pip install 'casewise[local]' ({error})"
        ) from error
    return library


def tried(load: Callable[[str], Any], name: str) -> Any:
    where = name.removeprefix("hf:")
    try:
        return load(where)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ConfigurationError(f"cannot load the model {where!r}: {error}") from error


def settings_of(name: str, model: Any) -> dict[str, Any]:
    """The model's name, a digest of its configuration, and its number type."""
    config = model.config.to_dict()
    config.pop("_name_or_path", None)
    config.pop("transformers_version", None)
    return {"model": name, "config": digest(stable(config))[:12], "dtype": str(model.dtype).removeprefix("torch.")}


def found_device(torch: Any, wanted: str) -> str:
    if wanted != "auto":
        try:
            return str(torch.device(wanted))
        except RuntimeError as error:
            raise ConfigurationError(f"--device is {wanted!r}, which torch does not know; try cpu or cuda") from error
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def found_dtype(torch: Any, wanted: str, device: str) -> Any:
    if wanted == "auto":
        return torch.float32 if device == "cpu" else torch.bfloat16
    found = getattr(torch, wanted, None)
    if not isinstance(found, torch.dtype):
        raise ConfigurationError(f"--dtype is {wanted!r}; it is auto, float32, bfloat16 or float16")
    return found


def stable(value: Any) -> Any:
    """A configuration as plain JSON values; what is no JSON value is written out."""
    if isinstance(value, dict):
        return {str(key): stable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [stable(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
