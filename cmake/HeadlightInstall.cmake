# What `cmake --install` puts in place: the program, the static libraries, the headers that the doors need, and the two ways to find
# them: headlightConfig.cmake for find_package and headlight.pc for pkg-config.
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY HEADLIGHT_MODULES)
get_property(libraries GLOBAL PROPERTY HEADLIGHT_LIBRARIES)
list(REMOVE_DUPLICATES libraries)
list(TRANSFORM modules PREPEND headlight_ OUTPUT_VARIABLE module_targets)

install(TARGETS ${module_targets} headlight_all EXPORT headlightTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET headlight)
  install(TARGETS headlight RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(CODE "
  set(source_directory \"${PROJECT_SOURCE_DIR}\")
  set(include_directory \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(modules \"${modules}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/InstallHeaders.cmake\")")

# A library "package::target" is found by find_package(package); any other is a plain library name.
set(headlight_packages "")
set(headlight_link_flags "")
set(headlight_requirements "")
foreach(library ${libraries})
  if(library STREQUAL "Threads::Threads")
    string(APPEND headlight_packages "find_dependency(Threads)\n")
    string(APPEND headlight_link_flags " -pthread")
  elseif(library MATCHES "^(.+)::")
    string(APPEND headlight_packages "find_dependency(${CMAKE_MATCH_1})\n")
    get_target_property(type ${library} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      string(APPEND headlight_requirements " ${CMAKE_MATCH_1}")
    endif()
  else()
    string(APPEND headlight_link_flags " -l${library}")
  endif()
endforeach()
# A static library stands before those it needs, so the topmost module comes first.
set(headlight_module_flags "")
foreach(module ${modules})
  get_target_property(type headlight_${module} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(PREPEND headlight_module_flags " -lheadlight_${module}")
  endif()
endforeach()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/headlight)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/headlightConfig.cmake.in
  ${PROJECT_BINARY_DIR}/headlightConfig.cmake INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headlightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# Relative to the file itself, so that the installed tree can be moved.
file(RELATIVE_PATH headlight_include_directory ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/headlight.pc.in ${PROJECT_BINARY_DIR}/headlight.pc @ONLY)

install(EXPORT headlightTargets NAMESPACE headlight:: DESTINATION ${package_directory})
install(FILES ${PROJECT_BINARY_DIR}/headlightConfig.cmake ${PROJECT_BINARY_DIR}/headlightConfigVersion.cmake
  DESTINATION ${package_directory})
install(FILES ${PROJECT_BINARY_DIR}/headlight.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
