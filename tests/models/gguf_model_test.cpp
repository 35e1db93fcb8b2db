// GGUF files as models: every family in every type of numbers computes what the folder with the
// same numbers computes, to the bit; and files that say something else are refused by name.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/gguf_writer.h"
#include "tests/models/support.h"

namespace headlight::models {
namespace {

using io::Element;

// Blocks of random bits, with scales that keep numbers small.
std::string random_block(Element element, const base::Random& random, uint64_t& next) {
  std::string block(io::size_of(element), '\0');
  for (char& byte : block) byte = static_cast<char>(random.below(next++, 256));
  const auto put = [&](size_t place, uint16_t half) { std::memcpy(&block[place], &half, 2); };
  const auto sign = static_cast<uint16_t>((block[0] & 1) << 15);
  constexpr uint16_t kSmall = 0x1000;    // 2^-11
  constexpr uint16_t kLarger = 0x2000;   // 2^-7
  constexpr uint16_t kMinimum = 0xA800;  // -2^-5
  switch (element) {
    case Element::q8_0:
      put(0, kSmall);
      break;
    case Element::q4_0:
    case Element::q5_0:
      put(0, kLarger);
      break;
    case Element::q4_1:
    case Element::q5_1:
      put(0, kLarger);
      put(2, kMinimum);
      break;
    case Element::q4_k:
    case Element::q5_k:
      put(0, 0x0C00);
      put(2, kSmall);
      break;
    case Element::q6_k:
      put(208, 0x0080);
      break;
    case Element::f16:
      put(0, static_cast<uint16_t>(random.below(next++, 1024) | 0x2400 | sign));
      break;
    case Element::bf16:
      put(0, static_cast<uint16_t>(random.below(next++, 128) | 0x3C80 | sign));
      break;
    default: {
      const float number = 0.05F * random.normal(next++);
      std::memcpy(block.data(), &number, sizeof number);
    }
  }
  return block;
}

// Numbers of this type where rows are whole blocks, float32 otherwise; norms near 1.
RawTensor random_tensor(const std::string& name, const Shape& shape, Element element,
                        const base::Random& random, uint64_t& next) {
  std::vector<int64_t> sizes;
  for (int axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
  if (shape.rank() == 1) {
    std::vector<float> numbers(static_cast<size_t>(shape[0]));
    const float middle = name.ends_with("weight") ? 1.0F : 0.0F;
    for (float& number : numbers) number = middle + 0.1F * random.normal(next++);
    return of_floats(sizes, numbers);
  }
  const bool fits = shape[-1] % io::block_of(element) == 0;
  const Element kept = fits ? element : Element::f32;
  RawTensor tensor{.element = kept, .shape = sizes, .bytes = ""};
  for (int64_t i = 0; i < shape.elements() / io::block_of(kept); ++i) {
    tensor.bytes += random_block(kept, random, next);
  }
  return tensor;
}

RawTensor raw_of(const Tensor& tensor) {
  const Tensor numbers = to_float32(tensor);
  RawTensor raw;
  for (int axis = 0; axis < numbers.rank(); ++axis) raw.shape.push_back(numbers.size(axis));
  raw.bytes.assign(reinterpret_cast<const char*>(numbers.raw()), numbers.bytes());
  return raw;
}

Tensor transposed_copy(const Tensor& tensor) {
  Tensor copy = Tensor::uninitialized(DType::f32, {tensor.size(1), tensor.size(0)});
  for (int64_t i = 0; i < tensor.size(0); ++i) {
    for (int64_t j = 0; j < tensor.size(1); ++j) {
      copy.mutable_data<float>()[j * tensor.size(0) + i] =
          tensor.data<float>()[i * tensor.size(1) + j];
    }
  }
  return copy;
}

io::Json with(io::Json config, const std::string& key, const io::Json& value) {
  io::Json::Object& object = *config.object();
  std::erase_if(object, [&](const io::Json::Member& one) { return one.first == key; });
  if (!value.is_null()) object.emplace_back(key, value);
  return config;
}

class GgufModel : public ModelTest {
 protected:
  // A folder with the numbers that the tensors hold, as io reads them.
  void write_folder(const std::string& type, const io::Json& config, const RawTensors& tensors) {
    GgufWriter scratch("scratch");
    for (const auto& [name, tensor] : tensors) scratch.add_tensor(name, tensor);
    folder_.put("scratch.gguf", scratch.bytes());
    const io::Gguf file = io::open_gguf(base::real_files(), folder_ / "scratch.gguf");
    std::vector<io::NamedTensor> numbers;
    for (const io::Gguf::Entry& entry : file.entries()) {
      if (name_in_gguf(type, entry.name).empty()) continue;
      const Tensor loaded = to_float32(file.load(entry));
      numbers.push_back(
          {entry.name, is_transposed(type, entry.name) ? transposed_copy(loaded) : loaded});
    }
    std::filesystem::create_directories(folder_ / "folder");
    io::write_safetensors(base::real_files(), folder_ / "folder/model.safetensors", numbers);
    folder_.put("folder/config.json", io::json_text(config));
  }

  Tensor numbers_of(const Model& model) {
    Context context = inference_context();
    Batch batch{.ids = random_ids({2, 7}, model.vocab_size(), 5)};
    // RoBERTa's padding takes no position; a GGUF file has lost the row that it has instead.
    int64_t* ids = batch.ids.mutable_data<int64_t>();
    std::replace_if(
        ids, ids + batch.ids.elements(), [](int64_t id) { return id < 2; }, 2);
    if (model.capabilities().translates) {
      batch.source_ids = random_ids({2, 9}, model.source_vocab_size(), 6);
    }
    const Value output = model.forward(context, batch);
    return model.capabilities().continues_prompt || model.capabilities().translates
               ? model.logits(context, output).data()
               : output.data();
  }

  void expect_the_same(const std::string& type, const io::Json& config, const RawTensors& tensors) {
    write_folder(type, config, tensors);
    folder_.put("model.gguf", gguf_of(type, config, tensors));
    const auto folder = load_model(base::real_files(), folder_ / "folder");
    const auto file = load_model(base::real_files(), folder_ / "model.gguf");
    EXPECT_TRUE(same_bits(numbers_of(*file), numbers_of(*folder)));
    EXPECT_EQ(file->context_length(), folder->context_length());
    expect_the_same_packed(folder_ / "folder", *folder);
    expect_the_same_packed(folder_ / "model.gguf", *file);
  }

  void expect_the_same_packed(const std::string& place, const Model& plain) {
    const auto packed = load_model(base::real_files(), place, known_architectures(), nullptr, true);
    EXPECT_TRUE(same_bits(numbers_of(*packed), numbers_of(plain))) << place;
    const nn::StateDict expected = plain.state();
    for (const auto& [name, weight] : packed->state()) {
      EXPECT_TRUE(same_bits(weight, expected.at(name))) << place << " " << name;
    }
  }

  std::string error_of_file(const std::string& bytes) {
    folder_.put("model.gguf", bytes);
    return error_of([&] { load_model(base::real_files(), folder_ / "model.gguf"); });
  }

  TemporaryFolder folder_;
};

struct FamilyAndType {
  std::string family;
  Element element;
};

std::vector<FamilyAndType> families_and_types() {
  std::vector<FamilyAndType> all;
  for (const char* family :
       {"llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma3_text", "gpt_neox", "gpt2", "bert",
        "roberta", "distilbert", "modernbert", "t5"}) {
    for (const Element element :
         {Element::f32, Element::f16, Element::bf16, Element::q8_0, Element::q4_0, Element::q4_1,
          Element::q5_0, Element::q5_1, Element::q4_k, Element::q5_k, Element::q6_k}) {
      all.push_back({family, element});
    }
  }
  return all;
}

class GgufFamily : public GgufModel, public testing::WithParamInterface<FamilyAndType> {};

TEST_P(GgufFamily, computes_what_the_folder_with_its_numbers_computes) {
  const auto& [family, element] = GetParam();
  ModelRequest request{.vocab_size = 40,
                       .n_layer = family == "smollm3" ? 4 : 2,
                       .n_head = 4,
                       .n_embd = 256,
                       .d_ff = family == "gpt2" ? 1024 : 256,
                       .block_size = 32};
  if (family == "t5") request.activation = nn::Activation::relu;
  const auto model = known_architectures().plan(family, request).make();
  io::Json config = model->config();
  if (family == "qwen2" || family == "qwen3") config = with(config, "use_sliding_window", false);
  if (family == "roberta") config = with(config, "pad_token_id", 1);
  const base::Random random(static_cast<uint64_t>(element) + 17);
  uint64_t next = 0;
  RawTensors tensors;
  for (const nn::ParameterHandle& parameter : model->parameters()) {
    const Shape& shape = parameter->shape();
    const bool turned = is_transposed(family, parameter->name());
    tensors[parameter->name()] = random_tensor(
        parameter->name(), turned ? Shape{shape[1], shape[0]} : shape, element, random, next);
  }
  expect_the_same(family, config, tensors);
}

INSTANTIATE_TEST_SUITE_P(Types, GgufFamily, testing::ValuesIn(families_and_types()),
                         [](const auto& info) {
                           return info.param.family + "_" + io::name_of(info.param.element);
                         });

class GgufGolden : public GgufModel, public testing::WithParamInterface<std::string> {};

// The folders of tests/golden, with odd widths and every switch that GGUF can tell.
TEST_P(GgufGolden, family_computes_what_its_folder_computes) {
  const std::string& family = GetParam();
  io::Json config = io::read_json(base::real_files(), golden_folder(family) + "/config.json");
  if (family == "qwen2" || family == "smollm3") {
    for (const char* key : {"layer_types", "no_rope_layers", "sliding_window"}) {
      config = with(config, key, {});
    }
    config = with(config, "use_sliding_window", false);
  }
  if (family == "gemma3_text") config = with(config, "query_pre_attn_scalar", 6);
  if (family == "t5") config = with(config, "relative_attention_max_distance", {});
  RawTensors tensors;
  for (const auto& [name, tensor] : read_tensors(golden_folder(family) + "/model.safetensors")) {
    tensors[name] = raw_of(tensor);
  }
  expect_the_same(family, config, tensors);
}

INSTANTIATE_TEST_SUITE_P(Families, GgufGolden,
                         testing::Values("llama", "mistral", "qwen2", "qwen3", "smollm3",
                                         "gemma3_text", "gpt_neox", "distilbert", "roberta", "t5"),
                         [](const auto& info) { return info.param; });

// A small Llama of which one thing is said otherwise.
class OddGguf : public GgufModel {
 protected:
  OddGguf() {
    const auto model = known_architectures()
                           .plan("llama", {.vocab_size = 11,
                                           .n_layer = 1,
                                           .n_head = 2,
                                           .n_embd = 8,
                                           .d_ff = 12,
                                           .block_size = 16})
                           .make();
    fill(*model, 3);
    config_ = model->config();
    original_ = config_;
    for (const auto& [name, tensor] : model->state()) tensors_[name] = raw_of(tensor);
  }

  // The file with more settings or tensors, or other ones.
  std::string error_with(const std::function<void(GgufWriter&)>& change, bool with_rope = true) {
    GgufWriter writer("llama");
    GgufSettings settings(writer, config_);
    settings.sizes("llama");
    if (with_rope) add_rope("llama", config_, settings, writer);
    for (const auto& [name, tensor] : tensors_) {
      writer.add_tensor(name_in_gguf("llama", name), as_in_gguf("llama", original_, name, tensor));
    }
    change(writer);
    return error_of_file(writer.bytes());
  }

  io::Json config_;
  io::Json original_;  // of which the tensors are
  RawTensors tensors_;
};

TEST_F(OddGguf, is_read_as_long_as_nothing_is_wrong) {
  EXPECT_EQ(error_with([](GgufWriter&) {}), "");
  EXPECT_EQ(error_with([](GgufWriter& writer) {
              writer.set("vocab_size", 11);
              writer.set("expert_count", 0);
              writer.add_text("general.name", "tiny");
              writer.add_text("general.type", "model");
              writer.add_tensor("rope_freqs.weight", of_floats({2}, {1, 1}));
            }),
            "");
}

TEST_F(OddGguf, settings_are_refused_by_name) {
  const auto key_error = [&](const std::string& key, int64_t value) {
    return error_with([&](GgufWriter& writer) { writer.set(key, value); });
  };
  expect_has(key_error("logit_scale", 2), "llama.logit_scale is not known; it may change");
  expect_has(key_error("expert_count", 8), "llama.expert_count is set: mixtures of experts");
  expect_has(key_error("vocab_size", 12), "llama.vocab_size is 12, token_embd.weight has 11 rows");
  expect_has(error_with([](GgufWriter& writer) { writer.set_flag("attention.causal", false); }),
             "llama.attention.causal is false");
  expect_has(error_with([](GgufWriter& writer) {
               writer.add_raw(
                   io::gguf_setting("llama.rope.scaling.type", io::kText, io::gguf_string("yarn")));
               writer.set_float("rope.scaling.factor", 4);
             }),
             "llama.rope.scaling.type is \"yarn\"; none and linear are computed");
  expect_has(error_with([](GgufWriter& writer) { writer.set("rope.dimension_count", 2); }, false),
             "llama.rope.dimension_count is 2, all 4 columns");
  expect_has(error_with([](GgufWriter& writer) { writer.add_text("general.type", "adapter"); }),
             "it is of the type \"adapter\", not a whole model");
  expect_has(error_with([](GgufWriter& writer) {
               writer.add_raw(io::gguf_setting("split.count", io::kUint32, io::u32(3)));
             }),
             "split.no is missing");
}

// Settings that are replaced by one of another kind or size.
struct BadSetting {
  const char* name;
  std::string key;
  uint32_t type;
  std::string value;
  std::string message;
};

std::vector<BadSetting> bad_settings() {
  constexpr uint32_t kInt64 = 11;
  const auto whole = [](int64_t value) { return io::little_endian(value); };
  const auto real = [](double value) { return io::little_endian(static_cast<float>(value)); };
  const std::string two = io::gguf_array(io::kUint32, 2, io::u32(1) + io::u32(2));
  return {
      {"layers_below_0", "block_count", kInt64, whole(-1), "num_hidden_layers): is -1"},
      {"a_thousand_layers", "block_count", kInt64, whole(1000), "8991 missing: "},
      {"layers_of_a_text", "block_count", io::kText, io::gguf_string("1"), "is no whole number"},
      {"layers_of_a_fraction", "block_count", io::kFloat32, real(1.5), "is no whole number"},
      {"layers_of_truth", "block_count", io::kBool, "\1", "is no whole number"},
      {"width_of_2_to_the_62", "embedding_length", kInt64, whole(int64_t{1} << 62),
       "hidden_size): is 4611686018427387904"},
      {"wide_hidden_layers", "feed_forward_length", kInt64, whole(4'000'000),
       "[12, 8] and should be [4000000, 8]"},
      {"context_of_2_to_the_62", "context_length", kInt64, whole(int64_t{1} << 62),
       "max_position_embeddings): is 4611686018427387904"},
      {"least_number_of_heads", "attention.head_count", kInt64, whole(INT64_MIN),
       "attention.head_count is not from 1 on"},
      {"heads_without_end", "attention.head_count", kInt64, whole(INT64_MAX),
       "num_attention_heads): is 9223372036854775807"},
      {"other_heads_in_other_layers", "attention.head_count", io::kArray, two,
       "has other numbers for other layers"},
      {"no_heads_in_no_layers", "attention.head_count", io::kArray,
       io::gguf_array(io::kUint32, 0, ""), "has other numbers for other layers"},
      {"heads_in_lists_of_lists", "attention.head_count", io::kArray,
       io::gguf_array(io::kArray, 1, two), "is no whole number"},
      {"no_key_value_heads", "attention.head_count_kv", kInt64, whole(0),
       "is 0, it must be from 1"},
      {"keys_of_no_width", "attention.key_length", kInt64, whole(0), "keys have 0"},
      {"keys_wider_than_values", "attention.key_length", kInt64, whole(6), "they must be the same"},
      {"epsilon_that_is_no_number", "attention.layer_norm_rms_epsilon", io::kFloat32, real(NAN),
       "is no finite number"},
      {"epsilon_without_end", "attention.layer_norm_rms_epsilon", io::kFloat32, real(INFINITY),
       "is no finite number"},
      {"epsilon_below_0", "attention.layer_norm_rms_epsilon", io::kFloat32, real(-1), "is -1.0"},
      {"rotation_by_0", "rope.freq_base", io::kFloat32, real(0), "rope_theta): is 0.0"},
      {"rotation_by_no_number", "rope.freq_base", io::kFloat32, real(NAN), "is no finite number"},
      {"rotation_scaled_below_0", "rope.scaling.factor", io::kFloat32, real(-2), "is below 0"},
      {"rotation_scaled_by_almost_0", "rope.scaling.factor", io::kFloat32, real(1e-45),
       "it must be above 1e-30 and below 1e30"},
      {"scaling_of_a_number", "rope.scaling.type", kInt64, whole(1), "is no text"},
      {"window_below_0", "attention.sliding_window", kInt64, whole(-4),
       "llama.attention.sliding_window is below 0"},
      {"window_of_a_text", "attention.sliding_window", io::kText, io::gguf_string("4"),
       "is no whole number"},
      {"causality_of_a_number", "attention.causal", kInt64, whole(1), "is not true or false"},
  };
}

TEST_F(OddGguf, settings_of_another_kind_or_size_are_refused) {
  for (const BadSetting& bad : bad_settings()) {
    SCOPED_TRACE(bad.name);
    const auto replace = [&](GgufWriter& writer) {
      writer.leave_out("llama." + bad.key);
      writer.add_raw(io::gguf_setting("llama." + bad.key, bad.type, bad.value));
    };
    const std::string error = error_with(replace);
    expect_has(error, bad.message);
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  const auto error_of_general = [&](const std::string& key) {
    return error_with([&](GgufWriter& writer) {
      writer.leave_out(key);
      writer.add_raw(io::gguf_setting(key, io::kUint32, io::u32(3)));
    });
  };
  expect_has(error_of_general("general.architecture"), "general.architecture is no text");
  expect_has(error_of_general("general.type"), "general.type is no text");
}

// Heads of another width than the tensors can have would be rotated otherwise.
TEST_F(OddGguf, heads_that_do_not_share_the_width_evenly_are_refused) {
  for (const std::string family : {"gptneox", "modern-bert"}) {
    SCOPED_TRACE(family);
    GgufWriter writer(family);
    writer.set("embedding_length", 8);
    writer.set("block_count", 1);
    writer.set("attention.head_count", 2);
    writer.set("attention.key_length", 6);
    writer.set("attention.sliding_window", 4);
    writer.set_flag("attention.causal", family == "gptneox");
    writer.add_tensor("token_embd.weight", of_floats({1, 8}, std::vector<float>(8, 1)));
    expect_has(error_of_file(writer.bytes()),
               family + ".attention.key_length is 6, 2 heads share embedding_length 8 evenly");
  }
}

TEST_F(OddGguf, split_into_parts_is_the_same_model) {
  const auto split_settings = [](GgufWriter& writer, uint64_t number, uint64_t tensors) {
    writer.add_raw(io::gguf_setting("split.no", io::kUint32, io::u32(number)));
    writer.add_raw(io::gguf_setting("split.count", io::kUint32, io::u32(2)));
    writer.add_raw(io::gguf_setting("split.tensors.count", io::kUint32, io::u32(tensors)));
  };
  GgufWriter first("llama");
  GgufWriter second("llama");
  GgufSettings settings(first, config_);
  settings.sizes("llama");
  add_rope("llama", config_, settings, first);
  bool is_first = false;
  for (const auto& [name, tensor] : tensors_) {
    is_first = !is_first;
    (is_first ? first : second)
        .add_tensor(name_in_gguf("llama", name), as_in_gguf("llama", original_, name, tensor));
  }
  split_settings(first, 0, tensors_.size());
  split_settings(second, 1, tensors_.size());
  folder_.put("m-00001-of-00002.gguf", first.bytes());
  const std::string path = folder_ / "m-00001-of-00002.gguf";
  expect_has(error_of([&] { load_model(base::real_files(), path); }),
             "1 of its 2 parts are missing, the first is \"" + (folder_ / "m-00002-of-00002.gguf"));
  folder_.put("m-00002-of-00002.gguf", second.bytes());
  const auto split = load_model(base::real_files(), path);
  EXPECT_EQ(error_with([](GgufWriter&) {}), "");
  const auto whole = load_model(base::real_files(), folder_ / "model.gguf");
  EXPECT_TRUE(same_bits(numbers_of(*split), numbers_of(*whole)));
}

TEST_F(OddGguf, tensors_are_refused_by_name) {
  const auto tensor_error = [&](const std::string& name, const RawTensor& tensor) {
    return error_with([&](GgufWriter& writer) { writer.add_tensor(name, tensor); });
  };
  expect_has(tensor_error("blk.0.ssm_a.weight", of_floats({2}, {1, 2})), "blk.0.ssm_a.weight");
  expect_has(tensor_error("blk.7.attn_q.weight", of_floats({2}, {1, 2})),
             "model.layers.7.self_attn.q_proj.weight");
  expect_has(tensor_error("rope_freqs.weight", of_floats({2}, {1.5F, 0.5F})),
             "rope_freqs.weight holds factors that no llama3 scaling gives");
  expect_has(tensor_error("rope_freqs.weight", of_floats({3}, {1, 1, 1})),
             "rope_freqs.weight has the shape [3], heads need [2]");
  for (const float odd : {NAN, INFINITY, -8.0F}) {
    expect_has(tensor_error("rope_freqs.weight", of_floats({2}, {1, odd})),
               "rope_freqs.weight holds factors that no llama3 scaling gives");
  }
  expect_has(tensor_error("rope_freqs.weight", of_floats({2}, {0, 0})), "rope_scaling.factor");
  expect_has(tensor_error("model.norm.weight", of_floats({8}, std::vector<float>(8, 1))),
             "tensor \"model.norm.weight\" is there twice");
  for (const std::string layer : {"", "00", "-1", "99999999999999999999999999"}) {
    expect_has(tensor_error("blk." + layer + ".attn_q.weight", of_floats({2}, {1, 2})),
               "1 unexpected: ");
  }
  tensors_.erase("model.layers.0.mlp.up_proj.weight");
  expect_has(error_with([](GgufWriter&) {}), "model.layers.0.mlp.up_proj.weight");
}

TEST_F(OddGguf, architectures_are_refused_with_those_that_are_read) {
  expect_has(error_of_file(GgufWriter("mamba").bytes()), "it holds no tensors");
  GgufWriter other("mamba");
  other.add_tensor("token_embd.weight", of_floats({1, 2}, {1, 2}));
  expect_has(error_of_file(other.bytes()),
             "the architecture \"mamba\" is not read; read are llama, qwen2");
  io::GgufParts nameless;
  nameless.settings = {};
  expect_has(error_of_file(nameless.bytes()), "general.architecture is missing");
}

TEST_F(OddGguf, sizes_that_make_no_model_are_refused) {
  const auto error_without = [&](const char* key, const io::Json& value) {
    const io::Json kept = config_;
    config_ = with(config_, key, value);
    std::string error = error_with([](GgufWriter&) {}, false);
    config_ = kept;
    return error;
  };
  expect_has(error_without("hidden_size", {}), "llama.embedding_length is missing");
  expect_has(error_without("num_hidden_layers", {}), "llama.block_count is missing");
  expect_has(error_without("num_attention_heads", 0), "llama.attention.head_count is not from 1");
  expect_has(error_without("num_hidden_layers", 2'000'000), "num_hidden_layers");
  expect_has(error_without("hidden_size", 4'000'000'000), "hidden_size");
  expect_has(error_without("max_position_embeddings", 0), "max_position_embeddings");
}

}  // namespace
}  // namespace headlight::models
