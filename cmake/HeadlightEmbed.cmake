# headlight_embed(TARGET FOLDER): puts the files of FOLDER/*/ into TARGET, as the table that apps/cli/embedded.h declares.

function(headlight_embed target folder)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*/*)
  set(data "")
  set(declarations "")
  set(entries "")
  set(dependencies "")
  set(number 0)
  foreach(file ${files})
    set(symbol headlight_embedded_${number})
    string(APPEND data
      "asm(\".section .rodata\\n.balign 64\\n.global ${symbol}, ${symbol}_end\\n"
      "${symbol}: .incbin \\\"${folder}/${file}\\\"\\n${symbol}_end: .byte 0\\n.previous\\n\");\n")
    string(APPEND declarations "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
    string(APPEND entries "    {\"${file}\", {${symbol}, static_cast<size_t>(${symbol}_end - ${symbol})}},\n")
    list(APPEND dependencies ${folder}/${file})
    math(EXPR number "${number} + 1")
  endforeach()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_files.cpp)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"// Made by cmake/HeadlightEmbed.cmake.
#include \"apps/cli/embedded.h\"

@data@
@declarations@
namespace headlight::cli {

const std::vector<EmbeddedFile>& embedded_files() {
  static const std::vector<EmbeddedFile> files = {
@entries@  };
  return files;
}

}  // namespace headlight::cli
")
  set_source_files_properties(${output} PROPERTIES OBJECT_DEPENDS "${dependencies}")
  target_sources(${target} PRIVATE ${output})
endfunction()
