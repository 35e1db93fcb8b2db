// The studio in a real browser, by keyboard and mouse; what it shows is compared with what the command line prints.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { atRest, box, engine, laptop, larger, missing, openPage, phone, readSafetensors, seriousViolations, startBrowser, startServer } from "./studio.mjs";

const skip = missing() ?? false;
const sentence = "When you play the game of thrones";
const target = "you win or you die";
let server, browser;
before(async () => { if (!skip) [server, browser] = await Promise.all([startServer(), startBrowser()]); });
after(async () => { await browser?.close(); await server?.close(); });

async function studio(t, hash = "", options = {}) {
  const opened = await openPage(browser, `${server.address}/${hash}`, options);
  t.after(async () => { await opened.close(); });
  opened.page.wrong = opened.wrong;
  opened.page.expectNothingWrong = () => assert.deepEqual(opened.wrong, []);
  return opened.page;
}
const trained = `#model=worked&train=1&text=${encodeURIComponent(sentence)}`;
const cellName = (page) => page.locator("#why .cell-name").textContent();

test("two clicks lead from a cold start to the sentence and the lit heads", { skip }, async (t) => {
  const page = await studio(t);
  await page.waitForSelector("#train");
  const before = await page.locator(".talk").textContent();
  assert.ok(!before.includes(target), before);
  let clicks = 0;
  await page.click("#train");
  ++clicks;
  await page.waitForSelector(".learned");
  assert.ok((await page.locator(".learned").textContent()).includes(target));
  await page.waitForSelector(".first .beams path", { state: "attached" });
  assert.ok((await page.locator(".first .head svg path").count()) > 4, "heads are not drawn");
  assert.ok(clicks <= 2);
  assert.equal(await page.locator(".lesson-card").count(), 5);
  const languages = await page.locator(".lesson-card").evaluateAll((cards) => cards.map((card) => card.lang));
  const titles = await page.locator(".lesson-card b").allTextContents();
  for (const [i, lang] of languages.entries()) {
    const listed = JSON.parse(engine("lesson", "--json", "--lang", lang)).lessons.map((one) => one.title);
    assert.ok(listed.includes(titles[i]), `${titles[i]} is not its title in ${lang}`);
  }
  page.expectNothingWrong();
});

test("the first screen speaks of its own model while another one is open", { skip }, async (t) => {
  const page = await studio(t, "#model=repeats&text=ka%20lo%20mi%20ka&panel=heads");
  await page.waitForSelector(".thumb");
  await page.click(".brand");
  await page.waitForSelector("#first-sentence");
  assert.equal(await page.inputValue("#first-sentence"), sentence);
  assert.equal(await page.locator(".talk, #train").count(), 0);
  await page.press("#first-sentence", "Enter");
  await page.waitForSelector("#train");
  page.expectNothingWrong();
});

test("words outside the vocabulary are named, and can be taught", { skip }, async (t) => {
  const page = await studio(t);
  await page.waitForSelector("#train");
  await page.fill("#first-sentence", "When you play the zebra");
  await page.press("#first-sentence", "Enter");
  await page.waitForSelector(".problem mark");
  assert.deepEqual(await page.locator(".problem mark").allTextContents(), ["zebra"]);
  await page.fill(".first-form:nth-of-type(2) input", "it runs away");
  await page.press(".first-form:nth-of-type(2) input", "Enter");
  await page.waitForSelector(".learned");
  assert.ok((await page.locator(".learned").textContent()).includes("it runs away"));
});

