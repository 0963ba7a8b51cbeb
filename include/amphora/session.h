// Running a model: a session (cache and position), sampling, generation of text, perplexity.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/model.h"
#include "amphora/result.h"

namespace amphora {

class Vocabulary;  // engine/prompt.h: tokenizer and chat template of a package
namespace model {
class InputObserver;  // src/model/input_observer.h
}

using TokenId = uint32_t;

enum class KvType : uint8_t { kF32, kF16, kQ8 };

/// How often the router of each layer chose each of its experts, by layer; layers without experts are absent.
using ExpertCounts = std::map<uint32_t, std::vector<uint64_t>>;

/// Restricts a mixture to the experts that were chosen most: per layer the least set that makes up the share
/// `cover` (0 < cover <= 1) of the counts. A layer without counts keeps all.
struct ExpertCover {
  ExpertCounts counts;
  double cover = 1;
};

struct SessionOptions {
  size_t threads = 0;             ///< 0: as many as this process may use
  uint32_t context = 0;           ///< positions; 0: the model's max_position_embeddings
  bool exact = false;             ///< reference numerics: f32 activations and sums in order of the columns
  std::optional<KvType> kv = {};  ///< absent: f16, or f32 with `exact`
  std::string kernels = {};       ///< name of a kernel variant; empty: the best that runs here
  /// Name of a task mask of the package: what it forbids is neither computed nor read. Empty: none.
  std::string task = {};
  std::optional<ExpertCover> experts = {};
  bool count_experts = false;  ///< see Session::expert_counts()
  /// Whether a copy of the dense weights, in the order in which they are read fastest, may be made after the
  /// first tokens, memory permitting (Model::weight_copies()); otherwise all weights are read from the file's
  /// mapping. The results are the same bits.
  bool copy_weights = true;
};

/// What a session occupies, by kind.
struct MemoryUse {
  uint64_t weights_mapped = 0;   ///< pages of the file: shared, and dropped by the system when it needs them
  uint64_t weights_private = 0;  ///< decoded norms and biases
  uint64_t weights_copied = 0;   ///< copies of weights in huge pages, shared by the sessions of a model
  uint64_t kv_reserved = 0;      ///< address space of the full context
  uint64_t kv_used = 0;          ///< bytes of the positions that are filled
  uint64_t scratch = 0;          ///< activations and logits
};

/// One sequence that runs through a model. The results depend on the ids alone: feeding them at once or one
/// by one, on any number of threads, gives the same bits (within one kernel variant, numerics and KV type).
class Session {
 public:
  /// kUsage for options that the model or this machine cannot follow: an unknown task or kernel variant, a
  /// context that does not fit into memory, counts of other experts.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options = {});
  ~Session();

  /// Appends ids and returns the logits after the last of them; the view lasts until the next call. kUsage,
  /// and nothing appended: no ids, an id outside the vocabulary, or more ids than the context has room for
  /// (with both counts).
  Result<std::span<const float>> forward(std::span<const TokenId> ids);
  /// As forward(), without logits: what the head would cost is saved.
  Status prefill(std::span<const TokenId> ids);
  /// Called with the index of an id in the span and the logits after it, which last until the function
  /// returns. An error ends the run; the session then holds the ids of the blocks that were run.
  using LogitsFunction = std::function<Status(size_t index, std::span<const float> logits)>;
  /// Appends ids and hands out the logits after each, in order, a bounded number of positions in memory at a
  /// time.
  Status forward_each(std::span<const TokenId> ids, const LogitsFunction& function);

  /// The ids so far; position() is their count.
  std::span<const TokenId> ids() const;
  uint32_t position() const;
  uint32_t context() const;
  /// Forgets everything from `position` on; a position beyond the current one changes nothing.
  void truncate(uint32_t position);
  void reset() { truncate(0); }

  /// Marks this position as one that truncate() can return to without running ids again where layers have a
  /// recurrent state, which does not tell its past; the next mark replaces this one.
  void mark();

  /// Shows `observer` what goes into every weight matrix from now on; null: nobody. It must outlive its use.
  void observe_inputs(model::InputObserver* observer);

  /// The choices of experts since the session was created, if it was told to count them. Tokens that are run
  /// again after truncate() count again.
  ExpertCounts expert_counts() const;

  const Model& model() const;
  /// What a person should know of the options that were taken: a task mask without a measured quality …
  std::span<const std::string> notes() const;
  size_t threads() const;
  std::string_view kernels() const;  ///< name of the kernel variant in use
  bool exact() const;
  KvType kv_type() const;
  MemoryUse memory() const;
  /// Index of the largest logit, the lowest of equals.
  TokenId argmax(std::span<const float> logits) const;

  struct Impl;  ///< src/engine/session_impl.h
  explicit Session(std::unique_ptr<Impl> impl);
  Impl& impl();

