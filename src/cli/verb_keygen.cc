// `keygen`: a new key to sign files with.
#include "cli/print.h"
#include "cli/verb.h"
#include "crypto/hex.h"
#include "formats/cmf/signing.h"

namespace amphora::cli {
namespace {

struct KeygenArguments {
  std::string path;
  bool show = false;
};

/// Prints the public key of a new seed, or of one that exists.
Result<int> make_key(const std::string& path, bool show, const Globals& globals) {
  AMPHORA_ASSIGN(const crypto::Ed25519Key key,
                 show ? cmf::load_signing_key(path) : cmf::create_signing_key(path));
  const std::string public_key = crypto::to_hex(key.public_key());
  if (globals.json) {
    print_json_line(
        json::Value::object({{"file", text_value(path)}, {"public_key", text_value(public_key)}}));
  } else {
    print(public_key + "\n");  // nothing else: the line is what `verify --public-key` takes
  }
  return 0;
}

Action declare_keygen(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<KeygenArguments>();
  app.add_option("OUT", arguments->path, "file for the secret seed; must not exist yet")->required();
  app.add_flag("--show", arguments->show, "print the public key of a seed that is there already");
  return [arguments, &globals] { return make_key(arguments->path, arguments->show, globals); };
}

}  // namespace

const Verb kKeygen{"keygen", "make a key to sign files with", "amphora keygen release.key", declare_keygen};

}  // namespace amphora::cli
