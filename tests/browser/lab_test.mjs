// The heads lab in a real browser: what it shows is what `headlight heads … --json` says of the same model and examples.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { engine, missing, openPage, phone, root, seriousViolations, startBrowser, startServer } from "./studio.mjs";

const skip = missing() ?? false;
const sorter = [process.env.HEADLIGHT_SHARED ?? `${root}../shared`].map((one) => `${one}/data/gpt-nano-sort`).find((one) => existsSync(`${one}/model.safetensors`));
let server, browser, folder;
before(async () => { if (!skip) [server, browser, folder] = [...(await Promise.all([startServer(["numbers", "repeats", "stories", "thrones", ...(sorter ? [sorter] : [])]), startBrowser()])), mkdtempSync(`${tmpdir()}/lab-`)]; });
after(async () => { await browser?.close(); await server?.close(); if (folder) rmSync(folder, { recursive: true, force: true }); });

async function lab(t, hash, options = {}) {
  const opened = await openPage(browser, `${server.address}/#panel=lab&${hash}`, options);
  t.after(() => opened.close());
  opened.page.expectNothingWrong = () => assert.deepEqual(opened.wrong, []);
  await opened.page.waitForSelector("#lab-kept details, #lab .next-steps");
  return opened.page;
}
const told = (...words) => JSON.parse(engine("heads", ...words, "--json"));
// The text that the page measures on, as a file for the command.
async function dataFile(page, name) {
  const path = `${folder}/${name}.txt`;
  writeFileSync(path, await page.locator('textarea[name="data_text"]').inputValue());
  return path;
}
const cells = (page, card) => page.locator(`#lab-${card} .head-cell[data-head]`).evaluateAll((all) => Object.fromEntries(all.map((one) => [one.dataset.head, one.dataset.value === undefined ? null : Number(one.dataset.value)])));
const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-9 + 1e-6 * Math.abs(b), `${what}: ${a} and ${b}`);
function same(shown, heads, value) {
  assert.deepEqual(Object.keys(shown).sort(), heads.map((one) => one.head).sort());
  for (const one of heads) near(shown[one.head], one[value], one.head);
}
async function measured(page) {
  await page.click("#lab-measure");
  await page.waitForSelector("#lab-scatter .scatter");
}
const atRest = (page) => page.waitForFunction(() => !document.querySelector(".at-work, .waiting[aria-busy]"));
const method = (page, name) => page.click(`#lab-importance .choice button:text-is("${name}")`);

test("one click measures the heads of an encoder-decoder, as the command does", { skip }, async (t) => {
  const page = await lab(t, "model=numbers");
  await measured(page);
  same(await cells(page, "importance"), told("score", "numbers", "--examples", "32").heads, "gradient");
  await method(page, "Ablation: zero");
  const ablated = told("ablate", "numbers", "--examples", "32");
  same(await cells(page, "importance"), ablated.heads, "change");
  assert.equal(Object.keys(await cells(page, "importance")).length, 72);
  assert.deepEqual(await page.locator("#lab-importance figcaption").allInnerTexts(), ["Encoder", "Decoder", "Cross-attention"]);
  // A cell says its number and is the choice of every panel.
  await page.click('#lab-importance [data-head="decoder.1.cross.3"]');
  const detail = await page.locator('#lab-head tr[data-method="zero"] td').allInnerTexts();
  const change = ablated.heads.find((one) => one.head === "decoder.1.cross.3").change;
  assert.equal(Number(detail[0].replace("−", "-")), Number(change.toPrecision(3)));
  assert.equal(detail[1], `${1 + ablated.heads.filter((one) => one.change > change).length} / 72`);
  assert.equal(await page.locator('.scatter [aria-pressed="true"]').getAttribute("data-head"), "decoder.1.cross.3");
  assert.match(page.url(), /head=decoder\.1\.cross\.3/);
  await page.click('[data-panel="microscope"]');
  await page.waitForSelector(".scope");
  assert.match(page.url(), /head=decoder\.1\.cross\.3/);
  page.expectNothingWrong();
});

