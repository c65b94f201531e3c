#include "operator_kinds.h"

#include <ATen/Context.h>

#include <set>

namespace drift::standin {
namespace {

using Names = std::set<std::string>;

bool has(const Names& names, const std::string& operation) {
  return names.count(operation.substr(std::string("aten::").size())) > 0;
}

}  // namespace

bool takes_both_devices(const std::string& operation) {
  static const Names names{"copy_",          "_to_copy",         "index.Tensor",         "index.Tensor_out",
                           "index_put_",     "_index_put_impl_", "_unsafe_index.Tensor", "index_put",
                           "record_stream"};
  return has(names, operation);
}

bool refuses_numbers_of_the_cpu(const std::string& operation) {
  static const Names names{"mm",
                           "mm.out",
                           "addmm",
                           "addmm.out",
                           "bmm",
                           "bmm.out",
                           "baddbmm",
                           "baddbmm.out",
                           "index_select",
                           "index_select.out",
                           "gather",
                           "gather.out",
                           "scatter.src_out",
                           "scatter.value_out",
                           "scatter_add.out",
                           "index_add.out",
                           "index_copy.out",
                           "embedding",
                           "embedding_dense_backward",
                           "cat.out",
                           "sort.values_stable",
                           "topk.values",
                           "searchsorted.Tensor"};
  return has(names, operation);
}

bool makes_the_host_wait(const std::string& operation) {
  static const Names names{"nonzero",      "nonzero.out",
                           "argwhere",     "masked_select",
                           "equal",        "masked_select.out",
                           "_unique",      "_unique2",
                           "unique_dim",   "unique_consecutive",
                           "bincount",     "repeat_interleave.Tensor",
                           "histc",        "is_nonzero",
                           "multinomial",  "randperm.generator_out",
                           "_linalg_eigh", "linalg_lstsq"};
  return has(names, operation);
}

bool adds_with_atomics(const std::string& operation) {
  static const Names always{"scatter_reduce.two_out", "cumsum.out", "bincount", "histc",
                            "_scaled_dot_product_efficient_attention_backward"};
  static const Names by_default{"embedding_dense_backward", "index_add.out", "index_add_", "scatter_add.out", "scatter_add_", "put_",
                                "_scaled_dot_product_flash_attention_backward"};
  return has(always, operation) || (has(by_default, operation) && !at::globalContext().deterministicAlgorithms());
}

}  // namespace drift::standin
