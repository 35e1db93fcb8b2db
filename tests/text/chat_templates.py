# Conversations as transformers renders them: `DIR COUNT TEMPLATE...` writes, for each template file,
# DIR/NAME.json with COUNT random conversations and what each becomes, and DIR/NAME/, a tokenizer
# that knows the tokens in the template. Without tokenizers where COUNT ends with "t".
import datetime
import json
import os
import random
import re
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

try:
    import transformers
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers.utils import chat_template_utils
except ImportError:
    sys.exit(77)

transformers.logging.set_verbosity_error()


class FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 7, 4, 15, 6, 7)


chat_template_utils.datetime = FixedDate

PIECES = ["Hello", "what is 2 + 2?", "It's fine.", "ağaç İstanbul", "안녕하세요 세계", "生活", "😊👍🏽", "naïve ½",
          "a\tb", "line\nbreak", "\n\n", "  ", "x = {'a': [1, 2]}", "{{ not a tag }}", "{% neither %}",
          "<b>bold & \"quoted\"</b>", "back\\slash", "/think", "/no_think", "1.5e3", "ﬁne ß", "\u00a0wide\u2003",
          "the cat sat on the mat", "Why?", "\r\n", "|trim", "'single'", "# heading", "ŒUVRE"]
THOUGHTS = ["<think>\nFirst this.\n</think>\n\nThen that.", "<think></think>short", "no end <think>",
            "</think>\nonly the end", "<think>\n\n</think>\n\n"]


def text(draw):
    kind = draw.random()
    if kind < 0.05:
        return ""
    joined = draw.choice([" ", "", "\n"]).join(draw.choice(PIECES) for _ in range(draw.randint(1, 6)))
    if kind < 0.25:
        joined = draw.choice([" ", "\n", "\t \n"]) + joined + draw.choice(["  ", "\n", ""])
    return joined


def conversation(draw):
    messages = []
    if draw.random() < 0.5:
        messages.append({"role": "system", "content": text(draw)})
    for turn in range(draw.randint(1, 4)):
        messages.append({"role": "user", "content": text(draw)})
        answer = {"role": "assistant", "content": text(draw)}
        if draw.random() < 0.2:
            answer["content"] = draw.choice(THOUGHTS) + text(draw)
        if draw.random() < 0.15:
            answer["reasoning_content"] = text(draw)
        messages.append(answer)
    if draw.random() < 0.7:
        messages.pop()
    if draw.random() < 0.08:  # what many templates refuse
        messages.insert(draw.randint(0, len(messages)), {"role": draw.choice(["user", "system", "tool"]),
                                                         "content": text(draw)})
    return messages


def variables(draw):
    result = {}
    if draw.random() < 0.3:
        result["enable_thinking"] = draw.random() < 0.5
    if draw.random() < 0.1:
        result["date_string"] = "5 May 2025"
    return result


def byte_level_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, trainers.BpeTrainer(vocab_size=600, show_progress=False,
                                          initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def prepending_tokenizer():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    return tokenizer, trainers.BpeTrainer(vocab_size=900, show_progress=False,
                                          special_tokens=["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)])


def tokenizer_for(source, draw):
    """A small tokenizer whose special tokens are those that the template writes."""
    tokenizer, trainer = draw.choice([byte_level_tokenizer, prepending_tokenizer])()
    tokenizer.train_from_iterator(PIECES * 3 + ["system user assistant model tool\n"], trainer)
    # Tokens of bytes are not special.
    trained = json.loads(tokenizer.to_str())
    trained["added_tokens"] = [one for one in trained["added_tokens"] if not one["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    names = sorted(set(re.findall(r"<\|\w+\|>|<start_of_turn>|<end_of_turn>|\[/?INST\]", source)))
    normalized = draw.random() < 0.3
    from tokenizers import AddedToken
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=normalized)
                                  for name in ["<s>", "</s>"] + names])
    tokenizer.add_tokens([AddedToken(name, special=False, normalized=False) for name in ["<think>", "</think>"]])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


def case(source, draw, tokenizer):
    messages, settings, asks = conversation(draw), variables(draw), draw.random() < 0.7
    result = {"messages": messages, "variables": settings, "asks": asks}
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            [messages], chat_template=source, add_generation_prompt=asks, bos_token="<s>",
            eos_token="</s>", **settings)
        result["text"] = rendered[0]
        if tokenizer:
            result["ids"] = tokenizer(rendered[0], add_special_tokens=False)["input_ids"]
    except Exception as problem:
        result["error"] = f"{type(problem).__name__}: {problem}"
    return result


def main():
    folder, count, templates = sys.argv[1], sys.argv[2], sys.argv[3:]
    with_tokenizers = not count.endswith("t")
    for path in templates:
        name = os.path.basename(path).removesuffix(".jinja")
        with open(path, encoding="utf-8", newline="") as file:
            source = file.read()
        draw = random.Random(name)
        tokenizer = tokenizer_for(source, draw) if with_tokenizers else None
        if tokenizer:
            tokenizer.save_pretrained(os.path.join(folder, name))
        cases = [case(source, draw, tokenizer) for _ in range(int(count.rstrip("t")))]
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in cases) + "\n]\n")


main()
