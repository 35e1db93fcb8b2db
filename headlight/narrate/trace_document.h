// TraceDocument: the runs of a request, kept so that they can be asked, and the document that tells
// of them without their numbers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlight/narrate/explained_run.h"
#include "headlight/narrate/page.h"

namespace headlight::narrate {

// Numbers as pages hold them: the bytes of float32, the lowest first, in letters of base 64.
io::Json letters_json(const tensor::Tensor& floats);

// Everything is computed when it is made. Belongs to one thread at a time; threads and files
// outlive it.
class TraceDocument {
 public:
  // Called for each run: a worked model that is trained has two, before and after.
  using MakeSubject = std::function<Subject(const ExplainRequest&)>;
  // `stops`: asked at each operation, word that is written and step of a training; then
  // Error(failed). Throws as Explanation does, and Error(out_of_memory) before a run that needs
  // more memory than is free.
  TraceDocument(base::ThreadPool& threads, base::FileSystem& files, ExplainRequest request,
                const MakeSubject& make, const std::function<bool()>& stops = {});

  size_t run_count() const { return runs_.size(); }
  const ExplainedRun& run(size_t number) const { return runs_[number]->explained; }
  const explain::Trace& trace(size_t number) const { return runs_[number]->explained.trace; }
  const Subject& subject(size_t number) const { return runs_[number]->work.subject; }
  const ExplainRequest& request() const { return request_; }

  // As a page's data, without "texts", and runs without "values"; "backward" has no numbers. With
  // "target", and "training": {"steps", "seconds"} where there was one.
  const io::Json& document() const { return document_; }

  // A tensor, parameter or head of a run; of the way back "error" and "gradient.NAME". Throws
  // Error(bad_input).
  explain::Tile tile(size_t run, const std::string& name,
                     const explain::TileRequest& request) const;
  std::vector<int64_t> shape_of(size_t run, const std::string& name) const;

  // The same as one page that needs nothing else. Throws what the output throws.
  void write_page(base::Output& output, std::string_view language);

  // About how much memory it holds.
  uint64_t bytes() const;

 private:
  struct KeptRun {
    ExplainWork work;
    ExplainedRun explained;
  };
  void add_run(ExplainWork work, bool trains);
  PageOptions page_options(std::string language) const;
  PageRun page_run(size_t number) const;
  void write_document();
  // Of the way back; not defined where the name is none of its.
  tensor::Tensor gradient(size_t run, const std::string& name) const;

  ExplainRequest request_;
  std::vector<std::unique_ptr<KeptRun>> runs_;
  recipes::WorkedTraining training_;
  io::Json document_;
};

}  // namespace headlight::narrate
