// The panel Train in a real browser, against the program's own server: what it shows is compared with the events of the job.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { missing, openPage, phone, seriousViolations, startBrowser, startServer } from "./studio.mjs";

const skip = missing() ?? false;
let server, browser;
before(async () => { if (!skip) [server, browser] = await Promise.all([startServer(), startBrowser()]); });
after(async () => { await browser?.close(); await server?.close(); });

const small = { n_layer: 1, n_head: 2, n_embd: 16, batch_size: 4 };
const digits = "3 1 4 1 5 8 2 6 7 2";
async function studio(t, hash, options) {
  const opened = await openPage(browser, `${server.address}/${hash}`, options);
  t.after(async () => { await opened.close(); });
  opened.page.expectNothingWrong = () => assert.deepEqual(opened.wrong, []);
  return opened.page;
}
const ask = async (method, path, body) => {
  const answer = await fetch(`${server.address}${path}`, { method, ...(body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }) });
  return answer.status === 204 ? undefined : answer.json();
};
const begin = async (keys, more = {}) => (await ask("POST", "/api/jobs", { kind: "train", task: "copy", probe: digits, probe_target: digits, keys: { ...small, ...keys }, ...more })).id;
async function ended(id, states = ["done"]) {
  for (let i = 0; i < 1200; ++i) {
    const job = await ask("GET", `/api/jobs/${id}`);
    if (states.includes(job.state)) return job;
    assert.notEqual(job.state, "failed", job.error);
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${id} does not end`);
}
// All that an ended job has told.
async function eventsOf(id) {
  const text = await (await fetch(`${server.address}/api/jobs/${id}/events`)).text();
  const all = text.split("\n\n").filter(Boolean).map((block) => ({ event: /^event: (.*)$/m.exec(block)[1], data: JSON.parse(/^data: (.*)$/m.exec(block)[1]) }));
  const lines = all.filter((one) => one.event === "train").map((one) => one.data);
  return { start: lines.findLast((one) => one.event === "start"), steps: lines.filter((one) => one.event === "step"), evaluations: lines.filter((one) => one.event === "eval"), frames: all.filter((one) => one.event === "heads").map((one) => one.data) };
}
// The rule of docs/studio.md, written down another time.
function found(frames) {
  const roles = (name) => frames.map((frame) => frame.heads.find((head) => head.name === name).role).reverse();
  return frames.at(-1).heads.flatMap(({ name }) => {
    const back = roles(name);
    const kept = back.findIndex((role) => role !== back[0]);
    return ["none", "uniform"].includes(back[0]) || kept < 2 ? [] : [`${frames[frames.length - kept].step} ${name} ${back[0]}`];
  }).sort();
}
const digitsOf = (x) => (Number.isInteger(x) ? String(x) : x < 5e-4 ? x.toExponential(0) : x.toFixed(x >= 10 ? 2 : 3));
const fact = (page, name) => page.locator(`[data-fact="${name}"] dd`).innerText();
const atRest = (page, id) => page.waitForFunction((job) => document.querySelector(`[data-job="${job}"][aria-current]`) && document.querySelector("#training-state .done") && document.querySelector("#training .film-row canvas"), id);
const pictures = (page) => page.locator("#training canvas").evaluateAll((all) => all.map((one) => one.toDataURL()));
const curve = (page) => page.locator("#training .chart svg").innerHTML();

test("one click trains a model whose heads find roles, and all that is shown is what the job told", { skip }, async (t) => {
  const page = await studio(t, "#panel=start");
  await page.click('[data-panel="train"]');
  await page.click("#train-start");
  await page.waitForFunction(() => /job=j\d+/.test(location.hash));
  const id = /job=(j\d+)/.exec(page.url())[1];
  // While it learns: how far it is and how long it will take.
  await page.waitForFunction(() => document.querySelector('[data-fact="left"]') && document.querySelectorAll("#samples li").length > 0);
  assert.match(await fact(page, "left"), /^\d+ s$|min/);
  assert.ok(Number(await page.locator("#training-progress [role=progressbar]").getAttribute("aria-valuenow")) <= 100);
  await page.waitForSelector(".look-at-it", { timeout: 180_000 });
  const told = await eventsOf(id);
  assert.equal(await fact(page, "step"), `${told.start.steps} / ${told.start.steps}`);
  assert.equal(await fact(page, "train_loss"), digitsOf(told.steps.at(-1).train_loss));
  assert.equal(await fact(page, "valid_loss"), digitsOf(told.evaluations.at(-1).valid_loss));
  assert.equal((await fact(page, "speed")).replace(/\D/g, ""), String(told.steps.at(-1).tokens_per_second));
  assert.equal((await fact(page, "parameters")).replace(/\D/g, ""), String(told.start.parameters));
  const samples = await page.locator("#samples li").evaluateAll((all) => all.map((one) => [Number(one.dataset.step), one.querySelector("q").textContent]));
  assert.deepEqual(samples, told.evaluations.map((one) => [one.step, one.sample]).reverse());
  // The curve: each evaluation is a point, lower where its loss is.
  const points = await page.locator(".chart .validation circle").evaluateAll((all) => all.filter((one) => one.getAttribute("r") === "2.6").map((one) => [Number(one.getAttribute("cx")), Number(one.getAttribute("cy"))]));
  assert.equal(points.length, told.evaluations.length);
  const line = (a, b, x) => a[1] + ((b[1] - a[1]) * (x - a[0])) / (b[0] - a[0]);
  told.evaluations.forEach((one, i) => {
    assert.ok(Math.abs(points[i][0] - line([told.evaluations[0].step, points[0][0]], [told.evaluations.at(-1).step, points.at(-1)[0]], one.step)) < 0.01);
    assert.ok(Math.abs(points[i][1] - line([told.evaluations[0].valid_loss, points[0][1]], [told.evaluations.at(-1).valid_loss, points.at(-1)[1]], one.valid_loss)) < 0.01);
  });
  // Heads that found their role, by the rule; this model's are known to.
  const expected = found(told.frames);
  const moments = await page.locator(".moment").evaluateAll((all) => all.map((one) => `${one.dataset.step} ${one.dataset.head} ${one.dataset.role}`));
  assert.deepEqual(moments.sort(), expected);
  assert.ok(expected.some((one) => one.endsWith("induction")) && expected.some((one) => one.endsWith("previous")), expected.join("; "));
  assert.deepEqual([...new Set(await page.locator(".chart .flag").evaluateAll((all) => all.map((one) => one.dataset.step)))].sort(), [...new Set(expected.map((one) => one.split(" ")[0]))].sort());
  // The film: roles of the last checkpoint, and of the one that is chosen.
  const roles = () => page.locator(".film-row").evaluateAll((all) => all.map((one) => [one.dataset.head, /role-(\w+)/.exec(one.className)[1], one.querySelector(".film-role").textContent.match(/\d+/)[0]]));
  const rolesAt = (frame) => frame.heads.map((head) => [head.name, head.role, String(Math.round(100 * head.measure))]);
  assert.deepEqual(await roles(), rolesAt(told.frames.at(-1)));
  await page.focus("#film-step");
  await page.keyboard.press("Home");
  assert.deepEqual(await roles(), rolesAt(told.frames[0]));
  await page.locator(".moment").last().click();
  assert.match(page.url(), /at_step=\d+&of_head=decoder/);
  // One click leads to the model in another panel.
  await page.click('.look-at-it [data-does="heads"]');
  await page.waitForSelector(".thumb");
  assert.match(page.url(), /panel=heads&model=words&text=ka\+lo/);
  assert.equal(await page.locator(".thumb").count(), told.frames[0].heads.length);
  assert.ok(await page.locator('#model option[value="words"]').count());
  page.expectNothingWrong();
});

test("a link holds the training, the checkpoint and the head; a reload shows the same", { skip }, async (t) => {
  const id = await begin({ max_iters: 60, eval_interval: 5 });
  await ended(id);
  const page = await studio(t, `#panel=train&job=${id}`);
  await atRest(page, id);
  const told = await eventsOf(id);
  await page.locator(".film-row canvas").nth(3).click({ position: { x: 40, y: 10 } });
  await page.click('#curve-picks button:text-is("Logarithmic")');
  await page.keyboard.press("Escape");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("n");
  await page.keyboard.press("n");
  await page.keyboard.press("p");
  const step = Number(/at_step=(\d+)/.exec(page.url())[1]);
  assert.ok(told.frames.some((one) => one.step === step));
  const head = await page.locator('.film-name[aria-pressed="true"]').evaluate((one) => one.parentElement.dataset.head);
  await page.keyboard.press("]");
  const next = await page.locator('.film-name[aria-pressed="true"]').evaluate((one) => one.parentElement.dataset.head);
  const names = told.frames[0].heads.map((one) => one.name);
  assert.equal(next, names[(names.indexOf(head) + 1) % names.length]);
  assert.match(page.url(), /scale=log/);
  const before = [await page.locator("#walk").innerText(), await curve(page), await pictures(page), page.url()];
  await page.reload();
  await atRest(page, id);
  await page.waitForFunction((count) => document.querySelectorAll("#samples li").length === count, told.evaluations.length);
  await page.waitForTimeout(200);
  const after = [await page.locator("#walk").innerText(), await curve(page), await pictures(page), page.url()];
  before.forEach((one, i) => assert.deepEqual(after[i], one, `part ${i}`));
  // The curve can be kept.
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#curve-csv")]);
  const kept = readFileSync(await download.path(), "utf8").trim().split("\n").map((one) => one.split(","));
  assert.deepEqual(kept[0], ["step", "train_loss", "learning_rate", "gradient_norm", "valid_loss"]);
  for (const one of told.steps) assert.deepEqual(kept.find(([at]) => at === String(one.step)).slice(1, 4), [one.train_loss, one.learning_rate, one.gradient_norm].map(String));
  for (const one of told.evaluations) assert.equal(kept.find(([at]) => at === String(one.step))[4], String(one.valid_loss));
  // The large picture has the numbers of the head at this checkpoint: its darkest cell is where the weight is largest.
  const { rows, cols, values } = told.frames.find((one) => one.step === step).heads.find((one) => one.name === next).thumbnail;
  const weights = [...new Float32Array(Uint8Array.from(Buffer.from(values, "base64")).buffer)];
  const alpha = await page.locator(".film-large").evaluate((canvas, [r, c]) => {
    const [w, h] = [canvas.width / c, canvas.height / r];
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return Array.from({ length: r * c }, (_, i) => data[4 * (Math.floor((Math.floor(i / c) + 0.5) * h) * canvas.width + Math.floor(((i % c) + 0.5) * w)) + 3]);
  }, [rows, cols]);
  weights.forEach((weight, i) => { if (Number.isFinite(weight)) assert.ok(Math.abs(alpha[i] - 255 * (0.04 + 0.9 * weight)) <= 1.01, `${i}: ${alpha[i]} and ${weight}`); });
  page.expectNothingWrong();
});

