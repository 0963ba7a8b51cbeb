// The format page's tables and the code state the same: fields, bits, codes, types with their sizes, keys,
// limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <sstream>

#include "formats/cmf/directory.h"
#include "formats/cmf/envelope.h"
#include "formats/cmf/testing/files.h"
#include "quant/codec.h"
#include "quant/vbit_budget.h"

namespace amphora::cmf {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using Row = std::vector<std::string>;

std::string page() { return testing::read_text(amphora::testing::test_data("../../docs/formats/cmf.md")); }

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// "`Bounds`" → "Bounds".
std::string bare(const std::string& cell) {
  return cell.size() > 2 && cell.front() == '`' && cell.back() == '`' ? cell.substr(1, cell.size() - 2)
                                                                      : cell;
}

Row cells_of(const std::string& line) {
  Row cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) cells.push_back(trimmed(cell));
  return cells;
}

/// All rows of the page's tables whose heading line is `heading`.
std::vector<Row> rows_of(const std::string& heading) {
  std::vector<Row> rows;
  std::istringstream lines(page());
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == heading) {
      inside = true;
      std::getline(lines, line);  // |---|
    } else if (!line.starts_with("|")) {
      inside = false;
    } else if (inside) {
      rows.push_back(cells_of(line));
    }
  }
  EXPECT_FALSE(rows.empty()) << heading;
  return rows;
}

std::string hex_offset(uint64_t offset) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "0x%02llX", static_cast<unsigned long long>(offset));
  return text.data();
}

TEST(Page, TheEnvelopesFieldsAreWhereTheCodeReadsThem) {
  std::vector<std::string> expected = {"0x00 magic `43 4D 46 01`", hex_offset(kVersionField) + " version u32",
                                       hex_offset(kFlagsField) + " flags u32",
                                       hex_offset(kFeaturesField) + " required_features u32"};
  for (const Section section : kPlacedSections) {
    const std::string name(name_of(section));
    const uint64_t field = place_field(section);
    expected.push_back(hex_offset(field) + "/" + hex_offset(field + 8) + " " + name + "_off / " + name +
                       "_len");
  }
  expected.push_back(hex_offset(kHeaderHashField) + " hash64(header JSON)");
  expected.push_back(hex_offset(kDirectoryHashField) + " hash64(directory)");
  std::vector<std::string> found;
  for (const Row& row : rows_of("| off | field | rule |"))
    if (row[0].starts_with("0x")) found.push_back(row[0] + " " + row[1]);
  EXPECT_THAT(found, ElementsAreArray(expected));
}

TEST(Page, ARecordsFieldsAreWhereTheCodeReadsThem) {
  const std::vector<std::string> expected = {"0 name_off u32",
                                             std::to_string(kNameLengthField) + " name_len u16",
                                             std::to_string(kDTypeField) + " dtype u8",
                                             std::to_string(kRankField) + " ndim u8",
                                             std::to_string(kShapeField) + " shape u32×6",
                                             std::to_string(kPlaceField) + " off u64",
                                             std::to_string(kBytesField) + " nbytes u64",
                                             std::to_string(kHashField) + " hash u64"};
  std::vector<std::string> found;
  for (const Row& row : rows_of("| off | field | rule |"))
    if (!row[0].starts_with("0x")) found.push_back(row[0] + " " + row[1]);
  EXPECT_THAT(found, ElementsAreArray(expected));
  EXPECT_THAT(page(), HasSubstr("count × " + std::to_string(kRecordBytes) + " bytes"));
}

TEST(Page, FeatureBitsAreThoseOfTheCode) {
  uint32_t known = 0;
  std::map<std::string, uint32_t> named;
  for (const Row& row : rows_of("| bit | name | set |")) {
    const uint32_t bit = 1u << std::stoi(row[0]);
    named[row[1]] = bit;
    if (row[2] != "never: reserved") known |= bit;
  }
  EXPECT_EQ(known, kKnownFeatures);
  EXPECT_EQ(named.size(), 7u);
  for (const FeatureName& feature : kFeatureNames) EXPECT_EQ(named[std::string(feature.name)], feature.bit);
}

