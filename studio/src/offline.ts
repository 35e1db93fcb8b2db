// The page that has its data inside: of `explain`, of a lesson, or of an experiment. It asks nobody for anything.
import { Document } from "./api/document";
import { setSource } from "./api/source";
import type { PageDocument } from "./api/types";
import { exposed } from "./exposed";
import { addToBar } from "./page/bar";
import { listen } from "./page/keys";
import { recall, setViews } from "./page/page";
import { restore } from "./page/restore";
import { setEntries } from "./page/side";
import { state } from "./state/state";
import { addTexts, wordsOf } from "./texts/words";
import { data, openDocument } from "./trace/document";
import { answered } from "./views/lesson/exercise";
import { exerciseSwitch, lessonEntries, lessonTitle, lessonView } from "./views/lesson/lesson";
import { runPanels } from "./views/panels";
import * as report from "./views/report";
import { card } from "./views/walk/cards";
import { walkEntries } from "./views/walk/walk";
import { follow } from "./views/why";

const opened: PageDocument = JSON.parse(document.getElementById("data")?.textContent ?? "");
setSource(new Document());
for (const [language, texts] of Object.entries(opened.texts)) addTexts(language, texts);
state.lang = opened.language;
openDocument(opened);
addToBar(exerciseSwitch);
setEntries({ walk: walkEntries, lesson: lessonEntries, report: report.reportEntries });
if (data.report) {
  report.openReport();
  state.panel = "report";
  setViews([report.reportView], report.reportTitle);
} else if (data.lesson) {
  state.panel = "lesson";
  setViews([lessonView], lessonTitle);
} else {
  setViews(runPanels, () => wordsOf("page.title"));
}
listen();
Object.assign(globalThis, { headlight: Object.assign(exposed, { card, lesson: data.lesson, answered, followInLesson: follow }, data.report && {
  experiment: report.experiment, byHead: report.byHead, scores: report.scores, rowsOfHeads: report.rowsOfHeads, openingScore: report.openingScore, numbersAt: report.numbersAt, mostRows: report.mostRows, reportCell: report.reportCell }) });
const begin = () => restore(recall(data.place));
addEventListener("hashchange", begin);
begin();
