// Next word and Compare in a real browser: what they show is compared with what the server answered, and with the command line.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { engine, missing, openPage, phone, seriousViolations, startBrowser, startServer } from "./studio.mjs";

const skip = missing() ?? false;
const sentence = "When you play the game of thrones";
const stories = "#panel=next_word&model=stories&text=Anna%20has%20two";
const trained = `model=worked&train=1&text=${encodeURIComponent(sentence)}`;
let server, browser;
before(async () => { if (!skip) [server, browser] = await Promise.all([startServer(), startBrowser()]); });
after(async () => { await browser?.close(); await server?.close(); });

// The studio, and what the server said to one route, the newest last.
async function studio(t, hash, { route = "/api/predict", ...options } = {}) {
  // Noted in the page itself: a stream's body is not always kept for others.
  const listen = (page) => page.addInitScript((path) => {
    const own = globalThis.fetch;
    globalThis.answers = [];
    globalThis.fetch = async (address, asked) => {
      const answer = await own(address, asked);
      if (new URL(address, location.href).pathname === path) globalThis.answers.push({ asked: typeof asked.body === "string" ? JSON.parse(asked.body) : undefined, body: answer.clone().text().catch(() => "") });
      return answer;
    };
  }, route);
  const opened = await openPage(browser, `${server.address}/${hash}`, { ...options, prepare: listen });
  t.after(async () => { await opened.close(); });
  const { page } = opened;
  page.answers = () => page.evaluate(() => Promise.all(globalThis.answers.map(async (one) => ({ asked: one.asked, body: await one.body }))));
  page.expectNothingWrong = () => assert.deepEqual(opened.wrong, []);
  return page;
}
const atRest = (page) => page.waitForFunction(() => document.querySelector("#next-step .lens") && !document.querySelector("[aria-busy]"));
const eventsOf = (text) => text.split("\n\n").filter(Boolean).map((block) => ({ event: /^event: (.*)$/m.exec(block)?.[1], data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null") }));
async function streamed(page) {
  return eventsOf((await page.answers()).find((one) => one.body.startsWith("event:"))?.body ?? "");
}
async function lastDetail(page) { return JSON.parse((await page.answers()).filter((one) => !one.asked.stream && one.asked.lens).at(-1).body); }
const chips = (page) => page.locator(".token").evaluateAll((all) => all.map((one) => ({ words: one.textContent, share: Number(one.style.getPropertyValue("--s")), forced: one.classList.contains("forced"), label: one.getAttribute("aria-label") })));
const floats = (letters) => [...new Float32Array(Uint8Array.from(Buffer.from(letters, "base64")).buffer)];
const percentOf = (share) => { const all = 100 * share; return all >= 99.95 || all === 0 ? `${Math.round(all)}%` : all < 0.1 ? "< 0.1%" : `${all.toFixed(all >= 10 ? 0 : 1)}%`; };

test("the words on the page are the ones the server streams, each with its probability", { skip }, async (t) => {
  const page = await studio(t, stories);
  await atRest(page);
  const events = await streamed(page);
  const tokens = events.filter((one) => one.event === "token").map((one) => one.data);
  const shown = await chips(page);
  assert.equal(shown.length, tokens.length);
  assert.ok(shown.length > 3);
  for (const [i, token] of tokens.entries()) {
    assert.ok(Math.abs(shown[i].share - token.probability) < 1e-9, `${i}: ${shown[i].share} and ${token.probability}`);
    assert.ok(shown[i].label.endsWith(percentOf(token.probability)), shown[i].label);
    if (/^[ -~]+$/.test(token.text)) assert.equal(shown[i].words, token.text);
  }
  assert.equal(tokens.map((token) => token.text).join(""), JSON.parse(engine("generate", "stories", "--prompt", "Anna has two", "--max-new-tokens", "24", "--json")).text);
  page.expectNothingWrong();
});

test("the step that is looked at shows logits, stages, attention and what each layer would have said", { skip }, async (t) => {
  const page = await studio(t, `${stories}&temperature=0.8&top_k=6&top_p=0.9&seed=3&step=2&head=decoder.1.self.1`);
  await atRest(page);
  const token = (await lastDetail(page)).tokens[0];
  const rows = await page.locator(".stages tbody tr").evaluateAll((all) => all.map((row) => ({ id: Number(row.dataset.id), cells: [...row.children].map((cell) => cell.textContent), bars: [...row.querySelectorAll(".track i")].map((bar) => parseFloat(bar.style.width)) })));
  assert.deepEqual(rows.map((row) => row.id), token.best.map((word) => word.id));
  for (const [i, word] of token.best.entries()) {
    const stage = token.stages.find((one) => one.id === word.id);
    assert.ok(Math.abs(rows[i].bars[0] - 100 * word.probability) < 0.006, `${word.token}: ${rows[i].bars[0]}`);
    assert.ok(Math.abs(rows[i].bars[1] - 100 * stage.drawn_with) < 0.006, `${word.token}: ${rows[i].bars[1]}`);
    assert.equal(rows[i].cells[5], percentOf(word.probability));
    assert.ok(Math.abs(Number(rows[i].cells[1].replace("−", "-")) - word.logit) <= 0.00501, `${rows[i].cells[1]} and ${word.logit}`);
    assert.equal(rows[i].cells[3], stage.top_k && stage.top_p && stage.min_p ? "✓" : `cut by ${!stage.top_k ? "top-k" : !stage.top_p ? "top-p" : "min-p"}`);
  }
  const weights = floats(token.attention.find((one) => one.head === "decoder.1.self.1").weights);
  const keys = await page.locator(".looked-at .key").evaluateAll((all) => all.map((one) => Number(one.style.getPropertyValue("--s"))));
  assert.equal(keys.length, weights.length);
  keys.forEach((share, i) => assert.ok(Math.abs(share - weights[i]) < 1e-6));
  const tops = await page.locator(".looked-at .key").evaluateAll((all) => all.map((one) => one.offsetTop));
  assert.equal(new Set(tops).size, 1, "a few words do not stand in one line");
  const layers = await page.locator(".lens tbody tr").evaluateAll((all) => all.map((row) => [row.dataset.layer, row.children[1].textContent, row.querySelector(".said-then small").textContent]));
  assert.deepEqual(layers, token.lens.layers.map((layer) => [layer.layer, String(layer.word.rank), percentOf(layer.words[0].probability)]));
  page.expectNothingWrong();
});

test("of a long sentence the end is shown, and what is written stands below it", { skip }, async (t) => {
  const page = await studio(t, `#panel=next_word&model=stories&length=8&text=${encodeURIComponent("Anna has two apples. ".repeat(17).trim())}`, { viewport: phone });
  await atRest(page);
  const sizes = await page.locator(".written .prompt").evaluate((one) => ({ top: one.scrollTop, height: one.clientHeight, all: one.scrollHeight }));
  assert.ok(sizes.all > sizes.height && sizes.top + sizes.height >= sizes.all - 1, JSON.stringify(sizes));
  assert.ok(sizes.height < phone.height / 4, JSON.stringify(sizes));
  assert.deepEqual(await seriousViolations(page, ["#next-word"]), []);
  page.expectNothingWrong();
});

test("an alternative is five words away, and the model goes on from it; the link leads there again", { skip }, async (t) => {
  const page = await studio(t, `${stories}&length=10`);
  await atRest(page);
  const tokens = (await streamed(page)).filter((one) => one.event === "token").map((one) => one.data);
  const before = await chips(page);
  await page.hover('.token[data-at="2"]');
  const offered = await page.locator(".best-words button").evaluateAll((all) => all.map((one) => [Number(one.dataset.id), one.querySelector(".share").textContent]));
  assert.deepEqual(offered, tokens[2].best.slice(0, 5).map((word) => [word.id, percentOf(word.probability)]));
  await page.click(`.best-words button[data-id="${tokens[2].best[3].id}"]`);
  await page.waitForFunction(() => document.querySelector(".token.forced") && document.querySelectorAll(".token").length === 10);
  await atRest(page);
  const now = await chips(page);
  assert.deepEqual(now.slice(0, 2), before.slice(0, 2));
  assert.ok(now[2].forced && Math.abs(now[2].share - tokens[2].best[3].probability) < 1e-9);
  assert.match(page.url(), new RegExp(`instead=2%3A${tokens[2].best[3].id}`));
  const again = await studio(t, new URL(page.url()).hash);
  await atRest(again);
  assert.deepEqual(await chips(again), now);
  assert.equal(again.url(), page.url());
  assert.equal(await again.locator("#next-step").innerText(), await page.locator("#next-step").innerText());
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector(".token.forced"));
  page.expectNothingWrong();
});

test("sliders answer while they move, and write anew", { skip }, async (t) => {
  const page = await studio(t, `${stories}&length=6&step=1`);
  await atRest(page);
  await page.focus('input[name="temperature"]');
  for (let i = 0; i < 10; ++i) await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector(".stages thead small")?.textContent.includes("0.5"));
  await atRest(page);
  await page.waitForFunction(() => /temperature=0\.5/.test(location.hash));
  const detail = await lastDetail(page);
  const drawn = await page.locator(".stages tbody tr").evaluateAll((all) => all.map((row) => parseFloat(row.querySelectorAll(".track i")[1].style.width)));
  detail.tokens[0].best.forEach((word, i) => assert.ok(Math.abs(drawn[i] - 100 * detail.tokens[0].stages.find((one) => one.id === word.id).drawn_with) < 0.006));
  page.expectNothingWrong();
});

test("a head that is off moves the bars, and the old ones stay behind", { skip }, async (t) => {
  const page = await studio(t, `${stories}&length=6&step=0`);
  await atRest(page);
  const widths = () => page.locator(".stages tbody tr").evaluateAll((all) => Object.fromEntries(all.map((row) => [row.dataset.id, [parseFloat(row.querySelector(".track i").style.width), parseFloat(row.querySelector(".ghost")?.style.width)]])));
  const before = await widths();
  await page.focus(".head-switch >> nth=0");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator('.head-switch[aria-checked="false"]').getAttribute("data-head"), "decoder.1.self.1");
  await page.waitForSelector(".stages .ghost");
  await atRest(page);
  const now = await widths();
  let moved = 0;
  for (const [id, [width, ghost]] of Object.entries(now)) {
    if (!before[id]) continue;
    assert.ok(Math.abs(ghost - before[id][0]) < 0.011, `${id}: ${ghost} and ${before[id][0]}`);
    moved += Math.abs(width - ghost) > 0.01 ? 1 : 0;
  }
  assert.ok(moved > 0, "no bar has moved");
  assert.match(page.url(), /off=decoder\.1\.self\.1/);
  await page.waitForFunction(() => document.querySelector("#written-whole q")?.textContent.length > 0);
  page.expectNothingWrong();
});

