#include <core/cli/command.h>
#include <core/config/nearest.h>

#include <boost/program_options.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

namespace po = boost::program_options;

namespace drift {
namespace {

struct Option {
  std::string value;  ///< what --help calls its value; empty: a switch
  std::string doc;
  std::string key;    ///< for a short form, the key of the TOML that it sets
  bool text = false;  ///< that key holds text
};

/// Every option of every command; the commands say which are theirs.
const std::map<std::string, Option>& options() {
  static const std::map<std::string, Option> all = {
      {"set", {"KEY=VALUE", "change any value of the file: --set train.steps=20; may be given often", "", false}},
      {"algorithm", {"NAME", "short for --set algorithm.name=NAME", "algorithm.name", true}},
      {"model",
       {"FOLDER", "short for --set model.path=FOLDER; a word that is no folder is the family, model.name", "model.path",
        true}},
      {"task", {"NAME", "short for --set task.name=NAME", "task.name", true}},
      {"seed", {"N", "short for --set run.seed=N", "run.seed", false}},
      {"dtype", {"float32|bfloat16", "short for --set model.dtype=…", "model.dtype", true}},
      {"device", {"cpu|cuda", "short for --set run.device=…", "run.device", true}},
      {"steps", {"N", "short for --set train.steps=N (pretrain: pretrain.steps)", "train.steps", false}},
      {"out", {"FOLDER", "where the results go, instead of a folder in runs/", "", false}},
      {"jobs", {"N", "runs at a time, which share the machine's threads; default 1", "", false}},
      {"dry-run", {"", "check everything, say what would be done, and do nothing", "", false}},
      {"report", {"", "write tables and report from what is there, and run nothing", "", false}},
      {"resume", {"", "go on from the run's last checkpoint", "", false}},
      {"config", {"FILE", "the run's TOML file", "", false}},
      {"for", {"COMMAND", "resolve for train, pretrain, eval or generate; default: what the file has", "", false}},
      {"prompt", {"TEXT", "the prompt", "", false}},
      {"token-ids", {"1,2,3", "the prompt as token ids", "", false}},
      {"text", {"TEXT", "the text; default: standard input", "", false}},
      {"decode", {"1,2,3", "token ids to text; without ids, those of --in", "", false}},
      {"items", {"N", "how many items", "", false}},
      {"id", {"ID", "the item called so", "", false}},
      {"clean-up", {"", "with --decode: no space before . ? ! , and contractions, as some originals do", "", false}},
      {"keep-special", {"", "with --decode: show special tokens instead of dropping them", "", false}},
      {"suite", {"SUITE.toml", "the tasks, lengths and schedules to answer, instead of one task", "", false}},
      {"tasks", {"NAME,NAME", "only these tasks of the suite", "", false}},
      {"in", {"FILE", "JSON Lines: one record a line", "", false}},
      {"case", {"FILE.json", "the numbers, in the format of docs/loss_cases.md", "", false}},
      {"variant", {"NAME", "one variant of the case, instead of all", "", false}},
      {"json", {"", "print JSON instead of text", "", false}},
      {"show-steps", {"", "show the response after every denoising step", "", false}},
      {"reference", {"FILE", "safetensors with input_ids, logits and perhaps attention_mask", "", false}},
      {"tolerance", {"X", "largest difference that passes; default 0.001", "", false}},
      {"relative-tolerance", {"X", "to which X times the reference's size is added; default 1e-5", "", false}},
      {"prefix", {"", "print the folder", "", false}},
      {"help", {"", "this text", "", false}},
  };
  return all;
}

std::vector<std::string> names_of(const Command& command) {
  std::vector<std::string> names = command.options;
  names.push_back("help");
  return names;
}

po::variables_map parse(const Command& command, const std::vector<std::string>& arguments) {
  po::options_description known;
  for (const std::string& name : names_of(command)) {
    const Option& option = options().at(name);
    if (option.value.empty()) {
      known.add_options()(name.c_str(), po::bool_switch(), "");
    } else if (name == "set") {
      known.add_options()(name.c_str(), po::value<std::vector<std::string>>()->composing(), "");
    } else if (name == "decode") {  // the only one whose value may be left out
      known.add_options()(name.c_str(), po::value<std::string>()->implicit_value(""), "");
    } else {
      known.add_options()(name.c_str(), po::value<std::string>(), "");
    }
  }
  known.add_options()("argument", po::value<std::vector<std::string>>(), "");
  po::positional_options_description positional;
  positional.add("argument", -1);
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  po::store(po::command_line_parser(arguments).options(known).positional(positional).style(style).run(), values);
  return values;
}

/// Boost's errors in the words of this program.
po::variables_map parse_or_explain(const Command& command, const std::vector<std::string>& arguments) {
  const std::string help = "    (drift " + command.name + " --help)";
  try {
    return parse(command, arguments);
  } catch (const po::unknown_option& error) {
    const std::string name = error.get_option_name();
    const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    const std::string nearest = nearest_name(bare, names_of(command));
    std::string list;
    for (const std::string& known : names_of(command)) list += (list.empty() ? "--" : ", --") + known;
    throw UsageError("unknown option `" + name + "` of `drift " + command.name + "`",
                     (nearest.empty() ? "" : "did you mean `--" + nearest + "`?\n  = ") + "options: " + list + help);
  } catch (const po::multiple_occurrences& error) {
    throw UsageError("`" + error.get_option_name() + "` is given more than once", "once is enough" + help);
  } catch (const po::error& error) {
    throw UsageError("`drift " + command.name + "`: " + error.what(), "for example: drift " + command.example + help);
  }
}

/// What stands without a `--`, at most what the command takes.
std::vector<std::string> arguments_of(const Command& command, const po::variables_map& values) {
  const auto given =
      values.count("argument") ? values["argument"].as<std::vector<std::string>>() : std::vector<std::string>();
  const std::string example = "for example: drift " + command.example;
  const std::size_t wanted = command.argument.empty() ? 0u : 1u + std::ranges::count(command.argument, ' ');
  if (given.size() > wanted) {
    throw UsageError("`drift " + command.name + "` has no use for `" + given.back() + "`", example);
  }
  if (given.size() < wanted && command.argument_required) {
    throw UsageError("`drift " + command.name + "` wants " + command.argument, example);
  }
  return given;
}

ConfigOverride short_form(const Command& command, const std::string& name, const std::string& value) {
  const Option& option = options().at(name);
  ConfigOverride setting{"--" + name + " " + value, option.key, value, option.text};
  if (name == "steps" && command.name == "pretrain") setting.key = "pretrain.steps";
  std::error_code ignored;
  const bool folder = value.find('/') != std::string::npos || std::filesystem::is_directory(value, ignored);
  if (name == "model" && !folder) setting.key = "model.name";
  return setting;
}

std::vector<std::int64_t> parse_token_ids(const std::string& option, const std::string& text) {
  const std::string example = "for example: " + option + " 2,17,5";
  std::vector<std::int64_t> ids;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), id);
    if (error != std::errc() || end != part.data() + part.size() || id < 0) {
      throw UsageError("`" + part + "` is no token id", example);
    }
    ids.push_back(id);
  }
  if (ids.empty()) throw UsageError(option + " is empty", example);
  return ids;
}

