"""`keygen`, `sign` and `verify` of signatures: key files, what a signature catches, exit codes."""

import os
import pathlib
import shutil
import stat
import struct

import harness
from harness import DATA

SEED = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
PUBLIC_KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
SHA256 = "e5fcb3e7e99d4f867bcd69d4844e46631b15999b3d060bb0c44689848b87c3ab"


class SigningTest(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.cmf"
        shutil.copyfile(DATA / "cmf" / "signed.cmf", self.model)
        self.key = self.folder / "key"
        self.key.write_text(SEED)
        self.key.chmod(0o600)
        self.signature = pathlib.Path(f"{self.model}.sig")

    def sign(self):
        return self.ok("sign", self.model, "--key", self.key)

    def codes(self, *arguments):
        result = harness.run("verify", self.model, "--json", *arguments)
        return result.status, [(f["code"], f["section"], f["tensor"]) for f in result.json()["findings"]]

    def test_signs_like_the_reference(self):
        result = self.sign()
        self.assertEqual(self.signature.read_bytes(), (DATA / "cmf" / "signed.cmf.sig").read_bytes())
        self.assertIn(SHA256, result.out.decode())
        self.assertIn(PUBLIC_KEY, result.out.decode())
        document = self.ok("sign", self.model, "--key", self.key, "--json").json()
        self.assertEqual(document, {"file": str(self.model), "signature": str(self.signature),
                                    "public_key": PUBLIC_KEY, "sha256": SHA256})
        self.assertEqual(self.ok("sign", self.model, "--key", self.key, "-q").out, b"")
        self.assertEqual(self.files(), ["key", "model.cmf", "model.cmf.sig"])

    def test_verify_names_the_signer(self):
        self.sign()
        out = self.ok("verify", self.model, "--strong").out.decode()
        self.assertIn(f"signature: valid, by {PUBLIC_KEY}", out)
        report = self.ok("verify", self.model, "--json").json()
        self.assertEqual((report["signature"], report["public_key"]), ("valid", PUBLIC_KEY))
        self.signature.unlink()
        report = self.ok("verify", self.model, "--json").json()
        self.assertEqual((report["signature"], report["public_key"]), ("absent", None))

    def test_verify_demands_a_key(self):
        self.assertEqual(self.codes("--public-key", PUBLIC_KEY), (1, [("Missing", "sig", None)]))
        self.sign()
        self.assertEqual(self.codes("--public-key", PUBLIC_KEY), (0, []))
        public = self.folder / "public"
        public.write_text(PUBLIC_KEY + "\n")
        self.assertEqual(self.codes("--public-key", public), (0, []))
        self.assertEqual(self.codes("--public-key", "00" * 32), (1, [("Hash", "sig", None)]))
        self.refused(3, "verify", self.model, "--public-key", PUBLIC_KEY[1:])
        self.refused(1, "verify", self.model, "--public-key", self.model, words=["64 hexadecimal digits"])
        self.refused(2, "verify", self.model, "--public-key", "")

    def test_a_secret_key_given_for_the_public_one_is_not_shown(self):
        self.sign()
        other = self.folder / "other"
        self.ok("keygen", other)
        for key, words in [(self.key, b"secret key"), (other, b"not by the key")]:
            for form in [[], ["--json"]]:
                result = harness.run("verify", self.model, "--public-key", key, *form)
                self.assertEqual(result.status, 1)
                self.assertIn(words, result.out)
                self.assertNotIn(key.read_text().strip().encode(), result.out + result.err)

    def test_what_keygen_prints_is_a_public_key_file(self):
        key, public = self.folder / "new", self.folder / "public"
        public.write_bytes(self.ok("keygen", key).out)
        self.assertRegex(public.read_text(), r"\A[0-9a-f]{64}\n\Z")
        self.ok("sign", self.model, "--key", key)
        self.ok("verify", self.model, "--public-key", public)
        self.assertEqual(self.ok("keygen", "--show", key).out, public.read_bytes())
        self.refused(3, "keygen", "--show", self.folder / "absent")

    def test_a_flipped_bit_names_the_tensor(self):
        self.sign()
        tensor = self.ok("tensors", self.model, "--json").json()[12]
        data = bytearray(self.model.read_bytes())
        (data_offset,) = struct.unpack_from("<Q", data, 0x30)
        data[data_offset + tensor["off"]] ^= 1
        self.model.write_bytes(data)
        self.assertEqual(self.codes(), (1, [("Hash", "data", tensor["name"]), ("Hash", "sig", None)]))
        out = harness.run("verify", self.model).out.decode()
        self.assertIn(tensor["name"], out)
        self.assertIn("INVALID, signature: invalid\n", out)

    def test_appended_bytes_break_the_signature(self):
        self.sign()
        with open(self.model, "ab") as file:
            file.write(b"\0" * 64)
        self.assertEqual(self.codes(), (1, [("Hash", "sig", None)]))
        self.assertEqual(self.codes("--strong"), (1, [("Hash", "sig", None)]))
        self.sign()
        self.assertEqual(self.codes("--strong"), (0, []))

    def test_signature_files_that_are_none(self):
        self.assertEqual(self.codes("--strong"), (1, [("Missing", "sig", None)]))
        self.sign()
        text = self.signature.read_text()
        for bad, code in [("", "Parse"), (text[:100], "Parse"), (text.replace('"alg"', '"Alg"'), "Missing"),
                          (text.replace(PUBLIC_KEY, "00" * 32), "Hash"), (text.replace(SHA256, "00" * 32), "Hash"),
                          (text.replace(PUBLIC_KEY, PUBLIC_KEY.upper()), "Parse")]:
            self.signature.write_text(bad)
            self.assertEqual(self.codes(), (1, [(code, "sig", None)]), bad)

    def test_a_damaged_file_is_not_signed(self):
        data = bytearray(self.model.read_bytes())
        data[-5] ^= 1
        self.model.write_bytes(data)
        self.refused(1, "sign", self.model, "--key", self.key, words=["not signed", "Hash"])
        self.model.write_bytes(b"no model")
        self.refused(1, "sign", self.model, "--key", self.key, words=["not signed"])
        self.refused(3, "sign", self.folder / "absent.cmf", "--key", self.key)
        self.assertEqual(self.files(), ["key", "model.cmf"])

    def test_of_several_files_the_good_ones_are_signed(self):
        bad = self.folder / "bad.cmf"
        bad.write_bytes(b"no model")
        result = harness.run("sign", bad, self.model, "--key", self.key)
        self.assertEqual(result.status, 1, str(result))
        self.assertTrue(self.signature.exists())
        self.assertEqual(len(result.err.splitlines()), 1)
        self.assertEqual(self.files(), ["bad.cmf", "key", "model.cmf", "model.cmf.sig"])

    def test_keygen_makes_a_key_for_its_owner_only(self):
        for mask in [0, 0o022, 0o777]:
            key = self.folder / f"key{mask}"
            before = os.umask(mask)
            try:
                result = self.ok("keygen", key, "--json")
            finally:
                os.umask(before)
            self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
            self.assertRegex(key.read_text(), r"\A[0-9a-f]{64}\n\Z")
            self.assertEqual(result.json()["file"], str(key))
            self.ok("sign", self.model, "--key", key)
            self.ok("verify", self.model, "--public-key", result.json()["public_key"])

    def test_keygen_overwrites_nothing(self):
        self.refused(1, "keygen", self.key, words=["exists already"])
        self.assertEqual(self.key.read_text(), SEED)
        self.refused(3, "keygen", self.folder / "absent" / "key")
        self.refused(2, "keygen")

    def test_a_key_that_others_can_read_is_refused(self):
        self.key.chmod(0o644)
        self.refused(1, "sign", self.model, "--key", self.key, words=["chmod 600"])
        self.key.chmod(0o600)
        self.key.write_text(SEED[1:])
        self.refused(1, "sign", self.model, "--key", self.key, words=["64 hexadecimal digits"])
        self.refused(2, "sign", self.model)
        self.assertFalse(self.signature.exists())


if __name__ == "__main__":
    harness.main()
