// A server that asks for a key: the page asks the reader for it, sends it, and never writes it into a link.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { tmpdir } from "node:os";
import { missing, openPage, seriousViolations, startBrowser, startServer } from "./studio.mjs";

const skip = missing() ?? false;
const key = "sk-for-this-test-1";
let server, browser, folder;
before(async () => {
  if (skip) return;
  folder = mkdtempSync(`${tmpdir()}/access-`);
  writeFileSync(`${folder}/key`, `${key}\n`);
  [server, browser] = await Promise.all([startServer([], ["--api-key-file", `${folder}/key`]), startBrowser()]);
});
after(async () => { await browser?.close(); await server?.close(); if (folder) rmSync(folder, { recursive: true, force: true }); });

// Refusals are part of it: the browser tells them on its console.
const unexpected = (wrong) => wrong.filter((one) => !/401/.test(one));

test("the page asks for the key, once more when it is wrong, and then shows all", { skip }, async () => {
  assert.equal((await fetch(`${server.address}/api/models`)).status, 401);
  const { page, wrong, close } = await openPage(browser, `${server.address}/#panel=walk&lang=tr`);
  await page.waitForSelector("#key input");
  assert.match(await page.locator("#key").innerText(), /anahtar/);
  assert.deepEqual(await seriousViolations(page), []);
  await page.fill("#key input", "wrong");
  await page.press("#key input", "Enter");
  await page.waitForSelector("#key [role=alert]");
  await page.fill("#key input", key);
  await page.press("#key input", "Enter");
  await page.waitForSelector("#step-7 table.matrix");
  assert.equal(await page.locator("#key").count(), 0);
  assert.ok(!page.url().includes(key));
  await page.click(".export summary");
  for (const form of ["html", "safetensors"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`.export [data-form="${form}"]`)]);
    assert.ok(readFileSync(await download.path()).length > 1000, form);
  }
  await page.reload();
  await page.waitForSelector("#step-7 table.matrix");
  assert.deepEqual(unexpected(wrong), []);
  await close();
});

test("the page opens where the browser keeps nothing for it", { skip }, async () => {
  const forbid = (page) => page.addInitScript(() => Object.defineProperty(globalThis, "sessionStorage", { get() { throw new DOMException("", "SecurityError"); } }));
  const { page, wrong, close } = await openPage(browser, `${server.address}/#panel=heads&api_key=${key}`, { prepare: forbid });
  await page.waitForSelector(".thumb");
  assert.deepEqual(wrong, []);
  await close();
});

test("a key in the address is taken out of it, and opens the page without a question", { skip }, async () => {
  const { page, wrong, close } = await openPage(browser, `${server.address}/#panel=heads&api_key=${key}`);
  await page.waitForSelector(".thumb");
  assert.ok(!page.url().includes(key), page.url());
  assert.ok(!(await page.content()).includes(key));
  assert.ok(!server.said().includes(key));
  assert.deepEqual(wrong, []);
  await close();
});