test("a text, mean and resampled ablation, gates and attribution give the command's numbers", { skip }, async (t) => {
  const page = await lab(t, "model=repeats");
  const data = await dataFile(page, "repeats");
  await measured(page);
  same(await cells(page, "importance"), told("score", "repeats", "--data", data, "--examples", "32").heads, "gradient");
  for (const [name, by] of [["Ablation: mean", "mean"], ["Ablation: other example", "resample"]]) {
    await method(page, name);
    await page.waitForFunction((words) => document.querySelector("#lab-importance .head-cell") && document.querySelector("#lab-importance .choice [aria-pressed=true]")?.textContent === words, name);
    await atRest(page);
    same(await cells(page, "importance"), told("ablate", "repeats", "--data", data, "--examples", "32", "--by", by).heads, "change");
  }
  await method(page, "Attribution");
  await page.waitForSelector("#lab-importance .head-cell");
  await page.fill('#lab-importance input[name="word"]', "mi");
  await page.fill('#lab-importance input[name="against"]', "tu");
  await page.click("#lab-importance .go");
  await page.waitForFunction(() => document.querySelector("#lab-importance .lab-summary")?.textContent.includes("tu"));
  const parts = told("attribute", "repeats", "--prompt", "ka lo mi tu se ka lo", "--word", "mi", "--against", "tu").parts.filter((one) => one.kind === "head");
  same(await cells(page, "importance"), parts.map((one) => ({ head: one.part, value: one.value })), "value");
  await method(page, "Gates");
  await page.waitForFunction(() => document.querySelector("#lab-importance .lab-summary")?.textContent.startsWith("Gates"));
  const gates = told("gates", "repeats", "--data", data, "--examples", "32", "--penalty", "0.05", "--steps", "100", "--out", `${folder}/gates`);
  same(await cells(page, "importance"), gates.heads, "probability");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click('[data-keep="heads"]')]);
  const [heading, ...lines] = readFileSync(await download.path()).toString().trim().split("\n");
  assert.equal(heading, "head,gradient,zero,mean,resample,gates,attribute");
  assert.equal(lines.length, 8);
  page.expectNothingWrong();
});

test("the points are gradient against ablation, and keys lead from one to the next", { skip }, async (t) => {
  const page = await lab(t, "model=repeats");
  await measured(page);
  const label = (head) => page.locator(`.scatter [data-head="${head}"]`).getAttribute("aria-label");
  const data = await dataFile(page, "again");
  const scored = told("score", "repeats", "--data", data, "--examples", "32").heads;
  for (const one of scored) assert.ok((await label(one.head)).includes(`Gradient ${Number(one.gradient.toPrecision(3))}`), await label(one.head));
  // Rank correlation, computed the plain way.
  await method(page, "Ablation: zero");
  const ablated = told("ablate", "repeats", "--data", data, "--examples", "32").heads;
  const rank = (list, value) => list.filter((one) => one < value).length;
  const [x, y] = [scored.map((one) => rank(scored.map((other) => other.gradient), one.gradient)), ablated.map((one) => rank(ablated.map((other) => other.change), one.change))];
  const squares = x.reduce((sum, one, i) => sum + (one - y[i]) ** 2, 0);
  const correlation = 1 - (6 * squares) / (8 * 63);
  assert.equal(Number((await page.locator(".lab-correlation b").innerText()).replace("−", "-")), Number(correlation.toPrecision(2)));
  const order = [...scored].sort((a, b) => a.gradient - b.gradient).map((one) => one.head);
  await page.focus(`.scatter [data-head="${order[3]}"]`);
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.head), order[4]);
  assert.match(await page.locator("#scatter-said").innerText(), new RegExp(order[4].replaceAll(".", "\\.")));
  await page.keyboard.press("Enter");
  assert.equal(await page.locator('#lab-importance [aria-selected="true"]').getAttribute("data-head"), order[4]);
  await page.keyboard.press("]");
  assert.equal(await page.locator('#lab-importance [aria-selected="true"]').getAttribute("data-head"), scored[(scored.findIndex((one) => one.head === order[4]) + 1) % 8].head);
  page.expectNothingWrong();
});

