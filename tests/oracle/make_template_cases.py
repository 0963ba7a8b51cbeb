"""Writes tests/data/jinja/templates.jsonl: conversations through the chat templates that scripts/fetch-templates.sh gets.

usage: make_template_cases.py FOLDER     (needs transformers 5.24.0, tokenizers, jinja2 3.1.6; run from the root)

FOLDER holds the .jinja files. The requests stay those of the file's first line: "requests" has the conversations, with
special_tokens and now for all of them. Every further line is a template with its answers, in the order of the requests:
what apply_chat_template(tokenize=False) gives, or what it raises. Answers that are there already must come out the same.
"""
import datetime
import glob
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

OUT = "tests/data/jinja/templates.jsonl"


class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2025, 7, 4, 12, 34, 56)


def answer(tokenizer, template, request):
    try:
        return {"output": tokenizer.apply_chat_template(request["messages"], tools=request["tools"], add_generation_prompt=request["add_generation_prompt"], chat_template=template, tokenize=False, **request["kwargs"])}
    except Exception as error:
        return {"error": str(error), "error_type": type(error).__name__}


def main():
    chat_template_utils.datetime = Fixed
    with open(OUT, encoding="utf-8") as file:
        head, *known = [json.loads(line) for line in file]
    known = {line["template"]: line["answers"] for line in known}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"x": 0}, unk_token="x")), **head["special_tokens"])
    lines = [head]
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.jinja")), key=os.path.basename):
        name = os.path.basename(path)
        with open(path, encoding="utf-8", newline="") as file:
            template = file.read()
        answers = [answer(tokenizer, template, request) for request in head["requests"]]
        if known.get(name, answers) != answers:
            sys.exit("%s: the answers have changed" % name)
        lines.append({"template": name, "answers": answers})
    with open(OUT, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


main()