test("the walk shows the engine's numbers", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=walk`);
  await page.waitForSelector("#step-7 table.matrix");
  for (const cell of ["encoder.0.self.head.1.scores[3,5]", "decoder.0.cross.head.0.weights[2,4]", "logits[1,2]"]) {
    const told = JSON.parse(engine("explain", "--text", sentence, "--train", "--cell", cell, "--json"));
    const seen = await page.evaluate((name) => {
      const found = headlight.cellOf(name);
      headlight.askWhy(found);
      return { value: headlight.run().value(found), shown: document.querySelector("#why .value").textContent, terms: document.querySelectorAll("#why .terms tr").length - 1 };
    }, cell);
    assert.ok(Math.abs(seen.value - told.value) <= 1e-6 * Math.max(1, Math.abs(told.value)), `${cell}: ${seen.value} and ${told.value}`);
    assert.equal(seen.shown, String(Number(Math.abs(Math.fround(told.value)).toPrecision(7))).replace(/^/, told.value < 0 ? "−" : ""));
    assert.equal(seen.terms, told.terms.length);
  }
  page.expectNothingWrong();
});

test("a chosen cell stays where it was, and its answer is never cut off", { skip }, async (t) => {
  for (const viewport of [laptop, larger, phone]) {
    const page = await studio(t, `${trained}&panel=walk`, { viewport });
    await page.waitForSelector("#step-7 table.matrix");
    const names = ["encoder.0.self.scores", "encoder.0.self.weights", "decoder.0.ffn.hidden", "encoder.positions"];
    await page.evaluate((wanted) => { for (const one of document.querySelectorAll("details.group")) if (wanted.some((name) => one.holds?.has(name))) { one.open = true; one.fill(); } }, names);
    for (const name of names) {
      const cells = page.locator(`.figure table.matrix[data-name="${name}"] td[data-r]`);
      await cells.first().waitFor();
      for (const at of ["first", "last"]) {
        const cell = cells[at]();
        await cell.evaluate((one) => one.scrollIntoView({ block: "center", inline: "center", behavior: "instant" }));
        const before = await box(cell);
        await page.mouse.click(before.x + before.width / 2, before.y + before.height / 2);
        const chosen = page.locator(`.figure table.matrix[data-name="${name}"] td.chosen`).first();
        const now = await box(chosen);
        assert.ok(Math.abs(now.x - before.x) < 1 && Math.abs(now.y - before.y) < 1, `${name} ${at} moved at ${viewport.width}: ${JSON.stringify([before, now])}`);
        const drawer = await box(page.locator("#why"));
        assert.ok(drawer.x >= 0 && drawer.x + drawer.width <= viewport.width + 0.5 && drawer.y >= 0 && drawer.y + drawer.height <= viewport.height + 0.5, `${name}: the answer is beyond the screen`);
        const over = now.x < drawer.x + drawer.width - 0.5 && now.x + now.width > drawer.x + 0.5 && now.y < drawer.y + drawer.height - 0.5 && now.y + now.height > drawer.y + 0.5;
        assert.ok(!over, `${name} ${at}: the answer lies over the cell at ${viewport.width}`);
        const cut = await page.evaluate(() => { const why = document.getElementById("why"); const around = why.getBoundingClientRect();
          return [...why.querySelectorAll(".terms, .terms td, .factor, .check dd, .filled")].filter((one) => { const b = one.getBoundingClientRect(); return b.width > 0 && (b.left < around.left || b.right > around.right + 0.5); }).length; });
        assert.equal(cut, 0, `${name} ${at}: the table is cut off at ${viewport.width}`);
        await page.keyboard.press("Escape");
      }
    }
    page.expectNothingWrong();
  }
});

test("keys lead through cells, answers, heads, layers and steps", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=walk`);
  const first = page.locator(`#step-7 table.matrix[data-name="encoder.0.self.scores"] td[data-r="0"][data-c="0"]`);
  await first.waitFor();
  await first.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("w");
  assert.match(await cellName(page), /scores\[1,1\]$/);
  assert.ok(await page.evaluate(() => document.getElementById("why").contains(document.activeElement)));
  await page.locator("#why .factor").first().click();
  assert.match(await cellName(page), /query\[1,0\]$/);
  assert.equal(await page.locator("#why .trail button").count(), 1);
  await page.keyboard.press("Backspace");
  assert.match(await cellName(page), /scores\[1,1\]$/);
  await page.keyboard.press("w");
  assert.ok(await page.evaluate(() => document.getElementById("why").hidden));
  const head = () => page.evaluate(() => headlight.state.heads["encoder.0.self"]);
  const before = await page.evaluate(() => document.querySelector("[data-heads='encoder.0.self'] .head.chosen").dataset.head);
  await page.keyboard.press("]");
  assert.equal(await head(), (Number(before) + 1) % 2);
  await page.keyboard.press("[");
  assert.equal(await head(), Number(before));
  await page.keyboard.press("?");
  assert.ok(await page.locator("#help").evaluate((one) => one.open));
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  assert.match(await page.evaluate(() => document.activeElement.id), /^(step-\d+|heads|opening)$/);
  page.expectNothingWrong();
});

