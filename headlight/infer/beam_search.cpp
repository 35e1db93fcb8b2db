// Beam search over all prompts in one batch: each row of the batch is a beam of some prompt.
#include "headlight/infer/beam_search.h"

#include <algorithm>
#include <cmath>

#include "headlight/infer/sequences.h"
#include "headlight/infer/text_stream.h"

namespace headlight::infer {
namespace {

using base::Error;
using base::ErrorKind;

struct Beam {
  Continuation so_far = {};
  double log_probability = 0;
  TextStream stream;
};

// The beams of a prompt, which lie in adjacent rows.
struct Search {
  size_t prompt;
  Limit limit;
  std::vector<Beam> live;
  std::vector<Hypothesis> ended = {};
};

// A beam with one id more.
struct Extension {
  size_t beam = 0;  // among those of its prompt
  int64_t id = 0;
  float id_log_probability = 0;
  double log_probability = 0;  // of the whole
};

class BeamSearch {
 public:
  BeamSearch(Context& context, const Model& model, const std::vector<Prompt>& prompts,
             const BeamOptions& options)
      : context_(context),
        model_(model),
        options_(options),
        beams_(static_cast<size_t>(options.beams)),
        ending_(checked_ending(model, options.ending)),
        prompts_(checked_prompts(model, prompts, options.ending.tokenizer)),
        results_(prompts.size()) {}

  std::vector<std::vector<Hypothesis>> run() {
    const std::vector<Prompt> started = start();
    if (searches_.empty()) return std::move(results_);
    Sequences sequences(context_, model_, started, options_.use_cache);
    LogitRows rows = sequences.begin();
    for (;;) {
      step(rows);
      if (searches_.empty()) return std::move(results_);
      sequences.select(parents_);
      rows = sequences.read(next_ids_);
    }
  }

 private:
  std::vector<Prompt> start() {
    std::vector<Prompt> started;
    for (size_t i = 0; i < prompts_.size(); ++i) {
      const Limit limit = limit_of(model_, ending_, prompts_[i]);
      Search search{.prompt = i, .limit = limit, .live = {}};
      search.live.push_back({.stream = TextStream(ending_, prompts_[i].ids)});
      if (limit.count == 0) {
        finish(search);
      } else {
        searches_.push_back(std::move(search));
        started.push_back(prompts_[i]);
      }
    }
    return started;
  }

  void step(const LogitRows& rows) {
    const std::vector<std::vector<int64_t>> best = best_ids(rows);
    parents_.clear();
    next_ids_.clear();
    size_t row = 0;
    std::vector<Search> going_on;
    for (Search& search : searches_) {
      const size_t first_row = row;
      row += search.live.size();
      const std::vector<size_t> parents = extend(search, ranked(search, rows, best, first_row));
      if (is_done(search)) {
        finish(search);
        continue;
      }
      for (const size_t parent : parents) {
        parents_.push_back(static_cast<int64_t>(first_row + parent));
      }
      for (const Beam& beam : search.live) next_ids_.push_back(beam.so_far.ids.back());
      going_on.push_back(std::move(search));
    }
    searches_ = std::move(going_on);
  }

  // As many of each row as leave `beams` that go on, whichever of them are stop ids.
  std::vector<std::vector<int64_t>> best_ids(const LogitRows& rows) {
    size_t row_count = 0;
    for (const Search& search : searches_) row_count += search.live.size();
    std::vector<std::vector<int64_t>> best(row_count);
    const size_t count = beams_ + ending_.stop_ids->size();
    context_.threads.parallel_for(static_cast<int64_t>(row_count), [&](int64_t row, int) {
      best[static_cast<size_t>(row)] = top_ids(rows.logits_of(static_cast<size_t>(row)), count);
    });
    return best;
  }

