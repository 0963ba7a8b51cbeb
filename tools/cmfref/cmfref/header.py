"""Header JSON: known keys, their types, what is required. Faults name the section start and the JSON path."""
import re

from . import strictjson
from .errors import CmfError

U32MAX = (1 << 32) - 1
LAYER_TYPES = ("FullAttention", "SlidingAttention", "LinearAttention", "ShortConv", "Kda")
HEX16 = re.compile(r"[0-9a-f]{16}")


class Bad(Exception):
    def __init__(self, code, path, message):
        self.code, self.path, self.message = code, path, message


def is_int(v):
    return isinstance(v, int) and not isinstance(v, bool)


def is_num(v):
    return is_int(v) or isinstance(v, float)


def t_str(v, p):
    if not isinstance(v, str):
        raise Bad("Parse", p, "string expected")


def t_bool(v, p):
    if not isinstance(v, bool):
        raise Bad("Parse", p, "boolean expected")


def t_num(v, p):
    if not is_num(v):
        raise Bad("Parse", p, "number expected")


def t_u32(v, p):
    if not is_int(v) or not 0 <= v <= U32MAX:
        raise Bad("Parse", p, "integer 0 .. 2^32-1 expected")


def t_obj(v, p):
    if not isinstance(v, dict):
        raise Bad("Parse", p, "object expected")


def t_list(item):
    def check(v, p):
        if not isinstance(v, list):
            raise Bad("Parse", p, "array expected")
        for i, x in enumerate(v):
            item(x, f"{p}[{i}]")
    return check


def t_enum(*names):
    def check(v, p):
        t_str(v, p)
        if v not in names:
            raise Bad("Parse", p, f"one of {', '.join(names)} expected")
    return check


def t_const(want):
    def check(v, p):
        if type(want) is str and isinstance(v, str) and v == want or is_int(want) and is_int(v) and v == want:
            return
        raise Bad("Parse", p, f"{want!r} expected")
    return check


def t_rec(required, optional=None):
    """Object: required keys (null refused, absent = Missing), optional keys (null = absent), unknown keys ignored."""
    def check(v, p):
        t_obj(v, p)
        for k, t in required.items():
            if k not in v:
                raise Bad("Missing", f"{p}.{k}", "required key")
            t(v[k], f"{p}.{k}")
        for k, t in (optional or {}).items():
            if v.get(k) is not None:
                t(v[k], f"{p}.{k}")
    return check


def t_hex16(v, p):
    t_str(v, p)
    if not HEX16.fullmatch(v):
        raise Bad("Parse", p, "16 lower-case hex digits expected")


NUMS = dict.fromkeys(("rope_theta", "partial_rotary_factor", "rope_local_base_freq", "local_partial_rotary_factor",
                      "embed_multiplier", "query_pre_attn_scalar", "global_partial_rotary_factor",
                      "final_logit_softcapping", "attn_logit_softcapping", "logit_multiplier",
                      "kda_gate_lower_bound", "activation_situ_beta", "activation_situ_linear_beta"), t_num)
INTS = dict.fromkeys(("linear_conv_kernel_dim", "linear_num_key_heads", "linear_num_value_heads",
                      "linear_key_head_dim", "linear_value_head_dim", "sliding_window", "sliding_window_pattern",
                      "global_head_dim", "num_global_kv_heads", "num_loops"), t_u32)
BOOLS = dict.fromkeys(("tie_word_embeddings", "attn_v_norm", "loop_final_norm"), t_bool)
YARN = t_rec({"factor": t_num, "original_max_position_embeddings": t_u32},
             {"beta_fast": t_num, "beta_slow": t_num, "attention_factor": t_num, "mscale_all_dim": t_num})
MOE = t_rec({"num_experts": t_u32, "top_k": t_u32, "moe_intermediate_size": t_u32},
            {"norm_topk_prob": t_bool, "shared_expert_intermediate_size": t_u32, "router_sigmoid": t_bool,
             "routed_scaling_factor": t_num, "router_resonance": t_bool, "n_group": t_u32, "topk_group": t_u32})
LONGROPE = t_rec({}, {"short": t_list(t_num), "long": t_list(t_num), "original_max_position_embeddings": t_u32,
                      "attention_factor": t_num})