test("it can be paused, goes on, survives that its page is left, and can be cancelled", { skip }, async (t) => {
  const id = await begin({ max_iters: 100_000, eval_interval: 20, log_interval: 5 });
  const page = await studio(t, "#panel=train");
  // What runs is shown by itself.
  await page.waitForFunction((job) => document.querySelector(`[data-job="${job}"][aria-current]`) && document.querySelectorAll("#samples li").length > 1, id);
  await page.click('[data-does="pause"]');
  await page.waitForSelector("#training-state .paused");
  const paused = await ask("GET", `/api/jobs/${id}`);
  assert.equal(paused.state, "paused");
  const steps = Number((await fact(page, "step")).split(" / ")[0]);
  await page.waitForTimeout(300);
  assert.equal(Number((await fact(page, "step")).split(" / ")[0]), steps);
  assert.equal(await page.locator('[data-fact="left"]').count(), 0);
  // Another page in the middle of it; and the key.
  await page.reload();
  await page.waitForFunction((at) => document.querySelector('[data-fact="step"] dd')?.textContent.startsWith(`${at} /`), steps);
  assert.match(page.url(), new RegExp(`job=${id}`));
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("g");
  await page.waitForFunction((at) => parseInt(document.querySelector('[data-fact="step"] dd')?.textContent) > at + 20, steps);
  // Its events are listened to only while they are shown.
  const closed = new Promise((done) => page.on("requestfailed", (request) => { if (request.url().includes(`/api/jobs/${id}/events`)) done(true); }));
  await page.click('[data-panel="heads"]');
  assert.ok(await closed);
  assert.equal((await ask("GET", `/api/jobs/${id}`)).state, "running");
  await page.click('[data-panel="train"]');
  await page.waitForSelector("#training-state .running");
  await page.click('[data-does="remove"]');
  await page.waitForSelector("#train-start");
  assert.equal((await fetch(`${server.address}/api/jobs/${id}`)).status, 404);
  assert.equal(await page.locator(`[data-job="${id}"]`).count(), 0);
  page.expectNothingWrong();
});

