// Makes the pictures of docs/studio.md again, each panel on a laptop, in the dark, on a phone and in Korean: HEADLIGHT_PROGRAM=… node docs/images/make-studio.mjs [PANEL…]. Needs chromium, studio/node_modules and cwebp (Debian's `webp`).
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
  train: ["panel=train", ".film-row canvas"],
  microscope: [`${worked}&panel=microscope&mode=map&head=decoder.0.self.1&rows=3`, ".tile-grid"],
  next_word: ["model=stories&panel=next_word&text=Anna%20has%20two&temperature=0.8&top_k=8&seed=1&step=5&off=decoder.1.self.1", "#next-step .lens", ".written"],
  compare: [`${worked}&panel=compare&against=run&look=encoder.0.self.scores`, "#compared .difference", "#compare-matrices"],
  lab: ["model=numbers&panel=lab&method=zero&head=decoder.0.self.5", "#lab-importance .head-cell", "#lab-importance"],
  lab_points: ["model=numbers&panel=lab&method=zero&head=decoder.0.self.5", ".scatter", "#lab-scatter"],
  lab_prune: ["model=numbers&panel=lab&keep=43", "#lab-bench", "#lab-prune"],
};
const kinds = { "": { viewport: laptop }, "-dark": { viewport: laptop, colorScheme: "dark" }, "-phone": { viewport: phone }, "-ko": { viewport: laptop, language: "ko" } };

// What the panel Train shows: a model that one click has trained.
async function trained() {
  const { page, close } = await openPage(browser, `${server.address}/#panel=train`);
  await page.click("#train-start");
  await page.locator(".look-at-it").waitFor({ timeout: 300_000 });
  await page.locator(".moment").last().click();
  const [link] = /job=.*$/.exec(page.url());
  await close();
  return link;
}

const asked = process.argv.slice(2);
const folder = mkdtempSync(`${tmpdir()}/studio-pictures-`);
const [server, browser] = await Promise.all([startServer(), startBrowser()]);
const isAsked = (name) => asked.length === 0 || asked.includes(name);

// What the lab shows is measured once.
async function measureHeads() {
  const { page, close } = await openPage(browser, `${server.address}/#model=numbers&panel=lab&keep=43`);
  page.setDefaultTimeout(120_000);
  for (const [click, awaited] of [["#lab-measure", ".scatter"], ["#patch-form .go", "#lab-patch .head-cell"], ["#curve-go", ".quality"], ["#make-real", "#bench-go"], ["#bench-go", "#lab-bench"]]) {
    await page.click(click);
    await page.waitForSelector(awaited);
  }
  await close();
}
if (isAsked("lab") || isAsked("lab_points") || isAsked("lab_prune")) await measureHeads();
if (isAsked("train")) panels.train[0] += `&${await trained()}`;

for (const [name, [hash, awaited, card]] of Object.entries(panels).filter(([name]) => isAsked(name))) {
  for (const [kind, { language = "en", ...options }] of Object.entries(kinds)) {
    const { page, close } = await openPage(browser, `${server.address}/#${hash}&lang=${language}`, options);
    await page.waitForSelector(awaited);
    if (name === "start" && kind === "-phone") await page.locator("#first").evaluate((one) => one.scrollIntoView({ block: "start", behavior: "instant" }));
    if (card) await page.locator(card).first().evaluate((one) => one.scrollIntoView({ block: "start", behavior: "instant" }));
    await page.waitForTimeout(800);
    await (name === "train" ? page.locator("#training") : page).screenshot({ path: `${folder}/picture.png` });
    execFileSync("cwebp", ["-quiet", "-q", "82", "-m", "6", `${folder}/picture.png`, "-o", `${here}studio-${name}${kind}.webp`]);
    await close();
  }
}
await browser.close();
await server.close();
rmSync(folder, { recursive: true, force: true });
