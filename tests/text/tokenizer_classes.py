# tokenizer_classes.py FOLDER: makes small tokenizers with settings that transformers takes from tokenizer_config.json and from the class that it
# names, each in a folder of its own, and beside it expected.json: strings, their ids with special tokens, the text that they decode to, and the
# same without special tokens, as AutoTokenizer has them. FOLDER/kinds.json lists the folders. Exit 77: transformers is not installed.
import json
import logging
import os
import random
import sys

try:
    import transformers
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError:
    sys.exit(77)
if int(transformers.__version__.split(".")[0]) < 5:
    sys.exit(77)
logging.disable(logging.WARNING)

TEXTS = [
    "The quick brown fox jumps over the lazy dog; isn't it? We'll see, they've said: I'm right.",
    "do n't stop , it 's the end ! is ' a ' model . we 've , you 're ? i 'm",
    "naïve café e\u0301, Ångström ÉTÉ ``quoted'' 12345 678", "for (int i = 0; i < n; ++i) { sum += a[i]; }  // done\n\n\tx",
]
ATOMS = ["the", "The", " ", "  ", "\n", "\n\n", "\t", "é", "e\u0301", "É", "12345", "'s", " 'S", " n't", " .", " ,", "<s>", "</s>", "<tool>", "<keep>", "<x>", "<x><y>", "qz", "qza", "``", "''", "字", "\u00a0", "▁", "[CLS]", "<|endoftext|>", "😊"]
END = "<|endoftext|>"


def strings():
    draw = random.Random(3)
    return TEXTS + ["", " "] + ["".join(draw.choice(ATOMS) for _ in range(draw.randint(1, 8))) for _ in range(400)]


def bytes_of(special, prefix=False, steps=()):
    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, byte_level]) if steps else byte_level
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def llama(metaspace):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    words = [word for text in TEXTS for word in text.split(" ")] * 3
    tokenizer.train_from_iterator(words, trainers.BpeTrainer(vocab_size=500, special_tokens=special, show_progress=False, max_token_length=8))
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = document["added_tokens"][:3]
    return Tokenizer.from_str(json.dumps(document))