test("what the server refuses stands beside its field; one's own text is trained on", { skip }, async (t) => {
  const page = await studio(t, "#panel=train&example=copy&set=n_head:3,max_iters:10");
  await page.waitForSelector("#train-start");
  assert.equal(await page.inputValue('[data-field="keys.n_head"]'), "3");
  const failed = [];
  page.on("response", (response) => { if (response.status() === 400) failed.push(response.url()); });
  const refusal = async (field) => {
    await page.click("#train-start");
    await page.waitForFunction((name) => document.activeElement?.dataset.field === name && document.activeElement.getAttribute("aria-invalid") === "true", field);
    return page.locator(`[id="problem-${field}"]`).innerText();
  };
  assert.match(await refusal("keys.n_embd"), /not a multiple of n_head 3/);
  await page.fill('[data-field="keys.n_head"]', "zero");
  assert.match(await refusal("keys.n_head"), /whole number/);
  await page.fill('[data-field="keys.n_head"]', "2");
  await page.fill('[data-field="keys.more"]', "d_fff=3");
  assert.match(await refusal("keys.more"), /d-fff/);
  await page.fill('[data-field="name"]', "my model");
  await page.fill('[data-field="keys.more"]', "");
  assert.match(await refusal("name"), /letters/);
  await page.check('input[value="text"]');
  assert.match(await refusal("data_text"), /missing/);
  assert.equal(failed.length, 5);
  await page.fill("#own-text", "the cat sat on the mat and the dog sat on the log. ".repeat(20));
  assert.equal(await page.inputValue('[data-field="probe"]'), "the cat sat on the mat a");
  for (const [key, value] of Object.entries({ max_iters: 8, eval_interval: 4, n_embd: 16, n_head: 2, batch_size: 4 })) await page.fill(`[data-field="keys.${key}"]`, String(value));
  await page.click("#train-start");
  await page.waitForSelector(".look-at-it", { timeout: 60_000 });
  const id = /job=(j\d+)/.exec(page.url())[1];
  const { request } = await ask("GET", `/api/jobs/${id}`);
  assert.deepEqual([request.task, request.probe, request.keys.max_iters, request.keys.tokenizer], ["lm", "the cat sat on the mat a", 8, "char"]);
  assert.equal((await eventsOf(id)).frames.length, 3);
  page.once("dialog", (dialog) => dialog.accept());
  await page.click('[data-does="remove"]');
  await page.waitForSelector("#train-start");
  assert.equal((await fetch(`${server.address}/api/jobs/${id}`)).status, 404);
});

