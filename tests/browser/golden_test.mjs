// The page reads the answers that the server's tests keep in tests/golden/studio: both sides are held to the same form.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { missing, openPage, root, startBrowser, startServer } from "./studio.mjs";

const folder = `${root}tests/golden/studio`;
const skip = missing() ?? (existsSync(folder) ? false : "tests/golden/studio is not there");
const golden = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));
let server, browser;
before(async () => { if (!skip) [server, browser] = await Promise.all([startServer(), startBrowser()]); });
after(async () => { await browser?.close(); await server?.close(); });

test("answers of the server's tests are what the page shows", { skip }, async () => {
  const { page, close } = await openPage(browser, `${server.address}/icon.svg`);
  const answers = [[/\/api\/models$/, "models"], [/\/api\/trace$/, "trace"], [/\/cell\?/, "cell"], [/\/edges\?/, "edges"], [/\/heads\?/, "heads"], [/\/api\/predict$/, "predict"], [/\/api\/lessons\?/, "lessons"]];
  for (const [pattern, name] of answers) await page.route(pattern, (route) => route.fulfill({ json: golden(name) }));
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.stack));
  const [trace, heads, edges, cell] = ["trace", "heads", "edges", "cell"].map(golden);
  // Its numbers come from the same trace here.
  const asked = await fetch(`${server.address}/api/trace`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: trace.source }) });
  const own = (await asked.json()).id;
  await page.route(/\/tensors\?/, (route) => route.continue({ url: route.request().url().replace(trace.id, own) }));
  await page.goto(`${server.address}/#panel=walk&model=worked&text=${encodeURIComponent(trace.source)}`);
  await page.waitForSelector(".card[data-step]");
  assert.equal(await page.locator(".card[data-step]").count(), trace.steps.length);
  assert.deepEqual(await page.evaluate(() => headlight.run().tensors.map((one) => one.name)), trace.runs.at(-1).tensors.map((one) => one.name));
  await page.evaluate((name) => headlight.askWhy(headlight.cellOf(name)), cell.cell);
  await page.waitForSelector("#why .terms");
  assert.equal(await page.locator("#why .terms tr").count() - 1, cell.terms.length);
  await page.click('[data-panel="heads"]');
  await page.waitForSelector(".thumb");
  assert.equal(await page.locator(".thumb").count(), heads.heads.length);
  await page.click('[data-panel="microscope"]');
  await page.waitForSelector("#microscope svg path", { state: "attached" });
  assert.equal(await page.locator("#microscope svg path").count(), edges.edges.length);
  assert.deepEqual(errors, []);
  await close();
});
