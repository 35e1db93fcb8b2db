// Explanation: what a run did, as one document: text, JSON or a page; or as a file of tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/narrate/explained_run.h"
#include "headlight/narrate/page.h"

namespace headlight::narrate {

// Everything is computed when it is made; a worked model that is trained is shown before and after.
// Threads and files must last as long as it does.
class Explanation {
 public:
  // Throws Error(bad_input) for what the model does not have, Error(out_of_memory) before anything
  // large is shown.
  Explanation(base::ThreadPool& threads, base::FileSystem& files, const ExplainRequest& request);
  // Of a model that is already there.
  Explanation(base::ThreadPool& threads, base::FileSystem& files, const ExplainRequest& request,
              Subject subject);

  // The document; what the output throws. Not of the format safetensors.
  void write(base::Output& output) const;
  // The tensors, of the format safetensors alone.
  void write_tensors(const std::string& path) const;

 private:
  // `heading`: a key of the catalogue, where there are several runs.
  void add(ExplainedRun run, const std::string& heading, const recipes::WorkedTraining* training);
  void add_training(const recipes::WorkedTraining& training, io::Json before);

  ExplainWork work_;
  Page page_;
  std::string text_;
  io::Json document_;
  std::optional<explain::Trace> traced_;
  std::vector<io::NamedTensor> tensors_;
};

}  // namespace headlight::narrate
