// Words of nanoGPT, Hugging Face, llama.cpp, ollama and others.
#include "headlight/recipes/habits.h"

#include <algorithm>
#include <array>
#include <span>

#include "headlight/recipes/given_values.h"

namespace headlight::recipes {
namespace {

// Several words with blanks between them have one answer.
struct Habit {
  std::string_view typed;
  HabitAnswer answer;
};

constexpr HabitAnswer option(std::string_view name) { return {.option = name}; }
constexpr HabitAnswer says(std::string_view sentence) { return {.sentence = sentence}; }

constexpr std::string_view kModelIsAWord =
    "the model is a word of its own, without an option: MODEL after the command";

constexpr Habit kEverywhere[] = {
    {"t j jobs nthreads n-threads num-threads num-workers workers cores cpus", option("threads")},
    {"q s silent", option("quiet")},
    {"l language locale", option("lang")},
    {"random-seed random-state rng-seed manual-seed", option("seed")},
    {"o output output-file out-file save save-to", option("out")},
    {"V", option("version")},
    {"v verbose debug log-level",
     says("there is nothing more to hear: what happens is told at a terminal unless --quiet; "
          "--version shows the version")},
    {"color no-color", says("colours are for terminals only, and the variable NO_COLOR=1 turns "
                            "them off")},
    {"device gpu gpus cuda use-cuda cpu mps ngl n-gpu-layers gpu-layers",
     says("everything is computed on the processor; --threads says how many cores")},
    {"dtype torch-dtype fp16 bf16 half precision quantize quantization compile",
     says("everything is computed in 32-bit floats, and nothing has to be compiled")},
};

constexpr Habit kOfTrain[] = {
    {"lr learning-rates max-lr", option("learning-rate")},
    {"epochs epoch e num-epochs n-epochs num-train-epochs max-epochs",
     says("training is counted in steps: --max-iters N; one epoch is as many steps as the data "
          "have tokens, divided by batch_size x block_size, and the lines before training say how "
          "many epochs its steps are")},
    {"n steps step iters iterations num-iters num-steps max-steps max-iterations train-steps",
     option("max-iters")},
    {"b bs batch batchsize train-batch-size per-device-train-batch-size", option("batch-size")},
    {"layers layer num-layers nlayer num-hidden-layers n-layers depth", option("n-layer")},
    {"heads head num-heads nhead n-heads num-attention-heads", option("n-head")},
    {"dim d-model hidden-size embed-dim n-embed emb-size embedding-dim width hidden-dim",
     option("n-embd")},
    {"ffn ffn-dim ff-dim dim-feedforward intermediate-size mlp-dim", option("d-ff")},
    {"context context-length context-size ctx ctx-size n-ctx seq-len seq-length sequence-length "
     "max-seq-len max-seq-length max-length",
     option("block-size")},
    {"kv-heads n-kv-heads num-kv-heads num-key-value-heads", option("n-kv-head")},
    {"window window-size attention-window", option("sliding-window")},
    {"rope-base rope-freq-base rotary-base theta", option("rope-theta")},
    {"architecture model-type type", option("arch")},
    {"wd decay", option("weight-decay")},
    {"warmup warmup-steps num-warmup-steps", option("warmup-iters")},
    {"clip clip-grad gradient-clip max-grad-norm gradient-clipping", option("grad-clip")},
    {"accumulation grad-accum gradient-accumulation accumulate-grad-batches",
     option("gradient-accumulation-steps")},
    {"output-dir out-dir outdir save-dir", option("out")},
    {"i f input file dataset text train train-data train-file data-file data-dir data-path corpus",
     option("data")},
    {"val valid-data val-data validation validation-file validation-data eval-data test-data",
     option("valid")},
    {"src source-file", option("source")},
    {"tgt target-file", option("target")},
    {"eval-steps eval-every evaluation-interval save-steps save-interval checkpoint-interval",
     option("eval-interval")},
    {"logging-steps log-every log-steps", option("log-interval")},
    {"early-stopping early-stopping-patience", option("patience")},
    {"optim", option("optimizer")},
    {"scheduler lr-scheduler lr-schedule lr-scheduler-type", option("schedule")},
    {"adam-beta1", option("beta1")},
    {"adam-beta2", option("beta2")},
    {"act activation-function", option("activation")},
    {"smoothing label-smoothing-factor", option("label-smoothing")},
    {"continue resume-from resume-from-checkpoint", option("resume")},
    {"m model init-from pretrained from-pretrained model-name-or-path finetune", option("init")},
    {"tokenizer-name tokenizer-type tokens", option("tokenizer")},
    {"vocab-size vocabulary-size",
     says("the size of a vocabulary is a part of the tokenizer: --tokenizer bpe:8000")},
    {"early-exit wandb wandb-log tensorboard report-to",
     says("a run keeps log.jsonl and curves.svg in its folder; --json prints the same lines")},
};

constexpr Habit kOfGenerate[] = {
    {"p start text input source sentence", option("prompt")},
    {"f file input-file", option("prompt-file")},
    {"ids input-ids", option("prompt-ids")},
    {"n n-predict num-predict max-tokens max-length max-new-token max-len length num-tokens tokens "
     "new-tokens",
     option("max-new-tokens")},
    {"temp", option("temperature")},
    {"k topk", option("top-k")},
    {"topp nucleus", option("top-p")},
    {"minp", option("min-p")},
    {"repeat-penalty rep-pen penalty presence-penalty frequency-penalty",
     option("repetition-penalty")},
    {"beams num-beams beam-size beam-width", option("beam")},
    {"r reverse-prompt stop-sequence stop-sequences stop-text stop-token stop-string",
     option("stop")},
    {"sample do-sample sampling",
     says("--temperature T samples, for example --temperature 0.8; without it the likeliest token "
          "is taken each time")},
    {"greedy", says("that is what happens without --temperature")},
    {"num-samples num-return-sequences samples",
     says("a run writes one continuation; --seed N gives another one")},
    {"c ctx-size n-ctx context-length context-size block-size",
     says("a model has the context it was trained with; --context slide|stop says what happens at "
          "its end")},
    {"stream", says("text is printed as it comes anyway")},
    {"i interactive chat system", says("a run continues one text: --prompt TEXT")},
    {"m model out-dir model-path checkpoint", says(kModelIsAWord)},
};

constexpr Habit kOfChat[] = {
    {"p prompt text input message i interactive",
     says("messages are typed, or come by standard input, a line each; `headlight generate MODEL "
          "--prompt TEXT` continues one text")},
    {"f file input-file prompt-file", says("a file comes by standard input: < FILE")},
    {"n n-predict num-predict max-tokens max-length max-new-token max-len length num-tokens tokens "
     "new-tokens",
     option("max-new-tokens")},
    {"temp", option("temperature")},
    {"k topk", option("top-k")},
    {"topp nucleus", option("top-p")},
    {"minp", option("min-p")},
    {"repeat-penalty rep-pen penalty presence-penalty frequency-penalty",
     option("repetition-penalty")},
    {"beam beams num-beams beam-size beam-width",
     says(
         "answers are greedy, or sampled with --temperature T; `headlight generate MODEL --beam N` "
         "searches")},
    {"r reverse-prompt stop-sequence stop-sequences stop-text stop-token stop-string",
     option("stop")},
    {"sys system-prompt system-message instruction", option("system")},
    {"chat-template jinja", option("template")},
    {"c ctx-size n-ctx context-length context-size block-size",
     says("a model has the context it was trained with; --context slide|stop says what happens at "
          "its end")},
    {"stream", says("answers are printed as they come anyway")},
    {"m model model-path checkpoint", says(kModelIsAWord)},
};

constexpr Habit kOfTranslate[] = {
    {"p prompt i input source src sentence s", option("text")},
    {"beams num-beams beam-size beam-width", option("beam")},
    {"n max-tokens max-length max-len", option("max-new-tokens")},
    {"f file input-file", says("a file comes by standard input: < FILE")},
    {"from to source-lang target-lang src-lang tgt-lang",
     says("a model translates between the languages it was trained on")},
    {"m model model-path checkpoint", says(kModelIsAWord)},
};

constexpr Habit kOfEvaluate[] = {
    {"f i file input dataset text valid test test-data data-file data-path", option("data")},
    {"beams num-beams beam-size beam-width", option("beam")},
    {"batch-size bs b", says("batches are made by length, and change no result")},
    {"m model model-path checkpoint", says(kModelIsAWord)},
};

constexpr Habit kOfExplain[] = {
    {"p prompt i input source sentence s", option("text")},
    {"t continuation answer label", option("target")},
    {"html json-file page", says("--format html --out page.html writes the page, and --json JSON")},
    {"step steps", option("only")},
    {"layer", option("layers")},
    {"head num-heads n-head", option("heads")},
    {"m model", says(kModelIsAWord)},
};

constexpr Habit kOfText[] = {
    {"p prompt i input sentence s", option("text")},
    {"f file input-file", says("a file comes by standard input: < FILE")},
    {"ids d detokenize", says("`headlight tokenize MODEL --decode 1,2,3` gives the text of ids")},
    {"m model tokenizer model-path", says(kModelIsAWord)},
};

constexpr Habit kOfForward[] = {
    {"input-ids input i", option("ids")},
    {"labels", option("targets")},
    {"o out output", option("logits")},
    {"m model", says(kModelIsAWord)},
};

constexpr Habit kOfAttend[] = {
    {"q x input", option("query")},
    {"k", option("key")},
    {"v", option("value")},
    {"h n-head num-heads nhead n-heads", option("heads")},
    {"num-kv-heads num-key-value-heads n-kv-heads", option("kv-heads")},
    {"mask attn-mask attention-mask",
     says("--keep-mask has true where a query may look, --forbid-mask where it may not")},
    {"is-causal", option("causal")},
};

struct HabitsOfCommand {
  std::string_view command;
  std::span<const Habit> habits;
};
constexpr HabitsOfCommand kOfCommands[] = {
    {"train", kOfTrain},         {"generate", kOfGenerate}, {"chat", kOfChat},
    {"translate", kOfTranslate}, {"evaluate", kOfEvaluate}, {"explain", kOfExplain},
    {"embed", kOfText},          {"classify", kOfText},     {"tokenize", kOfText},
    {"forward", kOfForward},     {"attend", kOfAttend},
};

constexpr std::pair<std::string_view, std::string_view> kCommands[] = {
    {"ls list models tags ps",
     "`headlight info` lists the models that come along; others are folders, named by their path"},
    {"run complete completion sample predict inference infer continue",
     "`headlight generate MODEL --prompt TEXT` continues a text"},
    {"talk converse interactive", "`headlight chat MODEL` is a conversation in the terminal"},
    {"pull download get fetch",
     "nothing is downloaded: MODEL is a folder in the format of Hugging Face, or a name that "
     "`headlight info` lists"},
    {"show describe inspect",
     "`headlight info MODEL` says what a model is, `headlight explain` "
     "shows a sentence on its way through one"},
    {"eval validate test perplexity ppl score", "`headlight evaluate MODEL --data PATH` does that"},
    {"fit finetune fine-tune learn create pretrain",
     "`headlight train --task lm --data FILE --out DIR` does that, and --init MODEL begins with a "
     "model's weights"},
    {"resume", "`headlight train --out DIR --resume` does that"},
    {"lessons tutorial tutorials course", "`headlight lesson` does that"},
    {"visualize visualise view trace walk attention-map",
     "`headlight explain --text TEXT` does that"},
    {"encode tokenise tokens tokenizer", "`headlight tokenize MODEL --text TEXT` does that"},
    {"decode detokenize", "`headlight tokenize MODEL --decode 1,2,3` does that"},
    {"embedding embeddings vector vectors", "`headlight embed MODEL --text TEXT` does that"},
    {"benchmark speed perf", "`headlight bench` does that"},
    {"attention mha", "`headlight attend --query FILE` does that"},
    {"demo start hello tour quickstart", "`headlight` alone is the first minute"},
};

bool has_word(std::string_view words, std::string_view typed) {
  for (size_t at = words.find(typed); at != words.npos; at = words.find(typed, at + 1)) {
    const size_t end = at + typed.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

// Without dashes before it; in small letters unless it is a single one, where -v and -V differ.
std::string plain_name(std::string_view typed) {
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  const std::string name = key_of(typed);
  return name.size() > 1 ? in_small_letters(name) : name;
}

}  // namespace

HabitAnswer answer_to_option(std::string_view command, std::string_view typed) {
  const std::string name = plain_name(typed);
  if (name.empty() || name.find(' ') != std::string::npos) return {};
  const auto answer_in = [&](std::span<const Habit> habits) {
    const auto found = std::ranges::find_if(
        habits, [&](const Habit& habit) { return has_word(habit.typed, name); });
    return found == habits.end() ? HabitAnswer() : found->answer;
  };
  const auto own = std::ranges::find(kOfCommands, command, &HabitsOfCommand::command);
  if (own != std::end(kOfCommands)) {
    const HabitAnswer answer = answer_in(own->habits);
    if (!answer.option.empty() || !answer.sentence.empty()) return answer;
  }
  return answer_in(kEverywhere);
}

std::string_view answer_to_command(std::string_view typed) {
  const std::string name = plain_name(typed);
  if (name.empty() || name.find(' ') != std::string::npos) return {};
  const auto found = std::ranges::find_if(
      kCommands, [&](const auto& entry) { return has_word(entry.first, name); });
  return found == std::end(kCommands) ? std::string_view() : found->second;
}

}  // namespace headlight::recipes
