#!/bin/sh
# install_test.sh BUILD: installs a build, moves the installed tree, and uses it from another project by find_package and by pkg-config:
# for the program in the README and for one that uses a single module.
set -eux
build=$(cd -- "$1" && pwd)
consumer=$(cd -- "$(dirname -- "$0")/consumer" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
prefix=$work/moved
"$prefix/bin/headlight" --version

# No header of the modules' insides is installed, and none points outside the installed tree.
test -z "$(find "$prefix/include" -name '*-inl.h' -o -name reference -o -name simd)"
for header in $(cd "$prefix/include" && find headlight -name '*.h'); do
  for included in $(sed -n 's/^#include "\(headlight\/[^"]*\)".*/\1/p' "$prefix/include/$header"); do
    test -e "$prefix/include/$included"
  done
done

program=$work/readme.cpp
sed -n '/^```cpp$/,/^```$/{/^```/!p}' "$consumer/../../../README.md" >"$program"
grep -q headlight/headlight.h "$program"

cmake -S "$consumer" -B "$work/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" -DPROGRAM="$program"
ninja -C "$work/cmake"
test "$("$work/cmake/consumer")" = "[2, 10, 64] in, [2, 10, 64] out"
"$work/cmake/consumer_of_modules"

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
test "$(pkg-config --modversion headlight)" = "$("$prefix/bin/headlight" --version | sed 's/.* //')"
# shellcheck disable=SC2046  # the flags are words
c++ -std=c++20 "$program" $(pkg-config --cflags --libs headlight) -o "$work/consumer"
# An older standard is told so, before what follows from it.
# shellcheck disable=SC2046
if c++ -std=c++17 -fsyntax-only "$program" $(pkg-config --cflags headlight) 2>"$work/old"; then exit 1; fi
grep -m 1 'error:' "$work/old" | grep -q 'Headlight needs C++20'
"$work/consumer"
