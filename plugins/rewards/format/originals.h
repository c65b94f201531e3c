#pragma once

#include <string_view>

// The format rewards of other projects, as shares of their highest value, in [0, 1]. `published`: with the original's
// mistakes. Characters are code points, as in Python. Linear in the response.
namespace drift::format {

/// rldf_release's: 1 where a \boxed{ is opened, closed or not.
double rldf_release_boxed(std::string_view response);

/// d1's: ^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>\n$ matches. Published: a dot does not match a line
/// end, so that only reasoning and answers of one line fit.
double d1_strict(std::string_view response, bool published);

/// d1's: <reasoning>.*?</reasoning>\s*<answer>.*?</answer> fits the beginning; published as above.
double d1_soft(std::string_view response, bool published);

/// d1's: a quarter for each of four tags that occurs exactly once with its line ends, less 0.002 for each character
/// after the closing tag, which counts twice. At least 0.
double d1_xml_count(std::string_view response);

/// d1's: the answer, without white space around it, is digits and nothing else.
double d1_integer(std::string_view response);

/// d1's for MATH: half for <answer>, half for a \boxed in it; 0.25 instead if there is none. Published: the box is
/// looked for under a misspelt name and never found.
double d1_boxed_in_answer(std::string_view response, bool published);

}  // namespace drift::format
