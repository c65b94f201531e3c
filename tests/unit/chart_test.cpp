#include <core/report/plot.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace drift::chart_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- as SVG ----

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

// ---- in a terminal ----

std::vector<std::string> curve(std::vector<double> x, std::vector<double> y, int columns, int rows, bool unicode) {
  return text_chart({.x = std::move(x), .series = {{.y = std::move(y)}}}, columns, rows, unicode);
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(TextChart, ARisingLine) {
  EXPECT_EQ(text_of(curve({1, 2, 3, 4}, {0, 1, 2, 3}, 14, 5, false)),
            "         |   =\n"
            "       2 +  -#\n"
            "         | -##\n"
            "       0 +.###\n"
            "          1 3\n");
}

TEST(TextChart, BlocksHaveEightHeightsALine) {
  EXPECT_EQ(text_of(curve({1, 2, 3, 4}, {0, 5, 10, 15}, 14, 3, true)),
            "      10 ┤  ▃▇\n"
            "       0 ┤▂▆██\n"
            "          1 3\n");
}

TEST(TextChart, UnknownValuesReadAsTheOneBeforeAndEqualOnesAreInTheMiddle) {
  const double none = std::nan("");
  const auto lines = curve({0, 1, 2, 3, 4}, {none, 2, none, 2, none}, 15, 4, false);
  EXPECT_EQ(text_of(lines),
            "       3 +\n"
            "       2 + ----\n"
            "       1 + ####\n"
            "          0 2 4\n");
}

TEST(TextChart, NothingWithoutValuesOrRoom) {
  EXPECT_THAT(curve({}, {}, 40, 10, true), ElementsAre());
  EXPECT_THAT(curve({1}, {std::nan("")}, 40, 10, true), ElementsAre());
  EXPECT_THAT(curve({1}, {1}, 13, 10, true), ElementsAre());
  EXPECT_THAT(curve({1}, {1}, 40, 2, true), ElementsAre());
}

TEST(TextChart, ALongRunIsDrawnInMeans) {
  std::vector<double> x, y;
  for (int i = 0; i < 100000; ++i) {
    x.push_back(i);
    y.push_back((i % 2) + (i < 50000 ? 0 : 2));
  }
  const auto lines = curve(x, y, 40, 6, false);
  EXPECT_EQ(lines[0], "         |" + std::string(15, ' ') + std::string(15, '='));
  EXPECT_EQ(lines[3], "       1 +" + std::string(15, ' ') + std::string(15, '#'));
  EXPECT_EQ(lines[4], "         |" + std::string(15, '.') + std::string(15, '#'));
}

TEST(TextSpark, IsOneLine) {
  EXPECT_EQ(text_spark({0, 1, 2, 3, 4, 5, 6, 7}, 16, true), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(text_spark({0, 1, 2, 3, 4}, 16, false), "_.-=#");
  EXPECT_EQ(text_spark({0, 1, 2, 3}, 2, true), "▁█");
  EXPECT_EQ(text_spark({}, 16, true), "");
}

}  // namespace
}  // namespace drift::chart_test
