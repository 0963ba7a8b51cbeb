// Copies of weight matrices in the order in which the kernels read them fastest.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <variant>

#include "base/huge_pages.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "kernels/packed_rows.h"

namespace amphora::kernels {

/// One piece of huge pages for all the copies: rows in blocks (packed_rows.h) where a type has them, f32, f16
/// and bf16 as they are. Products give the same bits with and without copies. Several threads may use it.
class WeightCopies {
 public:
  /// Copies of matrices whose payloads outlive it; matrices with one payload share a copy. Memory is reserved
  /// and not touched yet. Null if there is none, nothing to copy, or if the copies take more than
  /// `most_bytes`. `release`, if there is one, is told of parts of payloads that have been copied, from
  /// several threads.
  static std::unique_ptr<WeightCopies> create(std::span<const Matrix* const> matrices,
                                              uint64_t most_bytes = UINT64_MAX,
                                              std::function<void(Bytes)> release = {});
  /// The memory of the copies that are there.
  uint64_t filled_bytes() const { return filled_bytes_.load(std::memory_order_relaxed); }
  /// Makes copies that find() was asked for, until they take `budget` bytes or more; false if there were none
  /// to make.
  bool fill(ThreadPool& pool, uint64_t budget);

  /// Null if there is no copy yet: it is then wanted, and the caller takes the matrix itself.
  const PackedRows* find_packed(const Matrix& matrix) const;
  const Matrix* find_plain(const Matrix& matrix) const;

 private:
  enum class State : uint8_t { kUnused, kWanted, kFilled };
  struct Copy {
    std::variant<PackedRows, Matrix> form;  ///< Matrix: with the copied payload
    Bytes from;                             ///< the payload that is copied
    size_t bytes;
    mutable std::atomic<State> state = State::kUnused;
  };

  WeightCopies() = default;
  const Copy* find(const Matrix& matrix) const;
  void fill(Copy& copy, ThreadPool& pool) const;

  HugeBuffer memory_;
  std::function<void(Bytes)> release_;
  std::unordered_map<const std::byte*, std::unique_ptr<Copy>> by_payload_;
  std::mutex filling_;
  std::atomic<uint64_t> filled_bytes_ = 0;
};

}  // namespace amphora::kernels
