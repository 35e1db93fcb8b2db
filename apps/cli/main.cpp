// The program `headlight`.
#include "apps/cli/program/program.h"

int main(int argc, char** argv) { return headlight::cli::run_program(argc, argv); }
