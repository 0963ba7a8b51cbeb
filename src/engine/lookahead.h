// Speculative decoding: guesses at the next tokens are run together with the token that is certain, and their
// logits are handed out if the guesses turn out right (Leviathan et al., arXiv 2211.17192, with guesses that
// are single tokens). Whoever asks for logits sees what plain decoding gives, bit for bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "amphora/session.h"

namespace amphora {

/// What followed the last occurrence of the sequence's last ids, for the longest run of ids that occurred
/// before (prompt lookup): `count` ids, none if even two ids never occurred.
std::vector<TokenId> find_continuation(std::span<const TokenId> ids, size_t count);

/// How many tokens to guess at a time, by what guessing has gained so far: rounds with guesses are timed
/// against tokens without. Where they lose, none are made for a while, twice as long each time, so text in
/// which guesses fail costs little. More are asked for at a time after rounds that were all right, fewer
/// after others. What is decided here never changes the ids.
class DraftPolicy {
 public:
  explicit DraftPolicy(uint32_t most) : most_(most), length_(std::min(most, kFirstLength)) {}

  /// Guesses to ask for before the next token.
  uint32_t wanted();
  /// What a token without guesses took.
  void note_plain(double seconds);
  /// What became of a round of guesses (at least one), and what guessing and checking took.
  void note_round(size_t drafted, size_t accepted, double seconds);

  uint64_t drafted() const { return drafted_; }
  uint64_t accepted() const { return accepted_; }

 private:
  static constexpr uint32_t kFirstLength = 2;
  /// Tokens without guesses at the start: what the others are measured against.
  static constexpr uint32_t kPlainTokens = 3;
  static constexpr uint32_t kFirstPause = 64;

  void judge();

  uint32_t most_;
  uint32_t length_;                    ///< of the next round
  uint32_t pause_ = kPlainTokens;      ///< tokens until guesses are tried again
  uint32_t next_pause_ = kFirstPause;  ///< length of the next pause
  double plain_seconds_ = 0;           ///< of a token without guesses, smoothed; 0: none measured
  /// Since the last judgement.
  uint32_t rounds_ = 0, tokens_ = 0;
  double seconds_ = 0;
  uint64_t drafted_ = 0, accepted_ = 0;
};

/// Hands out the logits after one id at a time, as Session::forward() does.
class Lookahead {
 public:
  /// The session holds the prompt. It must outlive this object, and nobody else may move it meanwhile.
  Lookahead(Session& session, const SpeculationOptions& options);
  /// Appends an id and returns the logits after it; the view lasts until the next call. As
  /// Session::forward(). At most `useful` further tokens will be asked for.
  Result<std::span<const float>> forward(TokenId id, uint64_t useful);
  /// Takes back what was run ahead: the session then holds what was asked for.
  void finish();
  /// The ids that were asked for, the prompt's included.
  std::span<const TokenId> ids() const;

  const DraftPolicy& policy() const { return policy_; }

 private:
  std::vector<TokenId> draft(TokenId id, size_t count);
  Result<std::span<const float>> run(TokenId id, std::span<const TokenId> drafts);
  std::span<const float> logits_of(size_t row) const;

  Session& session_;
  Drafter drafter_;
  DraftPolicy policy_;
  std::vector<TokenId> ahead_;  ///< guesses of the current round, which the session has run
  std::vector<float> logits_;   ///< [1 + guesses, vocabulary]
  size_t taken_ = 0;            ///< guesses of the round that were right so far
  double seconds_ = 0;          ///< what the round took
};

}  // namespace amphora