/// @param what  what is counted: "runs"
std::int64_t parse_count(const std::string& option, const std::string& text, const std::string& what) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) {
    throw UsageError("`--" + option + " " + text + "` is no number of " + what, "for example: --" + option + " 2");
  }
  return count;
}

double parse_tolerance(const std::string& option, const std::string& text, double absent) {
  if (text.empty()) return absent;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0)) {
    throw UsageError("`--" + option + " " + text + "` is no number of 0 or more", "for example: --" + option + " 1e-3");
  }
  return value;
}

/// What `tokenize` works on: exactly one of --text, --in, the ids of --decode, or else standard input.
void take_tokenize(const po::variables_map& values, CommandLine& line) {
  const auto given = [&](const char* name) { return values.count(name) != 0; };
  if (given("text")) line.text = values["text"].as<std::string>();
  if (given("in")) line.in = values["in"].as<std::string>();
  line.decode = given("decode");
  const std::string ids = line.decode ? values["decode"].as<std::string>() : "";
  if (!ids.empty()) line.token_ids = parse_token_ids("--decode", ids);
  if (given("in") + given("text") + !ids.empty() > 1) {
    throw UsageError("`drift tokenize` wants one of --text, --in and the ids of --decode", "leave out the others");
  }
  if (line.decode && line.text) throw UsageError("--decode has no use for --text", "give ids: --decode 2,17,5");
  if (line.decode && ids.empty() && !given("in")) {
    throw UsageError("--decode wants ids, or a file that has them", "for example: --decode 2,17,5");
  }
}

