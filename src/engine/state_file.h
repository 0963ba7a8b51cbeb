// The state of a session in a file (docs/formats/state.md); what users call is in amphora/session.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/result.h"
#include "amphora/session.h"
#include "engine/session_impl.h"

namespace amphora::engine {

inline constexpr uint32_t kStateVersion = 1;
inline constexpr uint64_t kStateHeaderBytes = 64;

/// What decides the numbers of a session besides its ids.
struct StateBinding {
  KvType kv_type = KvType::kF16;
  bool exact = false;
  uint64_t directory_hash = 0;
  uint64_t arch_hash = 0;         ///< of the header's `arch`, which the directory does not cover
  uint64_t restriction_hash = 0;  ///< of what the session leaves out; 0: nothing
};

/// kRefused as check_state().
Result<StateBinding> state_binding(const Session::Impl& session);

struct StateHeader {
  StateBinding binding;
  bool long_sequence = false;  ///< LongRoPE turns with its long factors
  bool marked = false;         ///< the recurrent state at `mark` follows, too
  uint64_t length = 0;         ///< ids, and positions of keys and values
  uint64_t first_cut = 0;      ///< Sequence::first_cut()
  uint64_t mark = 0;
};

ByteVector encode_state_header(const StateHeader& header);
/// Checks what the header says alone.
Result<StateHeader> decode_state_header(Bytes file);

/// A file in which everything has been checked: views of its bytes.
struct StateView {
  StateHeader header;
  std::vector<TokenId> ids;
  Bytes recurrent, mark_recurrent;           ///< little-endian f32
  std::vector<std::array<Bytes, 2>> visits;  ///< keys, values
};

/// Checks the bytes of a file for this session and its state_binding(): the binding first, then the length,
/// which follows from the header and the plan, the checksum, and the rest.
Result<StateView> decode_state(Bytes file, const StateBinding& binding, const Session::Impl& session);

}  // namespace amphora::engine
