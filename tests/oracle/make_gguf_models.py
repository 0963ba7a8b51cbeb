#!/usr/bin/env python3
"""Writes the tiny Hugging Face models as GGUF files (F32), each tensor changed as llama.cpp's conversion changes it.

usage: make_gguf_models.py MODELS OUT [NAME...]     (needs gguf==0.19.0, numpy, safetensors)

MODELS/NAME holds config.json, model.safetensors and tokenizer.json; the result is OUT/NAME.gguf. The names of tensors are
those of the package's own map. What a GGUF file has no key for, or llama.cpp leaves out, is written under the key that the
format has for it elsewhere, so that a file means the same as its directory: see `beyond_llama_cpp`.
"""
import json
import math
import sys
from pathlib import Path

import numpy as np
from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, ExpertGatingFuncType, GGUFWriter, LlamaFileType, RopeScalingType, TokenType
from gguf import get_tensor_name_map
from safetensors.numpy import load_file

FAMILIES = {
    "gemma2": MODEL_ARCH.GEMMA2, "phi3": MODEL_ARCH.PHI3, "mistral": MODEL_ARCH.LLAMA, "mixtral": MODEL_ARCH.LLAMA,
    "qwen2_moe": MODEL_ARCH.QWEN2MOE, "qwen3_moe": MODEL_ARCH.QWEN3MOE, "qwen3_next": MODEL_ARCH.QWEN3NEXT,
    "qwen3_5": MODEL_ARCH.QWEN35, "qwen3_5_moe": MODEL_ARCH.QWEN35MOE, "deepseek_v3_mtp": MODEL_ARCH.DEEPSEEK2,
    "glm4_moe_mtp": MODEL_ARCH.GLM4_MOE,
}
ONE_IN_NORMS = ("gemma2", "qwen3_next", "qwen3_5", "qwen3_5_moe")
DELTA = ("qwen3_next", "qwen3_5", "qwen3_5_moe")


