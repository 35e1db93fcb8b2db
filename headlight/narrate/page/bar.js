// The bar of every page: languages, light or dark, and what the page adds to it.
const languages = Object.keys(data.texts);
const walk = document.getElementById("walk");

function drawBar(before, after) {
  const mark = drawing("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
    drawing("path", { d: "M3 12 L21 4 V20 Z", fill: "rgb(var(--beam) / .55)" }), drawing("circle", { cx: 5, cy: 12, r: 4, fill: "rgb(var(--text))" }));
  fill(document.getElementById("bar"),
    element("span", { class: "brand" }, mark, "Headlight"), before,
    choice(text("page.language"), languages.map((lang) => ({ label: lang.toUpperCase(), title: data.texts[lang]["language.name"], value: lang })), state.lang, chooseLanguage),
    button(isDark() ? "☀" : "☾", { class: "round", title: text("page.theme"), "aria-label": text("page.theme"), click: () => { state.theme = isDark() ? "light" : "dark"; applyTheme(); remember(); } }),
    after, button("?", { class: "round", title: text("page.help"), "aria-label": text("page.help"), click: showHelp }));
}
// Words change where they stand; nothing is made again.
function chooseLanguage(lang) {
  state.lang = lang;
  applyLanguage();
  retell();
  remember();
}
function isDark() { return state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; }
function show(id, behavior = "auto") { document.getElementById(id)?.scrollIntoView({ behavior }); }

// The list of what the page has: [id, number, title].
function drawSteps(entries) {
  fill(document.getElementById("steps"), entries.map(([id, number, title]) =>
    element("a", { href: `#${id}`, "data-to": id, click: (event) => { event.preventDefault(); show(id); } }, element("span", { class: "number" }, number), title)));
}

// The keys that a page knows: [[names, text], ...].
function drawHelp(keys) {
  const help = document.getElementById("help");
  fill(help, element("h2", {}, text("page.help")), element("dl", {}, keys.map(([names, meaning]) =>
    [element("dt", {}, names.map((name) => element("kbd", {}, name))), element("dd", {}, meaning)])), button(text("page.close"), { class: "plain", click: () => help.close() }));
  help.showModal();
}