def unigram(normalizer=None):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "</s>"]
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def pieces():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(TEXTS * 3, trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    return tokenizer


# Tokens of all sorts, of which one begins with another and one takes what another is.
def added(tokenizer):
    tokenizer.add_special_tokens([AddedToken("<keep>", rstrip=True, normalized=False), AddedToken("<x><y>", normalized=False)])
    tokenizer.add_tokens([
        AddedToken("<tool>", normalized=True), AddedToken("<x>", lstrip=True, normalized=False), AddedToken("\n", normalized=False), AddedToken("qz", single_word=True, normalized=False),
        AddedToken("字", single_word=True, normalized=False),
    ])
    return tokenizer


def framed(tokenizer, token):
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{token} $A", pair=f"{token} $A {token} $B", special_tokens=[(token, tokenizer.token_to_id(token))])
    return tokenizer


class Folders:
    def __init__(self, folder):
        self.folder = folder
        self.kinds = []
        self.texts = strings()

    def add(self, name, tokenizer, config, model_type=None, as_files=False):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        if as_files:
            tokenizer.model.save(path)
        else:
            tokenizer.save(path + "/tokenizer.json")
        for file, document in (("tokenizer_config.json", config), ("config.json", {"model_type": model_type} if model_type else None)):
            if document is not None:
                with open(f"{path}/{file}", "w") as out:
                    json.dump(document, out)
        theirs = transformers.AutoTokenizer.from_pretrained(path)
        cases = []
        for text in self.texts:
            ids = theirs(text).input_ids
            cases.append([text, ids, theirs.decode(ids), theirs.decode(ids, skip_special_tokens=True)])
        with open(path + "/expected.json", "w") as out:
            json.dump(cases, out)
        self.kinds.append({"kind": name, "special": True})


def main():
    folders = Folders(sys.argv[1])
    roberta = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    for name, special, config, model_type in (
        ("files-gpt2", [END], {"tokenizer_class": "GPT2Tokenizer"}, "gpt2"),
        ("files-opt", ["</s>", "<pad>"], {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"}, "opt"),
        ("files-space", [END], {"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True}, None),
        ("files-qwen2", [END], {"tokenizer_class": "Qwen2Tokenizer"}, "qwen2"),
        ("files-qwen3", [END], None, "qwen3"),
        ("files-neox", [END, "<|padding|>"], {"tokenizer_class": "GPTNeoXTokenizerFast"}, "gpt_neox"),
        ("files-roberta", roberta, {"tokenizer_class": "RobertaTokenizer"}, "roberta"),
        ("files-bart", roberta, {"tokenizer_class": "BartTokenizer"}, None),
        ("files-type", roberta, None, "roberta"),
    ):
        folders.add(name, bytes_of(special), config, model_type, as_files=True)
    tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    for metaspace in (False, True):
        for name, config in (
            ("legacy", {"legacy": True}), ("new", {"legacy": False}), ("said-nothing", {}), ("no-space", {"add_prefix_space": False}), ("space", {"add_prefix_space": True, "legacy": True}),
            ("framed", {"add_bos_token": False, "add_eos_token": True}),
        ):
            tokenizer = framed(added(llama(metaspace)), "<s>")
            folders.add(f"llama-{name}-{int(metaspace)}", tokenizer, {"tokenizer_class": "LlamaTokenizer", **tokens, **config}, "llama")
    folders.add("mistral", framed(added(llama(False)), "<s>"), {"tokenizer_class": "LlamaTokenizer", **tokens, "legacy": False, "add_prefix_space": False}, "mistral")
    generic = {"tokenizer_class": "PreTrainedTokenizerFast"}
    ends = {"bos_token": END, "eos_token": END}
    folders.add("generic-space", added(bytes_of([END])), {**generic, **ends, "add_prefix_space": True})
    folders.add("generic-frame", framed(bytes_of([END, "<s>"]), "<s>"), {**generic, **ends, "add_bos_token": True, "add_eos_token": True})
    folders.add("generic-split", added(bytes_of([END])), {**generic, **ends, "split_special_tokens": True})
    folders.add("generic-llama", added(llama(False)), {**generic, **tokens, "add_prefix_space": False, "legacy": False})
    folders.add("llama3", framed(added(bytes_of([END])), END), {"tokenizer_class": "LlamaTokenizerFast", **ends, "add_prefix_space": True, "add_bos_token": False}, "llama")
    folders.add("gpt2-space", added(bytes_of([END])), {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}, "gpt2")
    folders.add("gpt2-no-space", added(bytes_of([END], prefix=True)), {"tokenizer_class": "GPT2Tokenizer"}, "gpt2")
    folders.add("neox-frame", framed(bytes_of([END, "<|padding|>"]), END), {"tokenizer_class": "GPTNeoXTokenizer", "add_bos_token": True})
    for name, config in (("kept", {"do_lower_case": False, "keep_accents": True}), ("lower", {"keep_accents": True}), ("usual", {})):
        normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
        folders.add("albert-" + name, unigram(normalizer), {"tokenizer_class": "AlbertTokenizer", **config}, "albert")
    folders.add("clean-unigram", unigram(), {**generic, "unk_token": "<unk>", "clean_up_tokenization_spaces": True})
    folders.add("clean-pieces", added(pieces()), {**generic, "unk_token": "[UNK]", "clean_up_tokenization_spaces": True})
    folders.add("clean-bpe", bytes_of([END]), {**generic, **ends, "clean_up_tokenization_spaces": True})
    forced = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
    folders.add("clean-bpe-forced", bytes_of([END]), {**generic, **ends, "clean_up_tokenization_spaces": True, forced: True})
    with open(sys.argv[1] + "/kinds.json", "w") as out:
        json.dump(folders.kinds, out)


main()
