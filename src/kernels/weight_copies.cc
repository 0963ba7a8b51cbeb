// Copies of weights: see weight_copies.h.
#include "kernels/weight_copies.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/checked.h"

namespace amphora::kernels {
namespace {

constexpr size_t kAlignment = 64;  // a cache line: what kernels read at once does not cross more than it must

using Form = std::variant<PackedRows, Matrix>;

std::optional<Form> form_of(const Matrix& matrix) {
  if (is_dense(matrix.dtype)) return matrix;
  if (std::optional<PackedRows> packed = PackedRows::plan(matrix)) return *std::move(packed);
  return std::nullopt;
}

size_t bytes_of(const Form& form) {
  const PackedRows* const packed = std::get_if<PackedRows>(&form);
  const size_t bytes = packed ? packed->bytes() : std::get<Matrix>(form).payload.size();
  return divide_rounding_up(bytes, kAlignment) * kAlignment;
}

}  // namespace

std::unique_ptr<WeightCopies> WeightCopies::create(std::span<const Matrix* const> matrices,
                                                   uint64_t most_bytes, std::function<void(Bytes)> release) {
  std::unique_ptr<WeightCopies> copies(new WeightCopies);
  copies->release_ = std::move(release);
  std::vector<Copy*> in_order;
  uint64_t bytes = 0;
  for (const Matrix* matrix : matrices) {
    const std::byte* const payload = matrix->payload.data();
    if (copies->by_payload_.contains(payload)) continue;
    std::optional<Form> form = form_of(*matrix);
    if (!form) continue;
    const size_t size = bytes_of(*form);
    auto copy = std::make_unique<Copy>(*std::move(form), matrix->payload, size);
    in_order.push_back(copy.get());
    copies->by_payload_.emplace(payload, std::move(copy));
    bytes += size;
  }
  if (bytes == 0 || bytes > most_bytes) return nullptr;
  copies->memory_.reset(static_cast<char*>(allocate_huge(bytes)));
  if (!copies->memory_) return nullptr;
  auto* at = reinterpret_cast<std::byte*>(copies->memory_.get());
  for (Copy* copy : in_order) {
    if (auto* packed = std::get_if<PackedRows>(&copy->form)) {
      packed->place(at);
    } else {
      Matrix& plain = std::get<Matrix>(copy->form);
      plain.payload = Bytes(at, plain.payload.size());
    }
    at += copy->bytes;
  }
  return copies;
}

void WeightCopies::fill(Copy& copy, ThreadPool& pool) const {
  constexpr size_t kPieces = 64;
  auto* const packed = std::get_if<PackedRows>(&copy.form);
  // Bytes, or blocks of rows, of which a piece's part lies in about the same part of the payload.
  const size_t count = packed ? packed->blocks() : copy.from.size();
  const auto part = [](size_t whole, size_t piece) {
    return whole / kPieces * piece + whole % kPieces * piece / kPieces;
  };
  pool.run(kPieces, [&](size_t piece) {
    const size_t first = part(count, piece), last = part(count, piece + 1);
    if (packed) {
      packed->fill(first, last);
    } else {
      auto* const to = const_cast<std::byte*>(std::get<Matrix>(copy.form).payload.data());
      std::memcpy(to + first, copy.from.data() + first, last - first);
    }
    const size_t from = part(copy.from.size(), piece), to = part(copy.from.size(), piece + 1);
    if (release_) release_(copy.from.subspan(from, to - from));
  });
  // A page that is read brings its neighbours with it, those of parts that were released before too.
  if (release_) release_(copy.from);
}

bool WeightCopies::fill(ThreadPool& pool, uint64_t budget) {
  const std::unique_lock lock(filling_, std::try_to_lock);
  if (!lock) return false;
  uint64_t filled = 0;
  for (auto& [payload, copy] : by_payload_) {
    if (filled >= budget) break;
    if (copy->state.load(std::memory_order_relaxed) != State::kWanted) continue;
    fill(*copy, pool);
    copy->state.store(State::kFilled, std::memory_order_release);
    filled += copy->bytes;
  }
  filled_bytes_.fetch_add(filled, std::memory_order_relaxed);
  return filled != 0;
}

const WeightCopies::Copy* WeightCopies::find(const Matrix& matrix) const {
  const auto found = by_payload_.find(matrix.payload.data());
  if (found == by_payload_.end()) return nullptr;
  const Copy& copy = *found->second;
  State state = copy.state.load(std::memory_order_acquire);
  if (state == State::kFilled) return &copy;
  state = State::kUnused;
  copy.state.compare_exchange_strong(state, State::kWanted, std::memory_order_relaxed);
  return nullptr;
}

const PackedRows* WeightCopies::find_packed(const Matrix& matrix) const {
  const Copy* const copy = find(matrix);
  return copy ? std::get_if<PackedRows>(&copy->form) : nullptr;
}

const Matrix* WeightCopies::find_plain(const Matrix& matrix) const {
  const Copy* const copy = find(matrix);
  return copy ? std::get_if<Matrix>(&copy->form) : nullptr;
}

}  // namespace amphora::kernels
