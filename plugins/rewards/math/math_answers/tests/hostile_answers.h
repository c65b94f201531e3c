#pragma once

// Answers that are expensive for a careless judge: long, deep, huge, or exponential in value. For the test that says
// what is right of them, and for the benchmark that says what they cost.

#include <cstddef>
#include <string>
#include <vector>

namespace math_answers::test {

struct HostileAnswer {
  std::string name;
  std::string truth;
  std::string response;
  bool solved = false;
};

inline std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

/// `part` with `#` replaced by 1, 2, 3 … as often as fits into `bytes`, joined by `separator`.
inline std::string counted(const std::string& part, const std::string& separator, std::size_t bytes) {
  const std::size_t mark = part.find('#');
  std::string text;
  for (int i = 1;; ++i) {
    std::string next = text.empty() ? "" : separator;
    next += part.substr(0, mark) + std::to_string(i) + part.substr(mark + 1);
    if (text.size() + next.size() > bytes) return text;
    text += next;
  }
}

/// Each response has at most 64 KiB; each answer within reach of the comparison at most 512 bytes.
inline std::vector<HostileAnswer> hostile_answers() {
  constexpr std::size_t kResponse = 64 << 10;
  constexpr std::size_t kAnswer = 512;
  const auto boxed = [](const std::string& answer) { return "\\boxed{" + answer + "}"; };
  const auto nested = [](const std::string& open, const std::string& core, const std::string& close,
                         std::size_t bytes) {
    const std::size_t depth = (bytes - core.size()) / (open.size() + close.size());
    return repeated(open, depth) + core + repeated(close, depth);
  };

  std::vector<HostileAnswer> all;
  const auto add = [&](const std::string& name, const std::string& answer, const std::string& truth = "5",
                       bool solved = false) {
    all.push_back({name, truth, boxed(answer), solved});
  };

  // Long responses.
  all.push_back({"9,000 boxes that are never closed", "5", repeated("\\boxed{", 9000)});
  all.push_back({"9,000 boxes that are never closed after the answer", "5", "\\boxed{5}" + repeated("\\boxed{", 9000)});
  all.push_back({"nested boxes", "5", nested("\\boxed{", "5", "}", kResponse), true});
  all.push_back({"6,500 boxes", "5", repeated("\\boxed{5} ", 6500), true});
  for (const char* filler : {"{", "}", "\\", "$", " ", ",", "\\left(", "1", "\xFF", "\\text{ "}) {
    all.push_back({"64 KiB of `" + (filler[0] == '\xFF' ? "a bad byte" : std::string(filler)) + "`, then the answer",
                   "5",
                   repeated(filler, (kResponse - 12) / std::string(filler).size()) +
                       (filler[0] == '\\' && filler[1] == 0 ? " " : "") + "\\boxed{5}",
                   true});
  }
  for (const char* content : {"{", "(", "1", "\\frac{1}{2}+", "-", "\\sqrt", "1,", "\\text{", "^9"}) {
    add("64 KiB of `" + std::string(content) + "` as the answer",
        repeated(content, (kResponse - 12) / std::string(content).size()));
  }

  // Deep.
  add("nested braces", nested("{", "5", "}", kAnswer), "5", false);
  add("nested brackets", nested("(", "5", ")", kAnswer), "5", false);
  add("nested fractions", nested("\\frac{1}{1+", "1", "}", kAnswer), "\\frac{1+\\sqrt{5}}{2}");
  add("nested roots", nested("\\sqrt{2+", "2", "}", kAnswer), "3");
  add("nested absolute values", nested("|", "5", "|", kAnswer), "6");
  add("nested sines", nested("\\sin(", "x", ")", kAnswer), "x");
  add("a row of signs", repeated("-", kAnswer - 1) + "5", "6");
  add("unclosed braces", repeated("\\{", kAnswer / 2), "5");

  // Huge.
  add("a power tower", "9^{9^{9}}");
  add("a taller power tower", nested("9^{", "9", "}", kAnswer));
  add("a tower for a tower", "5^{5^{5^{5^5}}-4}", "5^{5^{5^{5}}}");
  add("a negative power tower", "9^{-9^{9}}", "0");
  add("a power of a power", "((((((9^9)^9)^9)^9)^9)^9)^9");
  add("an irrational tower", "e^{e^{e^{e^{e}}}}", "\\pi^{\\pi^{\\pi^{\\pi}}}");
  add("a huge angle", "\\sin(10^{15000})", "\\cos(10^{15000})");
  add("a root of huge index", "\\sqrt[65521]{2}", "1");
  add("the largest power of two", "2^{65535}-1", "2^{65535}");
  add("factorials of factorials", "9" + repeated("!", 60));
  add("the largest factorial", "\\frac{3000!}{2999!}", "3000", true);
  add("a product of factorials", counted("2999!\\cdot #", "\\cdot ", kAnswer), "1");
  add("powers of sums with roots", counted("(0.1-\\sqrt{66201742#})^{2743}", ",", kAnswer));
  add("powers of powers of sums", "\\binom{((i-\\frac{1}{3})^{955}-5)^{2377}}{(\\lfloor i\\rfloor)!}");
  add("products of large fractions", counted("\\frac{3^{20000}}{7^{2000#}}", "\\cdot", kAnswer));
  add("a large binomial", "\\binom{1000000}{1000}", "\\binom{1000000}{999}");
  add("512 digits", repeated("7", kAnswer), repeated("7", kAnswer), true);
  add("512 other digits", repeated("7", kAnswer), repeated("7", kAnswer - 1) + "8");
  add("a power of 100 digits", repeated("7", 100) + "^{" + repeated("9", 100) + "}");
  add("an enormous exponent", "1E999999999", "1");
  add("an enormous negative exponent", "1E-999999999", "0");
  add("a power of a sum", "(a+b+c+d+e+f+g+h)^{9999}", "(a+b+c+d+e+f+g+h)^{9998}");
  add("an enormous power of a variable", "x^{999999999999}", "x^{999999999998}");

  // Many.
  add("a sum of fractions", counted("\\frac1{#}", "+", kAnswer), "4");
  add("a sum of roots", counted("\\sqrt{#}", "+", kAnswer), "4");
  add("a sum of roots of roots", counted("\\sqrt{\\sqrt{#}}", "+", kAnswer), "4");
  add("a sum of logarithms", counted("\\ln #", "+", kAnswer), "4");
  add("a list of numbers", counted("#", ",", kAnswer), counted("#", ",", kAnswer), true);
  add("a list of roots", counted("\\sqrt#", ",", kAnswer), counted("\\sqrt#", " , ", kAnswer));
  add("a list of sines", counted("\\sin #", ",", kAnswer), counted("\\cos #", ",", kAnswer));
  add("a list of functions", counted("\\sin #x", ",", kAnswer), counted("\\cos #x", ",", kAnswer));
  add("a chain of signs", repeated("1\\pm", 80) + "1", repeated("2\\pm", 80) + "1");
  add("a list of signs", counted("\\pm #", ",", kAnswer), counted("\\pm \\sqrt#", ",", kAnswer));
  add("a union of intervals", counted("(#,\\pi)", "\\cup", kAnswer), counted("(#,\\sqrt{10})", "\\cup", kAnswer));
  add("a chain of inequalities", counted("#x", "<", kAnswer), counted("#y", "<", kAnswer));
  add("a chain of equations", counted("x^#", "=", kAnswer), counted("y^#", "=", kAnswer));
  add("a matrix", "\\begin{pmatrix}" + counted("\\sqrt#", "&", kAnswer - 40) + "\\end{pmatrix}",
      "\\begin{pmatrix}" + counted("\\sin#", "&", kAnswer - 40) + "\\end{pmatrix}");
  add("a determinant", "\\begin{vmatrix}" + repeated(repeated("\\pi&", 5) + "e\\\\", 6) + "\\end{vmatrix}", "1");
  const std::string determinant =
      R"(\begin{vmatrix}0.1&3&2^{60000}&\pi&1999!&1999!\\0.1&e&97&10^{4000}&x&\sqrt{442684100}\\0.1&3&5&1E3000&97&1E3000\\)"
      R"(97&\pi&1E3000&65535&1E3000&5\\0.1&9^{40}&1E3000&\sqrt2&\pi&i\\1E3000&i&0.1&e&10^{4000}&2\end{vmatrix})";
  add("a determinant of long numbers", determinant + "+1", determinant);
  add("hard to tell from zero", "\\sqrt{2}+\\sqrt{3}-\\sqrt{5+2\\sqrt{6}}", "0", true);
  add("hard to tell from an integer", "e^{\\pi\\sqrt{163}}", "262537412640768744");
  return all;
}

}  // namespace math_answers::test
