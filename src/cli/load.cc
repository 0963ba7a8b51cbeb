// From a path on the command line to a session that can run.
#include "cli/load.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "amphora/package.h"
#include "base/file.h"
#include "cli/print.h"
#include "formats/sentencepiece/model.h"
#include "package/limits.h"
#include "package/route_stats.h"
#include "package/spm_tokenizer.h"

namespace amphora::cli {

void SessionArguments::declare(CLI::App& app) {
  app.add_option("MODEL", model, ".cmf file, GGUF file or Hugging Face directory")->required();
  app.add_option("--threads", options.threads, "threads (default: all that this process may use)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--ctx", options.context, "context in tokens (default: the model's)")
      ->check(CLI::Range(1u, 1u << 28));
  app.add_option("--kv", kv, "key and value cache: f16, f32 or q8 (default f16; f32 with --exact)")
      ->check(CLI::IsMember({"f16", "f32", "q8"}));
  app.add_flag("--exact", options.exact, "reference numerics: f32 activations, sums in order");
  app.add_option("--kernels", options.kernels,
                 "kernel variant (default: the best that runs here; see 'doctor')");
  app.add_flag("--mmap{false}", options.copy_weights,
               "read all weights from the file's mapping: no copy in memory of our own, slower");
  app.add_option("--task", options.task, "run with this task mask of the model (see 'info')");
  app.add_option("--route-stats", route_stats, "write how often each expert was chosen to this file");
}

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string route_stats_file(const SessionArguments& arguments) {
  return arguments.route_stats.empty() ? environment("CMF_MOE_STATS") : arguments.route_stats;
}

/// The restriction of experts that the environment asks for.
Result<std::optional<ExpertCover>> experts_of_environment() {
  const std::string file = environment("CMF_MOE_MASK"), share = environment("CMF_MOE_MASK_COVER");
  if (file.empty()) {
    if (share.empty()) return std::nullopt;
    return fail(Fault::kUsage, "CMF_MOE_MASK_COVER is set, but CMF_MOE_MASK names no statistics");
  }
  ExpertCover experts;
  AMPHORA_ASSIGN(experts.counts, load_route_stats(file));
  if (!share.empty()) {
    const auto [end, error] = std::from_chars(share.data(), share.data() + share.size(), experts.cover);
    if (error != std::errc() || end != share.data() + share.size() ||
        !(experts.cover > 0 && experts.cover <= 1))
      return fail(Fault::kUsage,
                  fmt::format("CMF_MOE_MASK_COVER is '{}', wanted a number above 0 and at most 1", share));
  }
  return experts;
}

}  // namespace

Result<LoadedModel> load_model(const Globals& globals, const SessionArguments& arguments) {
  LoadedModel loaded;
  AMPHORA_ASSIGN(loaded.package, open_package(arguments.model));
  for (const std::string& note : loaded.package->notes) print_note(globals, note);
  AMPHORA_ASSIGN(loaded.model, Model::load(loaded.package));
  SessionOptions options = arguments.options;
  if (arguments.kv == "f16") options.kv = KvType::kF16;
  if (arguments.kv == "f32") options.kv = KvType::kF32;
  if (arguments.kv == "q8") options.kv = KvType::kQ8;
  AMPHORA_ASSIGN(options.experts, experts_of_environment());
  options.count_experts = !route_stats_file(arguments).empty();
  if (options.count_experts && !loaded.model->has_experts())
    return fail(Fault::kUsage,
                fmt::format("{} has no experts whose choices could be counted", arguments.model));
  AMPHORA_ASSIGN(loaded.session, Session::create(loaded.model, options));
  for (const std::string& note : loaded.session->notes()) print_note(globals, note);
  return loaded;
}

Status save_route_stats(const SessionArguments& arguments, const Session& session) {
  const std::string file = route_stats_file(arguments);
  if (file.empty()) return {};
  return write_file(file, as_bytes(dump_route_stats(session.expert_counts()) + "\n"));
}

namespace {

Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer_json(const std::string& path,
                                                                   std::string_view content) {
  if (content.size() > package::kMaxTokenizerBytes)
    return fail(Fault::kRefused, fmt::format("{} has {} bytes, more than the limit of {}", path,
                                             content.size(), package::kMaxTokenizerBytes));
  auto tokenizer = text::Tokenizer::from_json(content);
  if (!tokenizer) tokenizer.error().message = fmt::format("{}: {}", path, tokenizer.error().message);
  return tokenizer;
}

}  // namespace

Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    AMPHORA_ASSIGN(const auto mapped, MappedFile::open(path));
    const std::string_view content = as_text(mapped->bytes());
    const size_t first =
        content.find_first_not_of(" \t\r\n\xEF\xBB\xBF");  // a byte-order mark is refused by name
    if (first != std::string_view::npos && content[first] == '{') return load_tokenizer_json(path, content);
    if (sentencepiece::looks_like_model(mapped->bytes())) {
      AMPHORA_ASSIGN(const auto tokenizer, package::write_bare_spm_tokenizer(mapped->bytes()));
      return text::Tokenizer::from_json(tokenizer.json);
    }
  }
  AMPHORA_ASSIGN(const auto package, open_package(path));
  AMPHORA_ASSIGN(const auto vocabulary, Vocabulary::load(package));
  return vocabulary->tokenizer();
}

Result<ChatFormat> named_chat_format(std::shared_ptr<const Vocabulary> vocabulary, const std::string& name) {
  if (name == "chatml") return ChatFormat::create(std::move(vocabulary), text::chatml_template());
  AMPHORA_ASSIGN(const std::string source, read_text(name));
  return ChatFormat::create(std::move(vocabulary), source);
}

Result<std::vector<TokenId>> parse_token_ids(std::string_view text) {
  std::vector<TokenId> ids;
  bool comma = false;  // behind the last id
  for (size_t at = 0; at < text.size();) {
    if (std::string_view(" \n\t").find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    if (text[at] == ',') {
      if (comma || ids.empty()) return fail(Fault::kUsage, "a token id is missing before a comma");
      comma = true;
      ++at;
      continue;
    }
    const size_t end = std::min(text.find_first_of(", \n\t", at), text.size());
    const std::string_view field = text.substr(at, end - at);
    at = end;
    comma = false;
    TokenId id = 0;
    const auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), id);
    if (error != std::errc() || rest != field.data() + field.size()) {
      return fail(Fault::kUsage, fmt::format("'{}' is not a token id", field));
    }
    ids.push_back(id);
  }
  if (ids.empty()) return fail(Fault::kUsage, "no token ids given");
  if (comma) return fail(Fault::kUsage, "a token id is missing behind the last comma");
  return ids;
}

Result<std::string> read_text(const std::string& path) {
  if (path != "-") return read_small_file(path, kMaxPromptBytes);
  std::string text;
  std::vector<char> block(size_t{1} << 16);
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Fault::kIo, fmt::format("cannot read standard input: {}", std::strerror(errno)));
    if (got == 0) return text;
    if (text.size() + static_cast<size_t>(got) > kMaxPromptBytes)
      return fail(Fault::kRefused,
                  fmt::format("standard input has more than the limit of {} bytes", kMaxPromptBytes));
    text.append(block.data(), static_cast<size_t>(got));
  }
}

}  // namespace amphora::cli
