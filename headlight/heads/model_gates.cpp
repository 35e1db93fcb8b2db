// Gates at 0 and as they were.
#include "headlight/heads/model_gates.h"

namespace headlight::heads {

using tensor::DType;
using tensor::Tensor;

ModelGates::ModelGates(models::Model& model) : model_(model) {
  for (nn::MultiHeadAttention* attention : model.attentions()) {
    kept_.push_back({attention, attention->gates()});
  }
}

ModelGates::~ModelGates() { put_back(); }

void ModelGates::put_back() {
  for (const Kept& kept : kept_) kept.attention->set_gates(kept.gates);
}

void ModelGates::close(const std::vector<HeadName>& heads, std::string_view source) {
  put_back();
  for (const Kept& kept : kept_) {
    const nn::HeadSet& left = kept.attention->heads();
    std::vector<bool> closed(static_cast<size_t>(left.count()), false);
    bool any = false;
    for (const HeadName& head : heads) {
      if (head.place != kept.attention->options().place) continue;
      closed[static_cast<size_t>(find_head(model_, head, source).place)] = any = true;
    }
    if (!any) continue;
    Tensor gates = kept.gates.defined() ? Tensor::uninitialized(DType::f32, kept.gates.shape())
                                        : Tensor::uninitialized(DType::f32, {left.count()});
    const Tensor own = kept.gates.defined() ? kept.gates.data().contiguous() : Tensor();
    for (int64_t i = 0; i < gates.elements(); ++i) {
      const float before = own.defined() ? own.data<float>()[i] : 1.0F;
      gates.mutable_data<float>()[i] =
          closed[static_cast<size_t>(i % left.count())] ? 0.0F : before;
    }
    kept.attention->set_gates(nn::Value::leaf(gates));
  }
  for (const HeadName& head : heads) find_head(model_, head, source);  // places that there are not
}

}  // namespace headlight::heads
