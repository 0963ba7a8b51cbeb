// The detached signature beside a file: JSON with an Ed25519 signature of the file's SHA-256
// (docs/formats/cmf.md §8).
#include <array>

#include "crypto/ed25519.h"
#include "crypto/hex.h"
#include "crypto/sha256.h"
#include "formats/cmf/schema.h"
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
constexpr uint64_t kPortion = uint64_t{16} << 20;

Result<crypto::Sha256Digest> digest_of(Bytes file, const ProgressFunction& progress) {
  crypto::Sha256 hash;
  for (uint64_t done = 0; done < file.size();) {
    const uint64_t count = std::min(kPortion, file.size() - done);
    hash.update(file.subspan(done, count));
    done += count;
    if (progress) progress(done, file.size());
  }
  return hash.finish();
}

template <size_t N>
std::array<std::byte, N> bytes_of(const json::Value& record, std::string_view key) {
  std::array<std::byte, N> bytes{};
  crypto::from_hex(record.find(key)->text(), bytes);  // the schema has seen the digits
  return bytes;
}

Checked<void> check(Bytes file, std::string_view text, const ProgressFunction& progress) {
  AMPHORA_ASSIGN(const json::Value record, read_record(text, kPlace, kSignature));
  const auto digest = digest_of(file, progress);
  if (!digest) return json_fault(Code::kUnsupportedFeature, kPlace, "$.sha256", digest.error().message);
  if (bytes_of<32>(record, "sha256") != *digest)
    return json_fault(
        Code::kHash, kPlace, "$.sha256",
        "the file's SHA-256 is " + crypto::to_hex(*digest) + ", the signature is for another one");
  if (!crypto::ed25519_verify(bytes_of<crypto::kEd25519KeyBytes>(record, "pubkey"), *digest,
                              bytes_of<crypto::kEd25519SignatureBytes>(record, "sig")))
    return json_fault(Code::kHash, kPlace, "$.sig", "the signature is not that of its public key");
  return {};
}

}  // namespace

std::optional<Finding> check_signature(Bytes file, std::string_view signature,
                                       const ProgressFunction& progress) {
  auto checked = check(file, signature, progress);
  return checked ? std::nullopt : std::optional(std::move(checked).error());
}

}  // namespace amphora::cmf
