"""OpenAI's own Python client, unchanged, against a server: URL, key and what is expected come as JSON on standard input.

Exits with 77 where the package is not installed."""

import asyncio
import json
import sys

try:
    import openai
except ImportError:
    sys.exit(77)

expected = json.load(sys.stdin)
client = openai.OpenAI(base_url=expected["url"], api_key=expected["key"], max_retries=0, timeout=60)
MODEL, PROMPT = expected["model"], expected["prompt"]
STOP = expected["text"][3:6]
BEFORE_STOP = expected["text"][:expected["text"].find(STOP)]


def same(name, got, wanted):
    if got != wanted:
        sys.exit(f"{name}: got {got!r}, expected {wanted!r}")


def refused(name, kind, call, **fields):
    try:
        call()
    except kind as error:
        for field, wanted in fields.items():
            same(f"{name}.{field}", getattr(error, field), wanted)
        return error
    sys.exit(f"{name}: nothing was refused")


def models():
    same("models", sorted(model.id for model in client.models.list()), sorted(expected["models"]))
    same("model", client.models.retrieve(MODEL).id, MODEL)
    refused("unknown model", openai.NotFoundError, lambda: client.models.retrieve("gpt-9"), code="model_not_found")


def completions():
    got = client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=20, temperature=0, logprobs=2)
    same("completion", got.choices[0].text, expected["text"])
    same("finish", got.choices[0].finish_reason, "length")
    same("tokens", "".join(got.choices[0].logprobs.tokens), expected["text"])
    same("logprobs", got.choices[0].logprobs.token_logprobs, expected["log_probabilities"])
    same("alternatives", {len(top) for top in got.choices[0].logprobs.top_logprobs}, {2})
    same("offset", got.choices[0].logprobs.text_offset[0], len(PROMPT))
    same("usage", got.usage.total_tokens, got.usage.prompt_tokens + 20)
    several = client.completions.create(model=MODEL, prompt=[PROMPT, "The"], n=2, max_tokens=5, seed=1, temperature=1.5)
    same("choices", [choice.index for choice in several.choices], [0, 1, 2, 3])
    again = client.completions.create(model=MODEL, prompt=[PROMPT, "The"], n=2, max_tokens=5, seed=1, temperature=1.5)
    same("seed", [choice.text for choice in again.choices], [choice.text for choice in several.choices])
    stream = client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=20, temperature=0, stream=True)
    same("stream", "".join(chunk.choices[0].text for chunk in stream), expected["text"])
    echo = client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=0, echo=True, logprobs=0)
    same("echo", echo.choices[0].text, PROMPT)
    same("stop", client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=20, temperature=0, stop=STOP).choices[0].text,
         BEFORE_STOP)


def chat():
    messages = [{"role": "user", "content": PROMPT}]
    got = client.chat.completions.create(model=MODEL, messages=messages, max_completion_tokens=20, temperature=0,
                                         logprobs=True, top_logprobs=3)
    message = got.choices[0].message
    same("chat", (message.role, message.content), ("assistant", expected["text"]))
    scores = got.choices[0].logprobs.content
    same("chat logprobs", [score.logprob for score in scores], expected["log_probabilities"])
    same("bytes", bytes(byte for score in scores for byte in score.bytes or []).decode(), expected["text"])
    same("top", {len(score.top_logprobs) for score in scores}, {3})
    # The answer may be handed back as it came.
    client.chat.completions.create(model=MODEL, messages=[*messages, message, messages[0]], max_tokens=2)
    chunks = list(client.chat.completions.create(model=MODEL, messages=messages, max_tokens=20, temperature=0,
                                                 stream=True, stream_options={"include_usage": True}))
    same("role", chunks[0].choices[0].delta.role, "assistant")
    same("chat stream", "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]), expected["text"])
    same("finish", chunks[-2].choices[0].finish_reason, "length")
    same("usage", (chunks[-1].choices, chunks[-1].usage.completion_tokens), ([], 20))
    with client.chat.completions.create(model=MODEL, messages=messages, max_tokens=80, stream=True) as stream:
        next(iter(stream))  # and no more
    if hasattr(client.chat.completions, "stream"):
        with client.chat.completions.stream(model=MODEL, messages=messages, temperature=0, stop=STOP) as stream:
            same("helper", stream.get_final_completion().choices[0].message.content, BEFORE_STOP)


def embeddings():
    inputs = expected["embedding_inputs"]
    for extra in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
        got = client.embeddings.create(model=expected["embedding_model"], input=inputs, **extra)
        for i, vector in enumerate(expected["vectors"]):
            if extra.get("encoding_format") == "base64":
                same("base64", got.data[i].embedding, expected["base64"][i])
                continue
            worst = max(abs(a - b) for a, b in zip(got.data[i].embedding, vector, strict=True))
            same("embedding", worst < 1e-7, True)


def errors():
    ask = client.chat.completions.create
    messages = [{"role": "user", "content": PROMPT}]
    refused("temperature", openai.BadRequestError, lambda: ask(model=MODEL, messages=messages, temperature=3),
            param="temperature", status_code=400)
    refused("tools", openai.BadRequestError,
            lambda: ask(model=MODEL, messages=messages, tools=[{"type": "function", "function": {"name": "f"}}]),
            param="tools", code="unsupported_parameter")
    refused("unknown", openai.BadRequestError, lambda: ask(model=MODEL, messages=messages, extra_body={"top_k": 4}),
            param="top_k", code="unknown_parameter")
    refused("model", openai.NotFoundError, lambda: ask(model="none", messages=messages), code="model_not_found")
    refused("context", openai.BadRequestError,
            lambda: client.completions.create(model=MODEL, prompt=[1] * 5000), code="context_length_exceeded")
    refused("key", openai.AuthenticationError, lambda: client.with_options(api_key="wrong").models.list(),
            status_code=401)
    refused("timeout", openai.APITimeoutError,
            lambda: client.with_options(timeout=0.02).completions.create(model=MODEL, prompt=[PROMPT] * 2, n=100,
                                                                         max_tokens=80))
    same("after the timeout", client.models.retrieve(MODEL).id, MODEL)


async def many():
    async with openai.AsyncOpenAI(base_url=expected["url"], api_key=expected["key"]) as at_once:
        answers = await asyncio.gather(*(
            at_once.completions.create(model=MODEL, prompt=PROMPT, max_tokens=20, temperature=0) for _ in range(20)))
        same("at once", {answer.choices[0].text for answer in answers}, {expected["text"]})


models()
completions()
chat()
embeddings()
errors()
asyncio.run(many())
print("openai", openai.__version__)
