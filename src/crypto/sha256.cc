// SHA-256, from OpenSSL.
#include "crypto/sha256.h"

#include <openssl/evp.h>

namespace amphora::crypto {
namespace {

EVP_MD_CTX* as_context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void Sha256::FreeContext::operator()(void* context) const { EVP_MD_CTX_free(as_context(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  ok_ = context_ && EVP_DigestInit_ex(as_context(context_.get()), EVP_sha256(), nullptr) == 1;
}

void Sha256::update(Bytes bytes) {
  ok_ = ok_ && EVP_DigestUpdate(as_context(context_.get()), bytes.data(), bytes.size()) == 1;
}

Result<Sha256Digest> Sha256::finish() {
  Sha256Digest digest{};
  ok_ = ok_ && EVP_DigestFinal_ex(as_context(context_.get()), reinterpret_cast<unsigned char*>(digest.data()),
                                  nullptr) == 1;
  if (!ok_) return fail(Fault::kUnsupported, "OpenSSL offers no SHA-256 on this machine");
  return digest;
}

Result<Sha256Digest> sha256(Bytes bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

}  // namespace amphora::crypto
