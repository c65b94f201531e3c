#include <core/rollout/response_text.h>

#include <ATen/TensorOperators.h>

namespace drift {

std::string written_text(std::span<const std::int64_t> ids, const Tokenizer& tokenizer, bool skip_special) {
  std::string text;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i;
    while (end < ids.size() && tokenizer.has_token(ids[end])) ++end;
    text += tokenizer.decode(ids.subspan(i, end - i), skip_special);
    if (end < ids.size()) text += "\uFFFD";
    i = end + 1;
  }
  return text;
}

std::vector<std::string> display_pieces(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (const std::int64_t id : ids)
    pieces.push_back(written_text(std::span(&id, 1), tokenizer, /*skip_special=*/false));
  return pieces;
}

std::string response_text(const Trajectories& trajectories, std::int64_t b, const Tokenizer& tokenizer) {
  const at::Tensor ids = trajectories.tokens_BL[b].masked_select(trajectories.valid_BL[b]);
  return written_text(std::span(ids.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(ids.numel())), tokenizer,
                      /*skip_special=*/true);
}

}  // namespace drift