test("a link restores the exact view", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=walk&lang=ko`);
  await page.waitForSelector("#step-7 table.matrix");
  await page.evaluate(() => headlight.askWhy(headlight.cellOf("decoder.0.self.head.1.scores[3,2]")));
  const link = page.url();
  const again = await studio(t, new URL(link).hash);
  await again.waitForSelector("#why .value");
  assert.equal(await cellName(again), "decoder.0.self.head.1.scores[3,2]");
  assert.equal(await again.evaluate(() => document.documentElement.lang), "ko");
  assert.equal(await again.locator("#why").innerText(), await page.locator("#why").innerText());
  for (const hash of ["panel=heads&head=decoder.0.cross.1&shading=logarithmic", "panel=microscope&head=encoder.0.self.1&rows=2,3&mass=0.5", "panel=microscope&mode=map&head=decoder.0.self.1&rows=3&shading=logarithmic&key=2", "panel=heads&kind=decoder&measured=1"]) {
    const first = await studio(t, `${trained}&${hash}`);
    await first.waitForSelector(".badge");
    await first.waitForSelector("#microscope svg, #microscope .tile-grid, #heads-map .thumb");
    const second = await studio(t, new URL(first.url()).hash);
    await second.waitForSelector(".badge");
    await second.waitForSelector("#microscope svg, #microscope .tile-grid, #heads-map .thumb");
    await atRest(second);
    await atRest(first);
    assert.equal(await second.locator("#walk").innerText(), await first.locator("#walk").innerText());
    assert.equal(second.url(), first.url());
    for (const name of hash.split("&").map((one) => one.split("=")[0])) assert.match(second.url(), new RegExp(`[#&]${name}=`), `${name} is lost`);
    const pictures = (page) => page.locator("#walk canvas").evaluateAll((all) => all.map((one) => one.toDataURL()));
    await first.waitForTimeout(100);
    assert.deepEqual(await pictures(second), await pictures(first), hash);
    first.expectNothingWrong();
  }
  again.expectNothingWrong();
});

test("a link to a number that is still at the server leads to where it stands", { skip }, async (t) => {
  const page = await studio(t, "#model=numbers&text=nine hundred ninety-nine thousand nine hundred ninety-nine&panel=walk&cell=encoder.1.self.head.1.scores[3,2]");
  await page.waitForSelector(".figure .waiting", { state: "attached" });  // a small run is here at once
  await page.waitForFunction(() => document.activeElement?.matches('.figure .matrix[data-name="encoder.1.self.scores"]'));
  const { y, height } = await box(page.locator(".matrix:focus"));
  assert.ok(y < laptop.height && y + height > 48, `the matrix stands from ${y} to ${y + height}`);
  page.expectNothingWrong();
});

test("a link that makes no sense opens what there is, and breaks nothing", { skip }, async (t) => {
  const strange = { microscope: "head=nonsense&rows=99999&key=99999&with=77&mass=9&shading=x", walk: "cell=decoder.9.self.head.1.scores[3,99]&run=9&position=99999&tensor=nope&at=nope", heads: "head=encoder.0.self.99&kind=zzz",
    next_word: "model=stories&text=Anna&instead=5:999999,abc&off=decoder.9.self.9&step=999&temperature=nan&top_k=-4&length=1e9", compare: "against=model&other=nope&look=zzz&of_head=99", start: "model=nope&text=%00%ff&lang=zz&theme=zz" };
  for (const [panel, rest] of Object.entries(strange)) {
    const page = await studio(t, `#panel=${panel}&${rest}`);
    await page.waitForSelector({ microscope: "#microscope .scope", walk: "#step-7 .figure", heads: ".thumb", next_word: "#next-step-words", compare: "#compare", start: ".lesson-card" }[panel], { state: "attached" });
    assert.equal(await page.evaluate(() => document.body.dataset.panel), panel);
    const broken = page.wrong.filter((one) => !/status of 4\d\d/.test(one));  // what the server refuses is told on the console
    assert.deepEqual(broken, [], panel);
  }
});

