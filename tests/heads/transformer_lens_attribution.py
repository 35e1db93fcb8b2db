# transformer-lens on the other side: `FOLDER QUESTION.json ANSWER.json` answers questions about a GPT-2 folder, whose weights
# are taken as they are. A question is {"ids", "at", "word", "against"}, an answer {"measured", "parts": {name: value}, "lens":
# [[logits of each word], one row per layer], the embeddings first}. Ends with 77 where the package is absent.
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

try:
    import torch
    from transformer_lens.model_bridge import TransformerBridge
except ImportError as error:
    print(error)
    sys.exit(77)


def part_name(label):
    """Its L0H3 is our decoder.0.self.3, its 0_mlp_out our decoder.0.ffn with its bias."""
    if label.startswith("L") and "H" in label:
        layer, head = label[1:].split("H")
        return f"decoder.{layer}.self.{head}"
    if label.endswith("_mlp_out"):
        return f"decoder.{label.split('_')[0]}.ffn"
    return {"embed": "decoder.embedding", "pos_embed": "decoder.positions", "bias": "biases"}[label]


def answer(model, question):
    ids = torch.tensor([question["ids"]])
    logits, cache = model.run_with_cache(ids)
    at, word, against = question["at"], question["word"], question["against"]
    direction = model.W_U[:, word] - model.W_U[:, against]
    stack, labels = cache.get_full_resid_decomposition(
        expand_neurons=False, pos_slice=at, return_labels=True)
    scaled = cache.apply_ln_to_stack(stack, pos_slice=at)
    values = (scaled[:, 0] * model.ln_final.weight) @ direction
    streams = cache.accumulated_resid(layer=-1, incl_mid=False, pos_slice=at)
    lens = cache.apply_ln_to_stack(streams, pos_slice=at, recompute_ln=True)[:, 0] @ model.W_U
    return {"measured": (logits[0, at, word] - logits[0, at, against]).item(),
            "parts": {part_name(label): value.item() for label, value in zip(labels, values)},
            "lens": lens.tolist()}


def main():
    folder, questions, answers = sys.argv[1:]
    model = TransformerBridge.boot_transformers(folder)
    with torch.no_grad(), open(questions) as file:
        result = [answer(model, question) for question in json.load(file)]
    with open(answers, "w") as file:
        json.dump(result, file)


main()
