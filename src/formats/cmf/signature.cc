// The detached signature beside a file: JSON with an Ed25519 signature of the file's SHA-256
// (docs/formats/cmf.md §8).
#include <array>

#include "crypto/hex.h"
#include "formats/cmf/schema.h"
#include "formats/cmf/signing.h"
#include "formats/cmf/verify.h"

namespace amphora::cmf {
namespace {

constexpr std::string_view kAlgorithms[] = {"ed25519-sha256"};
constexpr Key kSignatureRequired[] = {{.name = "alg", .type = Type::kChoice, .choices = kAlgorithms},
                                      {.name = "pubkey", .type = Type::kHex, .hex_digits = 64},
                                      {.name = "sha256", .type = Type::kHex, .hex_digits = 64},
                                      {.name = "sig", .type = Type::kHex, .hex_digits = 128}};
constexpr Record kSignature{kSignatureRequired};

constexpr JsonPlace kPlace{Section::kSignature, 0};

template <size_t N>
std::array<std::byte, N> bytes_of(const json::Value& record, std::string_view key) {
  std::array<std::byte, N> bytes{};
  crypto::from_hex(record.find(key)->text(), bytes);  // the schema has seen the digits
  return bytes;
}

/// Says who signed instead. What was demanded is not shown: it may be a secret seed, given by mistake.
std::string other_signer(const crypto::Ed25519PublicKey& signer, const crypto::Ed25519PublicKey& demanded) {
  crypto::Ed25519Seed seed;
  seed.bytes = demanded;
  const auto key = crypto::Ed25519Key::from_seed(seed);
  if (key && key->public_key() == signer)
    return "what is demanded is the secret key of the signature: give the public one, " +
           crypto::to_hex(signer);
  return "the signature is by " + crypto::to_hex(signer) + ", not by the key that is demanded";
}

/// The key of a good signature.
Checked<crypto::Ed25519PublicKey> check(Bytes file, std::string_view text, const VerifyOptions& options) {
  AMPHORA_ASSIGN(const json::Value record, read_record(text, kPlace, kSignature));
  const auto signer = bytes_of<crypto::kEd25519KeyBytes>(record, "pubkey");
  if (options.public_key && signer != *options.public_key)
    return json_fault(Code::kHash, kPlace, "$.pubkey", other_signer(signer, *options.public_key));
  const auto digest = digest_of(file, {options.release_pages, options.progress});
  if (!digest) return json_fault(Code::kUnsupportedFeature, kPlace, "$.sha256", digest.error().message);
  if (bytes_of<32>(record, "sha256") != *digest)
    return json_fault(
        Code::kHash, kPlace, "$.sha256",
        "the file's SHA-256 is " + crypto::to_hex(*digest) + ", the signature is for another one");
  if (!crypto::ed25519_verify(signer, *digest, bytes_of<crypto::kEd25519SignatureBytes>(record, "sig")))
    return json_fault(Code::kHash, kPlace, "$.sig", "the signature is not that of its public key");
  return signer;
}

}  // namespace

void check_signature(Bytes file, std::optional<std::string_view> signature, const VerifyOptions& options,
                     VerifyReport& report) {
  if (!signature) {
    if (options.strong || options.public_key)
      report.findings.push_back({Code::kMissing, Section::kSignature, 0, "there is no signature file"});
    return;
  }
  auto signer = check(file, *signature, options);
  report.signature = signer ? SignatureState::kValid : SignatureState::kInvalid;
  if (signer)
    report.signer = *signer;
  else
    report.findings.push_back(std::move(signer).error());
}

}  // namespace amphora::cmf
