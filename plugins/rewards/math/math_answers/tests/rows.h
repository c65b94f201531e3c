#pragma once

#include <gtest/gtest.h>
#include <math_answers.h>

#include <string>
#include <vector>

namespace math_answers::test {

struct Row {
  const char* answer;
  const char* truth;
  bool equal;
};

/// Each answer, in a box, against its truth.
inline void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Verdict verdict = judge("So it is $\\boxed{" + std::string(row.answer) + "}$.", row.truth);
    EXPECT_EQ(verdict.equal(), row.equal) << row.answer << " for " << row.truth << ": " << verdict.reason;
  }
}

}  // namespace math_answers::test
