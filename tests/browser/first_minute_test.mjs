// The first minute as a newcomer has it: the program without arguments at a terminal, the browser that it opens, and two clicks.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { tmpdir } from "node:os";
import { missing, openPage, program, startBrowser } from "./studio.mjs";

const skip = missing() ?? (existsSync("/usr/bin/script") ? false : "script, which gives a terminal, is not installed");
let browser, folder, terminal;
before(async () => { if (!skip) { browser = await startBrowser(); folder = mkdtempSync(`${tmpdir()}/first-minute-`); } });
after(async () => { await browser?.close(); terminal?.kill("SIGTERM"); if (folder) rmSync(folder, { recursive: true, force: true }); });

// The address that the program opens in the browser.
async function openedAddress() {
  writeFileSync(`${folder}/browser`, `#!/bin/sh\nprintf %s "$1" > ${folder}/opened.new && mv ${folder}/opened.new ${folder}/opened\n`);
  chmodSync(`${folder}/browser`, 0o755);
  const { SSH_CONNECTION, ...rest } = process.env;
  terminal = spawn("script", ["-qfec", `'${program}'`, "/dev/null"], { stdio: ["pipe", "ignore", "ignore"], env: { ...rest, BROWSER: `${folder}/browser`, XDG_CACHE_HOME: `${folder}/cache`, LC_ALL: "C.UTF-8" } });
  for (let i = 0; i < 1200 && !existsSync(`${folder}/opened`); ++i) await new Promise((done) => setTimeout(done, 50));
  return readFileSync(`${folder}/opened`, "utf8");
}

test("from the program's start two clicks lead to the sentence and the lit heads", { skip }, async (t) => {
  const address = await openedAddress();
  // Clicks and keys are counted where they arrive.
  const count = (page) => page.addInitScript(() => { globalThis.acts = 0; for (const kind of ["click", "keydown"]) addEventListener(kind, () => { ++globalThis.acts; }, true); });
  const { page, wrong, close } = await openPage(browser, address, { prepare: count });
  await page.waitForSelector("#train");
  assert.ok(!(await page.locator("#first").innerText()).includes("you win or you die"), "it knows the sentence before it has learned");
  assert.equal(await page.locator("#first .heads svg path").count(), 0, "heads are lit before it has learned");
  await page.click("#train");
  await page.waitForSelector(".learned");
  assert.match(await page.locator(".learned").innerText(), /you win or you die/);
  await page.waitForSelector("#first .heads svg path", { state: "attached" });
  const lit = await page.locator("#first .beams path, #first .heads svg path").evaluateAll((all) => all.filter((one) => { const seen = one.getBoundingClientRect(); return seen.width + seen.height > 0; }).length);
  assert.ok(lit >= 5, `${lit} lines`);
  const clicks = await page.evaluate(() => globalThis.acts);
  t.diagnostic(`${clicks} clicks`);
  assert.ok(clicks <= 2, `${clicks} clicks`);
  assert.deepEqual(wrong, []);
  await close();
});
