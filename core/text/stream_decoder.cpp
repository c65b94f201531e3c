#include <core/text/tokenizer.h>
#include <core/text/utf8.h>

#include <utility>

namespace drift {

std::string StreamDecoder::push(std::int64_t id) {
  if (skip_special_ && tokenizer_->is_special(id)) return {};
  waiting_ += tokenizer_->piece(id);
  const std::size_t complete = complete_utf8_length(waiting_);
  std::string text = valid_utf8(std::string_view(waiting_).substr(0, complete));
  waiting_.erase(0, complete);
  return text;
}

std::string StreamDecoder::flush() { return valid_utf8(std::exchange(waiting_, {})); }

std::string clean_up_spaces(std::string text) {
  // In this order, each over the entire text: an earlier replacement may enable a later one.
  constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kReplacements) {
    std::string cleaned;
    std::size_t copied = 0;
    for (std::size_t found = text.find(from); found != std::string::npos; found = text.find(from, copied)) {
      cleaned.append(text, copied, found - copied) += to;
      copied = found + from.size();
    }
    text = cleaned.append(text, copied);
  }
  return text;
}

}  // namespace drift
