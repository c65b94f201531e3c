#pragma once

// What libdrift offers to plugins. Plugins are built with hidden visibility; classes that cross the boundary keep
// their type information visible, so that an exception thrown on one side is caught by its type on the other.
#define DRIFT_API __attribute__((visibility("default")))
