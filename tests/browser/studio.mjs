// A browser with the studio in it: the page of `headlight serve`, watched for errors and for requests that leave the machine.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const program = process.env.HEADLIGHT_PROGRAM ?? `${root}build/release/apps/cli/headlight`;
const require = createRequire(`${root}studio/package.json`);

// Why these tests cannot be had here; undefined: they can.
export function missing() {
  if (!existsSync("/usr/bin/chromium")) return "chromium is not installed";
  if (!existsSync(`${root}studio/node_modules/playwright-core`)) return "studio/node_modules is not there: npm ci in studio/";
  if (!existsSync(program)) return `${program} is not there`;
  return undefined;
}
export function engine(...words) { return execFileSync(program, words, { maxBuffer: 2 ** 30, stdio: ["ignore", "pipe", "pipe"] }).toString(); }

// `headlight serve` on a free port, with its jobs in a folder of its own; what it wrote is in `said()`.
export async function startServer(models = [], options = []) {
  const work = mkdtempSync(`${tmpdir()}/studio-`);
  const child = spawn(program, ["serve", ...models, "--port", "0", "--work", work, ...options], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((done) => child.on("exit", done));
  let said = "";
  const address = await new Promise((done, fail) => {
    const read = (part) => { said += part; const found = /http:\/\/[\d.]+:\d+/.exec(said); if (found) done(found[0]); };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", () => fail(new Error(said)));
  });
  return { address, work, pid: child.pid, said: () => said, async close() { child.kill("SIGTERM"); await ended; rmSync(work, { recursive: true, force: true }); } };
}

// Tensors of a safetensors file by name: of 32-bit floats, or ids.
export function readSafetensors(file) {
  const length = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.subarray(8, 8 + length).toString());
  const kinds = { F32: Float32Array, I64: BigInt64Array, BOOL: Uint8Array, F64: Float64Array };
  return new Map(Object.entries(header).filter(([name]) => name !== "__metadata__").map(([name, { dtype, shape, data_offsets: [from, to] }]) =>
    [name, { shape, values: new kinds[dtype](Uint8Array.from(file.subarray(8 + length + from, 8 + length + to)).buffer) }]));
}

export async function startBrowser() { return require("playwright-core").chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] }); }

export const laptop = { width: 1280, height: 800 };
export const larger = { width: 1440, height: 900 };
export const phone = { width: 390, height: 844 };

// A page at `address`, and what went wrong in it: errors on the console, requests to other hosts. `prepare` gets the page before it goes there.
// HEADLIGHT_PAGE=studio/dist: the page of that folder instead of the one in the program.
export async function openPage(browser, address, { viewport = laptop, colorScheme = "light", locale = "en-US", prepare } = {}) {
  const context = await browser.newContext({ viewport, colorScheme, locale, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const wrong = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
  const own = address.startsWith("file:") ? address : new URL(address).origin;
  page.on("request", (request) => { if (!request.url().startsWith(own) && !/^(data|blob):/.test(request.url())) wrong.push(`request: ${request.url()}`); });
  if (process.env.HEADLIGHT_PAGE) await page.route(/\/(studio\.(js|css))?$/, (route) => route.fulfill({ path: `${process.env.HEADLIGHT_PAGE}/${new URL(route.request().url()).pathname.slice(1) || "studio.html"}` }));
  await prepare?.(page);
  await page.goto(address);
  return { page, wrong, close: () => context.close() };
}

// What axe finds that is serious or worse: on the whole page, or in some parts of it.
export async function seriousViolations(page, parts) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate((include) => globalThis.axe.run(include ? { include } : document, { resultTypes: ["violations"] }), parts?.map((one) => [one]));
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

// All of a panel is there: what stands far below is fetched when it is scrolled to.
export async function atRest(page) {
  await page.waitForFunction(() => {
    const waiting = document.querySelector("#walk [aria-busy], .sentence-bar[aria-busy]");
    waiting?.scrollIntoView({ block: "center", behavior: "instant" });
    return !waiting;
  });
}
export async function box(locator) { const found = await locator.boundingBox(); return found ?? { x: -1, y: -1, width: 0, height: 0 }; }