 private:
  std::unique_ptr<Impl> impl_;
};

/// kRefused if the sessions of this model cannot be saved: it does not come from CMF files that record the
/// hashes of their directories, to which a saved state is bound.
Status check_state(const Model& model);

/// Writes what the session holds (ids, keys and values, recurrent state, the place of mark()) to a file of
/// the format in docs/formats/state.md, which appears whole or not at all. What a truncate() has made
/// unusable is run again first. Errors: those of check_state(), and kIo.
Status save_state(Session& session, const std::filesystem::path& path);

/// Replaces what the session holds by a saved state; from then on it gives the bits of the session that was
/// saved. kRefused (code OtherModel, OtherSettings or Context) if that was a session of another model, cache
/// type, numerics or restriction, or is longer than this one's context; kTruncated and kCorrupt for damage,
/// kUnsupported for a newer version, each with its place and offset. After an error the session is unchanged.
Status load_state(Session& session, const std::filesystem::path& path);

/// How the next token is chosen. Applied in this order: repeat penalty, temperature, top-k, top-p, min-p,
/// draw. Neutral values switch a step off.
struct SamplingOptions {
  double temperature = 0;       ///< 0: the largest logit, ties to the lower id (the penalty still counts)
  uint32_t top_k = 0;           ///< keep the k largest; 0: all
  double top_p = 1;             ///< keep the fewest whose probabilities reach p
  double min_p = 0;             ///< drop what is below min_p times the largest probability
  double repeat_penalty = 1;    ///< logits of recent ids: divided if positive, multiplied if negative
  uint32_t repeat_window = 64;  ///< how many ids are recent, the prompt's included
  uint64_t seed = 0;  ///< token i of a generation depends on (seed, i) and the logits alone, on every machine
};

/// kUsage for values outside their ranges (negative or NaN temperature, top_p outside (0, 1] …), naming the
/// option.
Status check_sampling(const SamplingOptions& options);

enum class Finish : uint8_t {
  kStop,         ///< a stop id or stop string
  kLength,       ///< max_tokens or the end of the context
  kInterrupted,  ///< GenerateOptions::interrupt
};
std::string_view name_of(Finish finish);  ///< "stop", "length", "interrupted"

/// Who guesses the next tokens, which the model then checks in one run. The guesses change the speed alone:
/// ids and text are those without them, sampled or not.
enum class Drafter : uint8_t {
  kNone,
  kMtp,    ///< the model's own predictor (multi-token prediction)
  kNgram,  ///< what followed the last few ids earlier in the sequence (prompt lookup)
};
inline constexpr uint32_t kMostDrafts = 64;

struct SpeculationOptions {
  Drafter drafter = Drafter::kNone;
  /// Tokens that are guessed at most at a time; 0: none, as with kNone. Absent: 2 for kMtp, 8 for kNgram.
  std::optional<uint32_t> drafts = {};
};

/// kUsage if the model has no predictor but is to use it, or for more than kMostDrafts.
Status check_speculation(const SpeculationOptions& options, const Model& model);

struct GenerateOptions {
  std::optional<uint32_t> max_tokens = {};  ///< absent: to the end of the context
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};  ///< the text ends where one of them begins
  bool ignore_eos = false;             ///< go on after the package's end-of-sequence ids
  SpeculationOptions speculation = {};
  std::stop_token interrupt = {};  ///< looked at before every token and every block of the prompt
};

/// One step of a generation. Pieces never split a character, and text that may become a stop string is held
/// back; all texts together are GenerateResult::text.
struct GeneratedPiece {
  std::optional<TokenId> id;  ///< absent in the last piece if it only brings text that was held back
  std::string_view text;      ///< often empty
};

struct GenerateResult {
  std::vector<TokenId> ids;  ///< the generated ones; a final end-of-sequence id is not among them
  std::string text;          ///< without a last character that the limit cut in two
  Finish finish = Finish::kLength;
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;          ///< of them, those that the session held already
  double prefill_seconds = 0;          ///< running the prompt
  double first_token_seconds = 0;      ///< from the call to the first sampled token
  double decode_seconds = 0;           ///< from the first sampled token to the last
  uint64_t drafted = 0, accepted = 0;  ///< guessed tokens, and those of them that were right

  double prefill_tokens_per_second() const;  ///< 0 if nothing was run
  double decode_tokens_per_second() const;   ///< tokens after the first; 0 if there is none
};

/// Generates after `prompt`, the whole sequence from its start: what the session holds already of it is kept,
/// the rest of the session is dropped. The session then holds the prompt and all generated ids but perhaps
/// the last.
Result<GenerateResult> generate(Session& session, const Vocabulary& vocabulary,
                                std::span<const TokenId> prompt, const GenerateOptions& options,
                                const std::function<void(const GeneratedPiece&)>& on_piece = {});

struct PerplexityOptions {
  uint32_t context = 0;  ///< positions of a window; 0: the session's context
  uint32_t stride = 0;   ///< from one window's start to the next; 0: context (windows do not overlap)
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  std::stop_token interrupt = {};
};

struct Perplexity {
  uint64_t tokens = 0;    ///< predicted ones
  double nll_mean = 0;    ///< natural logarithm
  double ppl = 0;         ///< exp(nll_mean)
  double ppl_stderr = 0;  ///< ppl times the standard error of nll_mean
};

/// Perplexity of a sequence. A text that fits the window is run once from an empty cache, its first token
/// unpredicted. A longer one is cut into windows [k · stride, k · stride + context), each run from an empty
/// cache; a window scores the tokens that no earlier window has scored, except its own first. kUsage: fewer
/// than two ids, a stride beyond the context.
Result<Perplexity> perplexity(Session& session, std::span<const TokenId> ids,
                              const PerplexityOptions& options = {});

}  // namespace amphora
