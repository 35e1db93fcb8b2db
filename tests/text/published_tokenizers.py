# published_tokenizers.py FOLDER [COUNT | golden]: makes small tokenizers with the settings of published ones, each in a folder of its own, and
# beside it expected.json: COUNT strings (10,000), their ids, the text that they decode to, and the same without special tokens, as
# Hugging Face's `tokenizers` and Google's `sentencepiece` have them (null: not compared). FOLDER/kinds.json lists the folders. Exit 77:
# one of the two, or `protobuf`, is not installed. With "golden": the few kinds, of a few kB each, that tests/golden/tokenizers has.
import io
import json
import os
import random
import sys
import unicodedata

try:
    import sentencepiece
    import sentencepiece.sentencepiece_model_pb2 as proto
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError:
    sys.exit(77)

SEED = 7
SENTENCES = [
    "The quick brown fox jumps over the lazy dog; isn't it? We'll see, they've said I'm HE'S right.",
    "Işık İstanbul'da söndü, ığüşöç IĞÜŞÖÇ.", "Azərbaycan dili gözəldir, şəhər və çay.", "오늘은 날씨가 좋습니다. 한글과 한국어",
    "生活的真谛是。こんにちは、世界！カタカナ", "مرحبا بالعالم، كيف حالك؟ שלום עולם", "Здравствуй, мир! Ещё раз.", "Καλημέρα κόσμε, τι κάνεις;",
    "नमस्ते दुनिया, आप कैसे हैं?", "สวัสดีชาวโลก ภาษาไทย", "Xin chào thế giới, tiếng Việt", "naïve café résumé Ångström œuvre ﬁn ½ Ⅷ ² ℌ",
    "வணக்கம் உலகம்", "გამარჯობა მსოფლიო", "Բարեւ աշխարհ", "ሰላም ለዓለም", "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }  // done",
    "def f(x):\n    return x ** 2 if x > 0 else -x\n\n\tprint(f'{f(3):.2f}')", "<a href=\"https://example.com/?q=1&r=2#top\">link</a>",
    "3.14159 1,000,000 0xDEADBEEF 1e-10 2024-05-17 12:34:56 +49 (0)30 1234567 100%", "a  b   c    d     e\t\tf\n\ng\r\nh",
    "SELECT * FROM t WHERE x >= 10 AND name LIKE '%é%';", "I'LL DON'T it's ''quoted'' ``quoted'' -- dashes... ellipsis…",
]
EMOJI = ["😊", "👨‍👩‍👧", "👍🏽", "🇹🇷", "❤️", "🏳️‍🌈", "1️⃣", "☃", "🤷🏿‍♀️", "𓀀", "𝔘𝔫𝔦"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", "\u00a0", "\u2003", "\u2028", "\u3000", "\u200b", "\ufeff", "\x0b", "\x0c", "\x85", "\u180e"]
CODE = ["{", "}", "(", ")", ";", "==", "!=", "->", "::", "//", "/*", "*/", "<<", ">>", "&&", "||", "#", "@", "\\n", "\\", "`", "~", "^", "_x", "__init__"]
SPECIAL = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>", "<|im_start|>", "<extra_id_0>", "<0x41>", "▁", "##a", "Ġ"]


# Code points that all tables of Unicode here know in the same way, script by script.
def scripts():
    blocks = {}
    old = unicodedata.ucd_3_2_0
    for code in range(0x20, 0x30000):
        character = chr(code)
        if 0xD800 <= code < 0xE000 or old.category(character) in ("Cn", "Co", "Cs"):
            continue
        if old.category(character) != unicodedata.category(character):
            continue
        if old.decomposition(character) != unicodedata.decomposition(character):
            continue
        blocks.setdefault(code >> 7 if code < 0x3000 else 0x1000 + (code >> 12), []).append(character)
    return list(blocks.values())


# Each code point that is assigned. Expressions are PCRE2's here, whose tables may end with Unicode 14: a newer Python draws from scripts() alone.
def assigned():
    if int(unicodedata.unidata_version.split(".")[0]) > 14:
        return [character for block in scripts() for character in block]
    return [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]


GOLDEN = SENTENCES + [
    "", " ", "  two  spaces ", "\n\n a\tb\r\n", "Hello", " Hello", "<s>Hello</s>", "a <mask> b", "[CLS] a [SEP]", "<|im_start|>user\n", "<0x41>", "naïve e\u0301", "ﬁ\u3000Ａ",
    "😊👨‍👩‍👧", "\0\x01\x7f", "12345 678", "aaaaaaaaaaaaaaaaaaaa", "I'LL he's 'ſ", "▁under", "世界 quick", "<extra_id_0>", "\u180e x",
]
GOLDEN_KINDS = [
    "llama2", "mistral", "gemma3", "llama3", "qwen2", "smollm2", "neox", "opt", "roberta", "modernbert", "bert", "albert", "t5", "nmt", "llama-model", "gemma-model", "t5-model",
    "t5-bytes", "marian-files",
]
# Replacements for a small table: code points, a tab, code points.
RULES = "FB01\t66 69\n3000\t20\nA\t20\n9\t20\nD A\t20\nFF21\t41\n65 301\tE9\n1\t\n"


def strings(count):
    draw = random.Random(SEED)
    blocks = scripts()
    everything = assigned()
    # Half of the draws: what is neither a Chinese character nor a syllable of Hangul, Yi or Tangut.
    rarer = [c for c in everything if unicodedata.category(c) != "Lo" or not unicodedata.name(c, "CJK").startswith(("CJK", "HANGUL SYL", "YI SYL", "TANGUT"))]
    marks = [chr(c) for c in range(0x300, 0x345)]
    all_marks = [c for c in everything if unicodedata.category(c)[0] == "M"]
    controls = [chr(c) for c in list(range(0, 32)) + [127, 0x80, 0x8F, 0x9F, 0xAD, 0x200E, 0x202E, 0xFFFD]]
    words = [word for sentence in SENTENCES for word in sentence.split()]
    makers = [
        lambda: draw.choice(SENTENCES),
        lambda: " ".join(draw.choice(words) for _ in range(draw.randint(1, 12))),
        lambda: "".join(draw.choice(draw.choice(blocks)) for _ in range(draw.randint(1, 20))),
        lambda: "".join(draw.choices(draw.choice(blocks), k=draw.randint(1, 20))),
        lambda: "".join(draw.choice(words) + draw.choice(SPACES) * draw.randint(0, 3) for _ in range(draw.randint(1, 6))),
        lambda: draw.choice(SPACES) * draw.randint(0, 4) + draw.choice(words) + draw.choice(SPACES) * draw.randint(0, 4),
        lambda: "".join(draw.choice(EMOJI + words) for _ in range(draw.randint(1, 6))),
        lambda: "".join(draw.choice(controls + words) for _ in range(draw.randint(1, 6))),
        lambda: "".join(draw.choice("aeiounAEIOU한な") + "".join(draw.choices(marks, k=draw.randint(0, 3))) for _ in range(draw.randint(1, 10))),
        lambda: draw.choice("ab한字") * draw.randint(1, 200),
        lambda: draw.choice(words)[:3] * draw.randint(1, 60),
        lambda: str(draw.randint(0, 10 ** draw.randint(1, 30))) + draw.choice(["", ".", ",", "e"]) + str(draw.randint(0, 9999)),
        lambda: "".join(draw.choice(CODE + words + ["0", "12", "345", " ", "\n    "]) for _ in range(draw.randint(1, 12))),
        lambda: "".join(draw.choice(SPECIAL + words + [" ", "  "]) for _ in range(draw.randint(1, 5))),
        lambda: draw.choice(words).upper() + draw.choice(["'S", "'ll", "'RE", "'ſ", "'d", "’s", "'", "n't"]) + draw.choice(["", " ", "."]),
        lambda: "".join(draw.choice(draw.choice((everything, rarer))) for _ in range(draw.randint(1, 20))),
        lambda: "".join(draw.choice(rarer) + "".join(draw.choices(all_marks, k=draw.randint(0, 4))) for _ in range(draw.randint(1, 6))),
    ]
    texts = ["", " ", "  ", "a", "\n", "\0", "é", "e\u0301"]
    while len(texts) < count:
        texts.append(makers[len(texts) % len(makers)]())
    return texts[:count]


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
OTHER = r"^\s|\w+\s?$|[^\S\r\n]+|[\d\D]{2,5}?"


def byte_level(*parts):
    return pre_tokenizers.Sequence([*parts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def split(expression, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(expression), behavior, invert)


def template(before, after, tokens):
    single = " ".join([*before, "$A", *after])
    return processors.TemplateProcessing(single=single, pair=single + " $B", special_tokens=tokens)


SPM_DECODER = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


class Maker:
    def __init__(self, folder, count):
        self.folder = folder
        self.is_golden = count == "golden"
        self.texts = GOLDEN if self.is_golden else strings(int(count))
        self.corpus = SENTENCES[:1] * 8 + SENTENCES[16:18] if self.is_golden else SENTENCES * 4 + self.common_texts()[::5]
        self.kinds = []
        self.rules = f"{folder}/rules.tsv"
        with open(self.rules, "w") as file:
            file.write(RULES)
        self.charsmap = self.train_spm("charsmap", model_type="unigram", vocab_size=700, normalization_rule_name="nmt_nfkc")[1]

    # To train with: small vocabularies have no place for every letter, and special tokens are no words.
    def common_texts(self):
        letters = set("".join(SENTENCES + SPACES))
        return [text for text in self.texts if letters.issuperset(text) and not any(token in text for token in SPECIAL)]

    def leaves_out(self, name):
        return self.is_golden and name not in GOLDEN_KINDS

    # A folder with expected ids and decoded texts.
    def expect(self, name, cases, **more):
        os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        with open(f"{self.folder}/{name}/expected.json", "w", encoding="utf-8") as file:
            json.dump(cases, file, separators=(",", ":"))
        self.kinds.append({"kind": name, "special": True, **more})

    def put(self, name, tokenizer):
        os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        tokenizer.save(f"{self.folder}/{name}/tokenizer.json", pretty=False)
        cases = []
        for text in self.texts:
            ids = tokenizer.encode(text).ids
            cases.append([text, ids, tokenizer.decode(ids, skip_special_tokens=False), tokenizer.decode(ids)])
        self.expect(name, cases)

    def bpe(self, name, pre_tokenizer, decoder, special, normalizer=None, post=None, added=(), size=900, ignore_merges=False, **model):
        if self.leaves_out(name):
            return
        size = 330 if self.is_golden else size
        tokenizer = Tokenizer(models.BPE(**model))
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoder
        is_bytes = not model.get("byte_fallback")
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=special + ([] if is_bytes else BYTES), show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if is_bytes else [], limit_alphabet=40 if self.is_golden and not is_bytes else 400, max_token_length=16,
        )
        tokenizer.train_from_iterator(self.corpus, trainer)
        document = json.loads(tokenizer.to_str())
        # Bytes are tokens of the model, not added ones.
        document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in BYTES]
        document["model"]["ignore_merges"] = ignore_merges
        tokenizer = Tokenizer.from_str(json.dumps(document))
        tokenizer.add_tokens(list(added))
        if post:
            tokenizer.post_processor = post(tokenizer)
        self.put(name, tokenizer)

    def unigram(self, name, normalizer, pre_tokenizer, special, post=None, byte_fallback=False, decoder=None):
        if self.leaves_out(name):
            return
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoder or decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=330 if self.is_golden else 900, special_tokens=special + (BYTES if byte_fallback else []), unk_token="<unk>", show_progress=False, max_piece_length=12)
        tokenizer.train_from_iterator(self.corpus, trainer)
        document = json.loads(tokenizer.to_str())
        document["model"]["byte_fallback"] = byte_fallback
        document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in BYTES]
        tokenizer = Tokenizer.from_str(json.dumps(document))
        if post:
            tokenizer.post_processor = post(tokenizer)
        self.put(name, tokenizer)

    def word_piece(self, name, lower):
        if self.leaves_out(name):
            return
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=150 if self.is_golden else 900, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False)
        tokenizer.train_from_iterator(self.corpus, trainer)
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        self.put(name, tokenizer)

    def words(self, name, pre_tokenizer):
        if self.leaves_out(name):
            return
        tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizer
        trainer = trainers.WordLevelTrainer(vocab_size=900, special_tokens=["<unk>"], show_progress=False)
        tokenizer.train_from_iterator(self.corpus, trainer)
        self.put(name, tokenizer)

    # Bytes of a model of SentencePiece, and its table of replacements.
    def train_spm(self, name, **settings):
        model = io.BytesIO()
        if self.is_golden:
            settings["vocab_size"] = 340 if settings.get("byte_fallback") else 100
            if settings.get("normalization_rule_name") != "identity":
                settings["normalization_rule_tsv"] = self.rules
        lines = [line for text in self.corpus for line in text.replace("\0", "").split("\n") if line]
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, hard_vocab_limit=False, minloglevel=3, character_coverage=0.98, **settings)
        parsed = proto.ModelProto.FromString(model.getvalue())
        parsed.normalizer_spec.ClearField("normalization_rule_tsv")  # a path
        return parsed.SerializeToString(), parsed.normalizer_spec.precompiled_charsmap

    def spm(self, name, file, before=(), after=(), settings=None, **training):
        if self.leaves_out(name):
            return
        data, _ = self.train_spm(name, **training)
        os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        with open(f"{self.folder}/{name}/{file}", "wb") as output:
            output.write(data)
        if settings is not None:
            with open(f"{self.folder}/{name}/tokenizer_config.json", "w") as output:
                json.dump(settings, output)
        processor = sentencepiece.SentencePieceProcessor(model_proto=data)
        cases = []
        for text in self.texts:
            ids = processor.encode(text)
            # Unknown pieces have a surface of their own there; here they appear as their token.
            decoded = processor.decode(ids)
            if processor.unk_id() in ids:
                decoded = None if "\u2047" in text else decoded.replace(" \u2047 ", "<unk>")
            cases.append([text, [*before, *ids, *after], None, decoded])
        self.expect(name, cases, special=False, unknown=processor.unk_id())

    def marian(self):
        folder = f"{self.folder}/marian-files"
        os.makedirs(folder, exist_ok=True)
        processors_, vocabulary = [], {"</s>": 0, "<unk>": 1, ">>tur<<": 2}
        for name, seed in (("source", 600), ("target", 700)):
            data, _ = self.train_spm(name, model_type="unigram", vocab_size=seed)
            with open(f"{folder}/{name}.spm", "wb") as output:
                output.write(data)
            processor = sentencepiece.SentencePieceProcessor(model_proto=data)
            processors_.append(processor)
            for i in range(0, processor.get_piece_size()):
                if i % 17 != 3:
                    vocabulary.setdefault(processor.id_to_piece(i), len(vocabulary))
        vocabulary["<pad>"] = len(vocabulary)
        vocabulary.setdefault("☃", len(vocabulary))
        with open(f"{folder}/vocab.json", "w", encoding="utf-8") as output:
            json.dump(vocabulary, output)
        tokens = {number: token for token, number in vocabulary.items()}
        cases = []
        for index, text in enumerate(self.texts):
            if index % 10 == 0:
                text = ">>tur<<" + text
            code, rest = [], text
            if text.startswith(">>") and "<<" in text:
                end = text.index("<<") + 2
                code, rest = [text[:end]], text[end:]
            pieces = code + processors_[0].encode(rest, out_type=str)
            ids = [vocabulary.get(piece, 1) for piece in pieces]
            decoded, run = "", []
            for piece in [tokens[i] for i in ids] + [None]:
                if piece in ("</s>", "<unk>", "<pad>", None):
                    decoded += processors_[0].decode_pieces(run) + (piece + " " if piece else "")
                    run = []
                else:
                    run.append(piece)
            cases.append([text, ids + [0], (decoded.replace("▁", " ") + "</s>").strip(), None])
        self.expect("marian-files", cases, special=False)


