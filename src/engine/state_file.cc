// The state of a session in a file: see state_file.h.
#include "engine/state_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/file.h"
#include "crypto/hash64.h"

namespace amphora {
namespace engine {
namespace {

constexpr std::string_view kMagic = "AMPSTATE";
/// Offsets of header fields that errors name.
constexpr uint64_t kVersionField = 8, kKvField = 12, kNumericsField = 13, kLongField = 14, kMarkedField = 15,
                   kDirectoryField = 16, kArchField = 24, kRestrictionField = 32, kLengthField = 40,
                   kFirstCutField = 48, kMarkField = 56;
constexpr uint64_t kVisitLengthsBytes = 16, kChecksumBytes = 8;

std::unexpected<Error> in_header(Fault fault, std::string code, uint64_t offset, std::string message) {
  return fail_at(fault, std::move(code), "header", offset, std::move(message));
}

std::string_view name_of(KvType type) {
  switch (type) {
    case KvType::kF32: return "f32";
    case KvType::kF16: return "f16";
    case KvType::kQ8: return "q8";
  }
  return "";
}

std::string_view numerics_of(bool exact) { return exact ? "exact" : "fast"; }

/// 0 if nothing is left out.
uint64_t hash_of(const std::optional<model::RunMask>& mask) {
  if (!mask) return 0;
  ByteWriter out;
  const auto write_live = [&](const std::vector<uint8_t>& live) {
    out.write(uint64_t{live.size()});
    out.write_bytes(std::as_bytes(std::span(live)));
  };
  for (const model::VisitMask& visit : mask->visits) {
    out.write(uint8_t{visit.skipped});
    out.write(uint8_t{visit.neurons.has_value()});
    if (visit.neurons) {
      out.write(uint64_t{visit.neurons->size()});
      for (const kernels::RowRange& range : *visit.neurons) {
        out.write(range.first);
        out.write(range.last);
      }
    }
    write_live(visit.heads);
    write_live(visit.experts);
  }
  return crypto::hash64(out.bytes());
}

Status check_binding(const StateBinding& saved, const StateBinding& session) {
  if (saved.directory_hash != session.directory_hash)
    return in_header(Fault::kRefused, "OtherModel", kDirectoryField,
                     fmt::format("the state was saved with another model: directory hash {:016x}, this "
                                 "model's is {:016x}",
                                 saved.directory_hash, session.directory_hash));
  if (saved.arch_hash != session.arch_hash)
    return in_header(Fault::kRefused, "OtherModel", kArchField,
                     "the state was saved with another model: the same tensors, but another arch in the "
                     "header");
  if (saved.kv_type != session.kv_type)
    return in_header(Fault::kRefused, "OtherSettings", kKvField,
                     fmt::format("the state was saved with a {} cache, this session's is {}",
                                 name_of(saved.kv_type), name_of(session.kv_type)));
  if (saved.exact != session.exact)
    return in_header(Fault::kRefused, "OtherSettings", kNumericsField,
                     fmt::format("the state was saved with {} numerics, this session's are {}",
                                 numerics_of(saved.exact), numerics_of(session.exact)));
  if (saved.restriction_hash != session.restriction_hash)
    return in_header(Fault::kRefused, "OtherSettings", kRestrictionField,
                     "the state was saved with another task mask or choice of experts than this session's");
  return {};
}

/// What the header says of the sequence, against the session that is to hold it.
Status check_sequence(const StateHeader& header, const Session::Impl& session) {
  if (header.length > session.context)
    return in_header(Fault::kRefused, "Context", kLengthField,
                     fmt::format("the state has {} tokens, this session's context {} positions",
                                 header.length, session.context));
  if (header.long_sequence && !session.plan().rope.long_global)
    return in_header(Fault::kCorrupt, "Field", kLongField, "the model has no LongRoPE");
  const model::SequenceState& state = session.sequence.state();
  if (header.first_cut > header.length || header.first_cut < state.first_cut(header.length))
    return in_header(Fault::kCorrupt, "Field", kFirstCutField,
                     fmt::format("first cut is {}, wanted {} to {}", header.first_cut,
                                 state.first_cut(header.length), header.length));
  if (header.marked && state.recurrent().empty())
    return in_header(Fault::kCorrupt, "Field", kMarkedField, "a mark, but the model has no recurrent state");
  return {};
}

uint64_t recurrent_bytes(const Session::Impl& session) {
  return session.sequence.state().recurrent().size() * sizeof(float);
}

uint64_t kv_bytes(const model::SequenceState& state, size_t visit, bool values, uint64_t length) {
  uint64_t bytes = 0;
  for (const std::span<std::byte> part : state.kv_parts(visit, values, length)) bytes += part.size();
  return bytes;
}

/// Cannot wrap: the length lies within the context, whose keys and values have an address.
uint64_t file_bytes(const StateHeader& header, const Session::Impl& session) {
  const model::SequenceState& state = session.sequence.state();
  return kStateHeaderBytes + header.length * sizeof(TokenId) + state.used_bytes(header.length) +
         (header.marked ? recurrent_bytes(session) : 0) + state.visits() * kVisitLengthsBytes +
         kChecksumBytes;
}

Status check_length_and_checksum(Bytes file, uint64_t wanted) {
  if (file.size() < wanted)
    return fail_at(Fault::kTruncated, "Truncated", "file", file.size(),
                   fmt::format("the file has {} bytes, its header asks for {}", file.size(), wanted));
  if (file.size() > wanted)
    return fail_at(Fault::kCorrupt, "TrailingBytes", "file", wanted,
                   fmt::format("the file has {} bytes, its header asks for {}", file.size(), wanted));
  const Bytes covered = file.first(file.size() - kChecksumBytes);
  const uint64_t recorded = load_little_endian<uint64_t>(file.data() + covered.size());
  const uint64_t found = crypto::hash64(covered);
  if (recorded != found)
    return fail_at(Fault::kCorrupt, "Hash", "checksum", covered.size(),
                   fmt::format("the file is damaged: hash64 {:016x}, recorded is {:016x}", found, recorded));
  return {};
}

Result<std::vector<TokenId>> decode_ids(ByteReader& in, uint64_t count, uint64_t vocabulary) {
  std::vector<TokenId> ids(count);
  for (TokenId& id : ids) {
    const uint64_t offset = in.offset();
    id = in.read<TokenId>();
    if (Status status = check_token_ids({&id, 1}, vocabulary); !status)
      return fail_at(Fault::kCorrupt, "TokenId", "ids", offset, status.error().message);
  }
  return ids;
}

/// The lengths of a visit's keys and values, then both.
Result<std::array<Bytes, 2>> decode_visit(ByteReader& in, const model::SequenceState& state, size_t visit,
                                          uint64_t length) {
  std::array<uint64_t, 2> bytes{};
  for (const bool values : {false, true}) {
    const uint64_t offset = in.offset(), wanted = kv_bytes(state, visit, values, length);
    bytes[values] = in.read<uint64_t>();
    if (bytes[values] != wanted)
      return fail_at(Fault::kCorrupt, "Length",
                     fmt::format("{} of visit {}", values ? "values" : "keys", visit), offset,
                     fmt::format("{} bytes, wanted {}", bytes[values], wanted));
  }
  const Bytes keys = in.take(bytes[0]);
  return std::array{keys, in.take(bytes[1])};
}

void decode_floats(Bytes bytes, std::span<float> out) {
  ByteReader in(bytes);
  for (float& value : out) value = in.read_f32();
}

/// The parts lie in the file one behind the other.
void copy_parts(Bytes bytes, const std::vector<std::span<std::byte>>& parts) {
  for (const std::span<std::byte> part : parts) {
    std::ranges::copy(bytes.first(part.size()), part.begin());
    bytes = bytes.subspan(part.size());
  }
}

void take_up(StateView view, Session::Impl& session) {
  const StateHeader& header = view.header;
  Sequence& sequence = session.sequence;
  for (size_t visit = 0; visit < view.visits.size(); ++visit)
    for (const bool values : {false, true})
      copy_parts(view.visits[visit][values], sequence.state().kv_parts(visit, values, header.length));
  decode_floats(view.recurrent, sequence.recurrent());
  Sequence::Kept prompt{.used = header.marked, .position = header.mark, .recurrent = {}};
  if (header.marked) prompt.recurrent.resize(sequence.recurrent().size());
  decode_floats(view.mark_recurrent, prompt.recurrent);
  sequence.restore(std::move(view.ids), header.long_sequence, header.first_cut, std::move(prompt));
  session.mtp.reset();  // the hidden states that it has collected are those of other ids
}

/// Writes a file front to back and its checksum behind.
class CheckedOutput {
 public:
  explicit CheckedOutput(AtomicFile file) : file_(std::move(file)) {}

