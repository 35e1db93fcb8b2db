// Three kinds of stories, filled in by chance.
#include "headlight/recipes/little_stories.h"

#include <array>
#include <string_view>

#include "headlight/base/base.h"

namespace headlight::recipes {
namespace {

struct Person {
  std::string_view name;
  std::string_view pronoun;
};
constexpr Person kPeople[] = {{"Anna", "She"},  {"Emin", "He"},  {"Leyla", "She"}, {"Minho", "He"},
                              {"Deniz", "She"}, {"Tom", "He"},   {"Sara", "She"},  {"Kerem", "He"},
                              {"Aygün", "She"}, {"Jisoo", "She"}};
constexpr std::string_view kPlaces[] = {"at the market", "in the garden", "by the sea",
                                        "at school",     "in the forest", "on the hill"};
constexpr std::string_view kThings[] = {"apple", "pear", "book", "stone", "shell", "coin"};
constexpr std::string_view kColors[] = {"red", "blue", "green", "yellow", "white", "black"};
constexpr std::string_view kAnimals[] = {"cat", "dog", "bird", "fox", "goat", "horse"};
constexpr std::string_view kCounts[] = {"no",  "one",   "two",   "three", "four", "five",
                                        "six", "seven", "eight", "nine",  "ten"};

// The draws of one story.
class StoryDice {
 public:
  explicit StoryDice(uint64_t story) : random_(base::mix(7, story)) {}
  size_t below(size_t bound) { return static_cast<size_t>(random_.below(count_++, bound)); }
  template <class T, size_t kCount>
  const T& one_of(const T (&all)[kCount]) {
    return all[below(kCount)];
  }

 private:
  base::Random random_;
  uint64_t count_ = 0;
};

std::string counted_things(size_t count, std::string_view thing) {
  return std::string(kCounts[count]) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

std::string sharing_story(StoryDice& dice, const Person& giver, const Person& taker) {
  const std::string_view thing = dice.one_of(kThings);
  const size_t had = 2 + dice.below(8), gives = 1 + dice.below(had - 1);
  const std::string name(giver.name);
  return name + " has " + counted_things(had, thing) + ". " + std::string(giver.pronoun) +
         " gives " + std::string(kCounts[gives]) + " to " + std::string(taker.name) + ". Now " +
         name + " has " + counted_things(had - gives, thing) + " and " + std::string(taker.name) +
         " has " + counted_things(gives, thing) + ".";
}

std::string meeting_story(StoryDice& dice, const Person& first, const Person& second) {
  const std::string place(dice.one_of(kPlaces));
  const std::string color(dice.one_of(kColors)), animal(dice.one_of(kAnimals));
  const std::string who(first.name), other(second.name);
  return who + " and " + other + " meet " + place + ". " + other + " shows " + who + " a " + color +
         " " + animal + ". What does " + who + " see? " + std::string(first.pronoun) +
         " sees the " + color + " " + animal + " of " + other + ".";
}

std::string looking_story(StoryDice& dice, const Person& first, const Person& second) {
  const std::string thing(dice.one_of(kThings)), color(dice.one_of(kColors));
  const std::string place(dice.one_of(kPlaces));
  const std::string who(first.name), other(second.name);
  return who + " has lost a " + color + " " + thing + ". " + std::string(first.pronoun) +
         " looks for it " + place + ". " + other + " finds it there. \"Here is your " + color +
         " " + thing + ", " + who + ",\" says " + other + ".";
}

}  // namespace

std::string little_story(uint64_t number) {
  StoryDice dice(number);
  const size_t first = dice.below(std::size(kPeople));
  const size_t second = (first + 1 + dice.below(std::size(kPeople) - 1)) % std::size(kPeople);
  constexpr std::array kKinds = {sharing_story, meeting_story, looking_story};
  return kKinds[dice.below(kKinds.size())](dice, kPeople[first], kPeople[second]);
}

}  // namespace headlight::recipes