def make(maker):
    bl, meta = decoders.ByteLevel(), pre_tokenizers.Metaspace
    lstrip = AddedToken("<mask>", lstrip=True, special=True)
    s = lambda t: ("<s>", t.token_to_id("<s>"))
    e = lambda t: ("</s>", t.token_to_id("</s>"))
    bos = lambda t: template(["<s>"], [], [s(t)])
    spm = dict(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    names = ["<unk>", "<s>", "</s>"]
    maker.bpe("llama2", None, decoders.Sequence(SPM_DECODER + [decoders.Strip(" ", 1, 0)]), names,
              normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), bos, **spm)
    maker.bpe("mistral", meta("▁", "first", split=False), decoders.Sequence(SPM_DECODER + [decoders.Strip(" ", 1, 0)]), names, None, bos, **spm)
    maker.bpe("gemma3", pre_tokenizers.Split(" ", "merged_with_previous"), decoders.Sequence(SPM_DECODER), ["<pad>"] + names,
              normalizers.Replace(" ", "▁"), bos, [AddedToken("\n\n", normalized=False), AddedToken("▁▁", normalized=False), AddedToken("<table>", normalized=False)], **spm)
    maker.bpe("llama3", byte_level(split(LLAMA3)), bl, ["<s>", "<|im_start|>"], None, lambda t: processors.Sequence([processors.ByteLevel(), bos(t)]), ignore_merges=True)
    maker.bpe("qwen2", byte_level(split(QWEN2)), bl, [], normalizers.NFC(), None, [AddedToken("<|endoftext|>", special=True), AddedToken("<|im_start|>", special=True)])
    maker.bpe("cl100k", byte_level(split(CL100K)), bl, ["<|endoftext|>"])
    maker.bpe("o200k", byte_level(split(O200K)), bl, ["<|endoftext|>"])
    maker.bpe("smollm2", pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False, use_regex=True)]), bl, ["<|endoftext|>", "<|im_start|>"])
    maker.bpe("neox", pre_tokenizers.ByteLevel(False), bl, ["<|endoftext|>"], normalizers.NFC(), None, [" " * n for n in range(24, 1, -1)])
    maker.bpe("gpt2-split", byte_level(split(GPT2)), bl, ["<|endoftext|>"])
    maker.bpe("opt", pre_tokenizers.ByteLevel(False), bl, ["</s>", "<pad>"], None, lambda t: template(["</s>"], [], [e(t)]))
    maker.bpe("roberta", pre_tokenizers.ByteLevel(True), bl, ["<s>", "<pad>", "</s>", "<unk>"], None, lambda t: processors.RobertaProcessing(e(t), s(t)), [lstrip])
    maker.bpe("modernbert", pre_tokenizers.ByteLevel(False), bl, ["[CLS]", "[SEP]"], normalizers.NFC(), lambda t: template(["[CLS]"], ["[SEP]"], [("[CLS]", 0), ("[SEP]", 1)]),
              [AddedToken("[MASK]", lstrip=True, special=True), AddedToken("quick", single_word=True), AddedToken("café", rstrip=True)])
    maker.bpe("deepseek", byte_level(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK)), bl, ["<|endoftext|>"])
    maker.bpe("falcon", pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(False), pre_tokenizers.Digits(False), split("[0-9][0-9][0-9]")]), bl, ["<|endoftext|>"])
    maker.bpe("expressions", byte_level(split(OTHER, "merged_with_next")), bl, ["<|endoftext|>"], normalizers.Sequence([normalizers.Replace(Regex(r"\s{2,}"), "_"), normalizers.Lowercase()]))
    for behavior in ("removed", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            maker.words(f"words-{behavior}-{invert}", split(r"\s|\p{P}", behavior, invert))
    maker.words("words", pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("merged_with_previous")]))
    maker.word_piece("bert", True)
    maker.word_piece("distilbert-cased", False)
    precompiled = normalizers.Precompiled(maker.charsmap)
    split_meta = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta()])
    eos = lambda t: template([], ["</s>"], [e(t)])
    maker.unigram("t5", precompiled, split_meta, ["<pad>", "</s>", "<unk>", "<extra_id_0>"], eos)
    maker.unigram("t5-first", precompiled, meta("▁", "first"), ["<pad>", "</s>", "<unk>"], eos)
    maker.unigram("t5-runs", normalizers.Sequence([precompiled, normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")]), meta(), ["<pad>", "</s>", "<unk>"], eos)
    maker.unigram("albert", normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), precompiled,
        normalizers.Replace(Regex(" {2,}"), " ")]), split_meta, ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
        lambda t: template(["[CLS]"], ["[SEP]"], [("[CLS]", t.token_to_id("[CLS]")), ("[SEP]", t.token_to_id("[SEP]"))]))
    maker.unigram("nmt", normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip()]), meta("▁", "never", split=False), ["<unk>"], None, True,
                  decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁", "never")]))
    maker.spm("llama-model", "tokenizer.model", [1], [], {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True}, model_type="bpe", vocab_size=900, byte_fallback=True,
              normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True)
    maker.spm("gemma-model", "tokenizer.model", [2], [1], {"add_bos_token": True, "add_eos_token": True}, model_type="bpe", vocab_size=900, byte_fallback=True,
              normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
              user_defined_symbols=["\n\n", "<table>", "▁▁"], control_symbols=["<ctl>"])
    maker.spm("bpe-model", "tokenizer.model", [], [], {"add_bos_token": False}, model_type="bpe", vocab_size=900, user_defined_symbols=["quick", "世界"], treat_whitespace_as_suffix=True)
    maker.spm("t5-model", "spiece.model", [], [1], {"extra_ids": 100}, model_type="unigram", vocab_size=900, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    maker.spm("t5-bytes", "spiece.model", [], [2], {"extra_ids": 0}, model_type="unigram", vocab_size=900, byte_fallback=True, user_defined_symbols=["quick", "世界", "ab"])
    maker.marian()
    os.remove(maker.rules)
    with open(f"{maker.folder}/kinds.json", "w") as file:
        json.dump(maker.kinds, file)


make(Maker(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else 10_000))
