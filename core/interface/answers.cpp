#include <drift/answers.h>

#include <boost/algorithm/string/find.hpp>

#include <locale>
#include <vector>

namespace drift {
namespace {

bool begins_box(std::string_view before_brace) {
  before_brace = before_brace.substr(0, before_brace.find_last_not_of(" \t\r\n\v\f") + 1);
  return before_brace.ends_with("\\boxed") || before_brace.ends_with("\\fbox");
}

}  // namespace

// The box that is closed last is the last one or, of nested ones, the outermost.
MarkedAnswer last_box(std::string_view response) {
  struct Brace {
    bool is_box;
    std::size_t content;
  };
  std::vector<Brace> open;
  MarkedAnswer box;
  for (std::size_t i = 0; i < response.size(); ++i) {
    if (response[i] == '\\') {
      ++i;  // a brace after it is an ordinary character
    } else if (response[i] == '{') {
      open.push_back({begins_box(response.substr(0, i)), i + 1});
      if (open.back().is_box) box.opened = true, box.closed = false;
    } else if (response[i] == '}' && !open.empty()) {
      if (open.back().is_box) {
        box.closed = true;
        box.content = response.substr(open.back().content, i - open.back().content);
      }
      open.pop_back();
    }
  }
  return box;
}

MarkedAnswer last_answer_block(std::string_view response) {
  const auto open = boost::algorithm::ifind_last(response, "<answer>", std::locale::classic());
  if (open.empty()) return {};
  const std::string_view rest(open.end(), response.end());
  const auto close = boost::algorithm::ifind_first(rest, "</answer>", std::locale::classic());
  return {.opened = true, .closed = !close.empty(), .content = std::string_view(rest.begin(), close.begin())};
}

}  // namespace drift
