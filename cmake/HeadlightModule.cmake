# headlight_module(NAME [HOT] [WITHOUT folder] DEPENDS a b LIBRARIES x): the library headlight_NAME from headlight/NAME (but a folder that
# is built apart), linked to the modules below it and to foreign libraries; HOT: so busy that debug builds optimise it too. Also the
# flags that everything is built with.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")  # the kernels add more
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# A package found by one module must be seen by all who link that module.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
find_package(Threads REQUIRED)
include(GNUInstallDirs)

# headlight_flags is for all that is compiled here; headlight_plain_flags is the same without sanitizers.
add_library(headlight_plain_flags INTERFACE)
# Contracting a*b+c behind our back would make results depend on the compiler: where we want a fused multiply-add we write it.
target_compile_options(headlight_plain_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wno-psabi -ffp-contract=off -fno-math-errno)
# GCC 12 sees overlapping copies in "text" + std::string where there are none (its bug 105651).
target_compile_options(headlight_plain_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(HEADLIGHT_WERROR)
  target_compile_options(headlight_plain_flags INTERFACE -Werror)
endif()

add_library(headlight_flags INTERFACE)
target_link_libraries(headlight_flags INTERFACE headlight_plain_flags)
if(HEADLIGHT_SANITIZE)
  target_compile_options(headlight_flags INTERFACE
    -fsanitize=${HEADLIGHT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(headlight_flags INTERFACE -fsanitize=${HEADLIGHT_SANITIZE})
endif()

function(headlight_module name)
  cmake_parse_arguments(ARG "HOT" "WITHOUT" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${ARG_WITHOUT}/")
  endif()
  # A module of headers alone has nothing to compile.
  if(sources)
    add_library(headlight_${name} STATIC ${sources})
    target_link_libraries(headlight_${name} PRIVATE $<BUILD_INTERFACE:headlight_flags> ${ARG_LIBRARIES})
    if(ARG_HOT)
      target_compile_options(headlight_${name} PRIVATE $<$<CONFIG:Debug>:-O1>)
    endif()
    set(scope PUBLIC)
  else()
    add_library(headlight_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(headlight::${name} ALIAS headlight_${name})
  set_target_properties(headlight_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(headlight_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(headlight_${name} ${scope} cxx_std_20)
  list(TRANSFORM ARG_DEPENDS PREPEND headlight_ OUTPUT_VARIABLE modules_below)
  target_link_libraries(headlight_${name} ${scope} ${modules_below})
  set_property(GLOBAL APPEND PROPERTY HEADLIGHT_MODULES ${name})
  set_property(GLOBAL APPEND PROPERTY HEADLIGHT_LIBRARIES ${ARG_LIBRARIES})
endfunction()
