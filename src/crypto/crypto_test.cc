// Published vectors of the hashes and signatures; hash64's were computed by an independent implementation.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "crypto/ed25519.h"
#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "crypto/sha256.h"

namespace amphora::crypto {
namespace {

struct Vector {
  size_t bytes;
  const char* hash;
};
/// Of counting_bytes(bytes).
const Vector kVectors[] = {
    {0, "0000000000000000"},    {1, "d522b5d820b5e72f"},      {7, "7a49fd0688646283"},
    {8, "8485413a99a7a604"},    {9, "9228a13be829a261"},      {15, "a03d462e7598e539"},
    {16, "21b8463a8354bba6"},   {31, "0c77ed8cd8a8b5a3"},     {32, "495720780135b092"},
    {33, "8e0b6eb38e6bae1e"},   {64, "3556506a139c4a22"},     {100, "75d792e557ad67da"},
    {4096, "10d856f65b354658"}, {100003, "debfdd5723bff20c"},
};

ByteVector counting_bytes(size_t count) {
  ByteVector bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

TEST(Hash64, GivesTheValuesOfAnIndependentImplementation) {
  for (const Vector& vector : kVectors)
    EXPECT_EQ(to_hex(hash64(counting_bytes(vector.bytes))), vector.hash) << vector.bytes;
}

TEST(Hash64, DoesNotDependOnThePortions) {
  const ByteVector bytes = counting_bytes(1000);
  const uint64_t whole = hash64(bytes);
  for (size_t portion = 1; portion < 100; ++portion) {
    Hash64 hash;
    for (size_t at = 0; at < bytes.size(); at += portion)
      hash.update(Bytes(bytes).subspan(at, std::min(portion, bytes.size() - at)));
    EXPECT_EQ(hash.value(), whole) << portion;
  }
}

TEST(Hash64, ValueMayBeAskedBetweenUpdates) {
  Hash64 hash;
  const ByteVector bytes = counting_bytes(100);
  hash.update(Bytes(bytes).first(13));
  EXPECT_EQ(hash.value(), hash64(Bytes(bytes).first(13)));
  hash.update(Bytes(bytes).subspan(13));
  EXPECT_EQ(hash.value(), hash64(bytes));
}

TEST(Hash64, IsBlindToSwappedWordsAsTheFormatSays) {
  EXPECT_EQ(hash64(as_bytes("AAAAAAAABBBBBBBB")), hash64(as_bytes("BBBBBBBBAAAAAAAA")));
  EXPECT_NE(hash64(as_bytes("AAAAAAAABBBBBBBB")), hash64(as_bytes("AAAAAAAABBBBBBBC")));
}

TEST(Sha256, GivesTheVectorsOfFips180) {
  EXPECT_EQ(to_hex(*sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(*sha256(as_bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(*sha256(as_bytes(std::string(1000000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePortions) {
  Sha256 hash;
  hash.update(as_bytes("a"));
  hash.update({});
  hash.update(as_bytes("bc"));
  EXPECT_EQ(*hash.finish(), *sha256(as_bytes("abc")));
}

template <size_t N>
std::array<std::byte, N> bytes_of(std::string_view hex) {
  std::array<std::byte, N> bytes{};
  EXPECT_TRUE(from_hex(hex, bytes)) << hex;
  return bytes;
}

// RFC 8032 §7.1, TEST 3.
const char kPublicKey[] = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
const char kMessage[] = "af82";
const char kSignature[] =
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";

TEST(Ed25519, AcceptsTheVectorOfRfc8032) {
  EXPECT_TRUE(ed25519_verify(bytes_of<32>(kPublicKey), bytes_of<2>(kMessage), bytes_of<64>(kSignature)));
  // TEST 1: the empty message.
  EXPECT_TRUE(ed25519_verify(
      bytes_of<32>("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"), {},
      bytes_of<64>(
          "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
          "d25bf5f0595bbe24655141438e7a100b")));
}

TEST(Ed25519, RefusesAnyFlippedByte) {
  for (size_t i = 0; i < 64; ++i) {
    auto signature = bytes_of<64>(kSignature);
    signature[i] ^= std::byte{1};
    EXPECT_FALSE(ed25519_verify(bytes_of<32>(kPublicKey), bytes_of<2>(kMessage), signature)) << i;
  }
  EXPECT_FALSE(ed25519_verify(bytes_of<32>(kPublicKey), bytes_of<2>("af83"), bytes_of<64>(kSignature)));
  EXPECT_FALSE(
      ed25519_verify(bytes_of<32>(std::string(64, 'f')), bytes_of<2>(kMessage), bytes_of<64>(kSignature)));
}

struct SigningVector {
  const char *seed, *public_key, *message, *signature;
};
// RFC 8032 §7.1, TEST 1 to 3.
const SigningVector kSigningVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
     "d25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
     "387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", kPublicKey, kMessage, kSignature},
};

Ed25519Seed seed_of(std::string_view hex) {
  Ed25519Seed seed;
  EXPECT_TRUE(from_hex(hex, seed.bytes)) << hex;
  return seed;
}

TEST(Ed25519, SignsTheVectorsOfRfc8032) {
  for (const SigningVector& vector : kSigningVectors) {
    const auto key = Ed25519Key::from_seed(seed_of(vector.seed));
    ASSERT_TRUE(key);
    EXPECT_EQ(to_hex(key->public_key()), vector.public_key);
    ByteVector message(std::string_view(vector.message).size() / 2);
    ASSERT_TRUE(from_hex(vector.message, message));
    const auto signature = key->sign(message);
    ASSERT_TRUE(signature);
    EXPECT_EQ(to_hex(*signature), vector.signature);
  }
}

TEST(Ed25519, GeneratesSeedsThatDifferAndSign) {
  const auto one = Ed25519Seed::generate(), other = Ed25519Seed::generate();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->bytes, other->bytes);
  EXPECT_NE(one->bytes, Ed25519Seed().bytes);
  const auto key = Ed25519Key::from_seed(*one);
  ASSERT_TRUE(key);
  EXPECT_TRUE(ed25519_verify(key->public_key(), as_bytes("abc"), *key->sign(as_bytes("abc"))));
}

TEST(Ed25519, WipesASecret) {
  Ed25519Seed seed = seed_of(kPublicKey);
  wipe(seed.bytes);
  EXPECT_EQ(seed.bytes, Ed25519Seed().bytes);
}

TEST(Hex, WritesAndReadsLowerCaseOnly) {
  EXPECT_EQ(to_hex(uint64_t{0x0123456789abcdef}), "0123456789abcdef");
  EXPECT_EQ(to_hex(as_bytes(std::string_view("\x00\xff\x1a", 3))), "00ff1a");
  EXPECT_EQ(u64_from_hex("00000000000000ff"), 255u);
  for (const char* bad : {"", "00000000000000f", "00000000000000fff", "00000000000000FF", "00000000000000fg",
                          "0x000000000000ff"})
    EXPECT_FALSE(u64_from_hex(bad)) << bad;
}

}  // namespace
}  // namespace amphora::crypto
