#pragma once

#include "record.h"

#include <drift/error.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drift::dataset {

/// A record lacks a column that a parameter names.
struct MissingColumn : Error {
  MissingColumn(const std::string& column, const std::string& parameter)
      : Error("`" + column + "` is missing, which task." + parameter + " names") {}
};

/// A place in a record. `name` is a column, `name.0` the first element of its list, `name.key` a field of its struct;
/// `a|b` the first of several that the record has. Null if it has none, or holds null there.
const Json* find_column(const Json& record, std::string_view columns);

/// A question made of turns of a conversation, `prompt.0.content`, must have the last user turn of that list: an
/// earlier one is another question. @throws Error
void check_turns(const Json& record, const std::vector<std::string>& columns);

/// Add the fields of a record that find_column() may look at for `columns`.
void add_fields(std::string_view columns, std::set<std::string>& fields);

/// As the text of a prompt or a reference: a text as it is, 27.0 as 27, 5e-05 as 0.00005, a list or struct as JSON.
std::string text_of(const Json& value);

/// A text with places for columns: `{column}`, `{column.0}`; `{column:signature}` for the lines of a Python program up
/// to its first `def` line; `{{` and `}}` for braces. What a column holds is not read as a template again.
class Template {
 public:
  /// @param parameter  its name, for messages
  /// @throws Error if a brace is open or the name of a form unknown.
  Template(std::string_view text, std::string parameter);

  bool empty() const { return pieces_.empty(); }

  /// Those that fill() looks at.
  std::vector<std::string> columns() const;

  /// @throws MissingColumn; Error if a column is a list of messages.
  std::string fill(const Json& record) const;

 private:
  enum class Kind { kText, kColumn, kSignature };
  struct Piece {
    Kind kind;
    std::string text;  ///< words, or the column
  };

  void add_place(std::string_view place);

  std::string parameter_;
  std::vector<Piece> pieces_;
};

}  // namespace drift::dataset
