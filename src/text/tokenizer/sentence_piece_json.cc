// A SentencePiece model out of tokenizer.json.
#include "text/tokenizer/sentence_piece_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "text/tokenizer/model_json.h"
#include "text/tokenizer/sentence_piece.h"

namespace amphora::text {
namespace {

namespace ondemand = simdjson::ondemand;

// In the order of PieceKind.
constexpr std::array<std::string_view, 6> kKindNames = {"normal",       "unknown", "control",
                                                        "user_defined", "unused",  "byte"};

class SentencePieceReader {
 public:
  explicit SentencePieceReader(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Result<std::unique_ptr<Model>> read(ondemand::object model) {
    AMPHORA_TRY(for_each_field(
        model, [&](const std::string& key, ondemand::value value) { return read_field(key, value); }));
    AMPHORA_TRY(check_pieces());
    auto built = make_sentence_piece_model(algorithm_, vocabulary_, std::move(table_));
    if (!built)
      return fail_at(Fault::kUnsupported, {}, "$.model.algorithm", std::nullopt,
                     fmt::format("tokenizer: the algorithm '{}' is not supported", algorithm_));
    return built;
  }

 private:
  Status read_field(const std::string& key, ondemand::value value) {
    if (key == "type") {
      AMPHORA_TRY(read_model_string(key, value));
    } else if (key == "algorithm") {
      AMPHORA_ASSIGN(algorithm_, read_model_string(key, value));
    } else if (key == "byte_fallback") {
      AMPHORA_ASSIGN(table_.byte_fallback, read_model_flag(key, value));
    } else if (key == "vocab") {
      return read_pieces(value);
    } else {
      return unsupported_field("SentencePiece", key);
    }
    return {};
  }

  Status read_pieces(ondemand::value value) {
    return for_each_piece(
        value,
        [&](size_t count) {
          vocabulary_.reserve(count);
          table_.scores.reserve(count);
          table_.kinds.reserve(count);
        },
        [&](ondemand::array piece) { return read_piece(piece); });
  }

  // `["text", score]` or `["text", score, "kind"]`
  Status read_piece(ondemand::array piece) {
    size_t index = 0;
    PieceKind kind = PieceKind::kNormal;
    float score = 0;
    for (auto field : piece) {
      ondemand::value part;
      if (const auto error = std::move(field).get(part)) return corrupt_model(place(), error);
      if (index == 1) {
        AMPHORA_ASSIGN(score, read_score(part));
      } else if (index < 3) {
        std::string_view text;
        if (const auto error = part.get_string().get(text)) return corrupt_model(place(), error);
        if (index == 0) {
          if (text.empty()) return corrupt_model(place(), "a piece is empty");
          AMPHORA_TRY(vocabulary_.add(text, table_.kinds.size()));
        } else {
          const auto name = std::ranges::find(kKindNames, text);
          if (name == kKindNames.end())
            return corrupt_model(place(), fmt::format("'{}' is no kind of pieces", text));
          kind = static_cast<PieceKind>(name - kKindNames.begin());
        }
      }
      ++index;
    }
    if (index != 2 && index != 3)
      return corrupt_model(place(), "a piece is not its text, its score and perhaps its kind");
    table_.scores.push_back(score);
    table_.kinds.push_back(kind);
    return {};
  }

  Result<float> read_score(ondemand::value value) {
    std::string_view token = value.raw_json_token();
    double checked = 0;  // simdjson says whether it is a number at all
    if (const auto error = value.get_double().get(checked)) return corrupt_model(place(), error);
    token = token.substr(0, std::min(token.find_last_not_of(" \t\r\n") + 1, token.size()));
    float score = 0;  // rounded once
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), score);
    if (end != token.data() + token.size() || error != std::errc() || !std::isfinite(score))
      return corrupt_model(place(), fmt::format("the score {} is out of range", token));
    return score;
  }

  Status check_pieces() {
    size_t unknown = 0;
    for (TokenId id = 0; id < table_.kinds.size(); ++id) {
      if (table_.kinds[id] != PieceKind::kUnknown) continue;
      table_.unk_id = id;
      ++unknown;
    }
    if (unknown != 1)
      return corrupt_model("vocab", fmt::format("there are {} unknown pieces, wanted one", unknown));
    for (uint32_t byte = 0; table_.byte_fallback && byte < 256; ++byte) {
      const auto id = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
      if (!id || table_.kinds[*id] != PieceKind::kByte)
        return corrupt_model("vocab", fmt::format("there is no byte piece <0x{:02X}>", byte));
    }
    return {};
  }

  std::string place() const { return fmt::format("vocab[{}]", table_.kinds.size()); }

  Vocabulary& vocabulary_;
  PieceTable table_;
  std::string algorithm_;
};

}  // namespace

Result<std::unique_ptr<Model>> read_sentence_piece(ondemand::object model, Vocabulary& vocabulary) {
  return SentencePieceReader(vocabulary).read(model);
}

}  // namespace amphora::text
