// `logits`: the numbers behind the next token.
#include <algorithm>
#include <numeric>

#include "cli/load.h"
#include "cli/print.h"
#include "cli/verb.h"

namespace amphora::cli {
namespace {

struct LogitsArguments {
  SessionArguments session;
  std::string tokens;
  size_t top = 10;
  bool all = false;
  uint32_t greedy = 0;
};

json::Value id_array(std::span<const TokenId> ids) {
  std::vector<json::Value> values;
  for (const TokenId id : ids) values.push_back(count_value(id));
  return json::Value::array(std::move(values));
}

Result<int> show_logits(const LogitsArguments& arguments, const Globals& globals) {
  if (arguments.all && !globals.json) return fail(Fault::kUsage, "--all needs --json");
  AMPHORA_ASSIGN(const std::vector<TokenId> ids, parse_token_ids(arguments.tokens));
  AMPHORA_ASSIGN(const LoadedModel loaded, load_model(globals, arguments.session));
  AMPHORA_ASSIGN(const std::span<const float> view, loaded.session->forward(ids));
  const std::vector<float> logits(view.begin(), view.end());

  std::vector<TokenId> greedy;
  std::span<const float> latest = logits;
  for (uint32_t step = 0; step < arguments.greedy; ++step) {
    greedy.push_back(loaded.session->argmax(latest));
    if (step + 1 == arguments.greedy) break;
    AMPHORA_ASSIGN(latest, loaded.session->forward(std::span(&greedy.back(), 1)));
  }

  AMPHORA_TRY(save_route_stats(arguments.session, *loaded.session));

  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), TokenId{0});
  const size_t top = std::min(arguments.top, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<ptrdiff_t>(top), [&](TokenId a, TokenId b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  order.resize(top);

  if (!globals.json) {
    for (const TokenId id : order) print(fmt::format("{:>8}  {:.6f}\n", id, logits[id]));
    if (!greedy.empty()) print(fmt::format("greedy {}\n", fmt::join(greedy, ",")));
    return 0;
  }
  json::Value document = json::Value::object({{"n_prompt", count_value(ids.size())}});
  std::vector<json::Value> rows;
  for (const TokenId id : order) {
    rows.push_back(
        json::Value::object({{"id", count_value(id)}, {"logit", json::Value::number(logits[id])}}));
  }
  document.set("top", json::Value::array(std::move(rows)));
  if (arguments.all) {
    std::vector<json::Value> values;
    for (const float logit : logits) values.push_back(json::Value::number(logit));
    document.set("all", json::Value::array(std::move(values)));
  }
  if (arguments.greedy > 0) document.set("greedy", id_array(greedy));
  print_json_line(document);
  return 0;
}

Action declare_logits(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<LogitsArguments>();
  arguments->session.declare(app);
  app.add_option("--tokens", arguments->tokens, "the prompt's token ids: 1,2,3")->required();
  app.add_option("--top", arguments->top, "how many of the largest to show")->capture_default_str();
  app.add_flag("--all", arguments->all, "every logit (with --json)");
  app.add_option("--greedy", arguments->greedy,
                 "continue for N tokens by the largest logit, end of sequence ignored");
  return [arguments, &globals] { return show_logits(*arguments, globals); };
}

}  // namespace

const Verb kLogits{"logits", "logits after a sequence of ids",
                   "amphora logits model.cmf --tokens 2,9259 --top 5 --exact", declare_logits};

}  // namespace amphora::cli
