// Malformed checkpoints: zip archives, pickles, tensors, and what is no state dict.
#include <functional>

#include "headlight/io/checkpoint.h"
#include "tests/io/bad_files.h"
#include "tests/io/checkpoint_bytes.h"

namespace headlight::io {
namespace {

using pickled::dictionary;
using pickled::global;
using pickled::integer;
using pickled::integers;
using pickled::Storage;
using pickled::TensorParts;
using pickled::text;
using pickled::whole;

std::string checkpoint_error(const std::string& bytes) {
  return error_of([&] {
    const StoredTensors tensors =
        open_checkpoint(std::make_shared<base::MemoryInput>(input_of(bytes)));
    for (const StoredTensors::Entry& entry : tensors.entries()) tensors.load(entry);
  });
}

std::string good_pickle() { return whole(dictionary({{"x", pickled::tensor()}})); }
ArchiveParts good_archive() { return {.records = checkpoint_records(good_pickle())}; }
std::string archive(const std::function<void(ArchiveParts&)>& change) {
  ArchiveParts parts = good_archive();
  change(parts);
  return archive_bytes(parts);
}
// An archive whose first record is this pickle, of which nothing else is said.
std::string pickle(const std::string& bytes) {
  return archive_bytes({.records = checkpoint_records(bytes)});
}
std::string value(const std::string& bytes) { return checkpoint_bytes(bytes); }
std::string storage(const Storage& storage) { return one_tensor({.storage = storage.bytes()}); }

class BadCheckpoint : public testing::TestWithParam<BadFile> {};
TEST_P(BadCheckpoint, is_refused) {
  expect_refused(checkpoint_error(GetParam().bytes), "checkpoint", GetParam().message);
}

const BadFile kOtherFiles[] = {
    {"empty", "", "it is empty"},
    {"one_byte", "x", "neither the archive nor the pickles that torch.save() writes"},
    {"a_gguf", "GGUF" + u32(3) + u64(0) + u64(0), "it is a GGUF file"},
    {"an_html_page", "<!DOCTYPE html><html>", "it is an HTML page"},
    {"a_git_lfs_pointer", "version https://git-lfs.github.com/spec/v1\n", "Git-LFS pointer"},
    {"an_npz", archive_bytes({.records = {{"x.npy", "\x93NUMPY"}}}), "it is an .npz archive"},
    {"another_zip", archive_bytes({.records = {{"word/document.xml", "<x/>"}}}),
     "a zip archive of another kind: it has no data.pkl"},
    {"a_torchscript_program", archive([](auto& parts) {
       parts.records.push_back({"archive/constants.pkl", ""});
     }),
     "a TorchScript program"},
    {"another_pickle", whole("}"), "a pickle of another kind"},
};
INSTANTIATE_TEST_SUITE_P(Other, BadCheckpoint, testing::ValuesIn(kOtherFiles), name_of_case);

const BadFile kArchives[] = {
    {"start_of_a_zip_alone", std::string("PK\x03\x04"), "its directory is missing"},
    {"cut_off", archive_bytes(good_archive()).substr(0, 300), "its directory is missing"},
    {"cut_off_by_one_byte",
     archive_bytes(good_archive()).substr(0, archive_bytes(good_archive()).size() - 1),
     "its directory is missing at the end of the file; truncated download?"},
    {"byte_behind_the_end", archive_bytes(good_archive()) + "x", "its directory is missing"},
    {"compressed", archive([](auto& parts) { parts.method = 8; }), "is compressed (method 8)"},
    {"stored_size_other_than_size", archive([](auto& parts) { parts.stored_more = 1; }),
     "is compressed (method 0)"},
    {"encrypted", archive([](auto& parts) { parts.flags = 1; }), "is encrypted"},
    {"record_past_the_end", archive([](auto& parts) { parts.record_place = 1 << 20; }),
     "past the records, which end at"},
    {"record_place_off_by_one", archive([](auto& parts) { parts.record_place = 1; }),
     "has no header at byte 1"},
    {"record_under_another_name", archive([](auto& parts) { parts.local_name = "archive/other"; }),
     "has another name in its own header"},
    {"record_twice", archive([](auto& parts) { parts.records.push_back(parts.records.front()); }),
     "record \"archive/data.pkl\" is there twice"},
    {"cut_off_field", archive([](auto& parts) { parts.extra = "abc"; }),
     "has a field that is cut off"},
    {"field_longer_than_it_is", archive([](auto& parts) { parts.extra = u16(9) + u16(7) + "abc"; }),
     "has a field that is cut off"},
    {"too_many_records", archive([](auto& parts) { parts.record_count = 9; }),
     "the directory at byte"},
    {"too_few_records", archive([](auto& parts) { parts.record_count = 1; }),
     "bytes of the directory belong to no record"},
    {"no_records", archive([](auto& parts) { parts.record_count = 0; }),
     "bytes of the directory belong to no record"},
    {"a_million_records_and_more", archive([](auto& parts) {
       parts.zip64 = true;
       parts.record_count = 1'000'001;
     }),
     "it has 1000001 records, at most 1000000 are read"},
    {"directory_past_the_end", archive([](auto& parts) { parts.directory_place = 1 << 20; }),
     "does not lie before its end record"},
    {"directory_of_a_gigabyte", archive([](auto& parts) { parts.directory_size = 1 << 30; }),
     "its directory has 1073741824 bytes, at most 100000000 are read"},
    {"directory_elsewhere", archive([](auto& parts) { parts.directory_place = 2; }),
     "there is no entry of the directory at byte 2"},
    {"directory_of_64_bits_past_the_end", archive([](auto& parts) {
       parts.zip64 = true;
       parts.directory_place = INT64_MAX;
     }),
     "does not lie before its end record"},
    {"no_version", archive([](auto& parts) { parts.records.pop_back(); }),
     "its record \"version\" is missing"},
    {"version_11", archive([](auto& parts) { parts.records[3].bytes = "11\n"; }),
     "its version is \"11\", 1 to 10 are read"},
    {"version_of_words", archive([](auto& parts) { parts.records[3].bytes = "three"; }),
     "its version is \"three\""},
    {"long_version", archive([](auto& parts) { parts.records[3].bytes.assign(1000, '3'); }),
     "has 1000 bytes, at most 64 are read"},
    {"unknown_byte_order", archive([](auto& parts) { parts.records[1].bytes = "middle"; }),
     "its byte order is \"middle\""},
    {"two_pickles", archive([](auto& parts) {
       parts.records.push_back({"other/data.pkl", good_pickle()});
     }),
     "more than one data.pkl"},
    {"no_storage", archive([](auto& parts) { parts.records[2].name = "archive/data/1"; }),
     "storage \"0\" is missing: no record \"archive/data/0\""},
    {"storage_too_short", archive([](auto& parts) { parts.records[2].bytes.pop_back(); }),
     "storage \"0\" has 23 bytes, its 6 elements need 24"},
    {"storage_too_long", archive([](auto& parts) { parts.records[2].bytes += "x"; }),
     "storage \"0\" has 25 bytes, its 6 elements need 24"},
    {"bytes_behind_the_pickle", archive([](auto& parts) { parts.records.front().bytes += "tail"; }),
     "4 bytes follow its pickle"},
};
INSTANTIATE_TEST_SUITE_P(Archive, BadCheckpoint, testing::ValuesIn(kArchives), name_of_case);

std::string protocol_bytes(int protocol) { return pickle(whole("}", protocol)); }
std::string many(const std::string& part, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += part;
  return all;
}

const BadFile kPickles[] = {
    {"empty_pickle", pickle(""), "a pickle at byte"},
    {"no_protocol", pickle("}."), "it does not begin with its protocol"},
    {"protocol_1", protocol_bytes(1), "its protocol is 1, 2 to 5 are read"},
    {"protocol_6", protocol_bytes(6), "its protocol is 6, 2 to 5 are read"},
    {"no_end", pickle("\x80\x02}"), "needs 1 bytes, 0 are there"},
    {"nothing_at_the_end", value(""), "operation 0x2e finds no value"},
    {"values_left_over", value("}}"), "values are left over at its end"},
    {"mark_left_over", value("(}"), "values are left over at its end"},
    {"cut_off_text", pickle("\x80\x02X" + u32(100) + "abc"), "needs 100 bytes, 3 are there"},
    {"text_of_all_lengths", pickle("\x80\x02\x8d" + u64(~uint64_t{0}) + "abc"),
     "it has more than 100000000 bytes"},
    {"value_not_kept", value("h\x07"), "it asks for value 7, which it has not kept"},
    {"nothing_to_keep", value("q\x07"), "operation 0x71 finds no value"},
    {"tuple_without_a_mark", value("NNt"), "operation 0x74 finds no mark"},
    {"tuple_of_too_few", value("N\x87"), "operation 0x87 finds no value"},
    {"value_below_a_mark", value("}(s"), "operation 0x73 finds no value"},
    {"key_without_a_value", value("}(Nu"), "a key has no value"},
    {"adding_to_a_number", value("K\x01(NNu"), "it adds to an integer as to a dictionary"},
    {"appending_to_a_dictionary", value("}Na"), "it adds to a dictionary as to a list"},
    {"calling_a_number", value("K\x01)R"), "it calls an integer with a tuple"},
    {"calling_without_a_tuple", value(global("collections", "OrderedDict") + "NR"),
     "it calls an object with None"},
    {"attributes_of_a_list", value("]}b"), "it gives attributes to a list"},
    {"a_set", value("\x8f"), "operation 0x8f makes something other than tensors"},
    {"an_object", value(global("collections", "OrderedDict") + ")\x81"),
     "operation 0x81 makes something other"},
    {"bytes_of_python_3", value("C\x01x"), "operation 0x43 makes something other"},
    {"an_instance_of_protocol_0", value("(icollections\nOrderedDict\n"),
     "operation 0x69 makes something other"},
    {"an_extension", value("\x82\x01"), "operation 0x82 makes something other"},
    {"a_name_without_end",
     pickle("\x80\x02"
            "c" +
            std::string(1000, 'a')),
     "has more than 256 characters"},
    {"a_name_on_the_stack_that_is_no_text", value("NN\x93"), "the name of a class is no text"},
    {"four_million_values", value("](" + many("N", 4'000'001) + "e"),
     "it has more than 4000000 values"},
    {"lists_a_million_deep", value(many("]", 1'000'000) + many("a", 999'999)),
     "it holds a list, not a dictionary"},
    {"tuples_a_million_deep", value(")" + many("\x85", 1'000'000)),
     "it holds a tuple, not a dictionary"},
    {"a_list_in_itself", value("]q\x01h\x01" + std::string("a")), "it holds a list"},
    {"a_dictionary_in_itself", value("}q\x01" + text("x") + "h\x01s"),
     "its member \"x\" is a dictionary, not a tensor"},
    {"pairs_of_pairs_of_pairs", value(dictionary({{"x", ")" + many("q\x01h\x01\x86", 100)}})),
     "its member \"x\" is a tuple, not a tensor"},
    {"an_integer_of_a_million_digits", value("I" + std::string(1'000'000, '9') + "\n"),
     "operation 0x49 makes something other"},
    {"an_id_of_text", value("Pabc\n"), "operation 0x50 makes something other"},
    {"a_list_that_becomes_a_dictionary_again_and_again",
     value("(" + global("collections", "OrderedDict") + "q\x01" + text("a") +
           "q\x02h\x02\x86q\x03](" + many("h\x03", 10'000) + "e\x85q\x04" +
           many("h\x01h\x04R", 20'000) + "t"),
     "it has more than 4000000 values"},
    {"a_billion_laughs", value("]q\x01" + many("(" + many("h\x01", 10) + "e", 500'000)),
     "it has more than 4000000 values"},
};
INSTANTIATE_TEST_SUITE_P(Pickle, BadCheckpoint, testing::ValuesIn(kPickles), name_of_case);

const BadFile kNames[] = {
    {"os_system", value(global("os", "system") + "(" + text("true") + "tR"),
     R"(it names "os.system"; only tensors, dictionaries, lists, tuples, numbers and texts are )"
     "read, and nothing is run"},
    {"eval", value(global("builtins", "eval") + "(" + text("1") + "tR"),
     "it names \"builtins.eval\""},
    {"a_name_on_the_stack", value(text("posix") + text("system") + "\x93"),
     "it names \"posix.system\""},
    {"a_module", value(global("torch.nn.modules.linear", "Linear")),
     "it names \"torch.nn.modules.linear.Linear\""},
    {"a_numpy_scalar", value(global("numpy.core.multiarray", "scalar")),
     "it names \"numpy.core.multiarray.scalar\""},
    {"a_quantized_storage", storage({.type = global("torch", "QInt8Storage")}),
     "it names \"torch.QInt8Storage\""},
    {"a_complex_storage", storage({.type = global("torch", "ComplexFloatStorage")}),
     "it names \"torch.ComplexFloatStorage\""},
    {"a_sparse_tensor", one_tensor({.function = global("torch._utils", "_rebuild_sparse_tensor")}),
     "it names \"torch._utils._rebuild_sparse_tensor\""},
    {"float8", value(global("torch", "float8_e4m3fn")), "it names \"torch.float8_e4m3fn\""},
    {"a_name_with_control_characters", value(global("\x1b[31m", "x")), "it names \"?[31m.x\""},
    {"calling_a_storage_type", value(global("torch", "FloatStorage") + ")R"),
     "it calls what is neither a tensor nor a dictionary"},
    {"a_dictionary_of_a_number", value(global("collections", "OrderedDict") + "(K\x01tR"),
     "something other than a list of pairs"},
    {"a_dictionary_of_singles", value(global("collections", "OrderedDict") + "(](](NeetR"),
     "something other than a list of pairs"},
    {"a_parameter_of_nothing", value(global("torch._utils", "_rebuild_parameter") + "(N\x88}tR"),
     "a parameter is made of something other"},
};
INSTANTIATE_TEST_SUITE_P(Names, BadCheckpoint, testing::ValuesIn(kNames), name_of_case);

const BadFile kTensors[] = {
    {"no_storage_but_a_number", one_tensor({.storage = "K\x01"}),
     "a tensor is made of something other than a storage"},
    {"a_storage_that_is_a_text", one_tensor({.storage = text("0") + "Q"}),
     "its pickle refers to something other than a storage"},
    {"a_module_by_its_id", one_tensor({.storage = "(" + text("module") + "NNNNtQ"}),
     "its pickle refers to something other than a storage"},
    {"a_storage_of_no_kind", storage({.type = "N"}), "a storage is of no kind that is known"},
    {"a_storage_with_a_number_as_key", storage({.key = "K\x01"}),
     "the key of a storage is no text"},
    {"a_storage_with_a_long_key", storage({.key = text(std::string(257, '0'))}),
     "the key of a storage has 257 bytes, at most 256 are read"},
    {"a_storage_of_minus_one", storage({.elements = integer(-1)}),
     "its number of elements is not in 0 to 2^48"},
    {"a_storage_of_2_to_the_60", storage({.elements = integer(int64_t{1} << 60)}),
     "its number of elements is not in 0 to 2^48"},
    {"a_part_of_a_storage", storage({.more = "(" + text("1") + "K\x02K\x01t"}),
     "is a part of another one"},
    {"a_storage_in_two_ways",
     value(dictionary(
         {{"x", pickled::tensor()},
          {"y", TensorParts{.storage = Storage{.elements = integer(5)}.bytes()}.bytes()}})),
     "storage \"0\" is described in two ways"},
    {"a_negative_offset", one_tensor({.offset = integer(-1)}), "begins at no integer"},
    {"an_offset_of_words", one_tensor({.offset = text("1")}), "begins at no integer"},
    {"an_offset_past_the_end", one_tensor({.offset = integer(1)}),
     "of shape [2, 3] and strides [3, 1] from element 1 on reaches past its 6 elements"},
    {"strides_past_the_end", one_tensor({.strides = integers({4, 1})}), "reaches past its 6"},
    {"strides_that_overflow",
     one_tensor({.strides = integers({int64_t{1} << 48, int64_t{1} << 48})}),
     "reaches past its 6 elements"},
    {"negative_strides", one_tensor({.strides = integers({-3, 1})}),
     "strides other than integers from 0 to 2^48"},
    {"sizes_of_a_list", one_tensor({.sizes = "]"}), "a tensor has no sizes"},
    {"negative_sizes", one_tensor({.sizes = integers({-2, 3})}), "sizes other than integers"},
    {"sizes_of_booleans", one_tensor({.sizes = "(\x88\x88t"}), "sizes other than integers"},
    {"sizes_that_overflow",
     one_tensor(
         {.sizes = integers({4194305, 4194305, 211106198978564}), .strides = integers({0, 0, 0})}),
     "a tensor in storage \"0\": "},
    {"more_sizes_than_strides", one_tensor({.sizes = integers({1, 2, 3})}),
     "has 3 sizes and 2 strides"},
    {"nine_axes",
     one_tensor({.sizes = integers({1, 1, 1, 1, 1, 1, 1, 1, 1}),
                 .strides = integers({1, 1, 1, 1, 1, 1, 1, 1, 1})}),
     "a tensor has a rank over 8"},
    {"expanded_beyond_measure",
     one_tensor({.sizes = integers({1 << 20, 1 << 20}), .strides = integers({0, 0})}),
     "shows 6 elements many times"},
    {"negated", one_tensor({.more = "\x89}" + dictionary({{"neg", "\x88"}})}),
     "flags that change its numbers"},
    {"too_many_parts", one_tensor({.more = "\x89}NNN"}),
     "a tensor is made of something other than a storage"},
    {"a_kind_beside_that_of_the_storage",
     one_tensor({.function = global("torch._utils", "_rebuild_tensor_v3"),
                 .more = "\x89}" + global("torch", "uint16")}),
     "has two kinds or none"},
    {"no_kind_for_bytes",
     storage({.type = global("torch.storage", "UntypedStorage"), .elements = integer(24)}),
     "has two kinds or none"},
    {"float64_beyond_float32", archive([](auto& parts) {
       const std::string doubles =
           Storage{.type = global("torch", "DoubleStorage"), .elements = integer(1)}.bytes();
       const TensorParts tensor{
           .storage = doubles, .sizes = integers({1}), .strides = integers({1})};
       parts.records[0].bytes = whole(dictionary({{"x", tensor.bytes()}}));
       parts.records[2].bytes = little_endian(1e300);
     }),
     "element 0 is 1e+300, beyond float32"},
    {"bool_of_7", archive([](auto& parts) {
       const std::string flags =
           Storage{.type = global("torch", "BoolStorage"), .elements = integer(1)}.bytes();
       const TensorParts tensor{.storage = flags, .sizes = integers({1}), .strides = integers({1})};
       parts.records[0].bytes = whole(dictionary({{"x", tensor.bytes()}}));
       parts.records[2].bytes = "\x07";
     }),
     "element 0 is 7, a bool is 0 or 1"},
};
INSTANTIATE_TEST_SUITE_P(Tensor, BadCheckpoint, testing::ValuesIn(kTensors), name_of_case);

std::string state() { return dictionary({{"x", pickled::tensor()}}); }

const BadFile kStates[] = {
    {"one_tensor_alone", value(pickled::tensor()), "it holds one tensor, not a dictionary"},
    {"a_list", value("]"), "it holds a list, not a dictionary of tensors"},
    {"none", value("N"), "it holds None, not a dictionary"},
    {"an_empty_dictionary", value("}"), "its dictionary is empty"},
    {"two_states", value(dictionary({{"model", state()}, {"state_dict", state()}})),
     R"(it holds tensors under "model" and "state_dict"; save one)"},
    {"a_state_beside_tensors", value(dictionary({{"y", pickled::tensor()}, {"model", state()}})),
     "it holds tensors both by themselves and under \"model\""},
    {"a_number_beside_tensors", value(dictionary({{"x", pickled::tensor()}, {"epoch", "K\x03"}})),
     "its member \"epoch\" is an integer, not a tensor"},
    {"a_state_under_another_name", value(dictionary({{"weights", state()}})),
     "its member \"weights\" is a dictionary, not a tensor"},
    {"a_state_of_states", value(dictionary({{"model", dictionary({{"model", state()}})}})),
     "its member \"model\" is a dictionary, not a tensor"},
    {"a_name_that_is_a_number", value("}K\x01" + pickled::tensor() + "s"),
     "the name of a tensor is an integer, not a text"},
    {"a_name_that_is_not_utf8", value(dictionary({{"\xff", pickled::tensor()}})), "is not UTF-8"},
    {"a_name_twice", value(dictionary({{"x", pickled::tensor()}, {"x", pickled::tensor()}})),
     "tensor \"x\" is there twice"},
    {"a_long_name_again_and_again",
     value("}(" + text(std::string(10'000'000, 'x')) + "q\x01" + pickled::tensor() + "q\x02" +
           many("h\x01h\x02", 500'000) + "u"),
     " is there twice"},
    {"a_large_dictionary_as_every_model",
     value("}(" + text("model") + "q\x01}(" + text("x") + "q\x03" + pickled::tensor() + "q\x02" +
           many("h\x03h\x02", 400'000) + "h\x03Nuq\x04" + many("h\x01h\x04", 400'000) + "u"),
     "its member \"model\" is a dictionary, not a tensor"},
};
INSTANTIATE_TEST_SUITE_P(State, BadCheckpoint, testing::ValuesIn(kStates), name_of_case);

std::string legacy(const std::function<void(LegacyParts&)>& change) {
  LegacyParts parts;
  change(parts);
  return parts.bytes();
}

const BadFile kLegacy[] = {
    {"no_more_than_the_mark", whole(LegacyParts{}.magic), "a pickle at byte"},
    {"another_mark", legacy([](auto& parts) { parts.magic = "K\x01"; }),
     "a pickle of another kind, not a checkpoint of PyTorch"},
    {"another_protocol", legacy([](auto& parts) { parts.protocol = "K\x01"; }),
     "its protocol is not 1001"},
    {"facts_of_a_list", legacy([](auto& parts) { parts.facts = "]"; }),
     "its facts are no dictionary"},
    {"big_endian", legacy([](auto& parts) {
       parts.facts = dictionary({{"little_endian", "\x89"}});
     }),
     "a big-endian machine"},
    {"keys_that_are_no_list", legacy([](auto& parts) { parts.keys = "}"; }),
     "its keys are no list"},
    {"a_key_that_is_a_number", legacy([](auto& parts) {
       parts.keys =
           "](K\x01"
           "e";
     }),
     "belongs to no tensor"},
    {"a_key_of_no_tensor", legacy([](auto& parts) { parts.keys = "](" + text("9") + "e"; }),
     "storage \"9\" belongs to no tensor"},
    {"a_key_twice", legacy([](auto& parts) {
       parts.keys = "](" + text("0") + text("0") + "e";
       parts.storages += parts.storages;
     }),
     "storage \"0\" is there twice"},
    {"no_keys", legacy([](auto& parts) {
       parts.keys = "]";
       parts.storages = "";
     }),
     "storage \"0\" is missing"},
    {"another_size", legacy([](auto& parts) { parts.storages[0] = 5; }),
     "storage \"0\" has 5 elements, its description has 6"},
    {"no_size", legacy([](auto& parts) { parts.storages.resize(5); }),
     "the size of a storage at byte"},
    {"cut_off_numbers", legacy([](auto& parts) { parts.storages.pop_back(); }),
     "needs 24 bytes from byte"},
    {"bytes_behind_the_numbers", legacy([](auto& parts) { parts.storages += "abc"; }),
     "3 bytes follow the last storage"},
    {"code_in_the_facts", legacy([](auto& parts) { parts.facts = global("os", "system"); }),
     "it names \"os.system\""},
};
INSTANTIATE_TEST_SUITE_P(Legacy, BadCheckpoint, testing::ValuesIn(kLegacy), name_of_case);

// A file of zeros behind its first bytes, as large as one likes, that notes how much is read of it.
class SparseInput : public base::Input {
 public:
  SparseInput(std::string start, uint64_t size) : start_(std::move(start)), size_(size) {}
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, std::span<std::byte> into) const override {
    read_ += into.size();
    for (size_t i = 0; i < into.size(); ++i) {
      into[i] = std::byte(offset + i < start_.size() ? start_[offset + i] : 0);
    }
  }
  uint64_t bytes_read() const { return read_; }

 private:
  std::string name_ = "the file";
  std::string start_;
  uint64_t size_;
  mutable uint64_t read_ = 0;
};

TEST(BadCheckpoints, with_texts_beyond_the_limit_are_refused_before_these_are_read) {
  constexpr uint64_t kSize = 300'000'000;
  for (const std::string& text : {"\x8d" + u64(kSize), "X" + u32(kSize), "T" + u32(kSize)}) {
    const auto input = std::make_shared<SparseInput>("\x80\x02" + text, 2 * kSize);
    expect_refused(error_of([&] { open_checkpoint(input); }), "checkpoint",
                   "it has more than 100000000 bytes");
    EXPECT_LT(input->bytes_read(), 1'000'000u);
  }
}

TEST(BadCheckpoints, cut_off_anywhere_give_one_error) {
  for (const std::string& bytes : {archive_bytes(good_archive()), LegacyParts{}.bytes()}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      expect_refused(checkpoint_error(bytes.substr(0, size)), "checkpoint", "");
    }
  }
}

TEST(BadCheckpoints, with_any_byte_changed_give_tensors_or_one_error) {
  for (const std::string& bytes : {archive_bytes(good_archive()), LegacyParts{}.bytes()}) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const int change : {1, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ change);
        const std::string error = checkpoint_error(changed);
        if (error != "no error") expect_refused(error, "checkpoint", "");
      }
    }
  }
}

}  // namespace
}  // namespace headlight::io