test("patching shows what each head restores, as a whole and at each position", { skip }, async (t) => {
  const page = await lab(t, "model=repeats");
  const words = ["patch", "repeats", "--clean", "ra lo ka mi tu se vo ka", "--corrupt", "ra lo be mi tu se vo ka", "--word", "mi", "--against", "tu"];
  await page.click("#patch-form .go");
  await page.waitForSelector("#lab-patch .head-cell");
  const patched = told(...words);
  same(await cells(page, "patch"), patched.whole_heads, "restored");
  await page.click('#lab-patch [data-head="decoder.1.self.1"]');
  const shown = await page.locator("#patch-positions .digits").allInnerTexts();
  const own = patched.heads.filter((one) => one.head === "decoder.1.self.1");
  assert.deepEqual(shown.map((one) => Number(one.replace("−", "-"))), own.map((one) => Number(one.restored.toPrecision(2))));
  await page.waitForFunction(() => /patch%3Aj\d+/.test(location.hash));
  const link = new URL(page.url()).hash.slice(1);
  await page.click('#lab-patch .choice button:text-is("Estimated")');
  same(await cells(page, "patch"), patched.whole_heads, "estimated");
  await page.click('#patch-form .choice button:has-text("Corrupted into clean")');
  await page.waitForFunction(() => document.querySelector("#lab-patch .lab-summary")?.textContent.includes("is left"));
  same(await cells(page, "patch"), told(...words, "--direction", "corrupt-into-clean").whole_heads, "estimated");
  // A link holds its own experiment, not the newest one.
  const first = await lab(t, link);
  await first.waitForSelector("#lab-patch .head-cell");
  same(await cells(first, "patch"), patched.whole_heads, "restored");
  assert.equal(first.url(), `${server.address}/#${link}`);
  assert.match(await first.locator("#patch-form .choice [aria-pressed=true]").innerText(), /^Clean into corrupted/);
  first.expectNothingWrong();
  // What the server refuses stands beside its field.
  await page.fill('#patch-form input[name="word"]', "zzzz");
  await page.click("#patch-form .go");
  await page.waitForFunction(() => document.querySelector('#patch-form small[data-field="word"]')?.textContent.includes("zzzz"));
  assert.equal(await page.locator('#patch-form input[name="word"]').getAttribute("aria-invalid"), "true");
  await page.fill('input[name="examples"]', "0");
  await page.evaluate(() => { document.getElementById("examples-form").noValidate = true; });
  const refused = page.waitForResponse((one) => one.status() === 400);
  await page.click("#lab-measure");
  await refused;
  await page.waitForFunction(() => document.querySelector('#examples-form small[data-field="examples"]')?.textContent.includes("100000"));
});

test("the slider reads the curve; the smaller model is made real, timed, opened and compared", { skip }, async (t) => {
  const page = await lab(t, "model=repeats");
  const data = await dataFile(page, "curve");
  await page.click("#curve-go");
  await page.waitForSelector(".quality");
  const shares = Array.from({ length: 9 }, (_, i) => i / 8).join(",");
  const curves = told("curve", "repeats", "--data", data, "--examples", "32", "--methods", "gradient,ablation,random", "--types", "all", "--finetune", "0", "--random-orders", "5", "--shares", shares).curves;
  const row = (name) => page.locator(`.kept-table tr[data-method="${name}"] td`).innerText();
  const at = (name, kept) => curves.find((one) => one.method === name).points.find((point) => point.heads === 8 - kept);
  const digits = (x) => String(Number(x.toPrecision(3)));
  await page.focus('input[name="keep"]');
  for (const kept of [4, 5, 6]) {
    if (kept > 4) await page.keyboard.press("ArrowRight");
    for (const name of ["gradient", "ablation"]) assert.equal(await row(name), digits(at(name, kept).quality), `${name}, ${kept}`);
    const random = at("random", kept);
    assert.equal(await row("random"), `${digits(random.quality)} (${digits(random.low)} – ${digits(random.high)})`);
  }
  assert.match(page.url(), /keep=6/);
  await page.click('#prune-form .choice button:text-is("ablation")');
  await page.click("#make-real");
  await page.waitForSelector("#open-real");
  const pruned = told("prune", "repeats", "--data", data, "--examples", "32", "--keep", "0.75", "--by", "ablation", "--out", `${folder}/pruned`);
  const summary = await page.locator(".lab-real .lab-summary").innerText();
  assert.ok(summary.includes("6 of 8") && summary.includes(digits(pruned.before.loss)) && summary.includes(digits(pruned.pruned.loss)), summary);
  const model = await page.locator("#real-model").innerText();
  assert.ok((await page.locator("#model option").allInnerTexts()).includes(model), model);
  assert.ok((await (await fetch(`${server.address}/api/models`)).json()).models.some((one) => one.id === model && one.source === "job"));
  await page.click("#bench-go");
  await page.waitForSelector("#lab-bench .bench-table");
  const rows = await page.locator("#lab-bench tbody tr").evaluateAll((all) => all.map((one) => [...one.children].map((cell) => cell.textContent)));
  const bench = (await (await fetch(`${server.address}/api/jobs/${/bench%3A(j\d+)/.exec(page.url())[1]}`)).json()).result.rows;
  assert.deepEqual(rows.map((one) => one.slice(0, 4)), bench.map((one) => [String(one.batch), String(one.tokens), `${Number(one.bound.toPrecision(2))}×`, `${Number(one.measured.toPrecision(2))}×`]));
  assert.deepEqual([...new Set(bench.map((one) => one.bound))].length > 0, true);
  // The same view from its link.
  const again = await lab(t, new URL(page.url()).hash.slice(1));
  await again.waitForSelector("#lab-bench .bench-table");
  await atRest(again);
  for (const id of ["lab-examples", "lab-importance", "lab-scatter", "lab-patch", "lab-prune"]) assert.equal(await again.locator(`#${id}`).innerText(), await page.locator(`#${id}`).innerText(), id);
  assert.equal(await again.locator('input[name="keep"]').inputValue(), "6");
  assert.equal(again.url(), page.url());
  await page.click("#compare-real");
  await page.waitForSelector(".difference.first");
  assert.match(page.url(), new RegExp(`panel=compare.*against=model&other=${model}`));
  await again.click("#open-real");
  await again.waitForSelector(".thumb");
  assert.match(again.url(), new RegExp(`panel=heads&model=${model}`));
  assert.equal(await again.locator(".thumb").count(), 6);
  page.expectNothingWrong();
  again.expectNothingWrong();
});