MTP = t_rec({"num_layers": t_u32}, {"share_lm_head": t_bool, "share_embed": t_bool, "hidden_normed": t_bool})
MLA = t_rec({"kv_lora_rank": t_u32, "qk_rope_head_dim": t_u32, "qk_nope_head_dim": t_u32, "v_head_dim": t_u32},
            {"q_lora_rank": t_u32, "nope": t_bool})
LINEAR = t_rec({"kind": t_enum("gated_delta_net", "vmf_phase"), "num_heads": t_u32, "value_head_dim": t_u32},
               {"nphase": t_u32})
ARCH = t_rec(
    {"arch_name": t_str, "hidden_size": t_u32, "intermediate_size": t_u32, "num_layers": t_u32,
     "num_attention_heads": t_u32, "num_kv_heads": t_u32, "head_dim": t_u32, "vocab_size": t_u32,
     "layer_types": t_list(t_enum(*LAYER_TYPES)), "rms_norm_eps": t_num, "max_position_embeddings": t_u32},
    {**NUMS, **INTS, **BOOLS, "norm_style": t_enum("qwen", "gemma"), "hidden_act": t_str, "yarn": YARN, "longrope": LONGROPE, "moe": MOE,
     "mtp": MTP, "mla": MLA, "linear_core": LINEAR, "attention_heads_per_layer": t_list(t_u32),
     "rope_freq_factors": t_list(t_num)})
TOKENIZER = t_rec({}, {"chat_template": t_str, "eos_token_ids": t_list(t_u32), "bos_token_id": t_u32,
                       "pad_token_id": t_u32})
SELECTION = t_rec({"metric": t_str, "phi_layer": t_u32, "mean": t_str, "basis": t_str},
                  {"rank": t_u32, "err_mean": t_num, "err_std": t_num, "holdout": t_num, "holdout_n": t_u32})
SKILL = t_rec({"id": t_str, "layers": t_list(t_u32)},
              {"name": t_str, "selection": SELECTION, "input_mask_task": t_str, "quality": t_obj,
               "base_dir_hash": t_hex16, "base_arch": t_str, "task": t_str, "provenance": t_obj})
HEADER = t_rec(
    {"format": t_const("cmf"), "version": t_const(2), "arch": ARCH},
    {"quant_type": t_str, "provenance": t_obj, "tokenizer_config": TOKENIZER, "skills": t_list(SKILL),
     "section_hashes": t_rec({}, {"masks": t_hex16, "vocab": t_hex16, "index": t_hex16}),
     "shard": t_rec({"no": t_u32, "count": t_u32})})
QUALITY = t_rec({"metric": t_str, "value": t_num},
                {"baseline_dense": t_num, "n_samples": t_u32, "dataset_sha256": t_str})
MASK = t_rec({"task_id": t_u32, "name": t_str, "sparsity": t_num, "blob_off": t_u32, "blob_len": t_u32,
              "priority": t_enum("Fallback", "Normal", "Primary")},
             {"description": t_str, "quality": QUALITY, "has_hot_pack": t_bool, "has_expert_fields": t_bool})
MASK_META = t_rec({"default_task": t_str, "masks": t_list(MASK)})


def check(data, section, offset, schema):
    """Parse bytes and check against a schema; returns the value."""
    try:
        v = strictjson.parse(data)
        schema(v, "$")
    except strictjson.JsonError as e:
        raise CmfError("Parse", section, offset, str(e), path=e.path) from None
    except Bad as e:
        raise CmfError(e.code, section, offset, e.message, path=e.path) from None
    return v


def check_header(data, offset):
    h = check(data, "header", offset, HEADER)

    def bad(code, path, msg):
        raise CmfError(code, "header", offset, msg, path=path)
    a = h["arch"]
    if len(a["layer_types"]) != a["num_layers"]:
        bad("Parse", "$.arch.layer_types", "length differs from num_layers")
    if a.get("attention_heads_per_layer") is not None and len(a["attention_heads_per_layer"]) != a["num_layers"]:
        bad("Parse", "$.arch.attention_heads_per_layer", "length differs from num_layers")
    if a.get("num_loops") == 0:
        bad("Parse", "$.arch.num_loops", "zero loops")
    s = h.get("shard")
    if s is not None:
        if not 1 <= s["no"] <= s["count"] <= 99999:
            bad("Shard", "$.shard", "no and count do not agree")
        if s["no"] > 1:
            for k in ("tokenizer_config", "skills"):
                if h.get(k):
                    bad("Shard", f"$.{k}", "only shard 1 may carry it")
    return h
