// The header JSON: its keys as tables, then the rules between them.
#include "formats/cmf/header.h"

#include "crypto/hex.h"
#include "formats/cmf/schema.h"

namespace amphora::cmf {
namespace {

constexpr std::string_view kFormats[] = {"cmf"};
constexpr std::string_view kLayerTypes[] = {"FullAttention", "SlidingAttention", "LinearAttention",
                                            "ShortConv", "Kda"};
constexpr std::string_view kNormStyles[] = {"qwen", "gemma"};
constexpr std::string_view kLinearCores[] = {"gated_delta_net", "vmf_phase"};

constexpr Key kYarnRequired[] = {{"factor", Type::kNumber}, {"original_max_position_embeddings", Type::kU32}};
constexpr Key kYarnOptional[] = {{"beta_fast", Type::kNumber},
                                 {"beta_slow", Type::kNumber},
                                 {"attention_factor", Type::kNumber},
                                 {"mscale_all_dim", Type::kNumber}};
constexpr Record kYarn{kYarnRequired, kYarnOptional};

constexpr Key kLongRopeOptional[] = {{"short", Type::kNumber, true},
                                     {"long", Type::kNumber, true},
                                     {"original_max_position_embeddings", Type::kU32},
                                     {"attention_factor", Type::kNumber}};
constexpr Record kLongRope{{}, kLongRopeOptional};

constexpr Key kMoeRequired[] = {
    {"num_experts", Type::kU32}, {"top_k", Type::kU32}, {"moe_intermediate_size", Type::kU32}};
constexpr Key kMoeOptional[] = {{"norm_topk_prob", Type::kBoolean},
                                {"shared_expert_intermediate_size", Type::kU32},
                                {"router_sigmoid", Type::kBoolean},
                                {"routed_scaling_factor", Type::kNumber},
                                {"router_resonance", Type::kBoolean},
                                {"n_group", Type::kU32},
                                {"topk_group", Type::kU32}};
constexpr Record kMoe{kMoeRequired, kMoeOptional};

constexpr Key kMtpRequired[] = {{"num_layers", Type::kU32}};
constexpr Key kMtpOptional[] = {
    {"share_lm_head", Type::kBoolean}, {"share_embed", Type::kBoolean}, {"hidden_normed", Type::kBoolean}};
constexpr Record kMtp{kMtpRequired, kMtpOptional};

constexpr Key kMlaRequired[] = {{"kv_lora_rank", Type::kU32},
                                {"qk_rope_head_dim", Type::kU32},
                                {"qk_nope_head_dim", Type::kU32},
                                {"v_head_dim", Type::kU32}};
constexpr Key kMlaOptional[] = {{"q_lora_rank", Type::kU32}, {"nope", Type::kBoolean}};
constexpr Record kMla{kMlaRequired, kMlaOptional};

constexpr Key kLinearRequired[] = {{.name = "kind", .type = Type::kChoice, .choices = kLinearCores},
                                   {"num_heads", Type::kU32},
                                   {"value_head_dim", Type::kU32}};
constexpr Key kLinearOptional[] = {{"nphase", Type::kU32}};
constexpr Record kLinear{kLinearRequired, kLinearOptional};

constexpr Key kArchRequired[] = {
    {"arch_name", Type::kString},
    {"hidden_size", Type::kU32},
    {"intermediate_size", Type::kU32},
    {"num_layers", Type::kU32},
    {"num_attention_heads", Type::kU32},
    {"num_kv_heads", Type::kU32},
    {"head_dim", Type::kU32},
    {"vocab_size", Type::kU32},
    {.name = "layer_types", .type = Type::kChoice, .list = true, .choices = kLayerTypes},
    {"rms_norm_eps", Type::kNumber},
    {"max_position_embeddings", Type::kU32}};
constexpr Key kArchOptional[] = {{"rope_theta", Type::kNumber},
                                 {"partial_rotary_factor", Type::kNumber},
                                 {"rope_local_base_freq", Type::kNumber},
                                 {"local_partial_rotary_factor", Type::kNumber},
                                 {"embed_multiplier", Type::kNumber},
                                 {"query_pre_attn_scalar", Type::kNumber},
                                 {"global_partial_rotary_factor", Type::kNumber},
                                 {"final_logit_softcapping", Type::kNumber},
                                 {"attn_logit_softcapping", Type::kNumber},
                                 {"logit_multiplier", Type::kNumber},
                                 {"kda_gate_lower_bound", Type::kNumber},
                                 {"activation_situ_beta", Type::kNumber},
                                 {"activation_situ_linear_beta", Type::kNumber},
                                 {"linear_conv_kernel_dim", Type::kU32},
                                 {"linear_num_key_heads", Type::kU32},
                                 {"linear_num_value_heads", Type::kU32},
                                 {"linear_key_head_dim", Type::kU32},
                                 {"linear_value_head_dim", Type::kU32},
                                 {"sliding_window", Type::kU32},
                                 {"sliding_window_pattern", Type::kU32},
                                 {"global_head_dim", Type::kU32},
                                 {"num_global_kv_heads", Type::kU32},
                                 {"num_loops", Type::kU32},
                                 {"tie_word_embeddings", Type::kBoolean},
                                 {"attn_v_norm", Type::kBoolean},
                                 {"loop_final_norm", Type::kBoolean},
                                 {.name = "norm_style", .type = Type::kChoice, .choices = kNormStyles},
                                 {"hidden_act", Type::kString},
                                 {.name = "yarn", .type = Type::kRecord, .record = &kYarn},
                                 {.name = "longrope", .type = Type::kRecord, .record = &kLongRope},
                                 {.name = "moe", .type = Type::kRecord, .record = &kMoe},
                                 {.name = "mtp", .type = Type::kRecord, .record = &kMtp},
                                 {.name = "mla", .type = Type::kRecord, .record = &kMla},
                                 {.name = "linear_core", .type = Type::kRecord, .record = &kLinear},
                                 {"attention_heads_per_layer", Type::kU32, true},
                                 {"rope_freq_factors", Type::kNumber, true}};
constexpr Record kArch{kArchRequired, kArchOptional};

constexpr Key kTokenizerOptional[] = {{"chat_template", Type::kString},
                                      {"eos_token_ids", Type::kU32, true},
                                      {"bos_token_id", Type::kU32},
                                      {"pad_token_id", Type::kU32}};
constexpr Record kTokenizer{{}, kTokenizerOptional};

constexpr Key kSelectionRequired[] = {
    {"metric", Type::kString}, {"phi_layer", Type::kU32}, {"mean", Type::kString}, {"basis", Type::kString}};
constexpr Key kSelectionOptional[] = {{"rank", Type::kU32},
                                      {"err_mean", Type::kNumber},
                                      {"err_std", Type::kNumber},
                                      {"holdout", Type::kNumber},
                                      {"holdout_n", Type::kU32}};
constexpr Record kSelection{kSelectionRequired, kSelectionOptional};

constexpr Key kSkillRequired[] = {{"id", Type::kString}, {"layers", Type::kU32, true}};
constexpr Key kSkillOptional[] = {{"name", Type::kString},
                                  {.name = "selection", .type = Type::kRecord, .record = &kSelection},
                                  {"input_mask_task", Type::kString},
                                  {"quality", Type::kObject},
                                  {"base_dir_hash", Type::kHex},
                                  {"base_arch", Type::kString},
                                  {"task", Type::kString},
                                  {"provenance", Type::kObject}};
constexpr Record kSkill{kSkillRequired, kSkillOptional};

constexpr Key kSectionHashes[] = {{"masks", Type::kHex}, {"vocab", Type::kHex}, {"index", Type::kHex}};
constexpr Record kSectionHashRecord{{}, kSectionHashes};

constexpr Key kShardRequired[] = {{"no", Type::kU32}, {"count", Type::kU32}};
constexpr Record kShard{kShardRequired};

constexpr Key kHeaderRequired[] = {{.name = "format", .type = Type::kChoice, .choices = kFormats},
                                   {"version", Type::kTwo},
                                   {.name = "arch", .type = Type::kRecord, .record = &kArch}};
constexpr Key kHeaderOptional[] = {
    {"quant_type", Type::kString},
    {"provenance", Type::kObject},
    {.name = "tokenizer_config", .type = Type::kRecord, .record = &kTokenizer},
    {.name = "skills", .type = Type::kRecord, .list = true, .record = &kSkill},
    {.name = "section_hashes", .type = Type::kRecord, .record = &kSectionHashRecord},
    {.name = "shard", .type = Type::kRecord, .record = &kShard}};
constexpr Record kHeader{kHeaderRequired, kHeaderOptional};

bool is_empty(const json::Value& value) { return value.items().empty() && value.members().empty(); }

Checked<void> check_arch_lengths(const json::Value& header, JsonPlace place) {
  const json::Value& arch = *header.find("arch");
  const uint32_t layers = u32_of(*arch.find("num_layers"));
  for (const std::string_view key : {"layer_types", "attention_heads_per_layer"}) {
    const json::Value* list = arch.find_present(key);
    if (list && list->items().size() != layers)
      return json_fault(
          Code::kParse, place, "$.arch." + std::string(key),
          std::to_string(list->items().size()) + " entries for " + std::to_string(layers) + " layers");
  }
  if (find_u32(arch, "num_loops") == 0u)
    return json_fault(Code::kParse, place, "$.arch.num_loops", "no loop at all");
  return {};
}

Checked<void> check_shard_block(const json::Value& header, JsonPlace place) {
  const auto shard = shard_of(header);
  if (!shard) return {};
  if (shard->no < 1 || shard->no > shard->count || shard->count > kMaxShards)
    return json_fault(Code::kShard, place, "$.shard",
                      "shard " + std::to_string(shard->no) + " of " + std::to_string(shard->count));
  if (shard->no == 1) return {};
  for (const std::string_view key : {"tokenizer_config", "skills"}) {
    const json::Value* block = header.find_present(key);
    if (block && !is_empty(*block))
      return json_fault(Code::kShard, place, "$." + std::string(key), "only shard 1 may carry it");
  }
  return {};
}

}  // namespace

const Record& header_schema() { return kHeader; }

Checked<json::Value> decode_header(Bytes bytes, uint64_t offset) {
  if (bytes.size() > kMaxHeaderBytes)
    return fault(Code::kParse, Section::kHeader, place_field(Section::kHeader) + 8,
                 std::to_string(bytes.size()) + " bytes, a header has at most 64 MiB");
  const JsonPlace place{Section::kHeader, offset};
  AMPHORA_ASSIGN(json::Value header, read_record(as_text(bytes), place, kHeader));
  AMPHORA_TRY(check_arch_lengths(header, place));
  AMPHORA_TRY(check_shard_block(header, place));
  return header;
}

std::optional<ShardPlace> shard_of(const json::Value& header) {
  const json::Value* block = header.find_present("shard");
  if (!block) return std::nullopt;
  return ShardPlace{u32_of(*block->find("no")), u32_of(*block->find("count"))};
}

Checked<void> check_shard_sections(const json::Value& header, const Envelope& envelope) {
  const auto shard = shard_of(header);
  if (!shard || shard->no == 1) return {};
  for (const Section section : {Section::kMasks, Section::kVocabulary, Section::kIndex})
    if (envelope.place(section).bytes != 0)
      return fault(Code::kShard, section, place_field(section), "only shard 1 may carry it");
  return {};
}

ArchDimensions dimensions_of(const json::Value& header) {
  const json::Value& arch = *header.find("arch");
  ArchDimensions dimensions{.hidden_size = u32_of(*arch.find("hidden_size")),
                            .intermediate_size = u32_of(*arch.find("intermediate_size")),
                            .num_layers = u32_of(*arch.find("num_layers")),
                            .num_attention_heads = u32_of(*arch.find("num_attention_heads")),
                            .num_loops = find_u32(arch, "num_loops").value_or(1),
                            .heads_per_layer = {},
                            .num_experts = {}};
  if (const json::Value* heads = arch.find_present("attention_heads_per_layer"))
    for (const json::Value& count : heads->items()) dimensions.heads_per_layer.push_back(u32_of(count));
  if (const json::Value* moe = arch.find_present("moe"))
    dimensions.num_experts = u32_of(*moe->find("num_experts"));
  return dimensions;
}

std::optional<uint64_t> section_hash_of(const json::Value& header, Section section) {
  const json::Value* hashes = header.find_present("section_hashes");
  const json::Value* hash = hashes ? hashes->find_present(name_of(section)) : nullptr;
  return hash ? crypto::u64_from_hex(hash->text()) : std::nullopt;
}

}  // namespace amphora::cmf
