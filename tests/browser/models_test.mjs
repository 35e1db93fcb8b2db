// Every panel on the models that people bring: one without a tokenizer, an encoder-decoder, the induction model, GPT-2's shape at 1,024 tokens, BERT's. Their numbers are the engine's.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { tmpdir } from "node:os";
import { writeBertShaped, writeGpt2Shaped } from "./model_folders.mjs";
import { atRest, engine, missing, openPage, readSafetensors, root, startBrowser, startServer } from "./studio.mjs";

const skip = missing() ?? false;
const sorter = [process.env.HEADLIGHT_SHARED ?? `${root}../shared`].map((one) => `${one}/data/gpt-nano-sort`).find((one) => existsSync(`${one}/model.safetensors`));
const long = "the quick brown fox jumps over a lazy dog while seven wizards box with jugs of liquid ".repeat(13).slice(0, 1024);
let server, browser, folder;
before(async () => {
  if (skip) return;
  folder = mkdtempSync(`${tmpdir()}/models-`);
  writeGpt2Shaped(`${folder}/gpt2-shaped`);
  writeBertShaped(`${folder}/bert-shaped`);
  [server, browser] = await Promise.all([startServer([`${folder}/gpt2-shaped`, `${folder}/bert-shaped`, "numbers", "repeats", ...(sorter ? [sorter] : [])]), startBrowser()]);
});
after(async () => { await browser?.close(); await server?.close(); if (folder) rmSync(folder, { recursive: true, force: true }); });

function availableMemory() {
  const told = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync("/proc/meminfo", "utf8"));
  return told ? 1024 * Number(told[1]) : 0;
}
async function studio(t, { model, text, panel, patience = 60_000 }) {
  const opened = await openPage(browser, `${server.address}/#${new URLSearchParams({ model, panel, ...(text !== undefined && { text }) })}`);
  t.after(async () => { await opened.close(); });
  opened.page.setDefaultTimeout(patience);
  opened.page.expectNothingWrong = () => assert.deepEqual(opened.wrong, [], `${model}, ${panel}`);
  return opened.page;
}

// What `headlight forward --trace` writes for the ids that the page shows.
function engineTrace(model, { ids, source }, names) {
  const put = (name, list) => { writeFileSync(`${folder}/${name}.json`, JSON.stringify([list])); return `${folder}/${name}.json`; };
  engine("forward", model, "--ids", put("ids", ids), ...(source ? ["--source-ids", put("source", source)] : []), "--trace", `${folder}/trace.safetensors`, "--only", names.join(","));
  return readSafetensors(readFileSync(`${folder}/trace.safetensors`));
}
async function idsOnPage(page) {
  const run = await page.evaluate(async () => { const all = {}; for (const side of ["encoder", "decoder"]) { const tensor = headlight.run().find(`${side}.ids`); if (tensor) { await headlight.load(tensor); all[side] = [...tensor.values].map(Number); } } return all; });
  return run.decoder ? { ids: run.decoder, source: run.encoder } : { ids: run.encoder };
}
// The numbers of a head on the page and in the engine's own file.
async function compareHead(page, model, place, head) {
  const name = `${place}.head.${head}.weights`;
  const own = engineTrace(model, await idsOnPage(page), [name]).get(name);
  const shown = await page.evaluate(async ([at, number]) => { const tensor = headlight.run().attentionAt(at); await headlight.load(tensor, number); const [, , rows, columns] = tensor.shape; return Array.from({ length: rows * columns }, (_, i) => headlight.run().value({ name: tensor.name, index: [0, number, Math.floor(i / columns), i % columns] })); }, [place, head]);
  assert.equal(shown.length, own.values.length, name);
  const farthest = shown.reduce((most, value, i) => Math.max(most, Math.abs(value - own.values[i])), 0);
  assert.ok(farthest <= 2e-6, `${model} ${name}: ${farthest}`);
}

