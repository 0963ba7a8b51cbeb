// `keygen`: a new key to sign files with.
#include "cli/print.h"
#include "cli/verb.h"
#include "crypto/hex.h"
#include "formats/cmf/signing.h"

namespace amphora::cli {
namespace {

Result<int> make_key(const std::string& path, const Globals& globals) {
  AMPHORA_ASSIGN(const crypto::Ed25519Key key, cmf::create_signing_key(path));
  const std::string public_key = crypto::to_hex(key.public_key());
  if (globals.json) {
    print_json_line(
        json::Value::object({{"file", text_value(path)}, {"public_key", text_value(public_key)}}));
  } else {
    print(globals.quiet ? public_key + "\n" : fmt::format("public key {}\n", public_key));
  }
  return 0;
}

Action declare(CLI::App& app, const Globals& globals) {
  auto path = std::make_shared<std::string>();
  app.add_option("OUT", *path, "file for the secret seed; must not exist yet")->required();
  return [path, &globals] { return make_key(*path, globals); };
}

}  // namespace

const Verb kKeygen{"keygen", "make a key to sign files with", "amphora keygen release.key", declare};

}  // namespace amphora::cli
