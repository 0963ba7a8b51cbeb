// Fuzz target: any bytes as a SentencePiece model.
#include "formats/sentencepiece/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace amphora;
  const auto model = sentencepiece::decode_model(Bytes(reinterpret_cast<const std::byte*>(data), size));
  if (!model) return 0;
  (void)model->find_control(model->trainer.bos_piece);
  if (model->pieces[model->unknown_id].text.empty()) __builtin_trap();
  return 0;
}