void take_suite(const po::variables_map& values, CommandLine& line) {
  const auto text = [&](const char* name) {
    return values.count(name) ? values[name].as<std::string>() : std::string();
  };
  line.suite = text("suite");
  std::istringstream names(text("tasks"));
  for (std::string name; std::getline(names, name, ',');) line.tasks.push_back(name);
  if (line.suite.empty() && !line.tasks.empty())
    throw UsageError("--tasks chooses from a suite", "name it: --suite FILE");
  if (line.suite.empty()) return;
  for (const char* other : {"config", "task"}) {
    if (values.count(other))
      throw UsageError("--" + std::string(other) + " and --suite do not go together", "a suite names its tasks itself");
  }
}

/// A run's checkpoints lie at RUN/checkpoints/NAME, its resolved configuration at RUN/config.toml.
void take_checkpoint(CommandLine& line) {
  const auto own = (line.checkpoint / ".." / ".." / "config.toml").lexically_normal();
  std::error_code ignored;
  if (line.config.empty() && std::filesystem::is_regular_file(own, ignored)) line.config = own;
  line.overrides.push_back({line.checkpoint.string(), "model.path", line.checkpoint.string(), /*literal=*/true});
  line.overrides.push_back({line.checkpoint.string(), "model.initialize", "checkpoint", /*literal=*/true});
}

}  // namespace

CommandLine parse_arguments(const Command& command, const std::vector<std::string>& arguments) {
  const po::variables_map values = parse_or_explain(command, arguments);
  const auto text = [&](const char* name) {
    return values.count(name) ? values[name].as<std::string>() : std::string();
  };
  const auto given = [&](const char* name) { return values.count(name) != 0 && values[name].as<bool>(); };
  CommandLine line;
  const std::vector<std::string> given_arguments = arguments_of(command, values);
  const std::string argument = given_arguments.empty() ? "" : given_arguments.front();
  if (values.count("set")) {
    for (const std::string& set : values["set"].as<std::vector<std::string>>())
      line.overrides.push_back(ConfigOverride::from_set(set));
  }
  for (const std::string& name : command.options) {
    if (!options().at(name).key.empty() && values.count(name))
      line.overrides.push_back(short_form(command, name, text(name.c_str())));
  }
  line.config = text("config");
  line.out = text("out");
  line.purpose = text("for");
  line.resume = given("resume");
  if (values.count("jobs")) line.jobs = parse_count("jobs", text("jobs"), "runs");
  if (values.count("items")) line.items = parse_count("items", text("items"), "items");
  line.id = text("id");
  line.dry_run = given("dry-run");
  line.report = given("report");
  line.json = given("json");
  line.show_steps = given("show-steps");
  line.prefix = given("prefix");
  line.clean_up = given("clean-up");
  line.keep_special = given("keep-special");
  if (command.name == "tokenize") take_tokenize(values, line);
  if (command.name == "reward") {
    line.in = text("in");
    if (line.in.empty())
      throw UsageError("`drift reward` wants --in FILE.jsonl", "for example: drift " + command.example);
  }
  line.variant = text("variant");
  if (command.name == "loss") {
    line.in = text("case");
    if (line.in.empty())
      throw UsageError("`drift loss` wants --case FILE.json", "for example: drift " + command.example);
  }
  line.reference = text("reference");
  line.tolerance = parse_tolerance("tolerance", text("tolerance"), 1e-3);
  line.relative_tolerance = parse_tolerance("relative-tolerance", text("relative-tolerance"), 1e-5);
  if (command.name == "model verify" && line.reference.empty()) {
    throw UsageError("`drift model verify` wants --reference FILE", "for example: drift " + command.example);
  }
  if (values.count("prompt")) line.prompt = text("prompt");
  if (values.count("token-ids")) line.token_ids = parse_token_ids("--token-ids", text("token-ids"));
  if (command.name == "generate" && line.prompt.has_value() == !line.token_ids.empty()) {
    throw UsageError("`drift generate` wants one of --prompt and --token-ids", "for example: drift " + command.example);
  }
  if (command.argument == "CONFIG.toml" || command.argument == "SWEEP.toml") line.config = argument;
  if (command.argument == "NAME" || command.argument == "FILE" || command.argument == "PATH") line.name = argument;
  if (command.name == "eval diff") line.results.assign(given_arguments.begin(), given_arguments.end());
  if (command.name == "eval") take_suite(values, line);
  if (command.argument == "CHECKPOINT_DIR") {
    line.checkpoint = argument;
    take_checkpoint(line);
  }
  return line;
}

std::string describe_options(const Command& command) {
  std::string text;
  for (const std::string& name : names_of(command)) {
    const Option& option = options().at(name);
    std::string left = "  --" + name + (option.value.empty() ? "" : " " + option.value);
    left.resize(std::max<std::size_t>(24, left.size() + 2), ' ');
    text += left + option.doc + "\n";
  }
  return text;
}

}  // namespace drift