test("the map of heads has a thumbnail of every head, by keys and pointer", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=heads`);
  await page.waitForSelector(".thumb");
  const heads = await page.evaluate(() => headlight.run().heads.map((one) => one.name));
  assert.deepEqual((await page.locator(".thumb").evaluateAll((all) => all.map((one) => one.dataset.head))).sort(), [...heads].sort());
  const drawn = await page.locator('.thumb[data-head="decoder.0.self.1"] canvas').evaluate((canvas) => [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 === 3));
  const weights = JSON.parse(engine("explain", "--text", sentence, "--train", "--cell", "decoder.0.self.head.1.weights[3,3]", "--json")).value;
  assert.ok(Math.abs(drawn[3 * 6 + 3] - 255 * (0.04 + 0.9 * weights)) <= 1.5, `${drawn[21]} for ${weights}`);
  await page.hover('.thumb[data-head="encoder.0.self.0"]');
  assert.match(await page.locator("#map-head").innerText(), /encoder\.0\.self\.0/);
  await page.click('.thumb[data-head="encoder.0.self.0"]');
  await page.mouse.move(0, 0);
  assert.match(await page.locator("#map-head").innerText(), /encoder\.0\.self\.0/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator('.thumb[aria-selected="true"]').getAttribute("data-head"), "encoder.0.self.1");
  assert.match(page.url(), /head=encoder\.0\.self\.1/);
  page.expectNothingWrong();
});

test("the microscope draws the heaviest edges and the dot product of a score", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=microscope&head=encoder.0.self.0`);
  await page.waitForSelector("#microscope svg path", { state: "attached" });
  const shares = await page.evaluate(() => { const tensor = headlight.run().find("encoder.0.self.weights"); return Array.from({ length: 49 }, (_, i) => headlight.run().value({ name: tensor.name, index: [0, 0, Math.floor(i / 7), i % 7] })); });
  const sorted = [...shares].sort((a, b) => b - a);
  let needed = 0;
  for (let sum = 0; sum < 0.8 * 7; ++needed) sum += sorted[needed];
  assert.equal(await page.locator("#microscope svg path").count(), needed);
  const terms = JSON.parse(engine("explain", "--text", sentence, "--train", "--cell", "encoder.0.self.head.0.scores[0,0]", "--json")).terms;
  assert.equal(await page.locator(".strip-table .ink-q .digits").count(), terms.length);
  await page.locator(".head-effect").scrollIntoViewIfNeeded();
  await page.waitForSelector(".head-effect .pushed");
  const pushes = (await page.locator(".head-effect .pushed .share").allTextContents()).map((digits) => Math.abs(Number(digits.replace("−", "-"))));
  assert.deepEqual(pushes, [...pushes].sort((a, b) => b - a));
  await page.locator("#microscope svg text.from").nth(2).click();
  await page.locator("#microscope svg text.from").nth(3).click();
  await page.waitForSelector(".row h4");
  assert.match(page.url(), /rows=2%2C3/);
  await page.click("#microscope .choice button:has-text('heat map')");
  await page.waitForSelector(".tile-grid");
  await page.locator(".tile-grid").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => /\[1,0\]/.test(document.querySelector(".tile-map .readout").textContent));
  page.expectNothingWrong();
});

test("where a head pushes the next word is its part of the logits", { skip }, async (t) => {
  const page = await studio(t, "#panel=microscope&model=stories&text=Anna%20has%20two&head=decoder.1.self.1");
  await page.locator(".head-effect .directly").waitFor();
  await page.locator(".head-effect").scrollIntoViewIfNeeded();
  await page.waitForSelector(".push.down");
  const shown = await page.locator(".push").evaluateAll((all) => all.map((one) => [one.querySelector(".label").textContent.replace(/^␣/, " "), Number(one.querySelector(".share").textContent.replace("−", "-").replace("+", ""))]));
  assert.equal(shown.length, 12);
  const words = shown.filter(([word]) => /^ ?[A-Za-z]+$/.test(word)).slice(0, 3);  // others may be several tokens
  assert.ok(words.length > 1);
  for (const [word, push] of words) {
    const told = JSON.parse(engine("heads", "attribute", "stories", "--prompt", "Anna has two", "--word", word, "--json"));
    assert.ok(Math.abs(told.parts.find((one) => one.part === "decoder.1.self.1").value - push) <= 0.0006, `${word}: ${push}`);
  }
  page.expectNothingWrong();
});