  Status write(Bytes bytes) {
    hash_.update(bytes);
    return file_.append(bytes);
  }
  Status write_floats(std::span<const float> values) {
    constexpr size_t kTogether = 16384;
    while (!values.empty()) {
      const auto some = values.first(std::min(kTogether, values.size()));
      ByteWriter out;
      for (const float value : some) out.write(std::bit_cast<uint32_t>(value));
      AMPHORA_TRY(write(out.bytes()));
      values = values.subspan(some.size());
    }
    return {};
  }
  Status commit() {
    ByteWriter out;
    out.write(hash_.value());
    AMPHORA_TRY(file_.append(out.bytes()));
    return file_.commit();
  }

 private:
  AtomicFile file_;
  crypto::Hash64 hash_;
};

Status write_visit(CheckedOutput& out, const model::SequenceState& state, size_t visit, uint64_t length) {
  ByteWriter lengths;
  for (const bool values : {false, true}) lengths.write(kv_bytes(state, visit, values, length));
  AMPHORA_TRY(out.write(lengths.bytes()));
  for (const bool values : {false, true})
    for (const std::span<std::byte> part : state.kv_parts(visit, values, length))
      AMPHORA_TRY(out.write(part));
  return {};
}

}  // namespace

Result<StateBinding> state_binding(const Session::Impl& session) {
  AMPHORA_TRY(check_state(*session.model));
  const Package& package = *session.model->package();
  const json::Value* arch = package.header.find("arch");
  return StateBinding{.kv_type = session.kv_type,
                      .exact = session.executor.numerics == kernels::Numerics::kExact,
                      .directory_hash = *package.directory_hash,
                      .arch_hash = arch == nullptr ? 0 : crypto::hash64(as_bytes(json::dump(*arch))),
                      .restriction_hash = hash_of(session.mask)};
}

ByteVector encode_state_header(const StateHeader& header) {
  ByteWriter out;
  out.write_bytes(as_bytes(kMagic));
  out.write(kStateVersion);
  out.write(static_cast<uint8_t>(header.binding.kv_type));
  out.write(uint8_t{header.binding.exact});
  out.write(uint8_t{header.long_sequence});
  out.write(uint8_t{header.marked});
  out.write(header.binding.directory_hash);
  out.write(header.binding.arch_hash);
  out.write(header.binding.restriction_hash);
  out.write(header.length);
  out.write(header.first_cut);
  out.write(header.mark);
  return std::move(out).take();
}

Result<StateHeader> decode_state_header(Bytes file) {
  if (file.size() < kStateHeaderBytes)
    return in_header(
        Fault::kTruncated, "Truncated", file.size(),
        fmt::format("the file has {} bytes, a saved state at least {}", file.size(), kStateHeaderBytes));
  ByteReader in(file);
  if (as_text(in.take(kMagic.size())) != kMagic)
    return in_header(Fault::kCorrupt, "InvalidMagic", 0, "the file is not the saved state of a session");
  if (const auto version = in.read<uint32_t>(); version != kStateVersion)
    return in_header(
        Fault::kUnsupported, "UnsupportedVersion", kVersionField,
        fmt::format("the state is of version {}, this program reads {}", version, kStateVersion));
  const auto kv_type = in.read<uint8_t>(), exact = in.read<uint8_t>();
  const auto long_sequence = in.read<uint8_t>(), marked = in.read<uint8_t>();
  struct Limit {
    uint8_t value, most;
    uint64_t offset;
  };
  for (const Limit& field : {Limit{kv_type, 2, kKvField}, Limit{exact, 1, kNumericsField},
                             Limit{long_sequence, 1, kLongField}, Limit{marked, 1, kMarkedField}})
    if (field.value > field.most)
      return in_header(Fault::kCorrupt, "Field", field.offset,
                       fmt::format("{}, wanted at most {}", field.value, field.most));
  StateHeader header;
  header.binding.kv_type = static_cast<KvType>(kv_type);
  header.binding.exact = exact != 0;
  header.long_sequence = long_sequence != 0;
  header.marked = marked != 0;
  header.binding.directory_hash = in.read<uint64_t>();
  header.binding.arch_hash = in.read<uint64_t>();
  header.binding.restriction_hash = in.read<uint64_t>();
  header.length = in.read<uint64_t>();
  header.first_cut = in.read<uint64_t>();
  header.mark = in.read<uint64_t>();
  if (header.mark > (header.marked ? header.length : 0))
    return in_header(Fault::kCorrupt, "Field", kMarkField,
                     fmt::format("a mark at {} of {} tokens", header.mark, header.length));
  return header;
}

Result<StateView> decode_state(Bytes file, const StateBinding& binding, const Session::Impl& session) {
  StateView view;
  AMPHORA_ASSIGN(view.header, decode_state_header(file));
  AMPHORA_TRY(check_binding(view.header.binding, binding));
  AMPHORA_TRY(check_sequence(view.header, session));
  AMPHORA_TRY(check_length_and_checksum(file, file_bytes(view.header, session)));

  const model::SequenceState& state = session.sequence.state();
  ByteReader in(file);
  in.take(kStateHeaderBytes);
  AMPHORA_ASSIGN(view.ids, decode_ids(in, view.header.length, session.plan().vocabulary));
  view.recurrent = in.take(recurrent_bytes(session));
  if (view.header.marked) view.mark_recurrent = in.take(recurrent_bytes(session));
  for (size_t visit = 0; visit < state.visits(); ++visit) {
    AMPHORA_ASSIGN(const auto bytes, decode_visit(in, state, visit, view.header.length));
    view.visits.push_back(bytes);
  }
  return view;
}

}  // namespace engine

Status check_state(const Model& model) {
  if (model.package()->directory_hash) return {};
  return fail(Fault::kRefused,
              fmt::format("{} records no directory hash to which a saved state could be bound: convert it to "
                          ".cmf first",
                          model.package()->path.string()));
}

Status save_state(Session& session, const std::filesystem::path& path) {
  Session::Impl& impl = session.impl();
  AMPHORA_ASSIGN(const engine::StateBinding binding, engine::state_binding(impl));
  impl.sequence.catch_up();
  const Sequence& sequence = impl.sequence;
  const Sequence::Kept& prompt = sequence.kept(Sequence::Checkpoint::kPrompt);
  const engine::StateHeader header{.binding = binding,
                                   .long_sequence = sequence.long_sequence(),
                                   .marked = prompt.used,
                                   .length = sequence.ids().size(),
                                   .first_cut = sequence.first_cut(),
                                   .mark = prompt.used ? prompt.position : 0};
  AMPHORA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  engine::CheckedOutput out(std::move(file));
  AMPHORA_TRY(out.write(engine::encode_state_header(header)));
  ByteWriter ids;
  for (const TokenId id : sequence.ids()) ids.write(id);
  AMPHORA_TRY(out.write(ids.bytes()));
  AMPHORA_TRY(out.write_floats(sequence.state().recurrent()));
  if (prompt.used) AMPHORA_TRY(out.write_floats(prompt.recurrent));
  for (size_t visit = 0; visit < sequence.state().visits(); ++visit)
    AMPHORA_TRY(engine::write_visit(out, sequence.state(), visit, header.length));
  return out.commit();
}

Status load_state(Session& session, const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const engine::StateBinding binding, engine::state_binding(session.impl()));
  AMPHORA_ASSIGN(const auto file, MappedFile::open(path));
  auto view = engine::decode_state(file->bytes(), binding, session.impl());
  if (!view) {
    view.error().message = path.filename().string() + ": " + view.error().message;
    return std::unexpected(view.error());
  }
  engine::take_up(*std::move(view), session.impl());
  return {};
}

}  // namespace amphora