TEST(Page, EveryCodeHasItsLevelAndStatus) {
  std::vector<std::string> expected, found;
  for (int i = 0; i <= static_cast<int>(Code::kLayout); ++i) {
    const auto code = static_cast<Code>(i);
    const int status = level_of(code) == Level::kNote ? 0 : exit_status(fault_of(code));
    expected.push_back(std::string(name_of(code)) + " " + std::string(name_of(level_of(code))) + " " +
                       std::to_string(status));
  }
  for (const Row& row : rows_of("| code | level | exit | meaning |"))
    found.push_back(bare(row[0]) + " " + row[1] + " " + row[2]);
  EXPECT_THAT(found, ElementsAreArray(expected));
}

TEST(Page, SectionsHaveTheirNames) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(Section::kSignature); ++i)
    names += (i == 0 ? "" : ", ") + std::string(name_of(static_cast<Section>(i)));
  EXPECT_THAT(page(), HasSubstr("Sections are named " + names + "."));
}

/// The size formulas of the page: sums of products of numbers, names, parentheses and ceil(x/y).
class Formula {
 public:
  Formula(std::string text, std::map<std::string, uint64_t> names)
      : rest_(std::move(text)), names_(std::move(names)) {}

  uint64_t value() {
    const uint64_t sum = read_sum();
    EXPECT_EQ(rest_, "");
    return sum;
  }

 private:
  bool take(const std::string& token) {
    if (!rest_.starts_with(token)) return false;
    rest_.erase(0, token.size());
    return true;
  }

  uint64_t read_sum() {
    uint64_t sum = read_product();
    while (take(" + ")) sum += read_product();
    return sum;
  }

  uint64_t read_product() {
    uint64_t product = read_factor();
    while (take("·")) product *= read_factor();
    return product;
  }

  uint64_t read_factor() {
    if (take("ceil(")) {
      const uint64_t dividend = read_product();
      EXPECT_TRUE(take("/"));
      const uint64_t divisor = read_factor();
      EXPECT_TRUE(take(")"));
      return (dividend + divisor - 1) / divisor;
    }
    if (take("(")) {
      const uint64_t sum = read_sum();
      EXPECT_TRUE(take(")"));
      return sum;
    }
    const size_t end =
        std::min(rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), rest_.size());
    const std::string token = rest_.substr(0, end);
    rest_.erase(0, end);
    const auto named = names_.find(token);
    return named != names_.end() ? named->second : std::stoull(token);
  }

  std::string rest_;
  std::map<std::string, uint64_t> names_;
};

void expect_least_size(const quant::Codec& codec, quant::Shape shape, uint64_t least) {
  const ByteVector payload(least);
  const Status short_by_one = codec.check_tables(Bytes(payload).first(least - 1), shape);
  ASSERT_FALSE(short_by_one);
  EXPECT_EQ(short_by_one.error().code, "Bounds");
  const Status enough = codec.check_tables(payload, shape);  // zeros may be no valid table, but they fit
  EXPECT_TRUE(enough || enough.error().code == "Parse");
}

TEST(Page, EveryTypeHasItsIdNameAndSize) {
  const std::vector<Row> rows = rows_of("| id | name | where | bytes |");
  ASSERT_EQ(rows.size(), quant::codecs().size());
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i][1]);
    const quant::Codec& codec = quant::codecs()[i];
    EXPECT_EQ(rows[i][0], std::to_string(static_cast<int>(codec.dtype)));
    EXPECT_EQ(rows[i][1], codec.name);
    const bool is_least = rows[i][3].starts_with("≥ ");
    EXPECT_EQ(is_least, codec.payload_bytes == nullptr);
    const std::string formula = is_least ? rows[i][3].substr(std::string("≥ ").size()) : rows[i][3];
    for (const std::array<uint64_t, 2>& dimensions : {std::array<uint64_t, 2>{3, 64}, {5, 288}, {1, 32}}) {
      const uint64_t out = dimensions[0], in = dimensions[1];
      const std::vector<uint64_t> shape = codec.dtype == DType::kU8
                                              ? std::vector{out * in}
                                              : std::vector(dimensions.begin(), dimensions.end());
      const uint64_t bytes =
          Formula(formula, {{"n", out * in}, {"out", out}, {"in", in}, {"gpr", in / 32}}).value();
      if (is_least) {
        expect_least_size(codec, shape, bytes);
      } else {
        EXPECT_EQ(codec.payload_bytes(shape), bytes);
      }
    }
  }
}

