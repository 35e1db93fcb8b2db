# headlight_embed(TARGET FOLDER FILES PATTERN HEADER H NAMESPACE N FUNCTION F): puts the files FOLDER/PATTERN into TARGET, as the
# table that the header declares: const std::vector<base::EmbeddedFile>& N::F().

function(headlight_embed target folder)
  cmake_parse_arguments(ARG "" "FILES;HEADER;NAMESPACE;FUNCTION" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/${ARG_FILES})
  set(data "")
  set(declarations "")
  set(entries "")
  set(dependencies "")
  set(number 0)
  foreach(file ${files})
    set(symbol headlight_${ARG_FUNCTION}_${number})
    string(APPEND data
      "asm(\".section .rodata\\n.balign 64\\n.global ${symbol}, ${symbol}_end\\n"
      "${symbol}: .incbin \\\"${folder}/${file}\\\"\\n${symbol}_end: .byte 0\\n.previous\\n\");\n")
    string(APPEND declarations "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
    string(APPEND entries "    {\"${file}\", {${symbol}, static_cast<size_t>(${symbol}_end - ${symbol})}},\n")
    list(APPEND dependencies ${folder}/${file})
    math(EXPR number "${number} + 1")
  endforeach()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"// Made by cmake/HeadlightEmbed.cmake.
#include \"@ARG_HEADER@\"

@data@
@declarations@
namespace @ARG_NAMESPACE@ {

const std::vector<base::EmbeddedFile>& @ARG_FUNCTION@() {
  static const std::vector<base::EmbeddedFile> files = {
@entries@  };
  return files;
}

}  // namespace @ARG_NAMESPACE@
")
  # On its own: in a batch of sources the files it depends on would not count.
  set_source_files_properties(${output} PROPERTIES
    OBJECT_DEPENDS "${dependencies}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${output})
endfunction()
