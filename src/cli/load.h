// What several verbs share: from a path on the command line to a session that can run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amphora/model.h"
#include "amphora/session.h"
#include "cli/verb.h"
#include "engine/prompt.h"
#include "text/tokenizer.h"

namespace amphora::cli {

inline constexpr uint64_t kMaxPromptBytes = uint64_t{1} << 28;

/// The options of verbs that run a model.
struct SessionArguments {
  std::string model;
  SessionOptions options;
  std::string kv;
  std::string route_stats;  ///< file for the choices of experts; empty: that of CMF_MOE_STATS, if set

  void declare(CLI::App& app);
};

struct LoadedModel {
  std::shared_ptr<const Package> package;
  std::shared_ptr<const Model> model;
  std::unique_ptr<Session> session;
};
/// Opens the package, plans the model and makes a session; notes of the package go to stderr.
/// CMF_MOE_MASK (a file of routing statistics) with CMF_MOE_MASK_COVER (a share, default 1) restricts the
/// experts.
Result<LoadedModel> load_model(const Globals& globals, const SessionArguments& arguments);

/// Writes the choices of experts that the session counted where the arguments or the environment want them;
/// if they do not, nothing.
Status save_route_stats(const SessionArguments& arguments, const Session& session);

/// A package's tokenizer, or that of a bare tokenizer.json (told by content).
Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const std::string& path);

/// With the template that `--chat-template` names: "chatml", or a file.
Result<ChatFormat> named_chat_format(std::shared_ptr<const Vocabulary> vocabulary, const std::string& name);

/// "1,2,3" as token ids.
Result<std::vector<TokenId>> parse_token_ids(std::string_view text);

/// A file's bytes, or standard input's for "-".
Result<std::string> read_text(const std::string& path);

}  // namespace amphora::cli
