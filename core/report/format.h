#pragma once

// How numbers read in the terminal and in the report. A value that is not known (NaN) reads as "-".

#include <string>
#include <string_view>

namespace drift {

/// Fixed point: (0.7304, 3) -> "0.730".
std::string format_decimal(double value, int digits);
/// Three decimals if that is enough, else two significant digits: "-0.031", "2.4e-05", "12345".
std::string format_adaptive(double value);
/// As many digits as it takes to read the same number again; empty if it is not known.
std::string format_exact(double value);
/// A fraction as per cent without the sign: 0.421 -> "42.1".
std::string format_percent(double fraction);
/// Three significant digits with thousands separators: 21387 -> "21,400".
std::string format_count(double value);
/// An exact number with thousands separators: 216512 -> "216,512".
std::string format_integer(long long value);
/// "1 run", "3 runs".
std::string count_of(long long count, const std::string& what);
/// As people call the size of a model: "8.02 B", "0.22 M", "9,216".
std::string format_parameters(long long count);
/// A probability of a test: "0.0312", "< 0.0001".
std::string format_p(double p);
/// How long one thing takes: "0.11 s", "12.3 s", "340 s".
std::string format_seconds(double seconds);
/// How long a wait is: "0:09", "12:30", "1:02:03", "2 d 03:10".
std::string format_duration(double seconds);
/// How long a run took, and what of it: "0:58 (start 0:20, training 0:22, evaluation 0:15)"; without what is not known.
std::string format_run_times(double total, double start, double training, double evaluation);
/// How long a run took: "12.3 s" below a minute, then "12:30".
std::string format_run_time(double seconds);

/// As printf does it, for what the functions above do not say; at most 511 bytes.
[[gnu::format(printf, 1, 2)]] std::string print_text(const char* format, ...);

/// Columns that UTF-8 text takes in a terminal: one per code point, none for style sequences.
int display_width(std::string_view text);
/// The first `columns` columns of UTF-8 text, all style sequences kept.
std::string truncate_to_width(std::string_view text, int columns);
/// UTF-8 text filled up with spaces to a width.
std::string aligned(const std::string& text, std::size_t width, bool to_the_right);

}  // namespace drift
