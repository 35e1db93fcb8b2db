// Eigenvalues of small real matrices.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace headlight::heads {

// Of a (size x size) matrix, row by row, of finite numbers: all of them, each as often as it is
// one, in no order. Those of a real matrix that are not real come in conjugate pairs, to rounding.
// Hessenberg form, then QR steps with shifts; about 25 size^3 operations.
std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix, int64_t size);

}  // namespace headlight::heads
