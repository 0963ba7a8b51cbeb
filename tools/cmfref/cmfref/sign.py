"""Detached Ed25519 signature over the file's SHA-256 (section 8); the curve as in RFC 8032, section 5.1."""
import hashlib
import re

from . import header
from .errors import CmfError

P = 2 ** 255 - 19
ORDER = 2 ** 252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
IDENTITY = (0, 1, 1, 0)


def _add(a, b):
    """Sum of two points in extended coordinates (X, Y, Z, T), x = X/Z, y = Y/Z, xy = T/Z."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    g, h = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = (f - e) % P, (h - g) % P, (h + g) % P, (f + e) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar, point):
    out = IDENTITY
    while scalar:
        if scalar & 1:
            out = _add(out, point)
        point, scalar = _add(point, point), scalar >> 1
    return out


def _point(raw):
    """32 bytes -> a point of the curve, or None."""
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or not x and sign:
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = _point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def signature_is_good(pubkey, message, signature):
    key, r = _point(pubkey), _point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= ORDER:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + pubkey + message).digest(), "little") % ORDER
    a, b = _times(s, BASE), _add(r, _times(h, key))
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def _hex(n):
    def check(v, p):
        header.t_str(v, p)
        if not re.fullmatch(f"[0-9a-f]{{{2 * n}}}", v):
            raise header.Bad("Parse", p, f"{2 * n} lower-case hex digits expected")
    return check


SIG = header.t_rec({"alg": header.t_const("ed25519-sha256"), "pubkey": _hex(32), "sha256": _hex(32), "sig": _hex(64)})


def check(data, sig):
    """Findings of a .sig file's bytes against a file's bytes."""
    try:
        s = header.check(sig, "sig", 0, SIG)
        digest = hashlib.sha256(data).digest()
        if s["sha256"] != digest.hex():
            raise CmfError("Hash", "sig", 0, "SHA-256 of the file differs", path="$.sha256")
        if not signature_is_good(bytes.fromhex(s["pubkey"]), digest, bytes.fromhex(s["sig"])):
            raise CmfError("Hash", "sig", 0, "signature does not verify", path="$.sig")
    except CmfError as e:
        return [e.finding()]
    return []
