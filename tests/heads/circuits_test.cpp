// Copying and composition against the large products that they stand for.
#include <cmath>

#include "headlight/heads/heads.h"
#include "tests/heads/layers_model.h"

namespace headlight::heads {
namespace {

using Numbers = std::vector<std::vector<double>>;  // rows

Numbers product(const Numbers& a, const Numbers& b) {
  Numbers c(a.size(), std::vector<double>(b.front().size(), 0));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < b.size(); ++k) {
      for (size_t j = 0; j < b.front().size(); ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

Numbers transposed(const Numbers& a) {
  Numbers b(a.front().size(), std::vector<double>(a.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) b[j][i] = a[i][j];
  }
  return b;
}

double norm(const Numbers& a) {
  double sum = 0;
  for (const auto& row : a) {
    for (const double number : row) sum += number * number;
  }
  return std::sqrt(sum);
}

// Rows [first, first + count) of a parameter, or columns of one that is stored the other way.
Numbers rows_of(const models::Model& model, const std::string& name, int64_t first, int64_t count) {
  const tensor::Tensor numbers = parameter_of(model, name).value().data();
  Numbers rows;
  for (int64_t i = first; i < first + count; ++i) {
    const float* row = numbers.data<float>() + i * numbers.size(1);
    rows.emplace_back(row, row + numbers.size(1));
  }
  return rows;
}
Numbers all_rows(const models::Model& model, const std::string& name) {
  return rows_of(model, name, 0, parameter_of(model, name).shape()[0]);
}

double copying_of_words(const Numbers& words_to_words) {
  std::vector<double> flat;
  for (const auto& row : words_to_words) flat.insert(flat.end(), row.begin(), row.end());
  double sum = 0, moduli = 0;
  for (const auto& one : eigenvalues(flat, static_cast<int64_t>(words_to_words.size()))) {
    sum += one.real();
    moduli += std::abs(one);
  }
  return sum / moduli;
}

class Circuits : public testing::Test {
 protected:
  base::ThreadPool threads_{2};
};

// x W_V W_O of each head of the grouped model: stored as (out, in).
struct GroupedHead {
  Numbers query, key, value, output;  // (C x D), ..., (D x C)
};
GroupedHead grouped_head(const models::Model& model, int64_t layer, int64_t head) {
  const std::string place = "decoder." + std::to_string(layer) + ".self.";
  const int64_t kv = head / 2;
  const Numbers output = transposed(all_rows(model, place + "o.weight"));
  return {transposed(rows_of(model, place + "q.weight", head * 4, 4)),
          transposed(rows_of(model, place + "k.weight", kv * 4, 4)),
          transposed(rows_of(model, place + "v.weight", kv * 4, 4)),
          {output.begin() + head * 4, output.begin() + head * 4 + 4}};
}

TEST_F(Circuits, copying_is_that_of_the_product_over_all_words_with_grouped_heads) {
  const auto model = rotary_grouped_model(5);
  const std::vector<CopyingScore> scores = copying_scores(threads_, *model);
  ASSERT_EQ(scores.size(), 8u);
  for (int64_t i = 0; i < 8; ++i) {
    const CopyingScore& score = scores[static_cast<size_t>(i)];
    EXPECT_EQ(score.head, "decoder." + std::to_string(i / 4) + ".self." + std::to_string(i % 4));
    const GroupedHead head = grouped_head(*model, i / 4, i % 4);
    const Numbers whole =
        product(product(product(all_rows(*model, "words.weight"), head.value), head.output),
                transposed(all_rows(*model, "head")));
    ASSERT_TRUE(score.score);
    EXPECT_NEAR(*score.score, copying_of_words(whole), 1e-4) << score.head;
  }
}

TEST_F(Circuits, copying_is_one_minus_one_or_nothing_where_it_is_planted) {
  auto model = induction_circuit();
  const auto copying = [&](size_t head) { return copying_scores(threads_, *model)[head].score; };
  ASSERT_TRUE(copying(2));
  EXPECT_NEAR(*copying(2), 1, 1e-6) << "answers with what it looks at";
  EXPECT_FALSE(copying(1)) << "adds nothing";
  EXPECT_FALSE(copying(3));
  for (int64_t id = 0; id < kCircuitTokens; ++id) {
    set_number(parameter_of(*model, "decoder.1.self.o.weight"),
               2 * kCircuitTokens + kCircuitPositions + id, id, -1);
  }
  EXPECT_NEAR(*copying(2), -1, 1e-6) << "answers with anything else";
}

TEST_F(Circuits, copying_is_for_heads_that_are_decoded_from_the_words_that_they_read) {
  models::Bert bert(models::small_bert());
  models::fill(bert, 1);
  for (const CopyingScore& score : copying_scores(threads_, bert)) EXPECT_TRUE(score.score);
  models::Seq2Seq translator(models::small_seq2seq());
  models::fill(translator, 1);
  for (const CopyingScore& score : copying_scores(threads_, translator)) {
    EXPECT_EQ(score.score.has_value(), !score.head.starts_with("encoder.")) << score.head;
  }
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.decoder_vocab_size = 11;
  config.shared_embeddings = false;
  models::Seq2Seq of_two(config);
  models::fill(of_two, 1);
  for (const CopyingScore& score : copying_scores(threads_, of_two)) {
    EXPECT_EQ(score.score.has_value(),
              score.head.find(".self") != std::string::npos && score.head.starts_with("decoder."))
        << score.head;
  }
}

TEST_F(Circuits, compositions_are_norms_of_the_whole_products) {
  const auto model = rotary_grouped_model(6);
  const std::vector<Composition> all = compositions(threads_, *model);
  ASSERT_EQ(all.size(), 3u * 4 * 4);
  for (const Composition& one : all) {
    const GroupedHead from = grouped_head(*model, 0, one.from.back() - '0');
    const GroupedHead to = grouped_head(*model, 1, one.to.back() - '0');
    const Numbers written = product(from.value, from.output);
    const Numbers read = one.kind == CompositionKind::query ? product(to.query, transposed(to.key))
                         : one.kind == CompositionKind::key ? product(to.key, transposed(to.query))
                                                            : product(to.value, to.output);
    EXPECT_NEAR(one.score, norm(product(written, read)) / (norm(written) * norm(read)), 1e-5)
        << one.from << " " << one.to << " " << name_of(one.kind);
  }
}

TEST_F(Circuits, the_induction_head_reads_the_previous_token_head_by_its_keys) {
  const auto model = induction_circuit();
  for (const Composition& one : compositions(threads_, *model)) {
    const bool circuit = one.from == "decoder.0.self.0" && one.to == "decoder.1.self.0" &&
                         one.kind == CompositionKind::key;
    EXPECT_EQ(one.score > 0.1, circuit) << one.from << " " << one.to << " " << name_of(one.kind);
  }
}

TEST_F(Circuits, compositions_follow_the_streams_of_an_encoder_decoder) {
  models::Seq2Seq model(models::small_seq2seq());
  models::fill(model, 2);
  std::map<std::string, int64_t> counts;
  for (const Composition& one : compositions(threads_, model)) {
    EXPECT_GT(one.score, 0);
    EXPECT_LE(one.score, 1);
    const std::string from = one.from.substr(0, one.from.rfind('.'));
    const std::string to = one.to.substr(0, one.to.rfind('.'));
    counts[from + ">" + to + ":" + std::string(name_of(one.kind))] += 1;
  }
  EXPECT_EQ(counts.at("encoder.0.self>encoder.1.self:query"), 16);
  EXPECT_EQ(counts.at("encoder.1.self>decoder.0.cross:key"), 16);
  EXPECT_EQ(counts.at("decoder.0.self>decoder.0.cross:query"), 16);
  EXPECT_EQ(counts.at("decoder.0.cross>decoder.1.self:value"), 16);
  EXPECT_FALSE(counts.contains("encoder.1.self>decoder.0.cross:query"));
  EXPECT_FALSE(counts.contains("decoder.0.self>decoder.0.cross:key"));
  EXPECT_FALSE(counts.contains("encoder.0.self>decoder.0.self:query"));
}

}  // namespace
}  // namespace headlight::heads
