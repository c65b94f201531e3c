#pragma once

// Looks and behaviour of the pages: the files of page/, which become part of the program.
//
// No script has a less-than sign or an ampersand, which a page that is also XML cannot have. All texts of a run become
// text nodes, so that nothing of a response is ever markup.

namespace drift {

extern const char* const kReportStyle;
extern const char* const kReportScript;  ///< the values under the pointer; the page says everything without it
extern const char* const kInspectorStyle;
extern const char* const kInspectorScript;
extern const char* const kReplayStyle;
extern const char* const kReplayScript;
extern const char* const kLiveScript;

/// What the classes of a chart's marks mean, but for their colours.
extern const char* const kMarkStyle;
/// Those colours on white paper.
extern const char* const kPaperStyle;

}  // namespace drift
