// Ed25519 signatures, from OpenSSL.
#include "crypto/ed25519.h"

#include <openssl/evp.h>

#include <memory>

namespace amphora::crypto {
namespace {

const unsigned char* raw(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

}  // namespace

bool ed25519_verify(std::span<const std::byte, kEd25519KeyBytes> public_key, Bytes message,
                    std::span<const std::byte, kEd25519SignatureBytes> signature) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(public_key), public_key.size()),
      EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return key && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(message), message.size()) == 1;
}

}  // namespace amphora::crypto
