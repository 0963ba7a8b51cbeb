"""Skills: the registry, the tensors that it owns, routing (section 9)."""
import base64
import binascii

import numpy as np

from .errors import CmfError

METRICS = ("mse", "mse_unit")


def f16_field(text, path, bad):
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        bad(path, "not padded standard base64")
    if base64.b64encode(raw).decode() != text:
        bad(path, "not canonical base64")
    if len(raw) % 2:
        bad(path, "odd number of bytes")
    v = np.frombuffer(raw, "<f2").astype(np.float64)
    if not np.isfinite(v).all():
        bad(path, "not finite")
    return v


def check_registry(f):
    """open(): every rule of section 9 on the registry and on the names skill.*; returns {id: record}."""
    off = f.spans["header"][0]

    def bad(path, msg):
        raise CmfError("Skill", "header", off, msg, path=path)
    recs = f.header.get("skills") or []
    arch, out = f.arch, {}
    tasks = [m["name"] for m in f.masks["masks"]] if f.masks else []
    for i, s in enumerate(recs):
        p = f"$.skills[{i}]"
        if not s["id"] or s["id"] in out:
            bad(p + ".id", "ids are unique and not empty")
        for o in out:
            if o.startswith(s["id"] + ".") or s["id"].startswith(o + "."):
                bad(p + ".id", "one id is a dotted prefix of another")
        out[s["id"]] = s
        for k, layer in enumerate(s["layers"]):
            if layer >= arch["num_layers"]:
                bad(f"{p}.layers[{k}]", "no such layer")
        sel = s.get("selection")
        if sel is not None:
            q = p + ".selection"
            if sel["metric"] not in METRICS:
                bad(q + ".metric", "unknown metric")
            if sel["phi_layer"] >= arch["num_layers"]:
                bad(q + ".phi_layer", "no such layer")
            mean, basis = f16_field(sel["mean"], q + ".mean", bad), f16_field(sel["basis"], q + ".basis", bad)
            h = arch["hidden_size"]
            if len(mean) != h:
                bad(q + ".mean", f"{len(mean)} values, hidden_size is {h}")
            if not len(basis) or len(basis) % h:
                bad(q + ".basis", f"{len(basis)} values are no whole rows of {h}")
            if sel.get("rank") is not None and sel["rank"] * h != len(basis):
                bad(q + ".rank", "does not agree with basis")
        if s.get("input_mask_task") is not None and s["input_mask_task"] not in tasks:
            bad(p + ".input_mask_task", "no mask has this name")
    if f.is_skill_file and len(recs) != 1:
        bad("$.skills", "a skill file has exactly one record")
    shard = f.header.get("shard")
    if not (shard and shard["count"] > 1):
        check_names(f.tensors, f.by_name, out, f.is_skill_file)
    return out


def owner(name, ids):
    for k in ids:
        if name.startswith(f"skill.{k}."):
            return k
    return None


def check_names(tensors, by_name, ids, skill_file):
    def bad(t, msg):
        raise CmfError("Skill", "dir", t.record, msg, t.name)
    for t in tensors:
        if not t.name.startswith("skill."):
            continue
        if skill_file:
            bad(t, "a skill file carries its tensors under the base's names")
        k = owner(t.name, ids)
        if k is None:
            bad(t, "no registered skill owns this name")
        base = by_name.get(t.name[len(k) + 7:])
        if base is None:
            bad(t, "replaces a tensor that is not there")
        if base.shape != t.shape:
            bad(t, f"shape differs from the replaced tensor's {base.shape}")


# ---------------------------------------------------------------- selection

def selection(rec, hidden):
    sel = rec["selection"]

    def bad(path, msg):
        raise CmfError("Skill", "header", 0, msg, path=path)
    return (f16_field(sel["mean"], "mean", bad), f16_field(sel["basis"], "basis", bad).reshape(-1, hidden))


def energy(rec, phi):
    """E of one skill; phi: the hidden state after layer phi_layer, mean over prompt positions."""
    phi = np.asarray(phi, np.float64)
    mean, basis = selection(rec, len(phi))
    if rec["selection"]["metric"] == "mse_unit":
        phi = phi / max(np.sqrt(phi @ phi), 1e-12)
    r = phi - mean
    return max(0.0, r @ r - float(((basis @ r) ** 2).sum())) / max(phi @ phi, 1e-12)


def route(skills, phi):
    """[(E, id)] ascending; ties keep registry order."""
    e = [(energy(s, phi), i, k) for i, (k, s) in enumerate(skills.items()) if s.get("selection") is not None]
    return [(x, k) for x, _, k in sorted(e)]


def weights(energies, temperature):
    e = -np.asarray(energies, np.float64) / temperature
    w = np.exp(e - e.max())
    return w / w.sum()
