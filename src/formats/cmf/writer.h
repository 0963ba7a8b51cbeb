// Writes a new CMF file in the canonical layout (docs/formats/cmf.md §4), tensor by tensor, with bounded
// memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/dtype.h"
#include "amphora/json.h"
#include "amphora/result.h"

namespace amphora::cmf {

/// A tensor that is going to be written.
struct NewTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  /// Payload size, needed only for types whose size depends on their content.
  std::optional<uint64_t> bytes = std::nullopt;
};

/// What a new file holds besides its tensors. The bytes must stay valid until create() returns.
struct NewFile {
  /// `format`, `version`, `arch` and whatever else the header shall carry; `section_hashes` is set by the
  /// writer.
  json::Value header;
  std::vector<NewTensor> tensors;  ///< in directory order
  Bytes tokenizer_json = {};
  Bytes masks = {};
  Bytes index = {};
  bool loop_masks = false;  ///< the masks have FFN rows per visit
};

/// The value of the header's `quant_type` that fits the commonest matrix type: readers in the field know only
/// these.
std::string_view quant_type_of(std::span<const NewTensor> tensors);

/// Sets `layout` = "canonical" in a header's provenance: the promise that the file has the layout of §4,
/// which makes `verify` look at the bytes that no hash covers. CmfWriter keeps it; whoever grows or patches a
/// file in place drops it.
void promise_canonical_layout(json::Value& provenance);
bool promises_canonical_layout(const json::Value& header);

/// Payload size of a tensor that is going to be written; refuses what no file can hold.
Result<uint64_t> payload_bytes_of(const NewTensor& tensor);

/// Whether CmfWriter::create() would accept the file, as far as its content goes.
Status check_new_file(const NewFile& file);

/// create(), write() every tensor's payload in the declared order, finish(). The file appears under its name
/// only when finish() has succeeded; its bytes depend on nothing but the arguments.
class CmfWriter {
 public:
  /// Checks header, names, types and sizes as a reader would, and lays the file out.
  static Result<CmfWriter> create(const std::filesystem::path& path, const NewFile& file);
  CmfWriter(CmfWriter&&) noexcept;
  CmfWriter& operator=(CmfWriter&&) noexcept;
  ~CmfWriter();

  /// The next part of the payload of `name`: tensors in order, each in as many parts as is convenient.
  /// Tensors of no bytes need no call.
  Status write(std::string_view name, Bytes part);
  /// Whether every payload has been written.
  bool complete() const;
  /// seal(), then commit().
  Status finish();
  /// Writes all that depends on the payloads; fails if one of them is incomplete.
  Status seal();
  /// Gives the sealed file its name. Apart from seal() so that several files can be whole before the first of
  /// them appears.
  Status commit();

  /// Size that the finished file has.
  uint64_t file_bytes() const;

 private:
  struct State;
  explicit CmfWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace amphora::cmf
