// Models whose weights PyTorch wrote: pytorch_model.bin, its shards, a .pt file by its own name.
#include <filesystem>

#include "tests/models/state_checkpoint.h"
#include "tests/models/support.h"

namespace headlight::models {
namespace {

class CheckpointFolder : public ModelTest {
 protected:
  CheckpointFolder() : model_(small_gpt()) {
    fill(model_, 1);
    folder_.put("config.json", io::json_text(model_.config()));
  }
  void expect_model(const std::string& place) {
    const std::unique_ptr<Model> loaded = load_model(base::real_files(), place);
    const nn::StateDict expected = model_.state();
    const nn::StateDict got = loaded->state();
    ASSERT_EQ(got.size(), expected.size());
    for (const auto& [name, tensor] : expected) {
      EXPECT_TRUE(same_bits(got.at(name), tensor)) << name;
    }
  }
  std::string error(const std::string& place) {
    return error_of([&] { load_model(base::real_files(), place); });
  }

  TemporaryFolder folder_;
  Gpt model_;
};

TEST_F(CheckpointFolder, with_one_file_is_opened) {
  folder_.put("pytorch_model.bin", state_bytes(model_.state()));
  expect_model(folder_.path());
  expect_model(folder_ / "pytorch_model.bin");
}

TEST_F(CheckpointFolder, may_have_any_file_that_is_named) {
  folder_.put("ckpt.pt", state_bytes(model_.state(), "model"));
  expect_model(folder_ / "ckpt.pt");
  expect_has(error(folder_.path()), "its weights are in ckpt.pt; name that file, ");
  std::filesystem::remove(folder_ / "config.json");
  expect_has(error(folder_ / "ckpt.pt"), "has no config.json beside it");
}

TEST_F(CheckpointFolder, may_be_in_shards) {
  nn::StateDict parts[2];
  std::string map;
  for (const auto& [name, tensor] : model_.state()) {
    const size_t shard = map.size() % 2;
    parts[shard][name] = tensor;
    map += (map.empty() ? "\"" : ",\"") + name + "\":\"pytorch_model-" + std::to_string(shard) +
           ".bin\"";
  }
  for (size_t shard : {0, 1}) {
    folder_.put("pytorch_model-" + std::to_string(shard) + ".bin", state_bytes(parts[shard]));
  }
  folder_.put("pytorch_model.bin.index.json", R"({"weight_map":{)" + map + "}}");
  expect_model(folder_.path());
  std::filesystem::remove(folder_ / "pytorch_model-1.bin");
  expect_has(error(folder_.path()), "checkpoint index");
}

TEST_F(CheckpointFolder, is_not_looked_at_beside_safetensors) {
  save_model(base::real_files(), folder_.path(), model_);
  folder_.put("pytorch_model.bin", "nonsense");
  expect_model(folder_.path());
}

TEST_F(CheckpointFolder, with_other_tensors_is_refused_by_their_names) {
  nn::StateDict state = model_.state();
  state["extra"] = Tensor::zeros(DType::f32, {2});
  folder_.put("pytorch_model.bin", state_bytes(state));
  expect_has(error(folder_.path()), "1 unexpected: extra");
}

TEST_F(CheckpointFolder, without_a_model_type_is_what_its_tensors_are_called) {
  Bert bert(small_bert());
  fill(bert, 2);
  io::Json config = bert.config();
  std::erase_if(*config.object(), [](const auto& one) { return one.first == "model_type"; });
  folder_.put("config.json", io::json_text(config));
  nn::StateDict prefixed;
  for (const auto& [name, tensor] : bert.state()) {
    const bool has_prefix = name.starts_with("bert.") || name.starts_with("cls.");
    prefixed[has_prefix ? name : "bert." + name] = tensor;
  }
  folder_.put("pytorch_model.bin", state_bytes(prefixed));
  std::vector<std::string> notes;
  const auto loaded = load_model(base::real_files(), folder_.path(), known_architectures(), &notes);
  EXPECT_EQ(loaded->type(), "bert");
  ASSERT_EQ(notes.size(), 1u);
  expect_has(notes.front(), "names no model_type; by the names of its tensors it is bert");
  // Of a GPT they do not tell.
  folder_.put("pytorch_model.bin", state_bytes(model_.state()));
  expect_has(error(folder_.path()), "(model_type): is missing");
}

}  // namespace
}  // namespace headlight::models
