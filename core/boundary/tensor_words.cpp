#include <core/boundary/tensor_words.h>

#include <core/io/safetensors_header.h>

namespace drift {

std::string type_words(at::ScalarType type) { return c10::getDtypeNames(type).first; }

std::string tensor_words(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return type_words(tensor.scalar_type()) + " " + shape_text(tensor.sizes()) + " on " + tensor.device().str();
}

void require_tensor(const char* name, const at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                    at::Device device, const char* hint) {
  const bool fits = tensor.defined() && tensor.scalar_type() == type && tensor.sizes() == sizes &&
                    tensor.device().type() == device.type() && tensor.layout() == at::kStrided;
  if (fits) return;
  std::string text = "`";
  text.append(name).append("` must be ").append(type_words(type)).append(" ").append(shape_text(sizes));
  text.append(" on ").append(at::Device(device.type()).str()).append(", not ").append(tensor_words(tensor));
  throw Error(text, hint);
}

void require_if_defined(const char* name, at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                        const char* hint) {
  if (!tensor.defined()) return;
  require_tensor(name, tensor, type, sizes, at::kCPU, hint);
  tensor = tensor.contiguous();
}

}  // namespace drift
