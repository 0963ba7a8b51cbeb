// Ed25519 signatures and keys, from OpenSSL.
#include "crypto/ed25519.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

namespace amphora::crypto {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* raw(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* raw(MutableBytes bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

std::unexpected<Error> unavailable() {
  return fail(Fault::kUnsupported, "OpenSSL offers no Ed25519 on this machine");
}

}  // namespace

bool ed25519_verify(std::span<const std::byte, kEd25519KeyBytes> public_key, Bytes message,
                    std::span<const std::byte, kEd25519SignatureBytes> signature) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(public_key), public_key.size()),
      EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return key && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(message), message.size()) == 1;
}

void wipe(MutableBytes secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

Result<Ed25519Seed> Ed25519Seed::generate() {
  Ed25519Seed seed;
  if (RAND_priv_bytes(raw(MutableBytes(seed.bytes)), static_cast<int>(seed.bytes.size())) != 1)
    return fail(Fault::kUnsupported, "the system gives no random numbers");
  return seed;
}

void Ed25519Key::FreeKey::operator()(void* key) const { EVP_PKEY_free(static_cast<EVP_PKEY*>(key)); }

Result<Ed25519Key> Ed25519Key::from_seed(const Ed25519Seed& seed) {
  Ed25519Key key;
  EVP_PKEY* const pair =
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(Bytes(seed.bytes)), seed.bytes.size());
  key.key_.reset(pair);
  size_t bytes = key.public_key_.size();
  if (!pair || EVP_PKEY_get_raw_public_key(pair, raw(MutableBytes(key.public_key_)), &bytes) != 1 ||
      bytes != kEd25519KeyBytes)
    return unavailable();
  return key;
}

Result<Ed25519Signature> Ed25519Key::sign(Bytes message) const {
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  Ed25519Signature signature{};
  size_t bytes = signature.size();
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, static_cast<EVP_PKEY*>(key_.get())) != 1 ||
      EVP_DigestSign(context.get(), raw(MutableBytes(signature)), &bytes, raw(message), message.size()) !=
          1 ||
      bytes != signature.size())
    return unavailable();
  return signature;
}

}  // namespace amphora::crypto
