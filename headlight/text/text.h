// Door of text: tokenizers, chat templates, Unicode, reading text files, labels of tokens, scores
// of translations.
//
// Any bytes give a result or one base::Error(bad_input). All text is UTF-8. Nothing here shares
// state: a Tokenizer never changes, so it may be used from several threads.
#pragma once

#include "headlight/text/bleu.h"
#include "headlight/text/chat_template.h"
#include "headlight/text/chrf.h"
#include "headlight/text/printable.h"
#include "headlight/text/read_text.h"
#include "headlight/text/tokenizer.h"
#include "headlight/text/tokenizer_make.h"
#include "headlight/text/tokenizer_read.h"
#include "headlight/text/unicode.h"
#include "headlight/text/words.h"
