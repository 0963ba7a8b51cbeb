#!/usr/bin/env python3
"""Writes canonical.json into folders of tests/data/hf/tiny: the tensors that a reader must make of the checkpoint.

usage: make_hf_canonical.py FOLDER ...        (needs numpy)

Independent of the program: names and layouts are those of docs/formats/cmf.md §12, computed with numpy from
model.safetensors and config.json. One entry per tensor, in the order in which a package lists them:
[name, shape, flat indices, values there].
"""
import json
import re
import struct
import sys
from pathlib import Path

import numpy as np

SAMPLES = 8


def stored_tensors(path):
    """name -> f32 array, in the order of the header"""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    blob = data[8 + length :]
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", entry
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(blob[begin:end], "<f4").reshape(entry["shape"])
    return tensors


def strip_prefixes(tensors):
    out = {}
    for name, array in tensors.items():
        if name.startswith("model.visual."):
            continue
        out[name.replace("model.language_model.", "model.")] = array
    return out


def rename(name):
    name = re.sub(r"\.block_sparse_moe\.experts\.(\d+)\.w1\.", r".mlp.experts.\1.gate_proj.", name)
    name = re.sub(r"\.block_sparse_moe\.experts\.(\d+)\.w3\.", r".mlp.experts.\1.up_proj.", name)
    name = re.sub(r"\.block_sparse_moe\.experts\.(\d+)\.w2\.", r".mlp.experts.\1.down_proj.", name)
    name = name.replace(".block_sparse_moe.gate.", ".mlp.gate.")
    name = name.replace(".mlp.shared_experts.", ".mlp.shared_expert.")
    return name.replace(".mlp.gate.e_score_correction_bias", ".mlp.expert_bias")


def predictor(tensors, config):
    """the multi-token predictor under model.mtp."""
    own = {
        "mtp.fc.": "model.mtp.eh_proj.",
        "mtp.pre_fc_norm_embedding.": "model.mtp.enorm.",
        "mtp.pre_fc_norm_hidden.": "model.mtp.hnorm.",
        "mtp.norm.": "model.mtp.norm.",
        "mtp.layers.0.": "model.mtp.layers.0.",
    }
    behind = "model.layers.%d." % config["num_hidden_layers"]
    parts = {"enorm.": "enorm.", "hnorm.": "hnorm.", "eh_proj.": "eh_proj.", "shared_head.norm.": "norm."}
    out = {}
    for name, array in tensors.items():
        if name in (behind + "embed_tokens.weight", behind + "shared_head.head.weight"):
            whole = "model.embed_tokens.weight" if "embed" in name else "lm_head.weight"
            assert np.array_equal(array, tensors[whole])
            continue
        for old, new in own.items():
            if name.startswith(old):
                name = new + name[len(old) :]
        if name.startswith(behind):
            rest = name[len(behind) :]
            for old, new in parts.items():
                if rest.startswith(old):
                    name = "model.mtp." + new + rest[len(old) :]
                    break
            else:
                name = "model.mtp.layers.0." + rest
        out[name] = array
    return out


def split_experts(tensors):
    out = {}
    for name, array in tensors.items():
        stem = name.rsplit(".", 1)[0]
        if name.endswith(".mlp.experts.gate_up_proj"):
            for e, both in enumerate(array):
                half = both.shape[0] // 2
                out["%s.%d.gate_proj.weight" % (stem, e)] = both[:half]
                out["%s.%d.up_proj.weight" % (stem, e)] = both[half:]
        elif name.endswith(".mlp.experts.down_proj"):
            for e, down in enumerate(array):
                out["%s.%d.down_proj.weight" % (stem, e)] = down
        else:
            out[name] = array
    return out


def group_roles(tensors):
    """a layer's experts, at the place of the first, all gates, then all ups, then all downs"""
    pattern = re.compile(r"(.*\.mlp\.experts)\.(\d+)\.(gate|up|down)_proj\.weight")
    out, done = {}, set()
    for name, array in tensors.items():
        found = pattern.fullmatch(name)
        if not found:
            out[name] = array
        elif found[1] not in done:
            done.add(found[1])
            for role in ("gate", "up", "down"):
                expert = 0
                while (one := "%s.%d.%s_proj.weight" % (found[1], expert, role)) in tensors:
                    out[one] = tensors[one]
                    expert += 1
    return out


def split_delta_net(tensors, config):
    """Qwen3-Next's rows lie in groups of a key head: [q, k, its value heads, their z] and [their b, their a]"""
    out = {}
    for name, array in tensors.items():
        stem = name.rsplit(".", 2)[0]
        if name.endswith(".linear_attn.in_proj_qkvz.weight"):
            keys, values = config["linear_num_key_heads"], config["linear_num_value_heads"]
            dk, dv = config["linear_key_head_dim"], config["linear_value_head_dim"]
            wide = values // keys * dv
            q, k, v, z = np.split(array.reshape(keys, -1, array.shape[1]), [dk, 2 * dk, 2 * dk + wide], axis=1)
            flat = [part.reshape(-1, array.shape[1]) for part in (q, k, v, z)]
            out[stem + ".in_proj_qkv.weight"] = np.concatenate(flat[:3])
            out[stem + ".in_proj_z.weight"] = flat[3]
        elif name.endswith(".linear_attn.in_proj_ba.weight"):
            b, a = np.split(array.reshape(config["linear_num_key_heads"], -1, array.shape[1]), 2, axis=1)
            out[stem + ".in_proj_b.weight"] = b.reshape(-1, array.shape[1])
            out[stem + ".in_proj_a.weight"] = a.reshape(-1, array.shape[1])
        else:
            out[name] = array
    return out


def latent_attention(tensors, config):
    """a head's query is [rope | nope], its rotated pairs (i, i + half) instead of neighbours"""
    if "kv_lora_rank" not in config:
        return tensors
    heads, rope, nope = (config[k] for k in ("num_attention_heads", "qk_rope_head_dim", "qk_nope_head_dim"))

    def halves(rows):
        return np.concatenate([rows[0::2], rows[1::2]]) if config["rope_interleave"] else rows

    out = {}
    for name, array in tensors.items():
        if re.search(r"\.self_attn\.q(_b)?_proj\.weight$", name):
            per_head = array.reshape(heads, nope + rope, -1)
            array = np.concatenate([np.concatenate([halves(head[nope:]), head[:nope]]) for head in per_head])
        elif name.endswith(".self_attn.kv_a_proj_with_mqa.weight"):
            latent = array.shape[0] - rope
            array = np.concatenate([array[:latent], halves(array[latent:])])
        out[name] = array
    return out


def sample(name, array):
    flat = array.reshape(-1)
    rng = np.random.default_rng(list(name.encode()))
    where = sorted({0, flat.size - 1, *(int(i) for i in rng.integers(0, flat.size, SAMPLES))})
    return [name, list(array.shape), where, [float(flat[i]) for i in where]]


def main():
    for folder in map(Path, sys.argv[1:]):
        config = json.loads((folder / "config.json").read_text())
        config = config.get("text_config", config)
        tensors = strip_prefixes(stored_tensors(folder / "model.safetensors"))
        tensors = {rename(name): array for name, array in tensors.items()}
        tensors = predictor(tensors, config)
        tensors = split_delta_net(tensors, config)
        tensors = latent_attention(tensors, config)
        tensors = group_roles(split_experts(tensors))
        lines = [json.dumps(sample(name, array)) for name, array in tensors.items()]
        (folder / "canonical.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


main()
