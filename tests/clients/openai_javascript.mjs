// OpenAI's own JavaScript client, unchanged, against a server: URL, key and what is expected come as JSON on standard input.
// HEADLIGHT_NODE_MODULES names the folder that has node_modules/openai; without the package it exits with 77.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';

const require = createRequire(`${process.env.HEADLIGHT_NODE_MODULES}/from-here.js`);
let library;
try {
  library = require('openai');
} catch {
  process.exit(77);
}
const OpenAI = library.OpenAI ?? library.default;

const expected = JSON.parse(readFileSync(0, 'utf8'));
const options = { baseURL: expected.url, apiKey: expected.key, maxRetries: 0, timeout: 60_000 };
const client = new OpenAI(options);
const { model, prompt, text } = expected;
const messages = [{ role: 'user', content: prompt }];

function same(name, got, wanted) {
  if (isDeepStrictEqual(got, wanted)) return;
  console.error(`${name}: got ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`);
  process.exit(1);
}

async function refused(name, kind, call, fields = {}) {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof kind)) throw error;
    for (const [field, wanted] of Object.entries(fields)) same(`${name}.${field}`, error[field], wanted);
    return;
  }
  same(name, 'nothing was refused', 'an error');
}

async function joined(stream, textOf) {
  let all = '';
  for await (const chunk of stream) all += textOf(chunk) ?? '';
  return all;
}

// Models.
const ids = [];
for await (const one of client.models.list()) ids.push(one.id);
same('models', ids.sort(), [...expected.models].sort());
same('model', (await client.models.retrieve(model)).id, model);
await refused('unknown model', OpenAI.NotFoundError, () => client.models.retrieve('gpt-9'), { code: 'model_not_found' });

// Completions.
const limits = { max_tokens: 20, temperature: 0 };
const completion = await client.completions.create({ model, prompt, ...limits, logprobs: 2 });
same('completion', completion.choices[0].text, text);
same('logprobs', completion.choices[0].logprobs.token_logprobs, expected.log_probabilities);
same('stream', await joined(await client.completions.create({ model, prompt, ...limits, stream: true }),
  (chunk) => chunk.choices[0].text), text);

// Chat.
const chat = await client.chat.completions.create({ model, messages, ...limits, logprobs: true, top_logprobs: 3 });
same('chat', chat.choices[0].message.content, text);
same('bytes', Buffer.from(chat.choices[0].logprobs.content.flatMap((token) => token.bytes ?? [])).toString(), text);
same('chat stream', await joined(await client.chat.completions.create({ model, messages, ...limits, stream: true }),
  (chunk) => chunk.choices[0].delta.content), text);
const runner = client.chat.completions.stream({ model, messages, ...limits, stream_options: { include_usage: true } });
same('helper', (await runner.finalChatCompletion()).choices[0].message.content, text);
same('usage', (await runner.totalUsage()).completion_tokens, 20);
const cut = await client.chat.completions.create({ model, messages, max_tokens: 80, stream: true });
for await (const chunk of cut) {
  same('role', chunk.choices[0].delta.role, 'assistant');
  break;
}

// Embeddings: the client asks for base64 by itself.
for (const extra of [{}, { encoding_format: 'float' }]) {
  const got = await client.embeddings.create({ model: expected.embedding_model, input: expected.embedding_inputs, ...extra });
  expected.vectors.forEach((vector, i) => {
    const worst = Math.max(...vector.map((number, j) => Math.abs(number - got.data[i].embedding[j])));
    same('embedding', worst < 1e-7, true);
  });
}

// Errors and timeouts.
await refused('temperature', OpenAI.BadRequestError, () => client.chat.completions.create({ model, messages, temperature: 3 }),
  { param: 'temperature', status: 400 });
await refused('format', OpenAI.BadRequestError,
  () => client.chat.completions.create({ model, messages, response_format: { type: 'json_object' } }),
  { param: 'response_format.type', code: 'unsupported_value' });
await refused('model', OpenAI.NotFoundError, () => client.completions.create({ model: 'none', prompt }));
await refused('key', OpenAI.AuthenticationError, () => new OpenAI({ ...options, apiKey: 'wrong' }).models.list());
await refused('timeout', OpenAI.APIConnectionTimeoutError,
  () => client.completions.create({ model, prompt: [prompt, prompt], n: 100, max_tokens: 80 }, { timeout: 20 }));

// At once.
const answers = await Promise.all(Array.from({ length: 20 }, () => client.completions.create({ model, prompt, ...limits })));
same('at once', [...new Set(answers.map((answer) => answer.choices[0].text))], [text]);
console.log('openai', library.VERSION ?? '');
