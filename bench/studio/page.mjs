// How fast the studio is, on this machine: HEADLIGHT_PROGRAM=… node bench/studio/page.mjs. Needs chromium and studio/node_modules. Models of GPT-2's shape with random weights are made for it:
// 12 layers for the map of heads, 2 for the map of 2,048 tokens, of which one head is looked at.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { writeGpt2Shaped } from "../../tests/browser/model_folders.mjs";
import { missing, openPage, startBrowser, startServer } from "../../tests/browser/studio.mjs";

const why = missing();
if (why) { console.error(`bench/studio/page.mjs: ${why}`); process.exit(1); }

const folder = mkdtempSync(`${tmpdir()}/studio-bench-`);
const words = "the quick brown fox jumps over a lazy dog while seven wizards box with jugs of liquid ";
function longText(tokens) { return words.repeat(Math.ceil(tokens / words.length)).slice(0, tokens); }
const median = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];
const rows = [];
// In milliseconds: the median, the least and the most.
function report(name, times, target) { rows.push([name, median(times), Math.min(...times), Math.max(...times), target]); }
async function timed(count, act) {
  const times = [];
  for (let i = 0; i < count; ++i) {
    const begin = performance.now();
    await act(i);
    times.push(performance.now() - begin);
  }
  return times;
}

writeGpt2Shaped(`${folder}/gpt2-shaped`);
writeGpt2Shaped(`${folder}/long`, { layers: 2, positions: 2048 });
const server = await startServer([`${folder}/gpt2-shaped`, `${folder}/long`]);
const ask = async (path, body) => {
  const answer = await fetch(server.address + path, body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {});
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};
const sentence = "When you play the game of thrones";
report("trace of the worked example", await timed(20, () => ask("/api/trace", { model: "worked", text: sentence })), 5);
const worked = await ask("/api/trace", { model: "worked", text: sentence });
report("terms of a cell", await timed(100, (i) => ask(`/api/trace/${worked.id}/cell?cell=encoder.0.self.head.${i % 2}.scores[${i % 7},${i % 5}]`)), 16);
report("trace of 12 × 12 heads, 512 tokens", await timed(3, () => ask("/api/trace", { model: "gpt2-shaped", text: longText(512), continue: 0 })));
const traced = await ask("/api/trace", { model: "gpt2-shaped", text: longText(512), continue: 0 });
report("map of 12 × 12 heads, 512 tokens", await timed(5, () => ask(`/api/trace/${traced.id}/heads`)), 1000);

const browser = await startBrowser();
const paints = [];
for (let i = 0; i < 9; ++i) {
  const { page, close } = await openPage(browser, `${server.address}/`);
  await page.waitForSelector("#train");
  paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
  await close();
}
report("first paint", paints, 300);

const walk = await openPage(browser, `${server.address}/#panel=walk&model=worked`);
await walk.page.waitForSelector("#step-7 table.matrix");
for (const lang of ["KO", "TR", "AZ", "EN"]) await walk.page.click(`#bar button:text-is("${lang}")`);  // texts are here
report("another language", await walk.page.evaluate(() => ["KO", "TR", "AZ", "EN", "KO", "EN"].map((lang) => {
  const begin = performance.now();
  [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang).click();
  document.body.getBoundingClientRect();
  return performance.now() - begin;
})), 200);
await walk.close();

const long = await openPage(browser, `${server.address}/#${new URLSearchParams({ panel: "microscope", mode: "map", model: "long", text: longText(2048) })}`);
await long.page.waitForSelector(".tile-grid", { timeout: 300_000 });
await long.page.locator("canvas.tiles").evaluate((one) => one.scrollIntoView({ block: "center", behavior: "instant" }));
for (let i = 0; i < 4; ++i) await long.page.click(".tile-tools button:nth-child(2)");
await long.page.waitForTimeout(1500);
const box = await long.page.locator("canvas.tiles").boundingBox();
const longest = [];
for (let round = 0; round < 5; ++round) {
  await long.page.evaluate(() => { const frames = (globalThis.frames = []); let last = performance.now(); const next = (now) => { frames.push(now - last); last = now; if (globalThis.frames === frames) requestAnimationFrame(next); }; requestAnimationFrame(next); });
  await long.page.mouse.move(box.x + box.width - 20, box.y + box.height - 20);
  await long.page.mouse.down();
  for (let i = 0; i < 60; ++i) await long.page.mouse.move(box.x + box.width - 20 - 10 * (i % 50), box.y + box.height - 20 - 8 * (i % 40));
  await long.page.mouse.up();
  longest.push(Math.max(...(await long.page.evaluate(() => globalThis.frames.splice(2)))));
}
report("longest frame while panning 2,048 tokens", longest, 33);
if (long.wrong.length > 0) console.error(long.wrong);

console.log("| what | median | least | most | target |\n|---|---|---|---|---|");
for (const [what, middle, least, most, target] of rows) console.log(`| ${what} | ${middle.toFixed(1)} ms | ${least.toFixed(1)} | ${most.toFixed(1)} | ${target === undefined ? "" : `${target} ms`} |`);
await browser.close();
await server.close();
rmSync(folder, { recursive: true, force: true });
