// Writes little stories, the same ones every time: what the embedded model `stories` was trained
// on. Who is named comes back, things are counted, and the end answers a question, so that a model
// has something to look back at. Usage: example_write_stories [COUNT], to standard output.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "headlight/base/base.h"

namespace {

using headlight::base::Random;

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
constexpr std::string_view kNumbers[] = {"no",  "one",   "two",   "three", "four", "five",
                                         "six", "seven", "eight", "nine",  "ten"};

// The draws of one story.
class Dice {
 public:
  explicit Dice(uint64_t story) : random_(headlight::base::mix(7, story)) {}
  size_t below(size_t bound) { return static_cast<size_t>(random_.below(count_++, bound)); }
  template <class T, size_t kCount>
  const T& one_of(const T (&all)[kCount]) {
    return all[below(kCount)];
  }

 private:
  Random random_;
  uint64_t count_ = 0;
};

std::string counted(size_t count, std::string_view thing) {
  return std::string(kNumbers[count]) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

std::string sharing(Dice& dice, const Person& giver, const Person& taker) {
  const std::string_view thing = dice.one_of(kThings);
  const size_t had = 2 + dice.below(8), gives = 1 + dice.below(had - 1);
  const std::string name(giver.name);
  return name + " has " + counted(had, thing) + ". " + std::string(giver.pronoun) + " gives " +
         std::string(kNumbers[gives]) + " to " + std::string(taker.name) + ". Now " + name +
         " has " + counted(had - gives, thing) + " and " + std::string(taker.name) + " has " +
         counted(gives, thing) + ".";
}

std::string meeting(Dice& dice, const Person& first, const Person& second) {
  const std::string place(dice.one_of(kPlaces));
  const std::string color(dice.one_of(kColors)), animal(dice.one_of(kAnimals));
  const std::string who(first.name), other(second.name);
  return who + " and " + other + " meet " + place + ". " + other + " shows " + who + " a " + color +
         " " + animal + ". What does " + who + " see? " + std::string(first.pronoun) +
         " sees the " + color + " " + animal + " of " + other + ".";
}

std::string looking(Dice& dice, const Person& first, const Person& second) {
  const std::string thing(dice.one_of(kThings)), color(dice.one_of(kColors));
  const std::string place(dice.one_of(kPlaces));
  const std::string who(first.name), other(second.name);
  return who + " has lost a " + color + " " + thing + ". " + std::string(first.pronoun) +
         " looks for it " + place + ". " + other + " finds it there. \"Here is your " + color +
         " " + thing + ", " + who + ",\" says " + other + ".";
}

std::string story(uint64_t number) {
  Dice dice(number);
  const size_t first = dice.below(std::size(kPeople));
  const size_t second = (first + 1 + dice.below(std::size(kPeople) - 1)) % std::size(kPeople);
  constexpr std::array kKinds = {sharing, meeting, looking};
  return kKinds[dice.below(kKinds.size())](dice, kPeople[first], kPeople[second]);
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 5;
  for (long number = 0; number < count; ++number)
    std::puts(story(static_cast<uint64_t>(number)).c_str());
  return count > 0 ? 0 : 1;
}