TEST(Page, EveryTypeStandsWhereThePageSays) {
  const auto allowed = [](const quant::Codec& codec, std::vector<uint64_t> shape,
                          std::string_view name = "x") { return codec.check_place(name, shape).has_value(); };
  const std::vector<Row> rows = rows_of("| id | name | where | bytes |");
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i][1]);
    const quant::Codec& codec = quant::codecs()[i];
    const std::string& where = rows[i][2];
    const bool any = where == "any", matrix = where.starts_with("2-D"),
               in_groups = where.find("in%32=0") != where.npos;
    EXPECT_TRUE(any || matrix || codec.dtype == DType::kU8);
    EXPECT_EQ(allowed(codec, {2, 64}), any || matrix);
    EXPECT_EQ(allowed(codec, {2, 33}), any || (matrix && !in_groups));
    EXPECT_EQ(allowed(codec, {2, 2, 32}), any);
    EXPECT_EQ(allowed(codec, {32}), any);
    EXPECT_EQ(allowed(codec, {}), any);
    EXPECT_EQ(allowed(codec, {1, 65536}), any || (matrix && where.find("≤ 65535") == where.npos));
    EXPECT_EQ(allowed(codec, {7}, "te.config_json"), any || codec.dtype == DType::kU8);
    EXPECT_EQ(allowed(codec, {7, 1}, "te.config_json"), any || (matrix && !in_groups));
  }
}

std::string words_of(const Key& key) {
  const auto one = [&]() -> std::string {
    switch (key.type) {
      case Type::kString: return "string";
      case Type::kBoolean: return "boolean";
      case Type::kNumber: return "number";
      case Type::kU32: return "u32";
      case Type::kHex: return "hex" + std::to_string(key.hex_digits);
      case Type::kTwo: return "2";
      case Type::kObject: return "object";
      case Type::kRecord: return "record";
      case Type::kChoice: break;
    }
    std::string words;
    for (const std::string_view choice : key.choices)
      words += (words.empty() ? "\"" : " or \"") + std::string(choice) + "\"";
    return words;
  };
  return key.list ? "[" + one() + "]" : one();
}

/// "path type" or "path type required" of every key that a record knows, its records' keys included.
void collect(const Record& record, const std::string& path, std::set<std::string>& keys) {
  const auto add = [&](const Key& key, bool required) {
    const std::string place = path + "." + std::string(key.name);
    keys.insert(place + " " + words_of(key) + (required ? " required" : ""));
    if (key.record != nullptr) collect(*key.record, place + (key.list ? "[]" : ""), keys);
  };
  for (const Key& key : record.required) add(key, true);
  for (const Key& key : record.optional) add(key, false);
}

std::set<std::string> keys_on_the_page() {
  std::set<std::string> keys;
  const auto add = [&](const Row& row) {
    const std::string key = bare(row[0]) + " " + row[1] + (row[2].starts_with("required") ? " required" : "");
    EXPECT_TRUE(keys.insert(key).second) << key;
  };
  for (const Row& row : rows_of("| key | type | |")) add(row);
  for (const Row& row : rows_of("| key | type | neutral | meaning |")) add(row);
  return keys;
}

TEST(Page, EveryKeyHasItsTypeAndIsRequiredWhereTheCodeWantsIt) {
  std::set<std::string> keys;
  collect(header_schema(), "$", keys);
  collect(masks_schema(), "$", keys);
  for (const char* key : {"$.alg \"ed25519-sha256\"", "$.pubkey hex64", "$.sha256 hex64", "$.sig hex128"})
    keys.insert(std::string(key) + " required");  // the suite of bad signatures holds these
  EXPECT_THAT(keys_on_the_page(), ElementsAreArray(keys));
}

