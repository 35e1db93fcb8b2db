// The first screen: five lessons, a sentence, and a tiny Transformer that learns it before one's eyes.
import { source, type Lesson } from "../api/source";
import { beams } from "../draw/beams";
import { curveDrawing } from "../draw/curve";
import { button, element, fill, type Child } from "../draw/element";
import { waitingFor } from "../draw/waiting";
import { chooseLanguage, choosePanel, redraw, remember } from "../page/page";
import { busy, failure, known, onSession, openLesson, openTrace } from "../page/session";
import { state } from "../state/state";
import { text } from "../texts/words";
import { data, hasRun, run, runs } from "../trace/document";
import { headAt, shownFirst } from "../trace/heads";
import { load } from "../trace/loading";
import { headFigure, headPicks, placeTitle, roleBadge } from "./head_parts";
import type { View } from "./view";

let lessons: Lesson[] = [];

export const startView: View = {
  name: "start",
  needs: "server",
  show(holder) {
    const cards = element("section", { class: "lessons", "aria-label": text("studio.lessons") });
    const first = element("section", { class: "card hero first", id: "first", "aria-live": "polite" });
    fill(holder, element("h1", { class: "welcome" }, text("studio.welcome")), cards, first, element("footer", {}, text("studio.made_by"), " ", element("code", {}, known.version)));
    first.fill = () => fill(first, firstMinute());
    first.fill();
    const draw = () => fill(cards, lessons.map(lessonCard));
    draw();
    if (lessons.length === 0) ownTitles().then((found) => { lessons = found; draw(); }, () => undefined);
  },
  headChanged() { document.getElementById("first")?.fill?.(); },
};
onSession(() => { if (state.panel === "start") document.getElementById("first")?.fill?.(); });

// Each lesson has the title that it has in the language of its tutorial.
async function ownTitles(): Promise<Lesson[]> {
  const told = await source.lessons("en");
  const own = new Map<string, Lesson[]>();
  for (const language of new Set(told.map((one) => one.language))) own.set(language, language === "en" ? told : await source.lessons(language));
  return told.map((one) => own.get(one.language)?.find((other) => other.name === one.name) ?? one);
}
function lessonCard(lesson: Lesson): HTMLElement {
  return element("a", { class: "lesson-card", lang: lesson.language, href: `#panel=lesson&lesson=${lesson.name}`, click: async (event: Event) => {
    event.preventDefault();
    await openLesson(lesson.name);
    if (lesson.language !== state.lang) await chooseLanguage(lesson.language);
    choosePanel("lesson");
  } }, element("small", {}, lesson.language.toUpperCase()), element("b", {}, lesson.title), element("span", {}, text("studio.steps", { count: lesson.steps })));
}

async function ask(train: boolean): Promise<void> {
  state.train = train;
  state.model = "worked";
  if (await openTrace()) redraw();
  remember();
}

function firstMinute(): Child {
  const isWorked = state.model === "worked";  // another model may be open in the other panels
  const input = element("input", { id: "first-sentence", type: "text", value: (isWorked && state.text) || (known.worked.sentences[0]?.source ?? ""), autocomplete: "off", spellcheck: "false", "aria-label": text("studio.sentence"), maxlength: 400 });
  const form = element("form", { class: "first-form", submit: (event: Event) => { event.preventDefault(); state.text = input.value; state.target = ""; void ask(state.train); } },
    input, button(text("studio.run"), { class: "go", type: "submit", disabled: busy }));
  return [
    element("h2", {}, text("first.intro")), form,
    failure ? unknownWords() : isWorked && hasRun() && data.lesson === undefined && continuations(),
  ];
}

// Which words it does not know, and how to teach them.
function unknownWords(): Child {
  const words = new Set(known.worked.sentences.flatMap((one) => `${one.source} ${one.target}`.split(/\s+/)));
  const strange = state.model === "worked" ? [...new Set(state.text.split(/\s+/).filter((word) => word !== "" && !words.has(word)))] : [];
  const target = element("input", { type: "text", "aria-label": text("studio.target"), placeholder: text("studio.target"), maxlength: 400 });
  return [
    element("p", { class: "problem", role: "alert" }, strange.length > 0 ? [text("studio.unknown_words"), " ", strange.map((word) => element("mark", {}, word))] : failure?.message),
    strange.length > 0 && element("form", { class: "first-form", submit: (event: Event) => { event.preventDefault(); state.target = target.value; void ask(true); } },
      element("label", {}, text("studio.add_words")), target, button(text("studio.teach"), { class: "go", type: "submit" })),
  ];
}

function continuations(): Child {
  const before = element("p", {}, text("first.random", { words: runs[0]?.continuation ?? "" }));
  if (runs.length < 2) return element("div", { class: "talk" }, before, element("p", {}, button(busy ? text("first.training") : text("studio.train"), { class: "go large", id: "train", disabled: busy, click: () => ask(true) })));
  return [
    element("div", { class: "lit" },
      element("div", { class: "talk" }, before, element("p", { class: "learned" }, text("first.trained", { words: "" }), element("b", {}, run().continuation))),
      curveDrawing({ values: data.losses, label: text("term.loss") })),
    element("h3", {}, text("first.heads")), litHeads(),
    element("p", { class: "next-steps" }, button(text("studio.walk_it"), { class: "plain", click: () => choosePanel("walk") }), button(text("studio.panel.heads"), { class: "plain", click: () => choosePanel("heads") })),
  ];
}

// The head that tells most, as beams; all heads of its attention beside each other.
function litHeads(wasAsked = false): Child {
  const place = shownFirst()?.place;
  const tensor = place === undefined ? undefined : run().attentionAt(place);
  if (!tensor || place === undefined) return undefined;
  if (!tensor.values) return wasAsked ? undefined : waitingFor(() => load(tensor), () => litHeads(true), 8);
  const shown = run();
  const chosen = run().heads.find((one) => one.place === place && one.head === (tensor.head_numbers?.[headAt(place)] ?? headAt(place)));
  const word = (token: string) => element("span", { class: "word" }, token);
  return [
    beams(run().labels(tensor.axes[3]).map(word), run().labels(tensor.axes[2]).map(word), (row, column) => shown.valueOf(tensor, [0, headAt(place), row, column]) ?? 0),
    element("div", { class: "picks centre" }, element("span", {}, placeTitle(place)), headPicks(place, tensor), chosen && roleBadge(chosen)),
    element("div", { class: "heads centre" }, Array.from({ length: tensor.shape[1] as number }, (_, head) => headFigure(tensor, place, head))),
  ];
}
