#include "units.h"

#include "vocabulary.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace math_answers {
namespace {

// What the problems of school books count: a number of them is a number.
constexpr std::string_view kCounted =
    "adults annually apple apples arrangement arrangements bag bags ball balls bananas baskets bees bikes birds "
    "blocks blueberries book books bottle bottles bowls box boxes boy boys bricks bunches bunnies bushels cakes "
    "calories candies cans card cards carrots cars cartons cats chairs chapters chickens child children classes "
    "coin coins combination combinations committee committees cookie cookies cows crates crayons cubes cucumbers "
    "cupcakes customers daily diagonal diagonals digit digits dime dimes dogs dolls donuts doors drinks edge edges "
    "egg eggs emails employees erasers fish floors flowers friends game games gifts girl girls glasses grapes "
    "guests hamburgers hits horses hourly houses integer integers items jars kids laps legs lemons lessons letters "
    "mangoes marble marbles meal meals members men messages monthly movies muffin muffins multiple multiples nickel "
    "nickels notebooks number numbers onions orange oranges outcome outcomes packages packets packs page pages "
    "pairs paragraphs passengers path paths patients peaches pears pencil pencils pennies penny pens people "
    "permutation permutations person persons photos pictures piece pieces pies pizza pizzas plants plates player "
    "players point points possibilities potatoes problems pumpkins quarter quarters questions rabbits rectangle "
    "rectangles rocks rooms rows sandwich sandwiches seats servings sets sheep shells shirts shots side sides slice "
    "slices sodas solution solutions songs squares stamps step steps stickers strawberries student students tables "
    "teacher teachers term terms tests ticket tickets tiles times tomatoes toys trees triangle triangles value "
    "values vertex vertices votes watermelons way ways weekly wheels windows women words workers";

// Units: in each row the spellings of one, its name first; "mile/hour" is a name in terms of others.
constexpr std::string_view kMeasures[] = {
    "acre acres",
    "bit bits",
    "byte bytes",
    "celsius c",
    "cent cents",
    "cm centimeter centimeters centimetre centimetres",
    "cubed",
    "cubic",
    "cup cups",
    "day days",
    "degree degrees deg",
    "deciliter deciliters",
    "dm decimeter decimeters",
    "dollar dollars buck bucks usd",
    "euro euros eur",
    "fahrenheit f",
    "foot feet ft",
    "gallon gallons gal",
    "gb gigabyte gigabytes",
    "gram grams gm g",
    "hectare hectares",
    "hour hours hr hrs h",
    "hz hertz",
    "inch inches in",
    "joule joules j",
    "kb kilobyte kilobytes",
    "kelvin k",
    "kg kilogram kilograms kilo kilos",
    "kj kilojoule kilojoules",
    "km kilometer kilometers kilometre kilometres kms",
    "km/hour kmh kph kmph",
    "kw kilowatt kilowatts",
    "liter liters litre litres l",
    "mb megabyte megabytes",
    "meter meters metre metres m",
    "meter/second mps",
    "mg milligram milligrams",
    "mile miles mi",
    "mile/hour mph",
    "minute minutes min mins",
    "ml milliliter milliliters millilitre millilitres",
    "mm millimeter millimeters millimetre millimetres",
    "month months",
    "ms millisecond milliseconds",
    "newton newtons n",
    "nm nanometer nanometers",
    "ounce ounces oz",
    "per",
    "percent",
    "pint pints",
    "pound pounds lb lbs gbp",
    "quart quarts qt",
    "radian radians rad",
    "rpm",
    "ruble rubles",
    "rupee rupees inr",
    "second seconds sec secs s",
    "square sq",
    "squared",
    "tablespoon tablespoons tbsp",
    "teaspoon teaspoons tsp",
    "ton tons",
    "tonne tonnes",
    "unit units",
    "volt volts v",
    "watt watts w",
    "week weeks wk wks",
    "won",
    "yard yards yd yds",
    "year years yr yrs",
    "yen jpy",
    "yuan",
};

// Each unit by all its spellings, with its name; what is only counted has none.
const std::unordered_map<std::string_view, std::string_view>& units() {
  static const auto all = [] {
    std::unordered_map<std::string_view, std::string_view> named;
    std::string_view counted = kCounted;
    for (std::string_view word; !(word = take_word(counted)).empty();) named.emplace(word, "");
    for (std::string_view spellings : kMeasures) {
      const std::string_view name = spellings.substr(0, spellings.find(' '));
      for (std::string_view word; !(word = take_word(spellings)).empty();) named.emplace(word, name);
    }
    return named;
  }();
  return all;
}

}  // namespace

bool is_unit(std::string_view word) {
  return word.size() > 1 && units().contains(lower(word)) && !plain_word(word);  // min, sec, percent
}

std::string_view measure_of(std::string_view word) {
  const auto found = units().find(lower(word));
  return found == units().end() ? std::string_view() : found->second;
}

bool multiplies(std::string_view text) {
  constexpr std::string_view kMultipliers[] = {"hundred", "thousand", "million", "billion", "trillion",
                                               "dozen",   "half",     "halves",  "thirds",  "tenths"};
  while (!text.empty()) {
    const auto letters = static_cast<std::size_t>(std::ranges::find_if_not(text, is_letter) - text.begin());
    if (letters > 0 && std::ranges::find(kMultipliers, lower(text.substr(0, letters))) != std::end(kMultipliers))
      return true;
    text.remove_prefix(std::max<std::size_t>(letters, 1));
  }
  return false;
}

bool is_short_unit(char letter) { return letter == 'm' || letter == 's' || letter == 'g' || letter == 'h'; }

}  // namespace math_answers
