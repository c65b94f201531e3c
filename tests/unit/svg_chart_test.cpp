#include <core/report/svg_chart.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>

namespace drift::svg_chart_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Chart, UnknownValuesAreGaps) {
  Chart chart;
  chart.title = "x";
  chart.x = {1, 2, 3, 4, 5};
  chart.series = {{"y", {1, 2, NAN, 4, NAN}, {}}};
  std::smatch line;
  const std::string html = svg_chart(chart);
  ASSERT_TRUE(std::regex_search(html, line, std::regex("class=\"line s0\" d=\"([^\"]*)\"")));
  const std::string path = line[1];
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2) << path;
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 1) << path;
  EXPECT_THAT(html, HasSubstr("[1,2,null,4,null]"));
}

TEST(Chart, NothingKnownNothingDrawn) {
  Chart chart;
  chart.x = {1, 2};
  chart.series = {{"y", {NAN, INFINITY}, {}}};
  EXPECT_THAT(svg_chart(chart), IsEmpty());
}

TEST(Chart, SeveralLinesHaveALegendAndAreasPileUp) {
  Chart chart;
  chart.x = {1, 2};
  chart.stacked = true;
  chart.minimum = 0;
  chart.series = {{"low", {1, 1}, {}}, {"high", {2, 3}, {}}};
  const std::string html = svg_chart(chart);
  EXPECT_THAT(html, HasSubstr("<i class=\"s0\"></i>low"));
  EXPECT_THAT(html, HasSubstr("<i class=\"s1\"></i>high"));
  EXPECT_THAT(html, HasSubstr(">4</text>")) << "the axis reaches the sum";
}

TEST(Chart, LongRunsAreDrawnAsMeansOfNeighbours) {
  Chart chart;
  for (int step = 1; step <= 2400; ++step) chart.x.push_back(step);
  chart.series = {{"y", chart.x, {}}};
  EXPECT_EQ(chart_bucket(2400), 5u);
  EXPECT_LT(svg_chart(chart).size(), 40000u);
  EXPECT_THAT(svg_chart(chart), HasSubstr("&quot;y&quot;:[3,8,13,"));
}

TEST(Chart, TheLastLabelOfTheAxisIsWhole) {
  Chart chart;
  chart.x = {1, 60000};
  chart.series = {{"y", {1, 2}, {}}};
  const std::string svg = svg_chart(chart);
  std::smatch last;
  ASSERT_TRUE(std::regex_search(svg, last, std::regex("x=\"([0-9.]+)\" y=\"[0-9.]+\" text-anchor=\"middle\">60k<")));
  EXPECT_LE(std::stod(last[1]) + 3 * 7.0 / 2, 400) << "the width of the drawing";
}

TEST(Chart, TicksAreRoundNumbers) {
  EXPECT_THAT(axis_ticks(0, 8.3, 4), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(axis_ticks(-0.5, 1, 3), ElementsAre(-0.5, 0, 0.5, 1));
  EXPECT_THAT(axis_ticks(3, 3, 4), IsEmpty());
}

}  // namespace
}  // namespace drift::svg_chart_test
