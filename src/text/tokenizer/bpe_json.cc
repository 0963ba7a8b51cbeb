// A BPE model out of tokenizer.json.
#include "text/tokenizer/bpe_json.h"

#include <vector>

#include "text/tokenizer/bpe.h"
#include "text/tokenizer/model_json.h"

namespace amphora::text {
namespace {

namespace ondemand = simdjson::ondemand;

class BpeReader {
 public:
  explicit BpeReader(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Result<std::unique_ptr<Model>> read(ondemand::object model) {
    AMPHORA_TRY(for_each_field(model, [&](const std::string& key, ondemand::value value) -> Status {
      if (key == "vocab") {
        has_vocab_ = true;
        return read_vocabulary(value, vocabulary_);
      }
      if (key != "merges") return read_option(key, value);
      has_merges_ = true;
      merges_wait_ = !has_vocab_ || !read_merges(value);
      return {};
    }));
    if (!has_vocab_) return corrupt_model("vocab", "model 'BPE' has no vocabulary");
    if (!has_merges_) return corrupt_model("merges", "model 'BPE' has no merges");
    if (merges_wait_) AMPHORA_TRY(read_waiting_merges(model));
    return std::make_unique<Bpe>(vocabulary_, std::move(merges_), std::move(options_));
  }

 private:
  // Merges speak of the vocabulary and of the prefix. Files that have these behind the merges are rare;
  // merges that make no sense are read again too, and refused then.
  Status read_waiting_merges(ondemand::object& model) {
    if (const auto error = model.reset().error()) return corrupt_model("merges", error);
    merges_ = MergeTable();
    batch_.clear();
    rank_ = 0;
    return for_each_field(model, [&](const std::string& key, ondemand::value value) -> Status {
      return key == "merges" ? read_merges(value) : Status();
    });
  }

  Status read_option(const std::string& key, ondemand::value value) {
    AMPHORA_ASSIGN(const bool is_null, is_null_field(key, value));
    if (is_null) return {};
    if (key == "type") {
      AMPHORA_TRY(read_model_string(key, value));
      return {};
    }
    if (key == "dropout") {
      double dropout = 0;
      if (value.get_double().get(dropout) != simdjson::SUCCESS)
        return corrupt_model(key, "'dropout' is not a number");
      if (dropout != 0)
        return fail_at(Fault::kUnsupported, {}, "$.model.dropout", std::nullopt,
                       "tokenizer: model 'BPE' with dropout is not supported: its ids are random");
      return {};
    }
    struct Flag {
      std::string_view key;
      bool* value;
    };
    for (const Flag& flag :
         {Flag{"fuse_unk", &options_.fuse_unk}, Flag{"byte_fallback", &options_.byte_fallback},
          Flag{"ignore_merges", &options_.ignore_merges}}) {
      if (flag.key != key) continue;
      AMPHORA_ASSIGN(*flag.value, read_model_flag(key, value));
      return {};
    }
    if (key != "unk_token" && key != "continuing_subword_prefix" && key != "end_of_word_suffix")
      return unsupported_field("BPE", key);
    AMPHORA_ASSIGN(std::string text, read_model_string(key, value));
    if (key == "unk_token") {
      options_.unk_token = text;
    } else if (key == "continuing_subword_prefix") {
      merges_wait_ = merges_wait_ || has_merges_;
      options_.continuing_subword_prefix = text;
    } else {
      options_.end_of_word_suffix = text;
    }
    return {};
  }

  Status read_merges(ondemand::value value) {
    ondemand::array list;
    if (const auto error = value.get_array().get(list)) return corrupt_model("merges", error);
    merges_.reserve(vocabulary_.size());
    for (auto entry : list) {
      ondemand::value merge;
      ondemand::json_type type{};
      if (const auto error = std::move(entry).get(merge)) return corrupt_model("merges", error);
      if (const auto error = merge.type().get(type)) return corrupt_model("merges", error);
      if (type == ondemand::json_type::array)
        AMPHORA_TRY(read_pair(merge));
      else
        AMPHORA_TRY(read_line(merge));
      if (batch_.size() == kBatch) AMPHORA_TRY(add_batch());
    }
    return add_batch();
  }

  // `["a", "b"]`
  Status read_pair(ondemand::value value) {
    ondemand::array pair;
    std::string_view sides[2];
    size_t count = 0;
    if (const auto error = value.get_array().get(pair)) return corrupt_model("merges", error);
    for (auto side : pair) {
      if (count == 2)
        return corrupt_model("merges", fmt::format("merge {} has more than two sides", index()));
      if (const auto error = side.get_string().get(sides[count])) return corrupt_model("merges", error);
      ++count;
    }
    if (count != 2) return corrupt_model("merges", fmt::format("merge {} does not have two sides", index()));
    return add_merge(sides[0], sides[1]);
  }

  // `"a b"`, the older form
  Status read_line(ondemand::value value) {
    std::string_view line;
    if (const auto error = value.get_string().get(line)) return corrupt_model("merges", error);
    if (line.starts_with("#version")) return {};
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      return corrupt_model("merges", fmt::format("merge {}: '{}' is not a pair", index(), line));
    return add_merge(line.substr(0, space), line.substr(space + 1));
  }

  // Merges are resolved many at a time, so that their lookups wait for memory together and not one by one.
  struct Unresolved {
    PieceKey left, right;
    std::optional<TokenId> left_id, right_id, joined_id;
  };
  static constexpr size_t kBatch = 64;

  uint32_t index() const { return rank_ + static_cast<uint32_t>(batch_.size()); }

  Status add_merge(std::string_view left, std::string_view right) {
    const size_t prefix = options_.continuing_subword_prefix.size();
    if (right.size() < prefix)
      return corrupt_model("merges",
                           fmt::format("merge {}: '{}' is shorter than the prefix", index(), right));
    Unresolved merge{PieceKey(left), PieceKey(right), {}, {}, find_joined(left, right.substr(prefix))};
    vocabulary_.prefetch_slot(merge.left);
    vocabulary_.prefetch_slot(merge.right);
    batch_.push_back(merge);
    return {};
  }

  // What `left` and `right` make is mostly what the merge before made, or the piece behind it: trainers
  // number pieces in the order of the merges, and list the ways to make a piece one behind the other.
  std::optional<TokenId> find_joined(std::string_view left, std::string_view right) {
    for (const TokenId guess : {last_joined_ + 1, last_joined_}) {
      const std::string* piece = vocabulary_.find_piece(guess);
      if (piece == nullptr || piece->size() != left.size() + right.size()) continue;
      if (!piece->starts_with(left) || !piece->ends_with(right)) continue;
      last_joined_ = guess;
      return guess;
    }
    joined_.assign(left).append(right);
    const auto found = vocabulary_.find(joined_);
    last_joined_ = found.value_or(last_joined_);
    return found;
  }

  Status add_batch() {
    for (const Unresolved& merge : batch_) {
      vocabulary_.prefetch_piece(merge.left);
      vocabulary_.prefetch_piece(merge.right);
    }
    for (Unresolved& merge : batch_) {
      merge.left_id = vocabulary_.find(merge.left);
      merge.right_id = vocabulary_.find(merge.right);
      if (merge.left_id && merge.right_id) merges_.prefetch(*merge.left_id, *merge.right_id);
    }
    for (const Unresolved& merge : batch_) {
      if (!merge.left_id || !merge.right_id || !merge.joined_id)
        return corrupt_model(
            "merges", fmt::format("merge {}: '{}' + '{}' is not made of pieces of the vocabulary", rank_,
                                  merge.left.text, merge.right.text));
      merges_.set(*merge.left_id, *merge.right_id, {rank_++, *merge.joined_id});
    }
    batch_.clear();
    return {};
  }

  Vocabulary& vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::vector<Unresolved> batch_;
  std::string joined_;
  TokenId last_joined_ = 0;
  uint32_t rank_ = 0;
  bool has_vocab_ = false, has_merges_ = false;
  bool merges_wait_ = false;  // for what stands behind them
};

}  // namespace

Result<std::unique_ptr<Model>> read_bpe(ondemand::object model, Vocabulary& vocabulary) {
  return BpeReader(vocabulary).read(model);
}

}  // namespace amphora::text