def neighbouring_pairs(weight, heads):
    """Rows of each head from two halves to pairs that lie side by side."""
    rows = weight.shape[0] // heads
    return weight.reshape(heads, 2, rows // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def tiled(array, axis, key_heads, per_key):
    """Value heads from 'all of key head 0, all of key head 1, ...' to 'the first of each key head, the second of each, ...'."""
    shape = array.shape
    width = shape[axis] // (key_heads * per_key)
    split = array.reshape(*shape[:axis], key_heads, per_key, width, *shape[axis + 1:])
    return split.swapaxes(axis, axis + 1).reshape(shape)


def joint_to_grouped(weight, config):
    """Qwen3-Next's in_proj_qkvz, [q k v z] for one key head after the other, to [q | k | v] and z."""
    keys, key_dim = config["linear_num_key_heads"], config["linear_key_head_dim"]
    values = config["linear_num_value_heads"] // keys * config["linear_value_head_dim"]
    groups = weight.reshape(keys, 2 * key_dim + 2 * values, -1)
    q, k, v, z = np.split(groups, [key_dim, 2 * key_dim, 2 * key_dim + values], axis=1)
    flat = [part.reshape(-1, weight.shape[1]) for part in (q, k, v, z)]
    return np.concatenate(flat[:3]), flat[3]


def change_delta(name, config, parts):
    """Tensors of gated DeltaNet; `parts` is {suffix: array}, the result too."""
    keys, values = config["linear_num_key_heads"], config["linear_num_value_heads"]
    if "in_proj_qkvz.weight" in parts:
        parts["in_proj_qkv.weight"], parts["in_proj_z.weight"] = joint_to_grouped(parts.pop("in_proj_qkvz.weight"), config)
    parts["conv1d.weight"] = parts["conv1d.weight"].squeeze(1)
    parts["dt_proj.bias"] = parts.pop("dt_bias")
    if name != "qwen3_next":
        per_key, before = values // keys, 2 * keys * config["linear_key_head_dim"]
        for suffix, axis in (("in_proj_z.weight", 0), ("in_proj_a.weight", 0), ("in_proj_b.weight", 0), ("A_log", 0),
                             ("dt_proj.bias", 0), ("out_proj.weight", 1)):
            parts[suffix] = tiled(parts[suffix], axis, keys, per_key)
        for suffix in ("in_proj_qkv.weight", "conv1d.weight"):
            whole = parts[suffix]
            parts[suffix] = np.concatenate([whole[:before], tiled(whole[before:], 0, keys, per_key)])
    parts["A_log"] = -np.exp(parts["A_log"].astype(np.float64)).astype(np.float32)
    return parts


def stack_experts(tensors):
    """Matrices of single experts to one array of three dimensions for each layer and projection."""
    stacks = {}
    for key in [key for key in tensors if ".experts." in key]:
        before, after = key.split(".experts.")
        expert, matrix = after.split(".", 1)
        stacks.setdefault(f"{before}.experts.{matrix}", {})[int(expert)] = tensors.pop(key)
    for key, experts in stacks.items():
        key = key.replace("model.layers", "layers").replace("block_sparse_moe", "feed_forward") if "block_sparse" in key else key
        tensors[key] = np.stack([experts[i] for i in range(len(experts))])


def change_tensors(name, config, tensors):
    """The tensors as llama.cpp's conversion hands them to its map of names."""
    layers = config["num_hidden_layers"]
    heads, key_heads = config["num_attention_heads"], config.get("num_key_value_heads")
    if name == "deepseek_v3_mtp":  # its predictor is left out
        tensors = {key: value for key, value in tensors.items() if not key.startswith(f"model.layers.{layers}.")}
    stack_experts(tensors)
    if name in DELTA:
        for layer in range(layers):
            prefix = f"model.layers.{layer}.linear_attn."
            parts = {key[len(prefix):]: tensors.pop(key) for key in list(tensors) if key.startswith(prefix)}
            if parts:
                tensors |= {prefix + suffix: value for suffix, value in change_delta(name, config, parts).items()}
    changed = {}
    for key, value in tensors.items():
        if FAMILIES[name] == MODEL_ARCH.LLAMA and key.endswith(("q_proj.weight", "k_proj.weight")):
            value = neighbouring_pairs(value, heads if key.endswith("q_proj.weight") else key_heads)
        if name in ONE_IN_NORMS and key.endswith("norm.weight") and not key.endswith("linear_attn.norm.weight"):
            value = value + np.float32(1)
        if key.endswith("kv_b_proj.weight"):
            nope = config["qk_nope_head_dim"]
            per_head = value.reshape(heads, nope + config["v_head_dim"], -1)
            changed[key.replace("kv_b", "k_b")] = per_head[:, :nope].swapaxes(1, 2)
            changed[key.replace("kv_b", "v_b")] = per_head[:, nope:]
            continue
        changed[key.replace("e_score_correction_bias", "e_score_correction.bias")] = value
    return changed


def write_common(writer, name, config, blocks):
    head_dim = config.get("head_dim")
    writer.add_block_count(blocks)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    if "intermediate_size" in config:
        writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(1 if "kv_lora_rank" in config else config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_file_type(LlamaFileType.ALL_F32)
    rope = config["rope_parameters"]
    if name != "gemma2":
        writer.add_rope_freq_base(rope["rope_theta"])
    if head_dim is not None and "kv_lora_rank" not in config:
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
    if "mrope_section" in rope:
        writer.add_rope_dimension_sections((rope["mrope_section"] + [0])[:4])


def write_experts(writer, config):
    count = config.get("num_local_experts") or config.get("num_experts") or config.get("n_routed_experts")
    if count is None:
        return
    writer.add_expert_count(count)
    writer.add_expert_used_count(config["num_experts_per_tok"])
    for key, add in (("moe_intermediate_size", writer.add_expert_feed_forward_length),
                     ("shared_expert_intermediate_size", writer.add_expert_shared_feed_forward_length),
                     ("n_shared_experts", writer.add_expert_shared_count),
                     ("first_k_dense_replace", writer.add_leading_dense_block_count),
                     ("n_group", writer.add_expert_group_count),
                     ("topk_group", writer.add_expert_group_used_count),
                     ("routed_scaling_factor", writer.add_expert_weights_scale)):
        if key in config:
            add(config[key])
    if "first_k_dense_replace" in config:
        writer.add_expert_gating_func(ExpertGatingFuncType.SIGMOID)
        writer.add_expert_weights_norm(config["norm_topk_prob"])


def write_operators(writer, name, config):
    rope, head_dim = config["rope_parameters"], config.get("head_dim")
    if name == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
        writer.add_sliding_window(config["sliding_window"])
    if name == "phi3":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_dimension_count(int(rope["partial_rotary_factor"] * config["hidden_size"]) // config["num_attention_heads"])
        writer.add_sliding_window(config["sliding_window"] or 0)
        original, scale = rope["original_max_position_embeddings"], config["max_position_embeddings"] / rope["original_max_position_embeddings"]
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(scale) / math.log(original)))
    if FAMILIES[name] == MODEL_ARCH.LLAMA:
        writer.add_vocab_size(config["vocab_size"])
        writer.add_rope_dimension_count(head_dim or config["hidden_size"] // config["num_attention_heads"])
    if name in DELTA or name == "glm4_moe_mtp":
        writer.add_rope_dimension_count(int(head_dim * rope["partial_rotary_factor"]))
    if name in DELTA:
        writer.add_ssm_conv_kernel(config["linear_conv_kernel_dim"])
        writer.add_ssm_state_size(config["linear_key_head_dim"])
        writer.add_ssm_group_count(config["linear_num_key_heads"])
        writer.add_ssm_time_step_rank(config["linear_num_value_heads"])
        writer.add_ssm_inner_size(config["linear_value_head_dim"] * config["linear_num_value_heads"])
        writer.add_full_attention_interval(4)
    if name == "deepseek_v3_mtp":
        latent, turning = config["kv_lora_rank"], config["qk_rope_head_dim"]
        writer.add_q_lora_rank(config["q_lora_rank"])
        writer.add_kv_lora_rank(latent)
        writer.add_key_length(latent + turning)
        writer.add_value_length(latent)
        writer.add_key_length_mla(config["qk_nope_head_dim"] + turning)
        writer.add_value_length_mla(config["v_head_dim"])
        writer.add_rope_dimension_count(turning)
        writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    if name == "glm4_moe_mtp":
        writer.add_nextn_predict_layers(config["num_nextn_predict_layers"])


def beyond_llama_cpp(writer, name, config):
    if name == "gemma2":  # llama.cpp derives the scale from the size of the model
        writer.add_attention_scale(1 / math.sqrt(config["query_pre_attn_scalar"]))
    if name == "mistral":  # llama.cpp drops the window
        writer.add_sliding_window(config["sliding_window"])


def write_tokenizer(writer, directory, config):
    tokenizer = json.loads((directory / "tokenizer.json").read_text())
    vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda entry: entry[1])
    special = {token["id"] for token in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_types([TokenType.CONTROL if i in special else TokenType.NORMAL for _, i in vocabulary])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(True)


def write_model(models, out, name):
    directory, architecture = models / name, FAMILIES[name]
    config = json.loads((directory / "config.json").read_text())
    tensors = change_tensors(name, config, load_file(directory / "model.safetensors"))
    blocks = config["num_hidden_layers"] + (config["num_nextn_predict_layers"] if name == "glm4_moe_mtp" else 0)
    writer = GGUFWriter(out / f"{name}.gguf", MODEL_ARCH_NAMES[architecture])
    writer.add_name(name)
    write_common(writer, name, config, blocks)
    write_experts(writer, config)
    write_operators(writer, name, config)
    beyond_llama_cpp(writer, name, config)
    write_tokenizer(writer, directory, config)
    # A layer without experts among mixtures, which llama.cpp's maps do not have, is named as everywhere.
    maps = [get_tensor_name_map(kind, blocks) for kind in (architecture, MODEL_ARCH.LLAMA)]
    for key, value in tensors.items():
        stored = next(filter(None, (names.get_name(key, try_suffixes=(".weight", ".bias")) for names in maps)), None)
        assert stored is not None, key
        writer.add_tensor(stored, np.ascontiguousarray(value, dtype=np.float32))
    if name == "phi3":
        for length in ("long", "short"):
            factors = np.array(config["rope_parameters"][f"{length}_factor"], dtype=np.float32)
            writer.add_tensor(f"rope_factors_{length}.weight", factors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    for model in sys.argv[3:] or FAMILIES:
        write_model(Path(sys.argv[1]), Path(sys.argv[2]), model)
