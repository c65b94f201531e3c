// Masks of whole spans: neighbouring tokens are hidden together, so that none can be guessed from the one beside it.
#include <drift/error.h>
#include <drift/host.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

/// Each view masks a random share of a response in spans of random length, scores what it masks, and weighs it by the
/// inverse share: in expectation every token counts once per view.
class SpanMasks final : public drift::MaskingStrategy {
 public:
  SpanMasks(drift::Parameters& parameters, drift::Host& host)
      : views_(parameters("views", 4, "masked contexts of a response", drift::between(1, 256))),
        span_(parameters("span", 3.0, "mean length of a span, in tokens", drift::between(1, 1024))),
        share_low_(parameters("share_low", 0.2, "smallest share of masked tokens", drift::between(0, 1))),
        share_high_(parameters("share_high", 0.8, "largest share of masked tokens", drift::between(0, 1))),
        host_(host) {
    if (share_low_ > share_high_) throw drift::Error("share_low is above share_high", "set both, the smaller one low");
  }

  // New masks for every pass over the responses.
  drift::PlanRefresh refresh() const override { return drift::PlanRefresh::kEachInnerIteration; }

  void plan(const drift::MaskingInput& input, drift::MaskPlan& plan) const override {
    const drift::Responses responses(input);
    drift::PlanBuilder builder(responses.length(), responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      // Tokens through the end of the text; the padding behind it teaches nothing.
      const std::int64_t tokens = responses.positions_through_end(b, input.end_id);
      for (std::int64_t view = 0; view < views_; ++view) {
        const drift::RandomPoint point{input.step, responses[b].number, 0, input.inner_iteration * views_ + view};
        const auto masked = spans(input.random, point, tokens);
        builder.begin_view(b, view);
        for (const std::int64_t i : masked) builder.mask(i), builder.score(i);
        builder.weigh(static_cast<double>(tokens) / static_cast<double>(masked.size()));
        host_.metric("masked_share", static_cast<double>(masked.size()), static_cast<double>(tokens));
      }
    }
    plan = builder.finish(views_);
  }

 private:
  /// The masked ones of `tokens` positions, at least one. Each kind of draw has its own stream, each draw its own
  /// point: a response gets the same spans in any batch.
  std::vector<std::int64_t> spans(const drift::RandomStream& random, drift::RandomPoint point,
                                  std::int64_t tokens) const {
    const auto starts = random.child("start"), lengths = random.child("length");
    const double share = share_low_ + (share_high_ - share_low_) * random.child("share").uniform(point);
    const auto wanted = static_cast<std::size_t>(std::max(1.0, std::round(share * static_cast<double>(tokens))));
    std::vector<bool> is_masked(static_cast<std::size_t>(tokens));
    std::vector<std::int64_t> masked;
    for (; masked.size() < wanted; ++point.position) {  // one span each time
      std::int64_t length = 1 + static_cast<std::int64_t>(geometric(lengths.uniform(point)));
      std::int64_t i = starts.below(tokens, point);
      while (is_masked[static_cast<std::size_t>(i)]) i = (i + 1) % tokens;
      for (; length > 0 && i < tokens && masked.size() < wanted; --length, ++i) {
        if (is_masked[static_cast<std::size_t>(i)]) break;
        is_masked[static_cast<std::size_t>(i)] = true;
        masked.push_back(i);
      }
    }
    return masked;
  }

  /// Tokens of a span beyond its first, of the mean span_ - 1, from a uniform number.
  double geometric(double uniform) const {
    return span_ == 1 ? 0 : std::floor(std::log1p(-uniform) / std::log1p(-1 / span_));
  }

  std::int64_t views_;
  double span_, share_low_, share_high_;
  drift::Host& host_;
};

}  // namespace

DRIFT_PLUGIN("span_masks", "1.0.0", "Apache-2.0") {
  registry.add<SpanMasks>("span_masks", "Random spans of a response, masked and scored together.");
}
