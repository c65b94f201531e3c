#include "extraction.h"

#include "answer_limits.h"
#include "token.h"

#include <boost/algorithm/string/find.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace math_answers {
namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

struct Box {
  std::size_t begin = 0;     ///< the command's backslash
  std::size_t content = 0;   ///< first byte after the brace
  std::size_t close = npos;  ///< where the content ends; npos: never
  std::size_t end = npos;    ///< first byte after the box
  bool closed() const { return close != npos; }
};

/// Where the `\boxed` or `\fbox` begins that ends just before `position`, apart from white space; npos if none does.
std::size_t command_before(std::string_view text, std::size_t position, bool fbox) {
  const std::size_t last = text.substr(0, position).find_last_not_of(kWhiteSpace);
  if (last == npos) return npos;
  const std::string_view before = text.substr(0, last + 1);
  if (before.ends_with("\\boxed")) return before.size() - 6;
  if (fbox && before.ends_with("\\fbox")) return before.size() - 5;
  return npos;
}

/// Every box in the order in which they begin. One pass: `open` holds the braces that are open, each with the number of
/// its box or npos.
std::vector<Box> find_boxes(std::string_view text) {
  std::vector<Box> boxes;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;  // what it escapes is no brace
    } else if (c == '{') {
      const std::size_t command = command_before(text, i, true);
      open.push_back(command == npos ? npos : boxes.size());
      if (command != npos) boxes.push_back({command, i + 1});
    } else if (c == '}' && !open.empty()) {
      if (open.back() != npos) {
        boxes[open.back()].close = i;
        boxes[open.back()].end = i + 1;
      }
      open.pop_back();
    } else if (is_digit(c) || c == '+' || c == '-' || c == '.') {
      const std::size_t end = std::min(text.find_first_not_of("0123456789.", i + 1), text.size());
      const std::size_t command = command_before(text, i, false);
      if (command != npos && std::any_of(text.begin() + i, text.begin() + end, is_digit)) {
        boxes.push_back({command, i, end, end});
      }
      i = end - 1;
    }
  }
  return boxes;
}

/// The content of boxes[outer] without the commands and braces of the boxes in it.
std::string unwrapped(std::string_view text, const std::vector<Box>& boxes, std::size_t outer) {
  std::vector<std::pair<std::size_t, std::size_t>> left_out;
  for (std::size_t i = outer + 1; i < boxes.size() && boxes[i].begin < boxes[outer].close; ++i) {
    left_out.emplace_back(boxes[i].begin, boxes[i].content);
    left_out.emplace_back(boxes[i].close, boxes[i].end);
  }
  std::sort(left_out.begin(), left_out.end());
  std::string content;
  std::size_t at = boxes[outer].content;
  for (const auto& [begin, end] : left_out) {
    content += text.substr(at, begin - at);
    at = end;
  }
  return content + std::string(text.substr(at, boxes[outer].close - at));
}

/// Whether the text between two boxes only joins them.
bool is_separator(std::string_view between) {
  if (between.size() >= 10) return false;
  std::string word(between);
  word.erase(std::remove_if(word.begin(), word.end(), [](char c) { return c == '$' || kWhiteSpace.find(c) != npos; }),
             word.end());
  constexpr std::array separators = {",", ";", "and", "or", ",and", ",or", ";and", ";or"};
  return std::find(separators.begin(), separators.end(), word) != separators.end();
}

Extracted no_answer(std::string fault) { return {{}, std::move(fault), Status::kNoAnswer}; }

/// An answer that was found, in the form in which it is compared.
Extracted finish(std::string answer, const char* empty_fault) {
  boost::algorithm::trim(answer, std::locale::classic());
  if (answer.ends_with('.') && !answer.ends_with("\\right.")) {
    answer.pop_back();
    boost::algorithm::trim_right(answer, std::locale::classic());
  }
  if (answer.empty()) return no_answer(empty_fault);
  if (answer.size() <= kLongestAnswer) return {std::move(answer), {}, {}};
  return {{},
          "the answer has " + std::to_string(answer.size()) + " bytes; at most " + std::to_string(kLongestAnswer) +
              " are read",
          Status::kUnreadable};
}

/// The closed boxes that lie in no other closed box, in order.
std::vector<std::size_t> outermost_boxes(const std::vector<Box>& boxes) {
  std::vector<std::size_t> outermost;
  std::size_t end = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!boxes[i].closed() || boxes[i].begin < end) continue;
    outermost.push_back(i);
    end = boxes[i].end;
  }
  return outermost;
}

Extracted extract_box(std::string_view response, const Options& options) {
  const std::vector<Box> boxes = find_boxes(response);
  if (boxes.empty()) return no_answer("the response has no \\boxed{...}");
  const std::vector<std::size_t> outermost = outermost_boxes(boxes);
  if (outermost.empty()) return no_answer("the box is never closed");
  if (!boxes.back().closed() && !options.lenient_boxes) return no_answer("the last box is never closed");
  std::size_t first = outermost.size() - 1;
  if (options.join_boxes) {
    const auto between = [&](std::size_t k) {
      return response.substr(boxes[outermost[k - 1]].end, boxes[outermost[k]].begin - boxes[outermost[k - 1]].end);
    };
    while (first > 0 && is_separator(between(first))) --first;
  }
  std::string answer = unwrapped(response, boxes, outermost[first]);
  for (std::size_t k = first + 1; k < outermost.size(); ++k) answer += ", " + unwrapped(response, boxes, outermost[k]);
  return finish(std::move(answer), "the box is empty");
}

/// The box in a part of a response; all of it where there is none.
Extracted box_or_all(std::string_view part, const Options& options, const char* empty_fault) {
  return find_boxes(part).empty() ? finish(std::string(part), empty_fault) : extract_box(part, options);
}

Extracted extract_tags(std::string_view response, const Options& options) {
  const auto open = boost::algorithm::ifind_last(response, "<answer>", std::locale::classic());
  if (open.empty()) return no_answer("the response has no <answer>");
  const std::string_view block(open.end(), response.end());
  const auto close = boost::algorithm::ifind_first(block, "</answer>", std::locale::classic());
  if (close.empty()) return no_answer("the last <answer> is not closed");
  return box_or_all(std::string_view(block.begin(), close.begin()), options, "the <answer> block is empty");
}

Extracted extract_hash(std::string_view response, const Options& options) {
  constexpr std::string_view mark = "####";
  const std::size_t last = response.rfind(mark);
  if (last == npos) return no_answer("the response has no ####");
  const std::string_view behind = response.substr(last + mark.size());
  const std::size_t begin = std::min(behind.find_first_not_of(kWhiteSpace), behind.size());
  return box_or_all(behind.substr(begin, behind.find('\n', begin) - begin), options, "nothing follows the last ####");
}

}  // namespace

Extracted extract(std::string_view response, const Options& options) {
  switch (options.where) {
    case Where::kBox: return extract_box(response, options);
    case Where::kTags: return extract_tags(response, options);
    case Where::kHash: return extract_hash(response, options);
    case Where::kWholeResponse: break;
  }
  return finish(std::string(response), "the response is empty");
}

}  // namespace math_answers
