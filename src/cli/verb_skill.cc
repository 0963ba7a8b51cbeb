// `skill`: what can be done with replacement tensors; one subcommand each.
#include <array>

#include "base/progress.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "cli/written_files.h"
#include "formats/cmf/cmf_set.h"
#include "transform/apply_skill.h"

namespace amphora::cli {
namespace {

// ---- skill list ----

struct SkillTotal {
  uint64_t tensors = 0, bytes = 0;
};

/// What a record owns: in a skill file everything, else the tensors under its name.
SkillTotal total_of(const cmf::CmfSet& set, const cmf::SkillRecord& skill) {
  const std::string prefix = "skill." + skill.id + ".";
  SkillTotal total;
  for (const cmf::SetTensor& tensor : set.tensors()) {
    if (!set.first().is_skill_file() && !tensor.record->name.starts_with(prefix)) continue;
    ++total.tensors;
    total.bytes += tensor.record->bytes;
  }
  return total;
}

json::Value skill_value(const cmf::SkillRecord& skill, const SkillTotal& total) {
  std::vector<json::Value> layers;
  for (const uint32_t layer : skill.layers) layers.push_back(count_value(layer));
  return json::Value::object(
      {{"id", text_value(skill.id)},
       {"name", text_value(skill.name)},
       {"layers", json::Value::array(std::move(layers))},
       {"selectable", json::Value::boolean(skill.selectable)},
       {"base_dir_hash", skill.base_dir_hash ? text_value(*skill.base_dir_hash) : json::Value()},
       {"tensors", count_value(total.tensors)},
       {"bytes", count_value(total.bytes)}});
}

void print_skill(const cmf::SkillRecord& skill, const SkillTotal& total) {
  print(fmt::format("{:<20} {:<24} layers [{}]  {} tensors  {}{}{}\n", printable(skill.id),
                    printable(skill.name), fmt::join(skill.layers, ", "), total.tensors,
                    human_bytes(total.bytes), skill.selectable ? "  selectable" : "",
                    skill.base_dir_hash ? "  for base " + *skill.base_dir_hash : ""));
}

Result<int> list_skills(const std::string& path, const Globals& globals) {
  AMPHORA_ASSIGN(const cmf::CmfSet set, cmf::CmfSet::open(path));
  std::vector<json::Value> rows;
  for (const cmf::SkillRecord& skill : set.first().skills()) {
    const SkillTotal total = total_of(set, skill);
    if (globals.json)
      rows.push_back(skill_value(skill, total));
    else
      print_skill(skill, total);
  }
  if (globals.json) print_json_line(json::Value::array(std::move(rows)));
  if (!globals.json && set.first().skills().empty()) print("no skills\n");
  return 0;
}

Action declare_list(CLI::App& app, const Globals& globals) {
  auto path = std::make_shared<std::string>();
  app.add_option("FILE", *path, ".cmf file, or any shard of a set")->required();
  return [path, &globals] { return list_skills(*path, globals); };
}

// ---- skill apply ----

struct ApplyArguments {
  std::string base, skill, out;
  ApplySkillOptions options;
};

Result<int> apply(const ApplyArguments& arguments, const Globals& globals) {
  ProgressBar bar("skill apply", globals.quiet || globals.json);
  AMPHORA_ASSIGN(const OutputFile file, apply_skill(arguments.base, arguments.skill, arguments.out,
                                                    arguments.options, bar.function()));
  print_written_files({&file, 1}, globals);
  return 0;
}

Action declare_apply(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<ApplyArguments>();
  app.add_option("BASE", arguments->base, "the .cmf file that the skill was made for")->required();
  app.add_option("SKILL", arguments->skill, "the skill file")->required();
  app.add_option("-o,--output", arguments->out, "the .cmf file to write")->required()->check(not_empty());
  app.add_flag("--force", arguments->options.force, "accept a base with another directory hash");
  return [arguments, &globals] { return apply(*arguments, globals); };
}

// ---- The verb ----

constexpr std::array<Verb, 2> kSubcommands = {
    Verb{"list", "the skills that a file or a skill file holds", "amphora skill list model.cmf",
         declare_list},
    Verb{"apply", "write a base with a skill file's tensors in their places",
         "amphora skill apply base.cmf skill.cmf -o model.cmf", declare_apply}};

Action declare_skill(CLI::App& app, const Globals& globals) {
  app.require_subcommand(1);
  auto actions = std::make_shared<std::vector<std::pair<CLI::App*, Action>>>();
  for (const Verb& verb : kSubcommands) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->set_help_flag("-h,--help", "this text");
    sub->footer(fmt::format("Example: {}", verb.example));
    sub->fallthrough();  // --json, -q and -v belong to the verb
    actions->emplace_back(sub, verb.declare(*sub, globals));
  }
  return [actions]() -> Result<int> {
    for (const auto& [sub, action] : *actions)
      if (sub->parsed()) return action();
    return fail(Fault::kUsage, "no subcommand given");
  };
}

}  // namespace

const Verb kSkill{"skill", "list skills, or apply a skill file to its base",
                  "amphora skill apply base.cmf skill.cmf -o model.cmf", declare_skill};

}  // namespace amphora::cli