  // All extensions of the search's beams that matter, the likeliest first.
  static std::vector<Extension> ranked(const Search& search, const LogitRows& rows,
                                       const std::vector<std::vector<int64_t>>& best,
                                       size_t first_row) {
    std::vector<Extension> extensions;
    for (size_t beam = 0; beam < search.live.size(); ++beam) {
      for (const int64_t id : best[first_row + beam]) {
        const float added = rows.log_probability(first_row + beam, id);
        if (std::isinf(added)) continue;  // an id that cannot be
        extensions.push_back(
            {beam, id, added, search.live[beam].log_probability + static_cast<double>(added)});
      }
    }
    if (extensions.empty()) {
      throw Error(ErrorKind::failed, "beam search", "logits", "are all -infinity");
    }
    // Stable: within a beam the order of the logits stays even where sums round to equals.
    std::ranges::stable_sort(extensions, std::greater<>(), &Extension::log_probability);
    return extensions;
  }

  // Replaces the live beams by their best extensions and gives the beam that each comes from.
  std::vector<size_t> extend(Search& search, const std::vector<Extension>& extensions) {
    std::vector<Beam> live;
    std::vector<size_t> parents;
    for (size_t rank = 0; rank < extensions.size() && live.size() < beams_; ++rank) {
      const Extension& extension = extensions[rank];
      const bool is_stop = is_stop_id(ending_, extension.id);
      // An end counts only where it would have had a place among the beams.
      if (is_stop && rank >= beams_) continue;
      Beam beam = search.live[extension.beam];
      beam.log_probability = extension.log_probability;
      beam.so_far.log_probabilities.push_back(extension.id_log_probability);
      if (!is_stop) {
        beam.so_far.ids.push_back(extension.id);
        beam.so_far.text += beam.stream.add(extension.id);
      }
      if (is_stop || beam.stream.is_stopped()) {
        end(search, std::move(beam), is_stop ? StopReason::end : StopReason::stop_text);
      } else {
        live.push_back(std::move(beam));
        parents.push_back(extension.beam);
      }
    }
    search.live = std::move(live);
    return parents;
  }

  void end(Search& search, Beam beam, StopReason reason) const {
    beam.so_far.text += beam.stream.finish();
    beam.so_far.reason = beam.stream.is_stopped() ? StopReason::stop_text : reason;
    const auto length =
        static_cast<double>(std::max<size_t>(1, beam.so_far.log_probabilities.size()));
    const double score = beam.log_probability / std::pow(length, options_.length_penalty);
    search.ended.push_back({{std::move(beam.so_far)}, score});
  }

  bool is_done(const Search& search) const {
    return search.ended.size() >= beams_ || search.live.empty() ||
           static_cast<int64_t>(search.live.front().so_far.ids.size()) == search.limit.count;
  }

  // What goes on at the limit counts as it is.
  void finish(Search& search) {
    if (search.ended.size() < beams_) {
      for (Beam& beam : search.live) end(search, std::move(beam), search.limit.reason);
    }
    std::ranges::stable_sort(search.ended, std::greater<>(), &Hypothesis::score);
    if (search.ended.size() > beams_) search.ended.resize(beams_);
    results_[search.prompt] = std::move(search.ended);
  }

  Context& context_;
  const Model& model_;
  const BeamOptions& options_;
  const size_t beams_;
  const Ending ending_;
  const std::vector<Prompt> prompts_;
  std::vector<std::vector<Hypothesis>> results_;
  std::vector<Search> searches_;
  // Of the beams of all searches, after a step: the row that each comes from, and its last id.
  std::vector<int64_t> parents_;
  std::vector<int64_t> next_ids_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Context& context, const Model& model,
                                                 const std::vector<Prompt>& prompts,
                                                 const BeamOptions& options) {
  if (options.beams < 1 || !std::isfinite(options.length_penalty)) {
    throw Error(ErrorKind::bad_input, "beam search", "",
                std::to_string(options.beams) + " beams with length penalty " +
                    std::to_string(options.length_penalty) + " cannot be");
  }
  return BeamSearch(context, model, prompts, options).run();
}

}  // namespace headlight::infer
