// Names and meanings of findings: one table each.
#include "formats/cmf/finding.h"

#include <array>

namespace amphora::cmf {
namespace {

struct CodeRow {
  Code code;
  std::string_view name;
  Level level;
  Fault fault;
};

constexpr std::array<CodeRow, 15> kCodes = {{
    {Code::kInvalidMagic, "InvalidMagic", Level::kError, Fault::kCorrupt},
    {Code::kUnsupportedVersion, "UnsupportedVersion", Level::kError, Fault::kUnsupported},
    {Code::kUnsupportedFeature, "UnsupportedFeature", Level::kError, Fault::kUnsupported},
    {Code::kTruncated, "Truncated", Level::kError, Fault::kTruncated},
    {Code::kBounds, "Bounds", Level::kError, Fault::kCorrupt},
    {Code::kParse, "Parse", Level::kError, Fault::kCorrupt},
    {Code::kHash, "Hash", Level::kError, Fault::kRefused},
    {Code::kMissing, "Missing", Level::kError, Fault::kCorrupt},
    {Code::kShard, "Shard", Level::kError, Fault::kCorrupt},
    {Code::kSkill, "Skill", Level::kError, Fault::kCorrupt},
    {Code::kNoHash, "NoHash", Level::kNote, Fault::kCorrupt},
    {Code::kStrayHash, "StrayHash", Level::kNote, Fault::kCorrupt},
    {Code::kFeatureBit, "FeatureBit", Level::kNote, Fault::kCorrupt},
    {Code::kDeadBytes, "DeadBytes", Level::kNote, Fault::kCorrupt},
    {Code::kLayout, "Layout", Level::kNote, Fault::kCorrupt},
}};

constexpr bool in_order_of_code() {
  for (size_t i = 0; i < kCodes.size(); ++i)
    if (static_cast<size_t>(kCodes[i].code) != i) return false;
  return true;
}
static_assert(in_order_of_code());

const CodeRow& row_of(Code code) { return kCodes[static_cast<size_t>(code)]; }

}  // namespace

std::string_view name_of(Code code) { return row_of(code).name; }
Level level_of(Code code) { return row_of(code).level; }
Fault fault_of(Code code) { return row_of(code).fault; }

std::string_view name_of(Section section) {
  constexpr std::array<std::string_view, 8> kNames = {"envelope", "header", "dir",   "data",
                                                      "masks",    "vocab",  "index", "sig"};
  return kNames[static_cast<size_t>(section)];
}

std::string_view name_of(Level level) { return level == Level::kNote ? "note" : "error"; }

std::unexpected<Finding> fault(Code code, Section section, uint64_t offset, std::string message) {
  return std::unexpected(Finding{code, section, offset, std::move(message)});
}

std::unexpected<Finding> tensor_fault(Code code, Section section, uint64_t offset, std::string_view tensor,
                                      std::string message) {
  return std::unexpected(Finding{code, section, offset, std::move(message), std::string(tensor)});
}

std::unexpected<Finding> json_fault(Code code, Section section, uint64_t offset, std::string path,
                                    std::string message) {
  return std::unexpected(Finding{code, section, offset, std::move(message), {}, std::move(path)});
}

Error to_error(const Finding& finding) {
  std::string place(name_of(finding.section));
  if (!finding.tensor.empty()) place += " " + finding.tensor;
  if (!finding.path.empty()) place += " " + finding.path;
  return Error{fault_of(finding.code), std::string(name_of(finding.code)), std::move(place), finding.offset,
               finding.message};
}

}  // namespace amphora::cmf
