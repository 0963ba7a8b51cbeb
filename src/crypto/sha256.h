// SHA-256 (FIPS 180-4), from OpenSSL.
#pragma once

#include <array>
#include <memory>

#include "amphora/bytes.h"
#include "amphora/result.h"

namespace amphora::crypto {

using Sha256Digest = std::array<std::byte, 32>;

/// Streaming form. A library that cannot do SHA-256 at all is reported by finish().
class Sha256 {
 public:
  Sha256();
  void update(Bytes bytes);
  /// The digest of all bytes; the object cannot be used afterwards.
  Result<Sha256Digest> finish();

 private:
  struct FreeContext {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, FreeContext> context_;
  bool ok_ = false;
};

Result<Sha256Digest> sha256(Bytes bytes);

}  // namespace amphora::crypto
