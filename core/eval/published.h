#pragma once

// Published figures, to compare with one's own.

#include <core/eval/cell.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// What a published row is to the others of its table.
enum class PublishedRole {
  kMethod,
  kBase,        ///< the model before training: what differences are counted from
  kProposed,    ///< the method that the publication is about: what differences are of
  kDifference,  ///< proposed - base as printed; shown is what the other rows give
};

struct PublishedFigure {
  std::string backbone;
  std::string method;
  PublishedRole role = PublishedRole::kMethod;
  EvaluationCell cell;
  double value = 0;  ///< per cent
};

/// Read a CSV file with the columns backbone, method, role (base, method, proposed or difference), task, length,
/// schedule and value, in any order.
/// @throws Error naming file and line
std::vector<PublishedFigure> read_published(const std::filesystem::path& file);

/// Those of one backbone, capital letters or not.
std::vector<PublishedFigure> figures_of(const std::vector<PublishedFigure>& all, const std::string& backbone);

/// The figure of a method in a cell; null if there is none.
const PublishedFigure* find_figure(const std::vector<PublishedFigure>& figures, const std::string& method,
                                   const EvaluationCell& cell);
/// The same of a role; in a cell, a role but kMethod is of one method.
const PublishedFigure* find_figure(const std::vector<PublishedFigure>& figures, PublishedRole role,
                                   const EvaluationCell& cell);

}  // namespace drift
