// Signatures and key files: the reference's bytes, what a signature catches, what is no key.
#include "formats/cmf/signing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "crypto/hex.h"
#include "formats/cmf/testing/files.h"

namespace amphora::cmf {
namespace {

using amphora::testing::TemporaryFolder;
using amphora::testing::test_data;
using testing::read_text;
using testing::summaries;

/// Of the reference's key pair.
constexpr const char* kSeed = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
constexpr const char* kPublicKey = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";
constexpr auto kOwnerOnly = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

crypto::Ed25519Key reference_key() {
  crypto::Ed25519Seed seed;
  EXPECT_TRUE(crypto::from_hex(kSeed, seed.bytes));
  return *crypto::Ed25519Key::from_seed(seed);
}

/// The reference's signed file and its signature, to be damaged.
struct Signed {
  TemporaryFolder folder;
  std::filesystem::path path = folder / "a.cmf", signature = folder / "a.cmf.sig";

  Signed() {
    write(path, read_text(test_data("cmf/signed.cmf")));
    write(signature, read_text(test_data("cmf/signed.cmf.sig")));
  }
  static void write(const std::filesystem::path& path, std::string_view text) {
    EXPECT_TRUE(write_file(path, as_bytes(text)));
  }
  std::vector<std::string> findings(const VerifyOptions& options = {}) const {
    const auto report = verify(path, options);
    EXPECT_TRUE(report) << report.error().message;
    return summaries(report->findings);
  }
};

TEST(Signing, GivesTheReferencesBytes) {
  const std::string file = read_text(test_data("cmf/signed.cmf"));
  const auto signature = sign(as_bytes(file), reference_key());
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->text, read_text(test_data("cmf/signed.cmf.sig")));
  EXPECT_EQ(crypto::to_hex(signature->digest),
            "e5fcb3e7e99d4f867bcd69d4844e46631b15999b3d060bb0c44689848b87c3ab");
}

TEST(Signing, AGoodSignatureNamesItsKey) {
  const Signed good;
  crypto::Ed25519PublicKey key{};
  ASSERT_TRUE(crypto::from_hex(kPublicKey, key));
  const auto report = verify(good.path, {.public_key = key});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->findings.empty());
  EXPECT_EQ(report->signature, SignatureState::kValid);
  ASSERT_TRUE(report->signer);
  EXPECT_EQ(crypto::to_hex(*report->signer), kPublicKey);
}

TEST(Signing, AnotherKeysSignatureIsNotEnoughWhereOneIsDemanded) {
  const Signed good;
  crypto::Ed25519PublicKey key{};
  ASSERT_TRUE(crypto::from_hex(kPublicKey, key));
  key[31] ^= std::byte{1};
  const auto report = verify(good.path, {.public_key = key});
  ASSERT_TRUE(report);
  EXPECT_EQ(summaries(report->findings), std::vector<std::string>{"error Hash sig 0 $.pubkey"});
  EXPECT_EQ(report->signature, SignatureState::kInvalid);
  EXPECT_FALSE(report->signer);
  std::filesystem::remove(good.signature);
  EXPECT_EQ(good.findings({.public_key = key}), std::vector<std::string>{"error Missing sig 0"});
}

TEST(Signing, AFlippedBitIsFoundInTheTensorAndInTheSignature) {
  const Signed damaged;
  const auto file = CmfFile::open(damaged.path);
  ASSERT_TRUE(file);
  const TensorRecord& twelfth = file->tensors()[12];
  std::string bytes = read_text(damaged.path);
  bytes[twelfth.offset] = static_cast<char>(bytes[twelfth.offset] ^ 4);
  Signed::write(damaged.path, bytes);
  EXPECT_EQ(damaged.findings(),
            (std::vector<std::string>{
                "error Hash data " + std::to_string(twelfth.offset) + " " + std::string(twelfth.name),
                "error Hash sig 0 $.sha256"}));
}

TEST(Signing, WhatIsAddedOrTakenAwayBreaksTheSignature) {
  const std::vector<std::string> broken = {"error Hash sig 0 $.sha256"};
  const Signed changed;
  const std::string bytes = read_text(changed.path);
  Signed::write(changed.path, bytes + "appended");
  EXPECT_EQ(changed.findings(), broken);
  Signed::write(changed.path, bytes + std::string(1, '\0'));
  EXPECT_EQ(changed.findings(), broken);

  // A whole section behind the end: an index, which the envelope then names.
  std::string with_index = bytes + std::string(8 - bytes.size() % 8, '\0');
  const uint64_t place = with_index.size();
  with_index += std::string(8, '\0');
  for (size_t i = 0; i < 8; ++i) {
    with_index[place_field(Section::kIndex) + i] = static_cast<char>(place >> (8 * i));
    with_index[place_field(Section::kIndex) + 8 + i] = i == 0 ? 8 : 0;
  }
  Signed::write(changed.path, with_index);
  EXPECT_EQ(changed.findings(), (std::vector<std::string>{"note NoHash index " + std::to_string(place),
                                                          "error Hash sig 0 $.sha256"}));
}

TEST(Signing, AMissingSignatureIsAFaultOnlyWhereOneIsDemanded) {
  const Signed bare;
  std::filesystem::remove(bare.signature);
  EXPECT_TRUE(bare.findings().empty());
  EXPECT_EQ(bare.findings({.strong = true}), std::vector<std::string>{"error Missing sig 0"});
}