test("stop, and leaving the panel, close the stream", { skip }, async (t) => {
  const page = await studio(t, "#panel=heads&model=stories&text=Anna%20has%20two");
  await page.waitForSelector(".thumb");
  // The server's own words, but slowly; and whether they were still wanted.
  await page.evaluate(() => {
    const own = globalThis.fetch;
    globalThis.streamsClosed = 0;
    globalThis.fetch = async (address, options) => {
      const answer = await own(address, options);
      if (!String(options?.body).includes('"stream":true')) return answer;
      const blocks = (await answer.text()).split("\n\n").filter(Boolean);
      options.signal.addEventListener("abort", () => { globalThis.streamsClosed += 1; });
      return new Response(new ReadableStream({ async pull(to) {
        await new Promise((done) => setTimeout(done, 150));
        if (options.signal.aborted) return to.error(new DOMException("", "AbortError"));
        const next = blocks.shift();
        if (next === undefined) to.close(); else to.enqueue(new TextEncoder().encode(`${next}\n\n`));
      } }), { status: 200 });
    };
  });
  await page.click('[data-panel="next_word"]');
  await page.waitForFunction(() => document.querySelectorAll(".token").length >= 2);
  assert.equal(await page.locator("#write").textContent(), "Stop");
  await page.click("#write");
  assert.equal(await page.evaluate(() => globalThis.streamsClosed), 1);
  const count = await page.locator(".token").count();
  await page.waitForTimeout(400);
  assert.equal(await page.locator(".token").count(), count);
  await page.keyboard.press("g");
  await page.waitForFunction(() => document.querySelectorAll(".token").length >= 1 && document.querySelector("#write").textContent === "Stop");
  await page.click('[data-panel="heads"]');
  assert.equal(await page.evaluate(() => globalThis.streamsClosed), 2);
  page.expectNothingWrong();
});

