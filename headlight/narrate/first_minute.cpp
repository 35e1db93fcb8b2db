// The worked model before and after its training, in words and as a page.
#include "headlight/narrate/first_minute.h"

#include <algorithm>
#include <array>
#include <utility>

#include "headlight/narrate/command_lines.h"
#include "headlight/narrate/explain_request.h"
#include "headlight/narrate/walk.h"
#include "headlight/text/text.h"

namespace headlight::narrate {

FirstMinute::FirstMinute(base::ThreadPool& threads, const FirstMinuteOptions& options, Tell tell)
    : threads_(threads),
      catalogue_(Catalogue::of(options.language)),
      style_(options.style),
      tell_(std::move(tell)),
      worked_(recipes::make_worked_model(recipes::default_sentences(), {.seed = options.seed})),
      page_({.language = options.language,
             .text = pair().source,
             .sentences = worked_.sentences,
             .command = explain_command({.text = pair().source,
                                         .worked = {.seed = options.seed},
                                         .train = true,
                                         .program = options.program})}) {}

void FirstMinute::run() {
  say("first.intro");
  std::string sentences = "\n";
  for (const recipes::SentencePair& one : worked_.sentences) {
    sentences += wrapped(one.source + " → " + one.target, style_.width, "  ");
  }
  tell_(sentences + "\n");
  say("message.text", {{"text", pair().source}});
  say("first.random", {{"words", continuation()}});
  add_untrained();
  const recipes::WorkedTraining training = train();
  say("first.trained", {{"words", continuation()}});
  show_trained(training);
}

void FirstMinute::tell_page(const std::string& path, const std::string& program) {
  // Whole, so that it can be clicked on or copied.
  const std::string line = catalogue_.text("first.page", {{"path", visible(path)}});
  const bool fits = text::columns(line) <= style_.width;
  tell_(fits ? line + "\n"
             : wrapped(catalogue_.text("first.page", {{"path", ""}}), style_.width) +
                   visible(path) + "\n");
  const auto what = [&](const char* key) { return catalogue_.text(key); };
  tell_("\n" + suggestions_text(catalogue_,
                                {{program + " lesson", what("first.next.lesson")},
                                 {program + " explain --help", what("first.next.explain")},
                                 {program + " --help", what("first.next.help")}},
                                style_.width));
}

std::string FirstMinute::continuation() const {
  return recipes::continuation_of(threads_, *worked_.model, worked_.tokenizer, pair().source);
}

explain::Trace FirstMinute::trace() const {
  const explain::Input input = explain::make_input(
      *worked_.model, worked_.tokenizer, {.text = pair().source, .target = pair().target});
  return explain::trace_model(threads_, *worked_.model, input);
}

void FirstMinute::say(std::string_view key, const std::vector<Placeholder>& values) {
  tell_(wrapped(catalogue_.text(key, values), style_.width));
}

void FirstMinute::add_untrained() {
  explain::Trace untrained = trace();
  const explain::BackwardWalk walk =
      walk_to_weight(untrained, *worked_.model, std::nullopt, nullptr);
  page_.add(untrained, *worked_.model,
            {.key = "message.before_training",
             .continuation = continuation(),
             .heads = heads_of(untrained),
             .backward = &walk});
}

// What it says at a few steps on the way.
recipes::WorkedTraining FirstMinute::train() {
  tell_("\n");
  say("first.training");
  constexpr std::array<int64_t, 6> kShown = {1, 10, 20, 40, 80, 400};
  std::vector<std::vector<std::string>> lines = {{catalogue_.text("label.step"),
                                                  catalogue_.text("label.loss"),
                                                  catalogue_.text("label.continuation")}};
  recipes::WorkedTraining training =
      recipes::train_worked_model(threads_, worked_, [&](int64_t step, double loss) {
        if (std::ranges::find(kShown, step) == kShown.end()) return;
        lines.push_back({std::to_string(step), catalogue_.number(loss, 3), continuation()});
      });
  tell_("\n" + table_text(lines, style_.width) + "\n");
  tell_(wrapped(trained_text(catalogue_, training), style_.width));
  page_.set_losses(training.losses);
  return training;
}

void FirstMinute::show_trained(const recipes::WorkedTraining& training) {
  explain::Trace trained = trace();
  const Walk walk{.catalogue = catalogue_, .trace = trained};
  std::vector<heads::HeadStatistics> heads = heads_of(trained);
  tell_("\n" +
        step_text(style_, catalogue_, catalogue_.text("first.heads"), heads_step(walk, heads)));
  const explain::BackwardWalk back =
      walk_to_weight(trained, *worked_.model, std::nullopt, &training);
  page_.add(trained, *worked_.model,
            {.key = "message.after_training",
             .continuation = continuation(),
             .heads = std::move(heads),
             .backward = &back});
}

}  // namespace headlight::narrate