TEST(Signing, EveryTruncationOfASignatureIsRefused) {
  const std::string file = read_text(test_data("cmf/signed.cmf"));
  const std::string text = read_text(test_data("cmf/signed.cmf.sig"));
  for (size_t kept = 0; kept < text.size(); ++kept) {
    VerifyReport report;
    check_signature(as_bytes(file), text.substr(0, kept), {}, report);
    ASSERT_EQ(report.findings.size(), 1u) << kept;
    EXPECT_EQ(report.findings[0].code, Code::kParse) << kept;
    EXPECT_EQ(report.signature, SignatureState::kInvalid) << kept;
  }
}

TEST(Signing, AGrownFileNeedsANewSignature) {
  const Signed grown;
  Signed::write(grown.path, read_text(test_data("cmf_strict/golden/grown_1.cmf")));
  EXPECT_EQ(grown.findings(), std::vector<std::string>{"error Hash sig 0 $.sha256"});
  Signed::write(grown.signature, sign(as_bytes(read_text(grown.path)), reference_key())->text);
  EXPECT_TRUE(grown.findings({.strong = true}).empty());
}

TEST(KeyFile, HoldsTheSeedInHexWithWhiteSpaceAround) {
  const TemporaryFolder folder;
  const std::string seed = kSeed;
  std::string upper = seed;
  for (char& digit : upper) digit = static_cast<char>(std::toupper(static_cast<unsigned char>(digit)));
  for (const std::string& text : {seed, seed + "\n", " \t\r\n" + seed + "\r\n", upper}) {
    ASSERT_TRUE(write_file(folder / "key", as_bytes(text)));
    std::filesystem::permissions(folder / "key", kOwnerOnly);
    const auto key = load_signing_key(folder / "key");
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(crypto::to_hex(key->public_key()), kPublicKey);
  }
}

TEST(KeyFile, RefusesEverythingElse) {
  const TemporaryFolder folder;
  const std::string seed = kSeed;
  for (const std::string& text :
       {std::string(), std::string(" \n"), seed.substr(1), seed + "0", "0x" + seed, seed.substr(2) + "0g",
        seed.substr(0, 32) + " " + seed.substr(32), seed + std::string(1, '\0'), seed + "\n" + seed,
        std::string(2000, ' ') + seed}) {
    ASSERT_TRUE(write_file(folder / "key", as_bytes(text)));
    std::filesystem::permissions(folder / "key", kOwnerOnly);
    const auto key = load_signing_key(folder / "key");
    ASSERT_FALSE(key) << text;
    EXPECT_EQ(key.error().fault, Fault::kRefused) << text;
    EXPECT_THAT(key.error().message, ::testing::HasSubstr("64 hexadecimal digits"));
    EXPECT_FALSE(load_public_key((folder / "key").string())) << text;
  }
  EXPECT_EQ(load_signing_key(folder / "absent").error().fault, Fault::kNotFound);
  EXPECT_EQ(load_signing_key(folder.path()).error().fault, Fault::kIo);
}

TEST(KeyFile, OpenToOthersIsRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "key", as_bytes(std::string_view(kSeed))));
  for (const unsigned mode : {0640u, 0604u, 0620u, 0602u, 0610u, 0601u}) {
    std::filesystem::permissions(folder / "key", std::filesystem::perms(mode));
    const auto key = load_signing_key(folder / "key");
    ASSERT_FALSE(key) << mode;
    EXPECT_EQ(key.error().fault, Fault::kRefused);
    EXPECT_THAT(key.error().message, ::testing::HasSubstr("chmod 600"));
  }
  std::filesystem::permissions(folder / "key", std::filesystem::perms(0400));
  EXPECT_TRUE(load_signing_key(folder / "key"));
}

TEST(KeyFile, IsMadeForItsOwnerOnlyWhateverTheUmask) {
  for (const mode_t mask : {0000, 0022, 0777}) {
    const TemporaryFolder folder;
    const mode_t before = ::umask(mask);
    const auto key = create_signing_key(folder / "key");
    ::umask(before);
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(std::filesystem::status(folder / "key").permissions(), kOwnerOnly);
    EXPECT_EQ(read_text(folder / "key").size(), 65u);
    EXPECT_EQ(read_text(folder / "key").back(), '\n');
    EXPECT_EQ(load_signing_key(folder / "key")->public_key(), key->public_key());
  }
}

TEST(KeyFile, IsNeverOverwritten) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "key", as_bytes("old")));
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link");
  for (const char* name : {"key", "link"}) {
    const auto key = create_signing_key(folder / name);
    ASSERT_FALSE(key) << name;
    EXPECT_EQ(key.error().fault, Fault::kRefused) << name;
  }
  EXPECT_EQ(read_text(folder / "key"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
  EXPECT_EQ(create_signing_key(folder / "no folder" / "key").error().fault, Fault::kNotFound);
}

TEST(KeyFile, APublicKeyIsDigitsOrAFileOfThem) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "key", as_bytes(std::string(kPublicKey) + "\n")));
  for (const std::string& text : {std::string(kPublicKey), (folder / "key").string()}) {
    const auto key = load_public_key(text);
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(crypto::to_hex(*key), kPublicKey);
  }
  EXPECT_EQ(load_public_key(std::string(kPublicKey).substr(1)).error().fault, Fault::kNotFound);
}

}  // namespace
}  // namespace amphora::cmf