test("keys lead from word to word, into the alternatives, through steps, heads and layers", { skip }, async (t) => {
  const page = await studio(t, `${stories}&length=6`);
  await atRest(page);
  await page.focus('.token[data-at="1"]');
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.at), "2");
  await page.waitForSelector(".best-words:not([hidden])");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.ok(await page.evaluate(() => document.activeElement.matches(".best-words button:nth-child(2)")));
  await page.keyboard.press("Escape");
  assert.ok(await page.locator(".best-words").isHidden());
  assert.equal(await page.evaluate(() => document.activeElement.dataset.at), "2");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /step=2/.test(location.hash));
  await page.keyboard.press("n");
  assert.match(page.url(), /step=3/);
  const head = () => page.locator("#next-step-attention .choice [aria-pressed=true]").textContent();
  const first = Number(await head());
  const count = await page.locator("#next-step-attention .choice button").count();
  await page.keyboard.press("]");
  assert.equal(Number(await head()), (first + 1) % count);
  await page.selectOption("#next-step-attention select", "decoder.0.self");
  await atRest(page);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("}");
  await page.waitForFunction(() => document.querySelector("#next-step-attention select")?.value === "decoder.1.self");
  await atRest(page);
  assert.match(page.url(), /head=decoder\.1\.self/);
  page.expectNothingWrong();
});