test("the panel is whole in other languages, fits a phone, and has nothing serious for those who read otherwise", { skip }, async (t) => {
  const id = await begin({ max_iters: 30, eval_interval: 5 });
  await ended(id);
  for (const options of [{}, { viewport: phone, colorScheme: "dark" }]) {
    for (const [hash, ready] of [["panel=train&example=text&set=seed:3", "#own-text"], [`panel=train&job=${id}&at_step=15`, ".film-row canvas"]]) {
      const page = await studio(t, `#${hash}`, options);
      await page.waitForSelector(ready);
      for (const lang of options.viewport ? ["KO"] : ["TR", "AZ", "KO", "EN"]) {
        await page.click(`#bar button:text-is("${lang}")`);
        await page.waitForFunction((code) => document.documentElement.lang === code, lang.toLowerCase());
        const left = /\b(studio|page|label|message|term|role|place)\.[a-z_]+(\.\w+)?\b|\{\w+\}/.exec(await page.locator("#walk").innerText());
        assert.equal(left, null, `${lang}: ${left?.[0]}`);
        if (!options.viewport) assert.ok((await page.evaluate(() => document.getElementById("bar").offsetHeight)) < 60, `${lang}: the tabs are in one row`);
        if (lang !== "EN") assert.doesNotMatch(await page.locator("#walk").innerText(), /\b(the|What|Training|Steps|done)\b/, lang);
      }
      assert.deepEqual(await seriousViolations(page), [], hash);
      if (options.viewport) assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= phone.width, hash);
      page.expectNothingWrong();
    }
  }
});
