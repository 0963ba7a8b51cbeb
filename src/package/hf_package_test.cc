// Tests of Hugging Face directories: which files count, names, tied heads, tokenizer files, and what is
// refused.
#include "package/hf_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/arch_json.h"
#include "package/testing/model_folder.h"

namespace amphora {
namespace {

using ::testing::AllOf;
using testing::edited;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelFolder;
using testing::read_text;
using testing::safetensors_of;
using testing::StoredTensor;
using testing::TemporaryFolder;
using testing::test_data;
using testing::values_of;

std::shared_ptr<const Package> opened(const std::filesystem::path& path) {
  auto package = open_package(path);
  EXPECT_TRUE(package) << path << ": " << package.error().message;
  return package ? *package : std::make_shared<const Package>();
}

Error refusal_of(const std::filesystem::path& path) {
  const auto package = open_package(path);
  EXPECT_FALSE(package) << path;
  return package ? Error{} : package.error();
}

TEST(HfPackage, OpensEveryTinyModelWithTheTensorsItLists) {
  for (const char* name : {"llama", "qwen2", "qwen3", "gemma3"}) {
    const auto folder = test_data("hf/tiny") / name;
    const auto package = opened(folder);
    const auto listed = *json::parse(read_text(folder / "tensors.json"));
    ASSERT_EQ(package->tensors.size(), listed.items().size()) << name;
    for (const json::Value& entry : listed.items()) {
      const PackageTensor* tensor = package->find(entry.items()[0].text());
      ASSERT_NE(tensor, nullptr) << entry.items()[0].text();
      std::vector<uint64_t> shape;
      for (const json::Value& dimension : entry.items()[1].items()) shape.push_back(*dimension.as_unsigned());
      EXPECT_EQ(tensor->shape, shape) << tensor->name;
      EXPECT_EQ(tensor->dtype, DType::kF32);
      EXPECT_EQ(tensor->stored.size(), 4 * tensor->elements());
    }
    EXPECT_EQ(package->tokenizer_json, read_text(folder / "tokenizer.json")) << name;
    EXPECT_THAT(package->notes, IsEmpty()) << name;
    EXPECT_EQ(package->format, PackageFormat::kHuggingFace);
  }
}

TEST(HfPackage, ReadsTokenIdsAndTemplate) {
  const auto llama = opened(test_data("hf/tiny/llama"));
  EXPECT_THAT(llama->tokenizer.eos_token_ids, ElementsAre(2u, 510u));
  EXPECT_EQ(llama->tokenizer.bos_token_id, 1u);
  EXPECT_EQ(llama->tokenizer.pad_token_id, 0u);
  ASSERT_TRUE(llama->tokenizer.chat_template);
  EXPECT_THAT(*llama->tokenizer.chat_template,
              HasSubstr("{% for m in messages %}{{ '<s>' + m['role'] + '\\n'"));
  const auto base = opened(test_data("base-model"));
  EXPECT_THAT(base->tokenizer.eos_token_ids, ElementsAre(4095u));
  EXPECT_FALSE(base->tokenizer.bos_token_id);
  EXPECT_EQ(base->tensors.front().dtype, DType::kBF16);
}

TEST(HfPackage, ShardsHoldTheSameModel) {  // C1, C2
  const auto whole = opened(test_data("hf/tiny/llama"));
  const auto sharded = opened(test_data("hf/tiny/llama_sharded"));
  EXPECT_EQ(json::dump(package::encode_arch(whole->spec)), json::dump(package::encode_arch(sharded->spec)));
  ASSERT_EQ(whole->tensors.size(), sharded->tensors.size());
  for (const PackageTensor& tensor : whole->tensors) {
    ASSERT_NE(sharded->find(tensor.name), nullptr) << tensor.name;
    EXPECT_EQ(values_of(tensor), values_of(*sharded->find(tensor.name))) << tensor.name;
  }
}

TEST(HfPackage, ReadsAnyRangeOfATensor) {
  const auto package = opened(test_data("hf/tiny/qwen2"));
  const PackageTensor& tensor = *package->find("model.layers.1.mlp.up_proj.weight");
  const std::vector<float> all = values_of(tensor);
  std::vector<float> some(77);
  ASSERT_TRUE(tensor.read(1001, some));
  EXPECT_EQ(some, std::vector<float>(all.begin() + 1001, all.begin() + 1001 + 77));
  EXPECT_FALSE(tensor.read(tensor.elements() - 76, some));
}

TEST(HfPackage, ListsEveryMissingShardBeforeReadingAny) {  // C1, F7
  const ModelFolder folder("llama_sharded");
  folder.write("model-00001-of-00002.safetensors", "not even a header");
  folder.remove("model-00002-of-00002.safetensors");
  const Error one = refusal_of(folder.path());
  EXPECT_EQ(one.fault, Fault::kNotFound);
  EXPECT_THAT(one.message, HasSubstr("1 of 2 weight files"));
  EXPECT_THAT(one.message, HasSubstr("model-00002-of-00002.safetensors"));
  EXPECT_THAT(one.message, HasSubstr("incomplete download"));
  folder.remove("model-00001-of-00002.safetensors");
  EXPECT_THAT(refusal_of(folder.path()).message,
              HasSubstr("model-00001-of-00002.safetensors, model-00002-of-00002.safetensors"));
}

TEST(HfPackage, NamesTheFaultyFileOnce) {
  const ModelFolder folder("llama");
  folder.edit("config.json", {{"architectures", ""}, {"model_type", ""}});
  EXPECT_EQ(refusal_of(folder.path()).message,
            "config.json: neither architectures nor a model_type is there");
  folder.write("config.json", "[]");
  EXPECT_EQ(refusal_of(folder.path()).message, "config.json: not an object");
}

TEST(HfPackage, UsesOnlyWhatTheIndexNames) {  // F8
  const ModelFolder folder("llama_sharded");
  folder.write("model.safetensors", "a four-bit copy that somebody left here");
  folder.write("consolidated.safetensors", "");
  const auto package = opened(folder.path());
  EXPECT_EQ(package->tensors.size(), 30u);
  EXPECT_THAT(
      package->notes,
      ElementsAre("files that do not belong to the model: consolidated.safetensors, model.safetensors"));
}

TEST(HfPackage, RefusesAnIndexThatDisagreesWithItsShards) {
  const ModelFolder folder("llama_sharded");
  const std::string_view index = "model.safetensors.index.json";
  const std::string original = folder.text(index);
  const auto with_map = [&](const std::vector<std::pair<std::string, std::string>>& edits) {
    folder.write(index, original);
    const json::Value root = *json::parse(original);
    folder.edit(index, {{"weight_map", edited(json::dump(*root.find("weight_map")), edits)}});
    return refusal_of(folder.path());
  };
  struct Case {
    const char* name;
    std::vector<std::pair<std::string, std::string>> edits;
    const char* code;
    const char* words;
  };
  const Case kCases[] = {
      {"tensor in no shard",
       {{"model.extra.weight", R"("model-00001-of-00002.safetensors")"}},
       "IndexMismatch",
       "lacks 1 tensors that the index places in it, the first model.extra.weight"},
      {"tensor in the other shard",
       {{"model.norm.weight", R"("model-00001-of-00002.safetensors")"}},
       "IndexMismatch",
       "model.norm.weight"},
      {"tensor without an entry",
       {{"model.norm.weight", ""}},
       "IndexMismatch",
       "which the index does not name"},
      {"path upwards", {{"model.norm.weight", R"("../x.safetensors")"}}, "ShardName", "plain name"},
      {"absolute path", {{"model.norm.weight", R"("/etc/x.safetensors")"}}, "ShardName", "plain name"},
      {"a number", {{"model.norm.weight", "2"}}, "WeightMap", "number"},
  };
  for (const Case& c : kCases) {
    const Error error = with_map(c.edits);
    EXPECT_EQ(error.code, c.code) << c.name << ": " << error.message;
    EXPECT_THAT(error.message, HasSubstr(c.words)) << c.name;
  }
  folder.write(index, R"({"weight_map":[]})");
  EXPECT_EQ(refusal_of(folder.path()).code, "WeightMap");
  folder.write(index, original.substr(0, original.size() / 2));
  EXPECT_EQ(refusal_of(folder.path()).fault, Fault::kCorrupt);
}

TEST(HfPackage, RefusesShardsOfModelsOfDifferentCounts) {  // C3
  const ModelFolder folder("llama_sharded");
  std::filesystem::rename(folder / "model-00002-of-00002.safetensors",
                          folder / "model-00002-of-00003.safetensors");
  std::string index = folder.text("model.safetensors.index.json");
  for (size_t at; (at = index.find("00002-of-00002")) != std::string::npos;)
    index.replace(at, 14, "00002-of-00003");
  folder.write("model.safetensors.index.json", index);
  const Error error = refusal_of(folder.path());
  EXPECT_EQ(error.code, "ShardName");
  EXPECT_THAT(error.message, HasSubstr("model-00002-of-00003.safetensors"));
}

TEST(HfPackage, TiedWithoutAHeadStoresOneCopy) {  // F1
  const auto package = opened(test_data("hf/tiny/qwen2"));
  EXPECT_TRUE(package->spec.tie_word_embeddings);
  EXPECT_EQ(package->find("lm_head.weight"), nullptr);
}

TEST(HfPackage, LetsTheStoredHeadDecide) {  // F2
  ModelFolder folder("qwen2");
  StoredTensor head = folder.tensor("model.embed_tokens.weight");
  head.name = "lm_head.weight";
  folder.tensors.push_back(head);
  folder.write_weights();
  auto package = opened(folder.path());
  EXPECT_TRUE(package->spec.tie_word_embeddings) << "equal bytes";
  EXPECT_EQ(package->find("lm_head.weight"), nullptr);
  EXPECT_THAT(package->notes, ElementsAre(HasSubstr("equals the embedding")));

  folder.tensors.back().data[4 * 100] ^= 1;
  folder.write_weights();
  package = opened(folder.path());
  EXPECT_FALSE(package->spec.tie_word_embeddings) << "different bytes";
  EXPECT_NE(package->find("lm_head.weight"), nullptr);
  EXPECT_THAT(package->notes, ElementsAre(HasSubstr("differs from the embedding")));

  folder.edit("config.json", {{"tie_word_embeddings", ""}});
  folder.tensors.back().data[4 * 100] ^= 1;
  folder.write_weights();
  package = opened(folder.path());
  EXPECT_FALSE(package->spec.tie_word_embeddings) << "silent configuration";
  EXPECT_NE(package->find("lm_head.weight"), nullptr);
  EXPECT_THAT(package->notes, IsEmpty());

  ModelFolder untied("llama");
  std::erase_if(untied.tensors, [](const StoredTensor& tensor) { return tensor.name == "lm_head.weight"; });
  untied.write_weights();
  const Error error = refusal_of(untied.path());
  EXPECT_EQ(error.code, "Missing");
  EXPECT_EQ(error.place, "lm_head.weight");
}

TEST(HfPackage, UnderstandsNamesWithOtherPrefixes) {  // F3
  struct Case {
    const char* from;
    const char* to;
    const char* note;
  };
  const Case kCases[] = {
      {"model.", "", "27 tensors were without 'model.'"},
      {"model.", "language_model.model.", "under 'language_model.'"},
      {"model.", "model.language_model.", "under 'model.language_model.'"},
      {"", "base_model.model.", "under 'base_model.model.'"},
  };
  const auto plain = opened(test_data("hf/tiny/qwen2"));
  for (const Case& c : kCases) {
    ModelFolder folder("qwen2");
    for (StoredTensor& tensor : folder.tensors)
      tensor.name = c.to + tensor.name.substr(std::string_view(c.from).size());
    folder.write_weights();
    const auto package = opened(folder.path());
    ASSERT_EQ(package->tensors.size(), plain->tensors.size()) << c.to;
    for (const PackageTensor& tensor : plain->tensors) {
      ASSERT_NE(package->find(tensor.name), nullptr) << c.to << " " << tensor.name;
    }
    ASSERT_EQ(package->notes.size(), 1u) << c.to;
    if (std::string_view(c.to).empty()) {
      EXPECT_EQ(package->notes[0], std::to_string(plain->tensors.size()) + " tensors were without 'model.'");
    } else {
      EXPECT_THAT(package->notes[0], HasSubstr(c.note));
    }
  }
}

TEST(HfPackage, ListsUnknownPrefixesOnce) {  // F3
  ModelFolder folder("qwen2");
  for (StoredTensor& tensor : folder.tensors) tensor.name = "transformer." + tensor.name.substr(6);
  folder.write_weights();
  const Error error = refusal_of(folder.path());
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_EQ(error.message,
            "tensor names of no known scheme: transformer.embed_tokens. (1 tensors), transformer.layers. (36 "
            "tensors), transformer.norm. (1 tensors)");
}

TEST(HfPackage, RefusesTwoNamesForOneTensor) {
  ModelFolder folder("qwen2");
  StoredTensor again = folder.tensor("model.norm.weight");
  again.name = "norm.weight";
  folder.tensors.push_back(again);
  folder.write_weights();
  EXPECT_EQ(refusal_of(folder.path()).code, "Duplicate");
}

TEST(HfPackage, IgnoresRotaryTablesWithANote) {
  ModelFolder folder("llama");
  folder.tensors.push_back(
      {"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {2}, std::string(8, '\0')});
  folder.write_weights();
  const auto package = opened(folder.path());
  EXPECT_EQ(package->tensors.size(), 30u);
  EXPECT_THAT(package->notes, ElementsAre(HasSubstr("1 rotary_emb.inv_freq tables ignored")));
}

TEST(HfPackage, TakesTheLanguageModelOutOfAMultimodalOne) {
  ModelFolder folder("gemma3");
  folder.write("config.json", R"({"architectures":["Gemma3ForConditionalGeneration"],"model_type":"gemma3",)"
                              R"("text_config":)" +
                                  folder.text("config.json") + "}");
  for (StoredTensor& tensor : folder.tensors) tensor.name = "model.language_model." + tensor.name.substr(6);
  folder.tensors.push_back({"model.vision_tower.patch.weight", "F32", {1}, std::string(4, '\0')});
  folder.write_weights();
  const auto package = opened(folder.path());
  EXPECT_EQ(package->spec.arch_name, "gemma3_text");
  EXPECT_EQ(package->find("model.vision_tower.patch.weight"), nullptr);
  EXPECT_NE(package->find("model.layers.3.pre_feedforward_layernorm.weight"), nullptr);
  EXPECT_THAT(package->notes, ::testing::Contains(HasSubstr("1 tensors of other parts")));
}

TEST(HfPackage, RefusesCheckpointsThatAreQuantisedAlready) {  // F10
  ModelFolder folder("llama");
  folder.write("quantize_config.json", R"({"bits":4})");
  EXPECT_THAT(refusal_of(folder.path()).message, HasSubstr("already quantised by GPTQ"));
  folder.remove("quantize_config.json");
  folder.tensors.push_back({"model.layers.0.mlp.up_proj.qweight", "I32", {1}, std::string(4, '\0')});
  folder.write_weights();
  const Error error = refusal_of(folder.path());
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("already quantised by GPTQ or AWQ"));
}

TEST(HfPackage, SaysWhatIsMissing) {
  const TemporaryFolder empty;
  EXPECT_EQ(refusal_of(empty.path()).fault, Fault::kNotFound);
  EXPECT_THAT(refusal_of(empty.path()).message, HasSubstr("no config.json"));
  EXPECT_EQ(refusal_of(empty / "nothing here").fault, Fault::kNotFound);

  const ModelFolder folder("llama");
  std::filesystem::rename(folder / "model.safetensors", folder / "model-00001-of-00002.safetensors");
  EXPECT_EQ(refusal_of(folder.path()).fault, Fault::kNotFound);
  EXPECT_THAT(refusal_of(folder.path()).message, HasSubstr("only model-00001-of-00002.safetensors"));
  std::filesystem::rename(folder / "model-00001-of-00002.safetensors", folder / "pytorch_model.bin");
  EXPECT_EQ(refusal_of(folder.path()).fault, Fault::kUnsupported);
  EXPECT_THAT(refusal_of(folder.path()).message, HasSubstr("pickle"));
  folder.remove("pytorch_model.bin");
  EXPECT_THAT(refusal_of(folder.path()).message, HasSubstr("no model.safetensors"));
}

TEST(HfPackage, OpensWithoutATokenizerAndSaysSo) {
  const ModelFolder folder("llama");
  folder.remove("tokenizer.json");
  folder.remove("tokenizer_config.json");
  folder.remove("generation_config.json");
  const auto package = opened(folder.path());
  EXPECT_TRUE(package->tokenizer_json.empty());
  EXPECT_THAT(package->tokenizer.eos_token_ids, ElementsAre(2u)) << "from config.json";
  EXPECT_FALSE(package->tokenizer.chat_template);
  EXPECT_THAT(package->notes, ElementsAre(HasSubstr("no tokenizer.json")));
}

TEST(HfPackage, NamesWhatDoesNotMakeATokenizer) {
  for (const auto& [file, words] : std::vector<std::pair<const char*, const char*>>{
           {"vocab.json", "vocab.json without merges.txt"},
           {"merges.txt", "merges.txt without vocab.json"},
           {"vocab.txt", "vocab.txt (WordPiece), which is not supported"},
           {"tokenizer.model", "tokenizer.model, which is neither a SentencePiece model nor a tiktoken file"},
           {"own.model", "own.model, which is no name that is looked for"}}) {
    const ModelFolder folder("llama");
    folder.remove("tokenizer.json");
    folder.write(file, "x");
    EXPECT_THAT(opened(folder.path())->notes,
                ElementsAre(AllOf(HasSubstr("there is no tokenizer.json: no text can be encoded; "),
                                  HasSubstr(words))));
  }
}

TEST(HfPackage, NotesFurtherTemplatesInAFolder) {
  const ModelFolder folder("llama");
  std::filesystem::create_directory(folder / "additional_chat_templates");
  folder.write("additional_chat_templates/tool_use.jinja", "T");
  folder.write("additional_chat_templates/rag.jinja", "R");
  EXPECT_THAT(opened(folder.path())->notes,
              ElementsAre("chat templates left aside: additional_chat_templates/rag.jinja, "
                          "additional_chat_templates/tool_use.jinja"));
}

TEST(HfPackage, ChoosesTheChatTemplateAsTransformersDoes) {
  const ModelFolder folder("llama");
  folder.edit("tokenizer_config.json", {{"chat_template", R"([{"name":"tool_use","template":"T"},)"
                                                          R"({"name":"default","template":"D"}])"}});
  auto package = opened(folder.path());
  EXPECT_EQ(package->tokenizer.chat_template, "D");
  EXPECT_THAT(package->notes, ElementsAre("chat templates left aside: tool_use"));
  folder.edit("tokenizer_config.json", {{"chat_template", R"("D")"}});
  folder.write("chat_template.jinja", "{{ file }}\n");
  package = opened(folder.path());
  EXPECT_EQ(package->tokenizer.chat_template, "{{ file }}\n");
  EXPECT_THAT(package->notes, ElementsAre(HasSubstr("chat_template.jinja replaces")));
  folder.remove("chat_template.jinja");
  for (const char* wrong :
       {"7", "{}", R"([{"name":"default"}])", R"(["x"])", R"([{"name":1,"template":"x"}])"}) {
    folder.edit("tokenizer_config.json", {{"chat_template", wrong}});
    EXPECT_EQ(refusal_of(folder.path()).fault, Fault::kCorrupt) << wrong;
    EXPECT_THAT(refusal_of(folder.path()).message, HasSubstr("tokenizer_config.json: ")) << wrong;
  }
}

// A snapshot in Hugging Face's cache is made of links: one whose file is gone is no absent file.
TEST(HfPackage, FailsByNameOnALinkThatLeadsNowhere) {
  for (const char* name : {"config.json", "model.safetensors", "model.safetensors.index.json",
                           "tokenizer.json", "tokenizer_config.json", "generation_config.json",
                           "chat_template.jinja", "tokenizer.model", "spiece.model", "tiktoken.model",
                           "some.tiktoken", "vocab.json", "special_tokens_map.json", "added_tokens.json"})
    for (const bool loops : {false, true}) {
      const ModelFolder folder("llama");
      folder.write("vocab.json", R"({"a":0})");
      folder.write("merges.txt", "");
      folder.edit("tokenizer_config.json", {{"tokenizer_class", R"("GPT2Tokenizer")"}});
      if (std::string_view(name).ends_with(".model") || std::string_view(name).ends_with(".tiktoken") ||
          name == std::string_view("vocab.json"))
        folder.remove("tokenizer.json");
      if (std::string_view(name).ends_with("tiktoken") || name == std::string_view("tiktoken.model"))
        folder.remove("vocab.json");
      folder.remove(name);
      std::filesystem::create_symlink(loops ? name : "/nope", folder / name);
      const Error error = refusal_of(folder.path());
      EXPECT_EQ(error.fault, loops ? Fault::kIo : Fault::kNotFound) << name << ": " << error.message;
      EXPECT_THAT(error.message, HasSubstr("cannot open " + (folder / name).string())) << name;
    }
  const TemporaryFolder empty;
  EXPECT_EQ(refusal_of(empty.path()).fault, Fault::kNotFound);
}

TEST(HfPackage, RefusesAnEmptyTokenizerJson) {
  const ModelFolder folder("llama");
  folder.write("tokenizer.json", "");
  const Error error = refusal_of(folder.path());
  EXPECT_EQ(error.fault, Fault::kCorrupt);
  EXPECT_EQ(error.message, "tokenizer.json: the file is empty");
}

TEST(HfPackage, RefusesDamagedJsonBesideTheWeightsByFile) {
  for (const char* file : {"config.json", "generation_config.json", "tokenizer_config.json"}) {
    const ModelFolder folder("llama");
    const std::string text = folder.text(file);
    folder.write(file, text.substr(0, text.size() / 2));
    EXPECT_EQ(refusal_of(folder.path()).fault, Fault::kCorrupt) << file;
    EXPECT_THAT(refusal_of(folder.path()).message, HasSubstr(std::string(file) + ": "));
    folder.write(file, "");
    EXPECT_FALSE(open_package(folder.path())) << file;
    folder.write(file, "[]");
    EXPECT_EQ(refusal_of(folder.path()).fault, Fault::kCorrupt) << file;
    EXPECT_THAT(refusal_of(folder.path()).message, HasSubstr(std::string(file) + ": ")) << file;
  }
}

TEST(HfPackage, RefusesWeightsThatEndEarly) {
  const ModelFolder folder("qwen3");
  const std::string whole = folder.text("model.safetensors");
  for (const size_t kept :
       {size_t{0}, size_t{7}, size_t{8}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    folder.write("model.safetensors", whole.substr(0, kept));
    const auto package = open_package(folder.path());
    ASSERT_FALSE(package) << kept;
    EXPECT_THAT(package.error().message, HasSubstr("model.safetensors")) << kept;
  }
}

TEST(OpenPackage, TellsByContent) {
  const TemporaryFolder folder;
  const auto write = [&](std::string_view name, std::string_view bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  };
  EXPECT_EQ(refusal_of(write("empty.cmf", "")).fault, Fault::kTruncated);
  EXPECT_EQ(refusal_of(write("text.gguf", "once upon a time")).fault, Fault::kCorrupt);
  EXPECT_THAT(refusal_of(folder / "text.gguf").message, HasSubstr("6f 6e 63 65"));
  EXPECT_EQ(refusal_of(write("short.bin", std::string_view("CMF\x01", 4))).code, "Truncated");
  const auto one = refusal_of(test_data("hf/tiny/llama_sharded") / "model-00002-of-00002.safetensors");
  EXPECT_EQ(one.fault, Fault::kUnsupported);
  EXPECT_THAT(one.message, HasSubstr("hf/tiny/llama_sharded"));
  EXPECT_EQ(refusal_of("/dev/null").fault, Fault::kUnsupported);
}

}  // namespace
}  // namespace amphora
