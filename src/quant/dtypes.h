// The codecs of all element types, one per file; codec.cc puts them into a table.
#pragma once

#include "quant/codec.h"

namespace amphora::quant {

extern const Codec kF32Codec;
extern const Codec kF16Codec;
extern const Codec kBF16Codec;
extern const Codec kQ8RowCodec;
extern const Codec kQ4BlockCodec;
extern const Codec kU8Codec;
extern const Codec kVbitCodec;
extern const Codec kQ82FCodec;
extern const Codec kVbitRoCodec;
extern const Codec kQ4TiledCodec;
extern const Codec kQ1Codec;
extern const Codec kQ1SCodec;
extern const Codec kQ1TCodec;
extern const Codec kQ4TPCodec;
extern const Codec kQ2TPCodec;

}  // namespace amphora::quant
