// The studio: the page of a server.
import { prepareAccess } from "./api/access";
import { Server } from "./api/server";
import { setSource } from "./api/source";
import { exposed } from "./exposed";
import { addToBar, addToPanels } from "./page/bar";
import { questionForKey } from "./page/key";
import { listen } from "./page/keys";
import { recall, redraw, setViews, showWaiting, walk } from "./page/page";
import { restore } from "./page/restore";
import { sentenceBar } from "./page/sentence_bar";
import { isOpen, loadTexts, openLesson, openSession, openTrace } from "./page/session";
import { setEntries } from "./page/side";
import { state } from "./state/state";
import { has, hasLanguage, wordsOf } from "./texts/words";
import { data } from "./trace/document";
import { exerciseSwitch, lessonEntries, lessonTitle, lessonView } from "./views/lesson/lesson";
import { labEntries } from "./views/lab/lab";
import { panels } from "./views/studio_panels";
import { startView } from "./views/start";
import { walkEntries } from "./views/walk/walk";

// The first of the reader's languages that the program speaks.
function preferredLanguage(): string {
  const spoken = ["en", "tr", "az", "ko"];
  const asked = new URLSearchParams(location.hash.slice(1)).get("lang");
  return [asked, ...navigator.languages.map((one) => one.slice(0, 2))].find((one): one is string => one !== null && spoken.includes(one)) ?? "en";
}

async function openAddress(): Promise<void> {
  const chosen = recall("");
  if (!hasLanguage(state.lang)) await loadTexts(state.lang);
  if (state.panel === "lesson" && state.lesson) await openLesson(state.lesson);
  else if (!isOpen() && !(await openTrace())) state.panel = "start";
  restore(chosen);
}

async function open(): Promise<void> {
  prepareAccess(questionForKey);
  setSource(new Server());
  addToBar(exerciseSwitch);
  addToPanels(sentenceBar);
  setEntries({ walk: walkEntries, lesson: lessonEntries, lab: labEntries });
  setViews([startView, ...panels, lessonView], () => (state.panel === "lesson" && data.lesson ? lessonTitle() : wordsOf(has(`studio.panel.${state.panel}`) ? `studio.panel.${state.panel}` : "studio.welcome")));
  Object.assign(state, { panel: "start", model: "worked", lang: preferredLanguage() });
  await Promise.all([loadTexts(state.lang), openSession()]);
  if (recall("").get("panel") === null || state.panel === "start") redraw();
  else showWaiting();
  await openAddress();
  addEventListener("popstate", () => void openAddress());
}

listen();
Object.assign(globalThis, { headlight: exposed });
open().catch((error) => { walk.textContent = String(error.message); });
