// Fuzz target: any bytes as a GGUF file, and the first and last values of its tensors decoded.
#include <algorithm>
#include <vector>

#include "formats/gguf/directory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace amphora;
  const auto directory = gguf::decode_directory(Bytes(reinterpret_cast<const std::byte*>(data), size));
  if (!directory) return 0;
  for (const gguf::Tensor& tensor : directory->tensors) {
    std::vector<float> values(std::min<uint64_t>(tensor.elements, 300));
    (void)quant::ggml::decode_elements(*tensor.type, tensor.data, 0, values);
    (void)quant::ggml::decode_elements(*tensor.type, tensor.data, tensor.elements - values.size(), values);
  }
  for (const gguf::KeyValue& entry : directory->metadata) {
    const gguf::Array* array = entry.value.as_array();
    for (uint64_t i = 0; array != nullptr && i < std::min<uint64_t>(array->count, 64); ++i) {
      if (gguf::is_integer(array->element_type)) (void)array->integer_at(i);
      if (gguf::is_float(array->element_type)) (void)array->float_at(i);
    }
  }
  return 0;
}