test("an encoder-decoder and the taught model are written with", { skip }, async (t) => {
  const numbers = await studio(t, "#panel=next_word&model=numbers&text=forty-two&head=decoder.1.cross.2");
  await atRest(numbers);
  assert.ok((await numbers.locator(".token").count()) > 0);
  const source = (await streamed(numbers))[0].data.source_tokens;
  assert.equal(await numbers.locator(".looked-at .key").count(), source.length);
  numbers.expectNothingWrong();
  const worked = await studio(t, `#panel=next_word&${trained}`);
  await atRest(worked);
  const asked = (await worked.answers()).map((one) => one.asked).find((one) => one.stream);
  assert.ok(asked.trace && asked.model === undefined && asked.run === 1);
  assert.match((await worked.locator("#written").innerText()).replace(/\s+/g, " "), /you win or you die/);
  worked.expectNothingWrong();
});

test("what was written can be kept", { skip }, async (t) => {
  const page = await studio(t, `${stories}&length=5`);
  await atRest(page);
  const tokens = (await streamed(page)).filter((one) => one.event === "token").map((one) => one.data);
  const kept = async (which) => { const [download] = await Promise.all([page.waitForEvent("download"), page.click(`[data-keep="${which}"]`)]); return readFileSync(await download.path()); };
  // A line ends where no quotation is open.
  const words = (await kept("words")).toString().match(/(?:"[^"]*"|[^"\n])+/g);
  assert.equal(words.length, tokens.length + 1);
  assert.ok(words[1].includes(String(tokens[0].probability)));
  const head = await page.locator("#next-step-attention .choice [aria-pressed=true]").textContent();
  const place = await page.locator("#next-step-attention select").inputValue();
  const first = floats(tokens[0].attention.find((one) => one.head === `${place}.${head}`).weights)[0];
  const rows = (await kept("csv")).toString().split("\n").map((line) => line.split(","));
  assert.ok(Math.abs(Number(rows[1][1]) - first) < 1e-7);
  const prompt = (await streamed(page))[0].data.prompt_tokens;
  assert.deepEqual(rows[0].slice(1, prompt.length + 1), prompt.map((token) => token.replace(/^ | $/g, "␣")));
  assert.equal(rows[0].length, rows.at(-2).filter((cell) => cell !== "-inf").length);
  assert.match((await kept("svg")).toString(), /^<svg /);
  assert.equal((await kept("png")).subarray(1, 4).toString(), "PNG");
  page.expectNothingWrong();
});

