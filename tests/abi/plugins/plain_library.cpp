// A shared library like any other: no DRIFT_PLUGIN.
extern "C" __attribute__((visibility("default"))) int answer() { return 42; }
