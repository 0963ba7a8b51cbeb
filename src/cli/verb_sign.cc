// `sign`: verifies a file and writes its signature beside it.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/progress.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "crypto/hex.h"
#include "formats/cmf/signing.h"
#include "formats/cmf/verify.h"

namespace amphora::cli {
namespace {

struct SignArguments {
  std::vector<std::string> files;
  std::string key;
};

// A signature vouches for a whole file: one with a fault gets none.
Status check_faultless(Bytes bytes, const ProgressFunction& progress) {
  const cmf::VerifyReport report =
      cmf::verify_bytes(bytes, std::nullopt, {.release_pages = true, .progress = progress});
  const auto fault = std::ranges::find(report.findings, cmf::Level::kError, &cmf::Finding::level);
  if (fault != report.findings.end()) return std::unexpected(to_error(*fault));
  return {};
}

Status sign_file(const std::string& file, const crypto::Ed25519Key& key, const Globals& globals) {
  ProgressBar bar("sign " + std::filesystem::path(file).filename().string(), globals.quiet || globals.json);
  AMPHORA_ASSIGN(const std::shared_ptr<const MappedFile> mapped, MappedFile::open(file));
  AMPHORA_TRY(check_faultless(mapped->bytes(), bar.function()));
  AMPHORA_ASSIGN(const cmf::Signature signature, cmf::sign(mapped->bytes(), key, {true, bar.function()}));
  AMPHORA_TRY(write_file(cmf::signature_path_of(file), as_bytes(signature.text)));
  const std::string public_key = crypto::to_hex(key.public_key()), digest = crypto::to_hex(signature.digest);
  if (globals.json) {
    print_json_line(json::Value::object({{"file", text_value(file)},
                                         {"signature", text_value(file + ".sig")},
                                         {"public_key", text_value(public_key)},
                                         {"sha256", text_value(digest)}}));
  } else if (!globals.quiet) {
    print(fmt::format("{}: sha256 {}, signed by {}\n", printable(file), digest, public_key));
  }
  return {};
}

Result<int> sign_files(const SignArguments& arguments, const Globals& globals) {
  AMPHORA_ASSIGN(const crypto::Ed25519Key key, cmf::load_signing_key(arguments.key));
  int worst = 0;
  for (const std::string& file : arguments.files) {
    Status status = sign_file(file, key, globals);
    if (status) continue;
    status.error().message = file + " is not signed: " + status.error().message;
    if (arguments.files.size() == 1) return std::unexpected(std::move(status).error());
    print_error(fmt::format("amphora sign: {}\n", describe(status.error())));
    worst = std::max(worst, exit_status(status.error().fault));
  }
  return worst;
}

Action declare_sign(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<SignArguments>();
  app.add_option("FILE", arguments->files, "files to sign, each into FILE.sig")->required();
  app.add_option("--key", arguments->key, "key file, as `keygen` makes it")->required();
  return [arguments, &globals] { return sign_files(*arguments, globals); };
}

}  // namespace

const Verb kSign{"sign", "verify files and write a signature beside each",
                 "amphora sign model.cmf --key release.key", declare_sign};

}  // namespace amphora::cli
