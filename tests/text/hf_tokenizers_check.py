# hf_tokenizers_check.py CASES: reads a JSON list of {"tokenizer": path, "text": …, "ids": […], "decoded": …} and says where Hugging
# Face's `tokenizers` gives other ids or another text. Exit 0: nowhere; 1: somewhere; 77: `tokenizers` is not installed.
import json
import sys

try:
    from tokenizers import Tokenizer
except ImportError:
    sys.exit(77)

differences = 0
loaded = {}
with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)
for case in cases:
    path = case["tokenizer"]
    if path not in loaded:
        loaded[path] = Tokenizer.from_file(path)
    tokenizer = loaded[path]
    ids = tokenizer.encode(case["text"], add_special_tokens=case["framed"]).ids
    decoded = tokenizer.decode(case["ids"], skip_special_tokens=False)
    if ids != case["ids"] or decoded != case["decoded"]:
        differences += 1
        print(f"{path}: {case['text']!r}: {ids} {decoded!r} instead of {case['ids']} {case['decoded']!r}")
print(f"{len(cases)} cases, {differences} differences")
sys.exit(1 if differences or not cases else 0)
