// Any settings and tensors as the GGUF file of a model: it is loaded on a machine with little
// memory and computes a few tokens, or an Error. An input is lines, each a key and its value as
// JSON, or "tensor", a name, a type's number and a shape, and perhaps numbers; or the bytes of a
// GGUF file.
#include "headlight/models/models.h"
#include "tests/fuzz/some_files.h"
#include "tests/fuzz/trapped.h"
#include "tests/io/gguf_bytes.h"

namespace {

using namespace headlight;

constexpr const char* kPath = "/fuzz.gguf";
constexpr size_t kMostData = size_t{1} << 18;  // bytes of tensors that are made

// One file, on a machine that has 32 MiB left.
class SmallMachine : public fuzz::SomeFiles {
 public:
  explicit SmallMachine(std::string_view bytes)
      : SomeFiles("", {{kPath, bytes}, {"/proc/meminfo", "MemAvailable: 32768 kB\n"}}) {}
};

struct SettingBytes {
  uint32_t type = 0;
  std::string bytes;
};

// Lists have the type of their first element.
SettingBytes setting_of(const io::Json& value) {
  constexpr uint32_t kInt64 = 11;
  if (const auto flag = value.boolean()) return {io::kBool, std::string(1, *flag ? '\1' : '\0')};
  if (const auto number = value.integer()) return {kInt64, io::little_endian(*number)};
  if (const auto number = value.number()) {
    return {io::kFloat32, io::little_endian(static_cast<float>(*number))};
  }
  if (value.text() != nullptr) return {io::kText, io::gguf_string(*value.text())};
  if (value.array() == nullptr) base::refuse("fuzz", "", "is no setting");
  SettingBytes list{io::kUint32, ""};
  for (const io::Json& one : *value.array()) {
    SettingBytes element = setting_of(one);
    if (&one == value.array()->data()) list.type = element.type;
    if (element.type != list.type) base::refuse("fuzz", "", "is no setting");
    list.bytes += element.bytes;
  }
  return {io::kArray, io::gguf_array(list.type, value.array()->size(), list.bytes)};
}

std::string_view next_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

// As many bytes as the type and the shape ask for, where those are few: the numbers, again and
// again, or 1.
void add_data(const io::Json::Array& numbers, uint64_t elements, uint32_t type, std::string& data) {
  constexpr uint64_t kMostElements = kMostData / 8;
  if (elements > kMostElements || data.size() > kMostData) return;
  const uint64_t bytes = type == 0    ? 4 * elements
                         : type == 1  ? 2 * elements
                         : type == 2  ? elements / 32 * 18
                         : type == 8  ? elements / 32 * 34
                         : type == 12 ? elements / 256 * 144
                         : type == 30 ? 2 * elements
                                      : 8 * elements;
  std::string pattern = numbers.empty() ? io::little_endian(1.0F) : "";
  for (const io::Json& number : numbers) {
    pattern += io::little_endian(static_cast<float>(number.number().value_or(0)));
  }
  const size_t begin = data.size();
  while (data.size() < begin + bytes) data += pattern;
  data.resize(begin + bytes);
  data.resize((data.size() + 31) / 32 * 32);
}

void add_tensor(std::string_view line, io::GgufParts& parts) {
  const std::string name(next_word(line));
  const io::Json words = io::parse_json("[" + std::string(line) + "]", "fuzz");
  const io::Json::Array& list = *words.array();
  if (list.size() < 2 || !list[0].integer() || list[1].array() == nullptr) return;
  io::GgufTensor tensor{.name = io::gguf_string(name),
                        .sizes = {},
                        .type = static_cast<uint32_t>(*list[0].integer()),
                        .offset = parts.data.size()};
  uint64_t elements = 1;
  for (const io::Json& size : *list[1].array()) {
    tensor.sizes.insert(tensor.sizes.begin(), static_cast<uint64_t>(size.integer().value_or(1)));
    elements *= std::min<uint64_t>(tensor.sizes.front(), kMostData);
    elements = std::min<uint64_t>(elements, kMostData);
  }
  static const io::Json::Array kNone;
  const bool has_numbers = list.size() > 2 && list[2].array() != nullptr;
  add_data(has_numbers ? *list[2].array() : kNone, elements, tensor.type, parts.data);
  parts.tensors.push_back(tensor.bytes());
}

// Lines that say nothing are left out.
std::string file_of(std::string_view lines) {
  io::GgufParts parts;
  parts.settings.clear();
  parts.tensors.clear();
  parts.data.clear();
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    try {
      const std::string key(next_word(line));
      if (key == "tensor") {
        add_tensor(line, parts);
      } else {
        const SettingBytes value = setting_of(io::parse_json(line, "fuzz"));
        parts.settings.push_back(io::gguf_setting(key, value.type, value.bytes));
      }
    } catch (const base::Error&) {
    }
  }
  return parts.bytes();
}

void check_numbers(const models::Model& model) {
  base::ThreadPool threads(1);
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  const int64_t length = std::min<int64_t>(model.context_length(), 3);
  tensor::Tensor ids = tensor::Tensor::uninitialized(tensor::DType::i64, {1, length});
  for (int64_t i = 0; i < length; ++i) {
    ids.mutable_data<int64_t>()[i] = i % std::min(model.vocab_size(), model.source_vocab_size());
  }
  models::Batch batch{.ids = ids};
  if (model.capabilities().translates) batch.source_ids = ids;
  const autograd::Value output = model.forward(context, batch);
  if (model.has_logits()) model.logits(context, output);
}

void check_model(const std::string& bytes) {
  SmallMachine files(bytes);
  // What can be told of a model beforehand holds when it is loaded.
  try {
    models::prospect_of(files, kPath);
  } catch (const base::Error& error) {
    fuzz::require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  const std::unique_ptr<models::Model> model = models::load_model(files, kPath);
  fuzz::must_succeed([&] { return models::prospect_of(files, kPath); });
  io::json_text(model->config());
  check_numbers(*model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    check_model(input.starts_with("GGUF") ? std::string(input) : file_of(input));
  } catch (const base::Error& error) {
    fuzz::require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
