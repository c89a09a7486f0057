"""A classifier with random weights and a tokenizer of whole words, made on disk in a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "a",
    "the",
    "is",
    "safe",
    "unsafe",
    "request",
    "for",
    "to",
    "how",
    "nurse",
    "lock",
    "medicine",
    "?",
]


def make_tiny_classifier(folder: Path, labels: tuple[str, ...], **config: Any) -> Path:
    """Write a classifier of `labels` and its tokenizer to `folder`; `config` goes into its configuration."""
    import torch
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import WordLevel
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    core = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=core, **special).save_pretrained(str(folder))
    torch.manual_seed(0)
    made = BertConfig(
        **{"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, **config},
        vocab_size=len(WORDS),
        num_attention_heads=4,
        id2label=dict(enumerate(labels)),
        label2id={label: place for place, label in enumerate(labels)},
        initializer_range=0.5,
    )
    BertForSequenceClassification(made).save_pretrained(str(folder))
    return folder
