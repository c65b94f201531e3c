#include <core/text/split_pattern.h>
#include <core/text/utf8.h>
#include <drift/error.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace drift {
namespace {

// How many steps one match may take. A sensible pattern needs a few a character (a run of spaces is gone through and
// back); these end a hostile one within a second.
std::uint32_t match_limit(std::size_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(100000 + 8 * bytes, UINT32_MAX));
}

constexpr std::uint32_t kHeapLimitKib = 64 * 1024;

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

SplitPattern::SplitPattern(const std::string& pattern) : pattern_(pattern) {
  const std::string translated = translate_pattern(pattern);
  int code = 0;
  std::size_t offset = 0;
  code_.reset(pcre2_compile(units(translated), translated.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                            &code, &offset, nullptr),
              &pcre2_code_free);
  if (!code_) throw Error("the pattern `" + pattern + "` is not valid: " + message_of(code));
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // if it fails, matching is interpreted
}

/// The next match in a text.
class SplitPattern::Matcher {
 public:
  explicit Matcher(const SplitPattern& pattern) : pattern_(pattern) {
    if (!match_ || !context_) throw std::bad_alloc();
    pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
  }

  /// Whether there is a match from `from` on; it is then [begin(), end()).
  bool find(std::string_view text, std::size_t from) {
    pcre2_set_match_limit(context_.get(), match_limit(text.size()));
    int found = match(text, from, PCRE2_NO_UTF_CHECK);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(text, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
      throw Error("the pattern `" + pattern_.pattern_ + "` cannot be matched at byte " + std::to_string(from) +
                  " of a text: " + message_of(found));
    }
    return found >= 0;
  }
  std::size_t begin() const { return range_[0]; }
  std::size_t end() const { return range_[1]; }

 private:
  int match(std::string_view text, std::size_t from, std::uint32_t options) {
    return pcre2_match(pattern_.code_.get(), units(text), text.size(), from, options, match_.get(), context_.get());
  }

  const SplitPattern& pattern_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match_{pcre2_match_data_create(1, nullptr),
                                                                             &pcre2_match_data_free};
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context_{
      pcre2_match_context_create(nullptr), &pcre2_match_context_free};
  const std::size_t* range_ = pcre2_get_ovector_pointer(match_.get());
};

void SplitPattern::split(std::span<const std::string_view> texts, std::vector<std::string_view>& parts) const {
  Matcher match(*this);
  for (const std::string_view text : texts) {
    std::size_t cut = 0;  // where the next part begins
    for (std::size_t from = 0; from < text.size() && match.find(text, from);) {
      if (match.begin() > cut) parts.push_back(text.substr(cut, match.begin() - cut));
      if (match.end() > match.begin()) parts.push_back(text.substr(match.begin(), match.end() - match.begin()));
      cut = match.end();
      // An empty match also cuts; the search continues after the next character.
      from = match.end() > match.begin() ? cut : cut + utf8_character_length(text.substr(cut));
    }
    if (cut < text.size()) parts.push_back(text.substr(cut));
  }
}

}  // namespace drift
