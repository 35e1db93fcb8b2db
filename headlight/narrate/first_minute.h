// The first minute: three sentences and a tiny model that does not know them, which learns them
// before one's eyes; its heads, and the whole walk as a page.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "headlight/narrate/catalogue.h"
#include "headlight/narrate/page.h"
#include "headlight/narrate/text_layout.h"

namespace headlight::narrate {

struct FirstMinuteOptions {
  std::string language = "en";
  TextStyle style = {};
  uint64_t seed = 1;                  // as of explain; its heads come to tell words apart
  std::string program = "headlight";  // how it was started, for commands to type
};

// Asks nothing, and takes a few seconds. Threads must last as long as it does.
class FirstMinute {
 public:
  // `tell` is given text as soon as there is some: what comes next may take a moment.
  using Tell = std::function<void(std::string_view text)>;

  FirstMinute(base::ThreadPool& threads, const FirstMinuteOptions& options, Tell tell);

  // Everything but the page.
  void run();
  // After run().
  void write_page(base::Output& output) const { page_.write(output); }
  // Where the page is, and what to do next; `program` is how it was started.
  void tell_page(const std::string& path, const std::string& program);

 private:
  const recipes::SentencePair& pair() const { return worked_.sentences.front(); }
  std::string continuation() const;
  explain::Trace trace() const;
  void say(std::string_view key, const std::vector<Placeholder>& values = {});
  void add_untrained();
  recipes::WorkedTraining train();
  void show_trained(const recipes::WorkedTraining& training);

  base::ThreadPool& threads_;
  const Catalogue& catalogue_;
  TextStyle style_;
  Tell tell_;
  recipes::WorkedModel worked_;
  Page page_;
};

}  // namespace headlight::narrate
