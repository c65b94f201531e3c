#include "pure_layout.c"
