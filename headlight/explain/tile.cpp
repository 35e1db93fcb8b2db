// Cutting and pooling, matrix by matrix.
#include "headlight/explain/tile.h"

#include <utility>

#include "headlight/explain/cell.h"
#include "headlight/kernels/kernels.h"

namespace headlight::explain {
namespace {

using tensor::Shape;
using tensor::Tensor;

std::vector<int64_t> sizes_of(const Tensor& values) {
  return {values.shape().sizes().begin(), values.shape().sizes().end()};
}

std::pair<int64_t, int64_t> within(const std::string& name, const char* axis,
                                   const Positions& asked, int64_t size) {
  const int64_t begin = asked.begin.value_or(0);
  const int64_t end = asked.end.value_or(size);
  if (begin < 0 || end > size || begin >= end) {
    base::refuse("tile", name,
                 std::string(axis) + " " + std::to_string(begin) + ":" + std::to_string(end) +
                     " are not within 0:" + std::to_string(size));
  }
  return {begin, end};
}

// Everything but the numbers.
Tile planned(const std::string& name, std::vector<int64_t> shape, const TileRequest& request) {
  Tile tile{.name = name, .shape = std::move(shape)};
  const size_t rank = tile.shape.size();
  const int64_t rows = rank < 2 ? 1 : tile.shape[rank - 2];
  const int64_t cols = rank < 1 ? 1 : tile.shape[rank - 1];
  std::tie(tile.row_begin, tile.row_end) = within(name, "rows", request.rows, rows);
  std::tie(tile.col_begin, tile.col_end) = within(name, "cols", request.cols, cols);
  if (request.most_rows > 0)
    tile.row_step = kernels::block_side(tile.row_end - tile.row_begin, request.most_rows);
  if (request.most_cols > 0)
    tile.col_step = kernels::block_side(tile.col_end - tile.col_begin, request.most_cols);
  return tile;
}

// (..., rows, cols) of what is shown.
Shape shown_shape(const Tile& tile) {
  std::vector<int64_t> sizes = tile.shape;
  const size_t rank = sizes.size();
  if (rank > 1)
    sizes[rank - 2] = kernels::block_count(tile.row_end - tile.row_begin, tile.row_step);
  if (rank > 0)
    sizes[rank - 1] = kernels::block_count(tile.col_end - tile.col_begin, tile.col_step);
  return Shape(sizes);
}

Tensor cut(const Tile& tile, Tensor values) {
  const int rank = values.rank();
  if (rank > 1) values = values.slice(rank - 2, tile.row_begin, tile.row_end - tile.row_begin);
  if (rank > 0) values = values.slice(rank - 1, tile.col_begin, tile.col_end - tile.col_begin);
  return values.contiguous();
}

bool is_pooled(const Tile& tile) { return tile.row_step > 1 || tile.col_step > 1; }

// Matrices that stand one after the other in `values`, into those from `first` on.
void pool(Tile& tile, const Tensor& values, int64_t first) {
  const Tensor part = cut(tile, values);
  const int64_t rows = tile.row_end - tile.row_begin;
  const int64_t cols = tile.col_end - tile.col_begin;
  const int64_t blocks = kernels::block_count(rows, tile.row_step);
  const int64_t across = kernels::block_count(cols, tile.col_step);
  for (int64_t i = 0; i < part.elements() / (rows * cols); ++i) {
    const tensor::ConstMatrixView from{part.data<float>() + i * rows * cols, rows, cols, cols};
    const auto into = [&](Tensor& to) {
      return tensor::MatrixView{to.mutable_data<float>() + (first + i) * blocks * across, blocks,
                                across, across};
    };
    kernels::pool_blocks(from, {tile.row_step, tile.col_step}, into(tile.largest), into(tile.mean));
  }
}

void make_room(Tile& tile) {
  tile.largest = Tensor::uninitialized(tensor::DType::f32, shown_shape(tile));
  tile.mean = Tensor::uninitialized(tensor::DType::f32, shown_shape(tile));
}

void fill(Tile& tile, const Tensor& values) {
  if (values.dtype() != tensor::DType::f32) tile.row_step = tile.col_step = 1;
  if (!is_pooled(tile)) {
    tile.exact = cut(tile, values);
    return;
  }
  make_room(tile);
  pool(tile, values, 0);
}

std::string of_head(const TracedTensor& tensor, int64_t index) {
  const size_t dot = tensor.name.rfind('.');
  return tensor.name.substr(0, dot) + ".head." + std::to_string(tensor.head_number(index)) +
         tensor.name.substr(dot);
}

}  // namespace

int64_t tile_elements(const std::string& name, std::vector<int64_t> shape,
                      const TileRequest& request) {
  const Tile tile = planned(name, std::move(shape), request);
  return shown_shape(tile).elements() * (is_pooled(tile) ? 2 : 1);
}

std::vector<int64_t> shape_of(const Trace& trace, const std::string& name) {
  const TensorSelection selection = parse_tensor(trace, name);
  const TracedTensor& tensor = trace.at(selection.name);
  std::vector<int64_t> sizes(tensor.shape.sizes().begin(), tensor.shape.sizes().end());
  if (selection.head >= 0) sizes.erase(sizes.begin() + tensor.head_axis());
  return sizes;
}

Tile tile_of(const std::string& name, const Tensor& values, const TileRequest& request) {
  Tile tile = planned(name, sizes_of(values), request);
  fill(tile, values);
  return tile;
}

Tile tile_of(const Trace& trace, const std::string& name, const TileRequest& request) {
  Tile tile = planned(name, shape_of(trace, name), request);
  const TensorSelection selection = parse_tensor(trace, name);
  const TracedTensor& tensor = trace.at(selection.name);
  const bool is_by_head = selection.head < 0 && tensor.head_axis() == 1 &&
                          tensor.shape.rank() == 4 && tensor.shape[0] == 1 && is_pooled(tile);
  if (!is_by_head) {
    fill(tile, trace.values(name));
    return tile;
  }
  make_room(tile);
  for (int64_t head = 0; head < tensor.shape[1]; ++head) {
    pool(tile, trace.values(of_head(tensor, head)), head);
  }
  return tile;
}

std::vector<io::NamedTensor> tile_tensors(const std::vector<Tile>& tiles) {
  std::vector<io::NamedTensor> tensors;
  for (const Tile& tile : tiles) {
    if (tile.is_exact()) {
      tensors.push_back({tile.name, tile.exact});
      continue;
    }
    tensors.push_back({tile.name + ":max", tile.largest});
    tensors.push_back({tile.name + ":mean", tile.mean});
  }
  return tensors;
}

io::Json tiles_json(const std::vector<Tile>& tiles) {
  io::Json::Object all;
  for (const Tile& tile : tiles) {
    all.emplace_back(
        tile.name,
        io::Json::Object{{"rows", io::Json::Array{tile.row_begin, tile.row_end}},
                         {"cols", io::Json::Array{tile.col_begin, tile.col_end}},
                         {"row_step", tile.row_step},
                         {"col_step", tile.col_step},
                         {"shape", io::Json::Array(tile.shape.begin(), tile.shape.end())}});
  }
  return all;
}

}  // namespace headlight::explain
