#include <core/report/html_replay.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/html_page.h>
#include <core/report/html_tokens.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

constexpr const char* kReplayStyle = R"css(
.replays { grid-template-columns: minmax(0, 1fr); }
.replays .pair > div:last-child { flex: 1 1 20rem; }
.controls { display: flex; flex-wrap: wrap; gap: 0.4rem 0.9rem; align-items: center; margin-top: 0.9rem; }
.controls[hidden] { display: none; }
.controls input { flex: 1 1 10rem; min-width: 0; accent-color: var(--accent); }
.controls output { flex: 0 0 auto; color: var(--soft); font-size: 0.85rem; }
button { font: inherit; font-size: 0.85rem; min-width: 5.5rem; padding: 0.25rem 0.8rem; color: var(--ink);
  background: var(--page); border: 1px solid var(--rule); border-radius: 6px; cursor: pointer; }
button:hover, button:focus-visible { border-color: var(--accent); }
.masked { background: none; color: transparent; border-color: transparent; box-shadow: inset 0 0 0 1px var(--rule); }
.now { outline: 2px solid var(--s1); }
.detail { min-height: 1.5em; margin: 0.6rem 0 0; color: var(--soft); font-size: 0.85rem; overflow-wrap: anywhere; }
@media print { .controls, .detail { display: none; } }
)css";

constexpr const char* kReplayScript = R"js(
for (const replay of document.querySelectorAll('.replay')) {
  const tokens = Array.from(replay.querySelectorAll('[data-step]'));
  const slider = replay.querySelector('input'), button = replay.querySelector('button');
  const output = replay.querySelector('output'), detail = replay.querySelector('.detail'), rest = detail.textContent;
  const last = Number(slider.max), stepOf = token => Number(token.dataset.step);
  const committed = tokens.filter(token => stepOf(token) >= 0).length;
  let timer = 0;
  const show = forwards => {
    slider.value = forwards;
    let written = 0;
    for (const token of tokens) {
      const step = stepOf(token), masked = step >= 0 ? step >= forwards : last > forwards;
      token.classList.toggle('masked', masked);
      token.classList.toggle('now', step >= 0 ? step === (last > forwards ? forwards - 1 : last) : false);
      written += masked || 0 > step ? 0 : 1;
    }
    output.textContent = 'forward ' + forwards + ' of ' + last + ', ' + written + ' of ' + committed + ' tokens';
  };
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = '▶ play'; };
  button.addEventListener('click', () => {
    if (timer) return stop();
    if (Number(slider.value) === last) show(0);
    button.textContent = '❚❚ pause';
    timer = setInterval(() => {
      if (last > Number(slider.value)) show(Number(slider.value) + 1);
      if (Number(slider.value) === last) stop();
    }, Math.max(40, Math.min(600, 10000 / last)));
  });
  slider.addEventListener('input', () => { stop(); show(Number(slider.value)); });
  const tell = event => {
    const token = event.target.closest('[data-step]');
    if (token === null) return;
    detail.textContent = token.classList.contains('masked') ? 'still masked' : token.title;
  };
  replay.addEventListener('pointerover', tell);
  replay.addEventListener('click', tell);
  replay.addEventListener('pointerleave', () => { detail.textContent = rest; });
  replay.querySelector('.controls').hidden = false;
  show(last);
}
)js";

/// What the reward said of a response, as far as it is there.
std::string verdict(const nlohmann::json& sample) {
  const bool solved = sample.value("solved", false);
  std::string html =
      std::string("<h3><span class=\"verdict ") + (solved ? "solved\">✓ solved" : "failed\">✗ failed") + "</span>";
  if (const auto reward = sample.find("reward"); reward != sample.end() && reward->is_number()) {
    html += " <span>reward " + format_decimal(reward->get<double>(), 2) + "</span>";
  }
  if (sample.contains("step")) html += " <span>after step " + escape_html(json_text(sample["step"])) + "</span>";
  if (const std::string reason = sample.value("reason", std::string()); !reason.empty())
    html += " <span>" + escape_html(reason) + "</span>";
  return html + "</h3>";
}

/// Prompt and response beside each other.
std::string article(const nlohmann::json& response, TokenRuns runs) {
  const ShownResponse parsed = parse_response(response);
  const bool replays = runs == TokenRuns::kEach;
  std::string html = replays ? "<article class=\"replay\">" : "<article>";
  if (const std::string name = response.value("name", std::string()); !name.empty())
    html += "<h3>" + escape_html(name) + "</h3>";
  if (response.contains("solved")) html += verdict(response);
  html += "<div class=\"pair\"><div><h4>prompt</h4><pre>" + escape_html(response.value("prompt", std::string())) +
          "</pre></div><div><h4>response</h4>" + html_tokens(parsed, runs) + "</div></div>";
  if (replays) {
    const std::string forwards = std::to_string(parsed.last_step + 1);
    html +=
        "<div class=\"controls\" hidden=\"hidden\"><button type=\"button\">▶ play</button>"
        "<input type=\"range\" min=\"0\" max=\"" +
        forwards + "\" value=\"" + forwards +
        "\" aria-label=\"forwards\"/><output></output></div><p class=\"detail\">Point at a token to see when it was "
        "committed, and how surely.</p>";
  }
  return html + "</article>\n";
}

std::string articles(const nlohmann::json& responses, TokenRuns runs) {
  std::string html =
      html_tokens_legend() + "<div class=\"samples" + (runs == TokenRuns::kEach ? " replays" : "") + "\">\n";
  for (const nlohmann::json& response : responses) html += article(response, runs);
  return html + "</div>\n";
}

}  // namespace

std::string html_samples(const nlohmann::json& samples) {
  return samples.empty() ? "" : articles(samples, TokenRuns::kOnce);
}

std::string html_replay(std::string_view title, std::string_view subtitle, const nlohmann::json& responses) {
  return html_page(title, subtitle, articles(responses, TokenRuns::kEach), kReplayStyle, kReplayScript);
}

}  // namespace drift
