// Door of narrate: explanations as documents in a language. The catalogue of texts, the walk from a
// sentence to a learned weight, lessons, the first minute, the page; as text, JSON or HTML; reports
// of experiments; and the lines of commands that follow a language. Nothing here knows argv or a
// terminal: what is drawn on is a TextStyle, what is written goes to an Output.
//
//   base::ThreadPool threads(2);
//   const narrate::Explanation explanation(threads, base::real_files(),
//       {.text = "When you play the game of thrones", .format = narrate::ExplainFormat::html});
//   base::write_file(base::real_files(), "walk.html",
//                    [&](base::Output& output) { explanation.write(output); });
//
// A Catalogue never changes and may be used from several threads; everything else belongs to one at
// a time. Mistakes of the caller are Error(bad_input).
#pragma once

#include "headlight/narrate/catalogue.h"
#include "headlight/narrate/command_lines.h"
#include "headlight/narrate/draw_matrix.h"
#include "headlight/narrate/explain_request.h"
#include "headlight/narrate/explanation.h"
#include "headlight/narrate/first_minute.h"
#include "headlight/narrate/languages.h"
#include "headlight/narrate/lessons/exercise_answer.h"
#include "headlight/narrate/lessons/exercise_session.h"
#include "headlight/narrate/lessons/exercises.h"
#include "headlight/narrate/lessons/lesson.h"
#include "headlight/narrate/lessons/lesson_page.h"
#include "headlight/narrate/model_facts.h"
#include "headlight/narrate/page.h"
#include "headlight/narrate/page_document.h"
#include "headlight/narrate/report/heads_reports.h"
#include "headlight/narrate/report/report.h"
#include "headlight/narrate/report/report_sentences.h"
#include "headlight/narrate/shown_indices.h"
#include "headlight/narrate/shown_step.h"
#include "headlight/narrate/steps.h"
#include "headlight/narrate/tensor_files.h"
#include "headlight/narrate/text_layout.h"
#include "headlight/narrate/trace_document.h"
#include "headlight/narrate/trace_with_steps.h"
#include "headlight/narrate/walk.h"
