#pragma once

#define TORCH_VERSION "any"