// All panels; what is told is what is there.
async function everyPanel(t, { model, folder: path = model, text, place, head, writes = true }) {
  const walk = await studio(t, { model, text, panel: "walk" });
  await walk.waitForSelector("#step-7 .figure");
  await compareHead(walk, path, place, head);
  const heads = await walk.evaluate(() => headlight.run().attentions().reduce((sum, tensor) => sum + tensor.shape[1], 0));
  await walk.evaluate(([at, number]) => headlight.askWhy(headlight.cellOf(`${at}.head.${number}.scores[1,0]`)), [place, head]);
  await walk.waitForSelector("#why .terms");
  walk.expectNothingWrong();
  const map = await studio(t, { model, text, panel: "heads" });
  await map.waitForSelector(".thumb");
  assert.equal(await map.locator(".thumb").count(), heads, model);
  await map.click(`.thumb[data-head="${place}.${head}"]`);
  await map.waitForSelector("#map-head .tile-grid");
  map.expectNothingWrong();
  await map.click('[data-panel="microscope"]');
  await map.waitForSelector(`.scope[data-head="${place}.${head}"] svg path`, { state: "attached" });
  await atRest(map);
  map.expectNothingWrong();
  await map.click('[data-panel="next_word"]');
  await map.waitForSelector("#next-step .lens");
  await atRest(map);
  if (writes) assert.ok((await map.locator(".token").count()) > 0, `${model} writes nothing`);
  map.expectNothingWrong();
  await map.click('[data-panel="compare"]');
  await map.waitForSelector("#other-sentence");
  await map.press("#other-sentence", "Enter");
  await map.waitForSelector(".difference");
  assert.match(await map.locator("#compare-first").innerText(), /\d/);
  map.expectNothingWrong();
  return map;
}

test("the three-sentence model in every panel", { skip }, async (t) => {
  const page = await studio(t, { model: "worked", panel: "walk" });
  await page.waitForSelector("#step-7 table.matrix");
  for (const panel of ["heads", "microscope", "next_word", "compare"]) {
    await page.click(`[data-panel="${panel}"]`);
    await page.waitForSelector({ heads: ".thumb", microscope: "#microscope svg path", next_word: "#next-step .lens", compare: "#other-sentence" }[panel], { state: "attached" });
  }
  page.expectNothingWrong();
});

test("a model without a tokenizer is given ids", { skip: skip || (sorter ? false : "gpt-nano-sort is not here") }, async (t) => {
  const page = await everyPanel(t, { model: "gpt-nano-sort", folder: sorter, text: "2 0 1 2 0 1", place: "decoder.1.self", head: 2 });
  // Its numbers came with it: the badge says how close the engine is.
  const told = (await (await fetch(`${server.address}/api/models`)).json()).models.find((one) => one.id === "gpt-nano-sort").reference;
  assert.ok(told.compared > 10 && told.relative < 1e-4, JSON.stringify(told));
  assert.match(await page.locator(".badge.reference").innerText(), new RegExp(String(told.compared)));
  await page.click('[data-panel="next_word"]');
  await page.waitForSelector("#next-step .lens");
  await atRest(page);
  const sorted = await page.locator(".token").allTextContents();
  assert.deepEqual(sorted.slice(0, 5).map((one) => one.trim()), ["0", "0", "1", "1", "2"]);
  await page.fill("#sentence", "one two");
  await page.press("#sentence", "Enter");
  await page.waitForFunction(() => /0 2 1/.test(document.getElementById("said").textContent));
});

test("an encoder-decoder has encoder, decoder and cross heads", { skip }, async (t) => {
  const page = await everyPanel(t, { model: "numbers", text: "forty-two", place: "decoder.1.cross", head: 3 });
  await page.click('[data-panel="heads"]');
  await page.waitForSelector(".thumb");
  const kinds = await page.locator(".thumb").evaluateAll((all) => [...new Set(all.map((one) => one.dataset.head.replace(/\.\d+/g, "")))].sort());
  assert.deepEqual(kinds, ["decoder.cross", "decoder.self", "encoder.self"]);
});