test("nothing serious for those who read otherwise, in both themes", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=start`);
  await page.waitForSelector(".first .head");
  for (const panel of ["start", "walk", "heads", "microscope"]) {
    if (panel !== "start") await page.click(`[data-panel="${panel}"]`);
    await page.waitForSelector({ start: ".first .head", walk: "#heads .head", heads: ".thumb", microscope: "#microscope .head" }[panel]);
    if (panel === "walk") await page.evaluate(() => headlight.askWhy(headlight.cellOf("decoder.0.self.head.1.scores[3,2]")));
    // Of the many cards of the walk, which take long, one of each kind.
    const parts = panel === "walk" ? ["#bar", "#panels", "#side", "#why", "#heads", "#step-1", "#step-4", "#step-7 > :not(.group)", "#step-13", "#step-14"] : undefined;
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
      assert.deepEqual(await seriousViolations(page, parts), [], `${panel}, ${colorScheme}`);
    }
  }
  page.expectNothingWrong();
});

test("every language has all words, and matrices stay where they are", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=heads`);
  for (const panel of ["heads", "microscope", "walk"]) {
    await page.click(`[data-panel="${panel}"]`);
    await page.waitForSelector(".card .badge");
    for (const lang of ["KO", "TR", "AZ", "EN"]) {
      await page.click(`#bar button:text-is("${lang}")`);
      await page.waitForFunction((code) => document.documentElement.lang === code, lang.toLowerCase());
      const left = /\b(studio|page|label|message|term|step|operation|role|place)\.[a-z_]+(\.\w+)?\b|\{\w+\}/.exec(await page.locator("body").innerText());
      assert.equal(left, null, `${panel}, ${lang}: ${left?.[0]}`);
    }
  }
  page.expectNothingWrong();
});

test("nothing is wider than a phone", { skip }, async (t) => {
  for (const panel of ["start", "walk", "heads", "microscope"]) {
    const page = await studio(t, `${trained}&panel=${panel}`, { viewport: phone });
    await page.waitForSelector(".card .head, .thumb");
    await page.click(".export summary");
    const menu = await box(page.locator(".export .menu"));
    assert.ok(menu.x >= 0 && menu.x + menu.width <= phone.width, `${panel}: the menu is beyond the screen`);
    assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= phone.width, panel);
  }
});

test("files to keep hold the numbers that are shown", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=microscope&head=encoder.0.self.1`);
  await page.waitForSelector("#microscope svg path", { state: "attached" });
  const kept = {};
  for (const form of ["csv", "svg", "png"]) {
    await page.click(".export summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`.export [data-form="${form}"]`)]);
    assert.equal(download.suggestedFilename(), `encoder.0.self.1.${form}`);
    kept[form] = readFileSync(await download.path());
  }
  const weights = await page.evaluate(() => Array.from({ length: 49 }, (_, i) => headlight.run().value({ name: "encoder.0.self.weights", index: [0, 1, Math.floor(i / 7), i % 7] })));
  const lines = kept.csv.toString().trim().split("\n").map((line) => line.split(","));
  assert.deepEqual(lines[0].slice(1), sentence.split(" "));
  assert.deepEqual(lines.slice(1).flatMap((line) => line.slice(1).map((digits) => Math.fround(Number(digits)))), weights);
  assert.equal((kept.svg.toString().match(/<rect /g) ?? []).length, 49);
  assert.ok(kept.svg.toString().includes(`<title>${Number(weights[8].toPrecision(7))}</title>`));
  // The middle of a cell of the picture has the ink of its weight.
  const pixel = await page.evaluate(async ([letters, row, column]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${letters}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    const at = (r, c) => [...canvas.getContext("2d").getImageData(2 * (110 + 22 * (c + 0.4)), 2 * (100 + 22 * (r + 0.4)), 1, 1).data];
    return { some: at(row, column), ink: getComputedStyle(document.documentElement).getPropertyValue("--a").trim().split(/\s+/).map(Number) };
  }, [kept.png.toString("base64"), 1, 1]);
  pixel.ink.forEach((ink, i) => assert.ok(Math.abs(pixel.some[i] - (255 - (255 - ink) * (0.03 + 0.97 * weights[8]))) <= 2, JSON.stringify(pixel)));
  page.expectNothingWrong();
});

test("the page and the numbers as files open by themselves, and hold the same", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=walk&lang=tr`);
  await page.waitForSelector("#step-7 table.matrix");
  const kept = {};
  await page.click(".export summary");
  for (const form of ["html", "safetensors"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`.export [data-form="${form}"]`)]);
    kept[form] = readFileSync(await download.path());
    if (form === "html") writeFileSync((kept.path = `${await download.path()}.html`), kept.html);
  }
  const scores = "encoder.0.self.scores";
  const shown = await page.evaluate((name) => [...headlight.run().find(name).values], scores);
  assert.deepEqual([...readSafetensors(kept.safetensors).get(scores).values], shown);
  const offline = await openPage(browser, `file://${kept.path}`);
  t.after(() => offline.close());
  await offline.page.waitForSelector("#step-7 table.matrix");
  assert.equal(await offline.page.evaluate(() => document.documentElement.lang), "tr");
  assert.deepEqual(await offline.page.evaluate((name) => [...headlight.run().find(name).values].map(Math.fround), scores), shown);
  for (const panel of ["heads", "microscope"]) {
    await offline.page.click(`[data-panel="${panel}"]`);
    await offline.page.waitForSelector(".thumb, #microscope svg path", { state: "attached" });
  }
  assert.deepEqual(offline.wrong, []);
  page.expectNothingWrong();
});