test("two runs differ first where the server says, and both matrices are the engine's", { skip }, async (t) => {
  const page = await studio(t, `#panel=compare&${trained}&against=run`, { route: "/api/compare" });
  await page.waitForSelector(".difference");
  const told = JSON.parse((await page.answers()).at(-1).body);
  assert.ok((await page.locator("#compare-first").innerText()).includes(told.first.name));
  const rows = await page.locator(".difference:not(.other-shape)").evaluateAll((all) => all.map((one) => [one.dataset.name, parseFloat(one.querySelector("i").style.width)]));
  assert.deepEqual(rows.map((row) => row[0]), told.tensors.map((one) => one.name));
  for (const [i, one] of told.tensors.entries()) {
    const width = one.largest_difference === 0 ? 0 : Math.max(2, Math.min(100, (100 * (Math.log10(one.relative) + 8)) / 8));
    assert.ok(Math.abs(rows[i][1] - width) < 0.06, `${one.name}: ${rows[i][1]} and ${width}`);
  }
  await page.click('.difference[data-name="encoder.0.self.scores"]');
  await page.waitForSelector('#compare-matrices [data-side="difference"] td.farthest');
  const one = told.tensors.find((other) => other.name === "encoder.0.self.scores");
  const [, head, row, column] = /head\.(\d+)\.scores\[(\d+),(\d+)\]/.exec(one.at).map(Number);
  const cell = (side) => page.locator(`#compare-matrices [data-side="${side}"] tbody tr >> nth=${row}`).locator(`td >> nth=${column}`).getAttribute("title");
  const after = JSON.parse(engine("explain", "--text", sentence, "--train", "--cell", `encoder.0.self.head.${head}.scores[${row},${column}]`, "--json")).value;
  const untaught = JSON.parse(engine("explain", "--text", sentence, "--cell", `encoder.0.self.head.${head}.scores[${row},${column}]`, "--json")).value;
  const valueOf = (digits) => Number(digits.replace("−", "-"));
  assert.ok(Math.abs(valueOf(await cell("a")) - after) < 1e-5 * Math.abs(after));
  assert.ok(Math.abs(valueOf(await cell("b")) - untaught) < 1e-5 * Math.abs(untaught));
  assert.ok(Math.abs(valueOf(await cell("difference")) - (after - untaught)) < 1e-4 * Math.abs(after));
  await page.keyboard.press("]");
  await page.waitForFunction(() => /of_head=/.test(location.hash));
  await page.keyboard.press("n");
  await page.waitForFunction(() => /look=encoder\.0\.self\.(?!scores&)/.test(location.hash));
  const again = await studio(t, new URL(page.url()).hash, { route: "/api/compare" });
  await again.waitForSelector("#compare-matrices", { state: "attached" });
  await again.evaluate(() => document.getElementById("compare-matrices").scrollIntoView({ behavior: "instant" }));
  await again.waitForSelector("#compare-matrices .figure");
  await page.waitForSelector("#compare-matrices .figure");
  assert.equal(await again.locator("#walk").innerText(), await page.locator("#walk").innerText());
  assert.equal(again.url(), page.url());
  page.expectNothingWrong();
});

test("two sentences, two models, and lengths that differ", { skip }, async (t) => {
  const page = await studio(t, "#panel=compare&model=stories&text=Anna%20has%20two", { route: "/api/compare" });
  await page.fill("#other-sentence", "Anna has three");
  await page.press("#other-sentence", "Enter");
  await page.waitForSelector(".difference.first");
  assert.equal(await page.locator(".difference.first").getAttribute("data-name"), "decoder.ids");
  await page.fill("#other-sentence", "Anna has two red apples and one coin");
  await page.press("#other-sentence", "Enter");
  await page.waitForFunction(() => /other=Anna\+has\+two\+red/.test(location.hash) && (document.querySelector(".other-shape") || document.querySelector(".difference")));
  await page.click("#compare .choice button >> nth=1");
  await page.selectOption("#other-model", "numbers");
  await page.waitForFunction(() => document.querySelector("#compare-first")?.innerText.includes("numbers") || document.querySelector("#compare-said")?.textContent.length > 8);
  assert.match(page.url(), /against=model/);
});

