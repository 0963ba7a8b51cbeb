// Any bytes as a file: envelope, directory and all other sections are refused or can be read to their ends.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "formats/cmf/verify.h"
#include "quant/codec.h"

namespace {

/// Decoding what open has accepted must stay within the payload: the sanitizers watch.
void decode_first_and_last(const amphora::cmf::CmfFile& file, const amphora::cmf::TensorRecord& tensor) {
  const amphora::quant::Codec* codec = amphora::quant::find_codec(tensor.dtype);
  const uint64_t elements = tensor.elements();
  if (!codec->can_decode() || elements == 0) return;
  std::vector<float> values(elements < 100 ? elements : 100);
  codec->decode(file.payload(tensor), tensor.shape, 0, values);
  codec->decode(file.payload(tensor), tensor.shape, elements - values.size(), values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const amphora::Bytes bytes{reinterpret_cast<const std::byte*>(data), size};
  const auto file = amphora::cmf::CmfFile::open_or_finding(bytes);
  const auto report = amphora::cmf::verify_bytes(bytes, std::nullopt);
  if (!file) {
    if (report.valid()) std::abort();  // verify must report what open refuses
    return 0;
  }
  for (const auto& tensor : file->tensors()) {
    if (file->find(tensor.name) != &tensor) std::abort();
    decode_first_and_last(*file, tensor);
  }
  return 0;
}
