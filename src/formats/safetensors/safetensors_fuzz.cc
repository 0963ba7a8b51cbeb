// Fuzz target: any bytes as a .safetensors file, and its tensors decoded; the same bytes as a shard index.
#include <algorithm>
#include <vector>

#include "formats/safetensors/directory.h"
#include "formats/safetensors/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace amphora;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto directory = safetensors::decode_directory(bytes)) {
    for (const safetensors::Tensor& tensor : directory->tensors) {
      std::vector<float> values(std::min<uint64_t>(tensor.elements, 4096));
      (void)safetensors::decode_elements(tensor.type, tensor.data, tensor.elements - values.size(), values);
    }
  }
  (void)safetensors::decode_shard_index(as_text(bytes));
  return 0;
}