/// Where a payload of this size lies in a new file, from the blob's start, behind one of a few bytes.
uint64_t place_of_payload(uint32_t bytes) {
  const amphora::testing::TemporaryFolder folder;
  const NewFile file{.header = testing::small_header(),
                     .tensors = {{"u.config_json", DType::kU8, {1}}, {"v.config_json", DType::kU8, {bytes}}}};
  auto writer = CmfWriter::create(folder / "x.cmf", file);
  EXPECT_TRUE(writer && writer->write("u.config_json", ByteVector(1)) &&
              writer->write("v.config_json", ByteVector(bytes)) && writer->finish());
  const auto opened = CmfFile::open(folder / "x.cmf");
  EXPECT_TRUE(opened);
  return opened->find("v.config_json")->offset - opened->envelope().place(Section::kData).offset;
}

TEST(Page, LimitsAreThoseOfTheCode) {
  std::map<std::string, uint64_t> limits;
  for (const Row& row : rows_of("| limit | value | otherwise |")) limits[row[0]] = std::stoull(row[1]);
  EXPECT_EQ(limits.size(), 12u);
  EXPECT_EQ(limits["envelope bytes"], kEnvelopeBytes);
  EXPECT_EQ(limits["header bytes"], kMaxHeaderBytes);
  EXPECT_EQ(limits["JSON levels"], json::Limits().depth);
  EXPECT_EQ(limits["dimensions of a tensor"], kMaxRank);
  EXPECT_EQ(limits["bytes of a tensor's name"], UINT16_MAX);
  EXPECT_EQ(limits["alignment of data_off"], kPage);
  EXPECT_EQ(limits["alignment of a tensor"], kTensorAlignment);
  EXPECT_EQ(limits["shards of a set"], kMaxShards);
  EXPECT_EQ(limits["alignment of an index entry"], sizeof(uint32_t));
  const auto paged = static_cast<uint32_t>(limits["payload that a new file aligns to 4096"]);
  EXPECT_EQ(place_of_payload(paged), kPage);
  EXPECT_EQ(place_of_payload(paged - 1), kTensorAlignment);
}

TEST(Page, AMaskBlobIsAlignedAndASignatureIsSmallAsThePageSays) {
  std::map<std::string, uint64_t> limits;
  for (const Row& row : rows_of("| limit | value | otherwise |")) limits[row[0]] = std::stoull(row[1]);
  const auto masks = CmfFile::open(amphora::testing::test_data("cmf_strict/golden/masks_plain.cmf"));
  ASSERT_TRUE(masks);
  for (const Mask& mask : masks->masks()->masks)
    EXPECT_EQ(mask.blob_offset % limits["alignment of a mask blob"], 0u);

  const amphora::testing::TemporaryFolder folder;
  const auto golden = amphora::testing::test_data("cmf_strict/golden/signed.cmf");
  std::filesystem::copy_file(golden, folder / "x.cmf");
  std::string signature = testing::read_text(golden.string() + ".sig");
  const auto valid_with = [&](uint64_t bytes) {
    signature.resize(bytes, ' ');  // white space behind the record is allowed
    std::ofstream(folder / "x.cmf.sig", std::ios::binary) << signature;
    return verify(folder / "x.cmf")->valid();
  };
  EXPECT_TRUE(valid_with(limits["bytes of a `.sig`"]));
  EXPECT_FALSE(valid_with(limits["bytes of a `.sig`"] + 1));
}

TEST(Page, TheVbitBudgetIsThatOfTheCode) {
  EXPECT_EQ(quant::kDefaultVbitBudget, 4.25);
  EXPECT_THAT(page(), HasSubstr("budget\n  4.25 unless asked otherwise"));
}

TEST(Page, RulesAreNumberedInOrder) {
  std::istringstream lines(page());
  int section = 0, rule = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      EXPECT_EQ(std::stoi(line.substr(3)), section + 1);
      ++section;
      rule = 0;
    } else if (line.starts_with("**")) {
      ++rule;
      const std::string number = std::to_string(section) + "." + std::to_string(rule);
      EXPECT_TRUE(line.starts_with("**" + number + "**") || line.starts_with("**" + number + " ")) << line;
    }
  }
  EXPECT_EQ(section, 15);
}

}  // namespace
}  // namespace amphora::cmf