test("what runs shows how far it is, can be stopped, and is found again by another page", { skip }, async (t) => {
  const page = await lab(t, "model=numbers");
  await page.fill('input[name="examples"]', "2000");
  await page.click("#lab-measure");
  await page.waitForSelector("#lab-scatter .at-work progress");
  await page.waitForFunction(() => /zero%3Aj\d+/.test(location.hash));
  const other = await lab(t, new URL(page.url()).hash.slice(1));
  await other.waitForSelector("#lab-scatter .at-work[data-purpose=zero]");
  const stopped = /zero%3A(j\d+)/.exec(page.url())[1];
  await page.click('#lab-scatter .at-work[data-purpose="zero"] button');
  await page.waitForFunction(() => !/zero%3A/.test(location.hash));
  const isKept = async () => (await (await fetch(`${server.address}/api/jobs`)).json()).jobs.some((one) => one.id === stopped);
  for (let i = 0; i < 50 && (await isKept()); ++i) await new Promise((done) => setTimeout(done, 100));
  assert.equal(await isKept(), false);
  page.expectNothingWrong();
});

test("the tiny worked model leads to one that jobs can keep", { skip }, async (t) => {
  const page = await lab(t, "model=worked");
  await page.click('#lab .next-steps button:text-is("thrones")');
  await page.waitForSelector("#lab-measure");
  await measured(page);
  const data = await dataFile(page, "thrones");
  same(await cells(page, "importance"), told("score", "thrones", "--data", data, "--examples", "32").heads, "gradient");
  await page.click("#curve-go");
  await page.waitForSelector(".quality");
  page.expectNothingWrong();
});

test("a model without a tokenizer is measured on ids", { skip: skip || (sorter ? false : "gpt-nano-sort is not here") }, async (t) => {
  const page = await lab(t, "model=gpt-nano-sort&text=2%200%201%202%200%201");
  const file = async (name) => { const path = `${folder}/${name}.csv`; writeFileSync(path, await page.locator(`textarea[name="${name}_text"]`).inputValue()); return path; };
  const given = ["--ids", await file("ids"), "--targets", await file("targets"), "--examples", "32"];
  await measured(page);
  same(await cells(page, "importance"), told("score", sorter, ...given).heads, "gradient");
  await method(page, "Ablation: zero");
  const ablated = told("ablate", sorter, ...given);
  same(await cells(page, "importance"), ablated.heads, "change");
  assert.equal(ablated.exact_match, 1);
  await page.click("#patch-form .go");
  await page.waitForSelector("#lab-patch .head-cell");
  same(await cells(page, "patch"), told("patch", sorter, "--clean", "0,2,1,0,2,1,0,0", "--corrupt", "0,2,1,0,2,0,0,0", "--word", "1", "--against", "0").whole_heads, "restored");
  await page.click("#curve-go");
  await page.waitForSelector(".quality");
  await method(page, "Attribution");
  await page.waitForSelector("#lab-importance .lab-summary:has-text('Logit')");
  page.expectNothingWrong();
});

test("the lab has nothing serious for those who read otherwise, fits a phone, and has all its words in every language", { skip }, async (t) => {
  for (const options of [{}, { colorScheme: "dark", viewport: phone }]) {
    const page = await lab(t, "model=repeats", options);
    await page.waitForSelector("#lab-bench .bench-table");
    await page.waitForSelector("#lab-patch .head-cell");
    await page.click("#lab-kept summary");
    await page.waitForSelector(".kept-jobs li");
    assert.deepEqual(await seriousViolations(page), []);
    assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= page.viewportSize().width);
    if (options.viewport) continue;
    for (const lang of ["KO", "TR", "AZ", "EN"]) {
      await page.click(`#bar button:text-is("${lang}")`);
      await page.waitForFunction((code) => document.documentElement.lang === code, lang.toLowerCase());
      const left = /\b(studio|page|label|message|term|step|operation|role|place|experiment)\.[a-z_]+(\.\w+)?\b|\{\w+\}/.exec(await page.locator("#walk").innerText());
      assert.equal(left, null, `${lang}: ${left?.[0]}`);
    }
    page.expectNothingWrong();
  }
});
