// Makes the pictures of docs/studio.md again, each panel on a laptop, in the dark, on a phone and in Korean: HEADLIGHT_PROGRAM=… node docs/images/make-studio.mjs. Needs chromium, studio/node_modules and cwebp (Debian's `webp`).
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { laptop, openPage, phone, startBrowser, startServer } from "../../tests/browser/studio.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const worked = "model=worked&train=1&text=When%20you%20play%20the%20game%20of%20thrones";
const panels = {
  start: [`${worked}&panel=start`, ".first .beams"],
  walk: [`${worked}&panel=walk&cell=encoder.0.self.head.1.scores[3,5]`, "#why .value"],
  heads: ["model=numbers&panel=heads", ".thumb"],
  microscope: [`${worked}&panel=microscope&mode=map&head=decoder.0.self.1&rows=3`, ".tile-grid"],
};
const kinds = { "": { viewport: laptop }, "-dark": { viewport: laptop, colorScheme: "dark" }, "-phone": { viewport: phone }, "-ko": { viewport: laptop, language: "ko" } };

const folder = mkdtempSync(`${tmpdir()}/studio-pictures-`);
const [server, browser] = await Promise.all([startServer(), startBrowser()]);
for (const [name, [hash, awaited]] of Object.entries(panels)) {
  for (const [kind, { language = "en", ...options }] of Object.entries(kinds)) {
    const { page, close } = await openPage(browser, `${server.address}/#${hash}&lang=${language}`, options);
    await page.waitForSelector(awaited);
    if (name === "start") await page.locator("#first").evaluate((one) => one.scrollIntoView({ block: "start", behavior: "instant" }));
    await page.waitForTimeout(800);
    await page.screenshot({ path: `${folder}/picture.png` });
    execFileSync("cwebp", ["-quiet", "-q", "82", "-m", "6", `${folder}/picture.png`, "-o", `${here}studio-${name}${kind}.webp`]);
    await close();
  }
}
await browser.close();
await server.close();
rmSync(folder, { recursive: true, force: true });