test("what the server refuses is told, with its numbers, where the sentence stands", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=heads`);
  await page.waitForSelector(".thumb");
  const message = "trace (stories): would take 3.2 GiB, 1 GiB are allowed; a shorter text, or some layers alone";
  await page.route(/\/api\/trace$/, (route) => route.fulfill({ status: 413, json: { error: { message, type: "invalid_request_error", param: "text", code: null } } }));
  await page.fill("#sentence", "When you play");
  await page.press("#sentence", "Enter");
  await page.waitForFunction((words) => document.getElementById("said").textContent === words, message);
  assert.ok((await page.locator(".thumb").count()) > 0, "what was shown is gone");
});

test("a run that does not fit is shown with the layers that do", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=heads`);
  await page.waitForSelector(".thumb");
  const asked = [];
  await page.route(/\/api\/trace$/, (route) => {
    const { layers } = route.request().postDataJSON();
    asked.push(layers);
    return layers?.length === 1 ? route.continue() : route.fulfill({ status: 413, json: { error: { message: "too large", type: "invalid_request_error", param: null, code: null } } });
  });
  await page.selectOption("#model", "stories");
  await page.waitForFunction(() => /first 1 of 3/.test(document.getElementById("said").textContent));
  await page.waitForFunction(() => document.querySelectorAll(".thumb").length === 4);
  assert.deepEqual(asked, [undefined, [0, 1], [0]]);
  for (const panel of ["walk", "microscope", "next_word", "compare"]) {
    await page.click(`[data-panel="${panel}"]`);
    await page.waitForSelector({ walk: "#step-7 .figure", microscope: "#microscope svg path", next_word: "#next-step .lens", compare: "#other-sentence" }[panel], { state: "attached" });
  }
});

test("a lesson opens in its language, answers why, and leads back to the studio", { skip }, async (t) => {
  const page = await studio(t);
  await page.waitForSelector(".lesson-card");
  await page.click(".lesson-card:lang(ko)");
  await page.waitForSelector("#step-2");
  assert.equal(await page.evaluate(() => document.documentElement.lang), "ko");
  await page.locator("#step-3 td[data-r]").first().click();
  await page.waitForSelector("#why .value");
  await page.click("#bar button.plain[aria-pressed]");
  await page.waitForSelector("td.blank input");
  await page.click('[data-panel="walk"]');
  await page.waitForSelector("#step-13 .bar");
  assert.ok(!(await page.evaluate(() => headlight.data.lesson)));
  page.expectNothingWrong();
});

test("a trace that the server has let go is asked for again", { skip }, async (t) => {
  const page = await studio(t, `${trained}&panel=heads`);
  await page.waitForSelector(".thumb");
  const before = await page.evaluate(() => headlight.data.id);
  assert.equal((await fetch(`${server.address}/api/trace/${before}`, { method: "DELETE" })).status, 204);
  await page.click('[data-panel="microscope"]');
  await page.waitForSelector("#microscope svg path", { state: "attached" });
  assert.notEqual(await page.evaluate(() => headlight.data.id), before);
});