test("the induction model shows its induction head", { skip }, async (t) => {
  const page = await everyPanel(t, { model: "repeats", place: "decoder.1.self", head: 0 });
  await page.click('[data-panel="heads"]');
  await page.waitForSelector(".thumb");
  await page.click("#heads-map .picks button.plain");
  await page.waitForSelector(".thumb.role-induction");
  writeFileSync(`${folder}/text.txt`, "quick brown fox jumps over quick brown fox jumps over the lazy dog the lazy dog\n".repeat(20));
  const told = JSON.parse(engine("heads", "score", "repeats", "--data", `${folder}/text.txt`, "--examples", "4", "--json")).heads;
  const shown = await page.locator(".thumb.role-induction").evaluateAll((all) => all.map((one) => one.dataset.head));
  assert.ok(shown.length > 0);
  for (const head of shown) assert.equal(told.find((one) => one.head === head).role, "induction");
});

test("a model of BERT's shape fills its masks", { skip }, async (t) => {
  const text = "The dog is playing [MASK] a ball.";
  const page = await everyPanel(t, { model: "bert-shaped", folder: `${folder}/bert-shaped`, text, place: "encoder.2.self", head: 1, writes: false });
  await page.click('[data-panel="next_word"]');
  await page.waitForSelector("#next-step .lens");
  const asked = await fetch(`${server.address}/api/predict`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ model: "bert-shaped", prompt: text, special: true }) });
  const told = await asked.json();
  assert.equal(Number(await page.locator('.token[aria-pressed="true"]').getAttribute("data-position")), told.masked_at);
  await page.locator(".stages .candidate").nth(1).click();
  await page.waitForSelector(".token.forced");
  assert.match(page.url(), new RegExp(`instead=${told.masked_at}%3A${told.tokens[0].best[1].id}`));
});

const leastMemory = 4 * 2 ** 30;  // a trace of 1 GiB, of which a server keeps as many as half of what is free
test("a model of GPT-2's shape at 1,024 tokens", { skip: skip || (availableMemory() < leastMemory ? "less than 4 GiB of memory are free" : false) }, async (t) => {
  const page = await studio(t, { model: "gpt2-shaped", text: long, panel: "heads", patience: 160_000 });
  await page.waitForSelector(".thumb");
  assert.equal(await page.locator(".thumb").count(), 144);
  const grid = await page.locator(".map-row").first().evaluate((one) => [one.scrollWidth, one.closest(".maps").clientWidth]);
  assert.ok(grid[0] <= grid[1], `twelve heads are wider than their place: ${grid}`);
  assert.equal(await page.locator("#heads-map .choice [aria-pressed=true]").first().textContent(), "Logarithmic");
  await page.click('.thumb[data-head="decoder.11.self.7"]');
  await page.waitForFunction(() => document.querySelector("#map-head code")?.textContent === "decoder.11.self.7");
  await page.click('[data-panel="microscope"]');
  await page.waitForSelector('.scope[data-head="decoder.11.self.7"] .tile-grid');
  // A cell far down is exact once one is close enough.
  const name = "decoder.11.self.head.7.weights";
  const own = engineTrace(`${folder}/gpt2-shaped`, { ids: [...Buffer.from(long)] }, [name]).get(name);
  await page.locator(".tile-grid").first().focus();
  for (let i = 0; i < 5; ++i) await page.keyboard.press("ArrowDown");
  for (let i = 0; i < 3; ++i) await page.keyboard.press("ArrowRight");
  for (let i = 0; i < 8; ++i) await page.keyboard.press("+");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => /\[5,2\].*\d\.\d/.test(document.querySelector(".tile-map .readout").textContent) && !document.querySelector(".tile-map .readout").textContent.includes("≤"), undefined, { polling: 200 });
  const told = Number(/([\d.e−-]+)\s*$/.exec(await page.locator(".tile-map .readout").textContent())[1].replace("−", "-"));
  assert.ok(Math.abs(told - own.values[5 * 1024 + 2]) <= 1e-5, `${told} and ${own.values[5 * 1024 + 2]}`);
  await page.click('[data-panel="walk"]');
  await page.waitForSelector("#step-7 .figure");
  assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 40_000, "too many elements");
  page.expectNothingWrong();
});