function safetensors(tensors) {
  const header = {};
  let at = 0;
  for (const [name, { shape, values }] of tensors) header[name] = { dtype: "F32", shape, data_offsets: [at, (at += values.length * 4)] };
  const text = Buffer.from(JSON.stringify(header).padEnd(Math.ceil(JSON.stringify(header).length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...[...tensors.values()].map(({ values }) => Buffer.from(values.buffer))]);
}
test("a dump of another engine is found equal, or different where it is", { skip }, async (t) => {
  const page = await studio(t, `#panel=compare&${trained}&against=file`, { route: "/api/compare" });
  await page.waitForSelector("#other-file");
  const dumped = new Map(await page.evaluate(() => ["encoder.sum", "encoder.0.self.scores", "encoder.0.self.weights", "logits"].map((name) => { const tensor = headlight.run().find(name); return [name, { shape: tensor.shape.slice(1), values: [...tensor.values] }]; })));
  for (const one of dumped.values()) one.values = Float32Array.from(one.values);
  const give = (name) => page.setInputFiles("#other-file", { name, mimeType: "application/octet-stream", buffer: safetensors(dumped) });
  await give("same.safetensors");
  await page.waitForSelector(".badge.reference");
  assert.match(await page.locator(".badge.reference").innerText(), /to the last bit/);
  dumped.get("encoder.0.self.scores").values[49 + 7 + 2] += 0.25;
  await give("other.safetensors");
  await page.waitForSelector(".difference.first");
  assert.equal(await page.locator(".difference.first").getAttribute("data-name"), "encoder.0.self.scores");
  assert.match(await page.locator("#compare-first .readout").innerText(), /encoder\.0\.self\.head\.1\.scores\[1,2\]/);
  await page.waitForSelector('#compare-matrices [data-side="difference"]');
  const digits = await page.locator('#compare-matrices [data-side="difference"] td.farthest').getAttribute("title");
  assert.ok(Math.abs(Number(digits.replace("−", "-")) + 0.25) < 1e-5, digits);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click('[data-keep="difference.csv"]')]);
  assert.ok(Math.abs(Number(readFileSync(await download.path()).toString().split("\n")[2].split(",")[3]) + 0.25) < 1e-5);
  page.expectNothingWrong();
});

const views = { next_word: [`${stories}&length=8&temperature=0.7&top_k=5&off=decoder.0.self.1`, "#next-step .lens"], compare: [`#panel=compare&${trained}&against=run&look=encoder.0.self.scores`, "#compare-matrices .figure"] };
// What stands below is drawn when it is scrolled to.
async function showAll(page, ready) {
  await page.locator("#compare-matrices, #next-step").waitFor({ state: "attached" });
  await page.evaluate(() => document.querySelector("#compare-matrices, #next-step").scrollIntoView({ behavior: "instant" }));
  await page.waitForSelector(ready, { state: "attached" });
}
test("the words panels have nothing serious for those who read otherwise, in both themes, and fit a phone", { skip }, async (t) => {
  for (const [hash, ready] of Object.values(views)) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await studio(t, hash, { colorScheme, ...(colorScheme === "dark" && { viewport: phone }) });
      await showAll(page, ready);
      await page.waitForFunction(() => !document.querySelector("[aria-busy]"));
      assert.deepEqual(await seriousViolations(page), [], `${hash}, ${colorScheme}`);
      if (colorScheme === "dark") assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= phone.width, hash);
      page.expectNothingWrong();
    }
  }
});
test("every language has all words of the words panels", { skip }, async (t) => {
  for (const [hash, ready] of Object.values(views)) {
    const page = await studio(t, hash);
    await showAll(page, ready);
    for (const lang of ["KO", "TR", "AZ", "EN"]) {
      await page.click(`#bar button:text-is("${lang}")`);
      await page.waitForFunction((code) => document.documentElement.lang === code, lang.toLowerCase());
      const left = /\b(studio|page|label|message|term|step|operation|role|place)\.[a-z_]+(\.\w+)?\b|\{\w+\}/.exec(await page.locator("#walk").innerText());
      assert.equal(left, null, `${hash}, ${lang}: ${left?.[0]}`);
    }
    page.expectNothingWrong();
  }
});
