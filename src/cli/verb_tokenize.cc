// `tokenize` and `detokenize`: text to ids and back.
#include "cli/load.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "unicode/utf8.h"

namespace amphora::cli {
namespace {

struct TokenizeArguments {
  std::string model;
  std::string text;
  std::string file;
  bool pieces = false, no_special = false, parse_special = false;
};

Result<int> tokenize(const TokenizeArguments& arguments, bool has_text, const Globals& globals) {
  if (has_text == !arguments.file.empty()) return fail(Fault::kUsage, "give either a TEXT or --file");
  AMPHORA_ASSIGN(const auto tokenizer, load_tokenizer(arguments.model));
  std::string text = arguments.text;
  if (!has_text) {
    AMPHORA_ASSIGN(text, read_text(arguments.file));
  }
  if (!unicode::is_utf8(text))
    print_note(globals, "the text is not UTF-8: each ill-formed part of it counts as U+FFFD");
  AMPHORA_ASSIGN(const auto ids, tokenizer->encode(text, {.add_special = !arguments.no_special,
                                                          .parse_special = arguments.parse_special}));
  const auto piece_of = [&](TokenId id) {
    const std::string* piece = tokenizer->find_piece(id);
    return piece == nullptr ? std::string() : *piece;
  };
  if (globals.json) {
    std::vector<json::Value> id_values, piece_values;
    for (const TokenId id : ids) {
      id_values.push_back(count_value(id));
      if (arguments.pieces) piece_values.push_back(text_value(piece_of(id)));
    }
    json::Value document = json::Value::object({{"ids", json::Value::array(std::move(id_values))}});
    if (arguments.pieces) document.set("pieces", json::Value::array(std::move(piece_values)));
    print_json_line(document);
  } else if (arguments.pieces) {
    for (const TokenId id : ids) print(fmt::format("{:>8}  {}\n", id, json::dump(text_value(piece_of(id)))));
  } else {
    print(fmt::format("{}\n", fmt::join(ids, ",")));
  }
  return 0;
}

Action declare_tokenize(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<TokenizeArguments>();
  app.add_option("MODEL", arguments->model, "a model, or a bare tokenizer.json or SentencePiece .model")
      ->required();
  const CLI::Option* text = app.add_option("TEXT", arguments->text, "the text");
  app.add_option("--file", arguments->file, "the bytes of a file ('-': standard input), nothing trimmed");
  app.add_flag("--pieces", arguments->pieces, "also the pieces");
  app.add_flag("--no-special", arguments->no_special, "add no BOS or EOS");
  app.add_flag("--parse-special", arguments->parse_special, "special tokens in the text count as such");
  return [arguments, text, &globals] { return tokenize(*arguments, text->count() > 0, globals); };
}

struct DetokenizeArguments {
  std::string model;
  std::string ids;
  bool skip_special = false;
};

Result<int> detokenize(const DetokenizeArguments& arguments, const Globals& globals) {
  AMPHORA_ASSIGN(const auto ids, parse_token_ids(arguments.ids));
  AMPHORA_ASSIGN(const auto tokenizer, load_tokenizer(arguments.model));
  AMPHORA_ASSIGN(const std::string text, tokenizer->decode(ids, arguments.skip_special));
  if (globals.json) {
    print_json_line(json::Value::object({{"text", text_value(text)}}));
  } else {
    print(text + "\n");
  }
  return 0;
}

Action declare_detokenize(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<DetokenizeArguments>();
  app.add_option("MODEL", arguments->model, "a model, or a bare tokenizer.json or SentencePiece .model")
      ->required();
  app.add_option("IDS", arguments->ids, "token ids: 1,2,3")->required();
  app.add_flag("--no-special", arguments->skip_special, "leave special tokens out");
  return [arguments, &globals] { return detokenize(*arguments, globals); };
}

}  // namespace

const Verb kTokenize{"tokenize", "text to token ids", "amphora tokenize model.cmf 'Hello world' --pieces",
                     declare_tokenize};
const Verb kDetokenize{"detokenize", "token ids to text", "amphora detokenize model.cmf 9259,1902",
                       declare_detokenize};

}  // namespace amphora::cli
