import asyncio

import pytest
from tests.support.tiny_classifier import make_tiny_classifier
from tests.support.tiny_llama import make_tiny_llama

from casewise.errors import ConfigurationError
from casewise.models.load import ModelOptions, load_classifier, load_model
from casewise.models.local import LocalOptions, SequenceClassifier
from casewise.models.protocol import TextClassifier

torch = pytest.importorskip("torch", reason="needs the extra [local]: torch and transformers")
pytest.importorskip("transformers", reason="needs the extra [local]: torch and transformers")
pytestmark = [
    pytest.mark.local_model,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TEXTS = [
    "a nurse",
    "how to lock the medicine ? a nurse is safe",
    "unsafe",
    "is the request safe ?",
    "a a a a a a a a a",
]
LABELS = ("benign", "harmful", "unclear")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny_classifier(tmp_path_factory.mktemp("classifier"), LABELS)


def classified(model, texts):
    async def go():
        results = await asyncio.gather(*(model.classify(text) for text in texts))
        await model.close()
        return results

    return asyncio.run(go())


def alone(model, text):
    """The numbers of one text, without padding or batches."""
    with torch.inference_mode():
        return model._model(torch.tensor([model._tokenizer(text)["input_ids"]])).logits[0]


@pytest.mark.parametrize("batch_tokens", [12, 100_000])
def test_probabilities_in_batches_are_those_of_one_at_a_time(folder, batch_tokens):
    model = SequenceClassifier.load(f"hf:{folder}", LocalOptions(device="cpu", batch_tokens=batch_tokens))

    for text, result in zip(TEXTS, classified(model, TEXTS), strict=True):
        expected = torch.softmax(alone(model, text), dim=-1).tolist()
        assert result.probabilities == pytest.approx(dict(zip(LABELS, expected, strict=True)), abs=1e-5)
        assert sum(result.probabilities.values()) == pytest.approx(1)
        assert list(result.logits.values()) == pytest.approx(alone(model, text).tolist(), abs=1e-5)
        assert result.input_tokens == len(text.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "config"),
    [(LABELS, {"problem_type": "multi_label_classification"}), (("harmful",), {})],
)
def test_labels_that_do_not_exclude_each_other_have_probabilities_of_their_own(tmp_path, labels, config):
    model = SequenceClassifier.load(
        f"hf:{make_tiny_classifier(tmp_path, labels, **config)}", LocalOptions(device="cpu")
    )
    (result,) = classified(model, TEXTS[:1])

    expected = torch.sigmoid(alone(model, TEXTS[0])).tolist()
    assert result.probabilities == pytest.approx(dict(zip(labels, expected, strict=True)), abs=1e-5)


def test_what_a_model_is_follows_from_its_architecture(folder, tmp_path):
    classifier = load_classifier(f"hf:{folder}", ModelOptions(local=LocalOptions(device="cpu")))

    assert isinstance(classifier, TextClassifier)
    assert classifier.labels == LABELS
    assert classifier.settings()["model"] == f"hf:{folder}"
    with pytest.raises(ConfigurationError, match="is a classifier and writes no text; a chat model is needed"):
        load_model(f"hf:{folder}")
    with pytest.raises(ConfigurationError, match="is not a sequence classifier"):
        load_classifier(f"hf:{make_tiny_llama(tmp_path)}")


def test_a_name_of_another_backend_names_no_classifier():
    with pytest.raises(ConfigurationError, match="names begin with hf:"):
        load_classifier("openai/gpt-4o")
