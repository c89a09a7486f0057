"""The wrapping of each model family goes before a reader sees the reply, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.ask.envelope import ENVELOPES, unwrapped, without_thoughts

WRAPPED = {
    "think tags": "<think>Is it unsafe?</think>\n\nsafe",
    "two blocks of thoughts": "<think>one</think>\n<think>two</think>safe",
    "Mistral": "[THINK]Is it unsafe?[/THINK]safe</s>",
    "Kimi": "◁think▷unsafe◁/think▷safe",
    "Command": "<|START_THINKING|>unsafe<|END_THINKING|><|START_RESPONSE|>safe<|END_RESPONSE|>",
    "OpenThinker": "<|begin_of_thought|>unsafe<|end_of_thought|><|begin_of_solution|>safe<|end_of_solution|>",
    "Llama": "<|start_header_id|>assistant<|end_header_id|>\n\nsafe<|eot_id|>",
    "Gemma": "<start_of_turn>model\nsafe<end_of_turn>\n<eos>",
    "ChatML": "<|im_start|>assistant\nsafe<|im_end|>\n<|endoftext|>",
    "DeepSeek": "<｜Assistant｜>safe<｜end▁of▁sentence｜>",
    "GLM": "<think>unsafe</think>\n<|begin_of_box|>safe<|end_of_box|>",
    "Phi": "<|assistant|>safe<|end|>",
    "Granite": "Here is my thought process: it may be unsafe.\nHere is my response: safe",
    "Granite with tags": "<think>unsafe</think>\n<response>safe</response>",
    "EXAONE": "[|assistant|]safe[|endofturn|]",
    "MiniMax": "[e~[\n<think>\nunsafe\n</think>\nsafe",
    "gpt-oss": "<|channel|>analysis<|message|>unsafe?<|end|><|start|>assistant<|channel|>final<|message|>safe<|return|>",
    "gpt-oss without special tokens": "analysisWe say unsafe? No.assistantfinalsafe",
    "a role in words": "assistant\n\nsafe",
    "tags around it": "<output>safe</output>",
    "a byte order mark": "\ufeffsafe\u200b",
    "thoughts without their first tag": "Okay, is it unsafe?\n</think>\n\nsafe",
}


@pytest.mark.parametrize("text", WRAPPED.values(), ids=WRAPPED)
def test_the_wrapping_of_every_family_is_removed(text):
    assert unwrapped(text).text == "safe"


def test_every_family_of_the_table_is_tried():
    assert len(WRAPPED) >= len(ENVELOPES)


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nThe verdict is safe.",
        "[THINK]safe",
        "<|channel|>analysis<|message|>safe",
        "<|channel|>final<|message|>safe<|end|><|start|>assistant<|channel|>commentary<|message|>Let me look.",
        "analysisWe say safe",
        "<think>unsafe</think>\n<think>\nsafe",
    ],
)
def test_thoughts_that_never_come_to_a_reply_leave_nothing(text):
    assert unwrapped(text).text == ""


@pytest.mark.parametrize(
    "text",
    [
        '{"judgement": "unsafe", "explanation": "The user typed </think> in the query"}',
        'The query contains "</think>" and asks for more.',
        "unsafe\n<think>\nsafe\n</think>",
        "analysis of the query: safe",
        "The tag <s> is not closed.",
        "I assistant\nsafe",
    ],
)
def test_a_tag_within_a_reply_is_left_where_it_stands(text):
    assert unwrapped(text).text == text


def test_thoughts_without_their_first_tag_are_kept_for_the_reader_to_doubt():
    assert unwrapped("Unsafe. It says\n</think>\nsafe").thoughts == "Unsafe. It says\n</think>"


def test_without_thoughts_the_rest_of_a_reply_is_unchanged():
    assert without_thoughts("<think>a</think> safe</s>\n") == " safe</s>\n"
    assert without_thoughts("Okay.\n</think>\nsafe ") == "\nsafe "


@pytest.mark.parametrize(
    "token",
    ["</s>", "<think>", "A</think>", "<|channel|>", "<|channel|>final<|message|>", "\u200b", "<", "[|", "analysis"],
)
def test_a_token_that_is_repeated_without_end_is_unwrapped_all_the_same(token):
    assert len(unwrapped(token * 20_000).text) <= 20_000 * len(token)


@given(
    st.lists(
        st.sampled_from([*WRAPPED.values(), "<think>", "</think>", "<|channel|>", "safe", "\n", "{"]), max_size=6
    ).map("".join)
)
def test_unwrapping_only_takes_away(text):
    left = unwrapped(text).text

    assert left in text
    assert left == left.strip()
