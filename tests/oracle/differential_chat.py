"""Random conversations through chat templates, by transformers' apply_chat_template and by ours.

usage: differential_chat.py RENDER_TEMPLATES [--count N] [--seed S] TEMPLATE...

TEMPLATE is a .jinja file, or a tokenizer_config.json with a chat_template. RENDER_TEMPLATES is the program of that
name (cmake --build … --target render_templates). Needs transformers 5.24.0, tokenizers, jinja2 3.1.6. Both must give
the same text, or both an error. Exit status 1 if there are differences.
"""
import argparse
import calendar
import datetime
import json
import os
import random
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from differential_jinja import TEXTS, pick_value

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2025, 7, 4, 12, 34, 56)


def read_template(path):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if not path.endswith(".json"):
        return text
    template = json.loads(text).get("chat_template")
    return {each["name"]: each["template"] for each in template}["default"] if isinstance(template, list) else template


def pick_content(r):
    k = r.random()
    if k < 0.7:
        return r.choice(TEXTS + ["<think>\nwhy\n</think>\n\nso", "Hello!", "{\"a\": 1}"])
    if k < 0.8:
        return None
    return [{"type": "text", "text": r.choice(TEXTS)} if r.random() < 0.8 else {"type": "image"} for _ in range(r.randrange(3))]


def pick_conversation(r):
    messages = []
    if r.random() < 0.4:
        messages.append({"role": "system", "content": pick_content(r)})
    for turn in range(r.randrange(0, 4)):
        messages.append({"role": "user", "content": pick_content(r)})
        if r.random() < 0.3:
            arguments = {"city": r.choice(TEXTS), "n": r.choice([1, 2.5, None, True])}
            calls = [{"id": "call%05d" % turn, "type": "function", "function": {"name": "get", "arguments": arguments if r.random() < 0.6 else json.dumps(arguments)}}
                     for _ in range(r.choice([1, 1, 2]))]
            messages.append({"role": "assistant", "content": r.choice([None, "", "ok"]), "tool_calls": calls})
            messages += [{"role": "tool", "name": "get", "tool_call_id": "call%05d" % turn, "content": r.choice(TEXTS)} for _ in calls]
        if r.random() < 0.7:
            answer = {"role": "assistant", "content": pick_content(r)}
            for name in ("reasoning_content", "thinking", "reasoning"):
                if r.random() < 0.15:
                    answer[name] = r.choice(TEXTS + [None])
            messages.append(answer)
    if r.random() < 0.08 and messages:
        r.shuffle(messages)
    if r.random() < 0.08 and messages:
        r.choice(messages)[r.choice(["extra", "role", "tool_calls"])] = pick_value(r)
    return messages


def pick_request(r):
    tools = [{"type": "function", "function": {"name": "f%d" % i, "description": r.choice(TEXTS), "parameters": {"type": "object", "properties": {"p": pick_value(r)}}}} for i in range(r.randrange(3))]
    variables = {}
    for name, values in (("enable_thinking", [True, False]), ("documents", [None, [], [{"title": "t", "text": "é"}]]), ("reasoning_effort", ["low", "high"]), ("date_string", ["1 Jan 2026"])):
        if r.random() < 0.25:
            variables[name] = r.choice(values)
    return {"messages": pick_conversation(r), "tools": tools if r.random() < 0.4 else None, "add_generation_prompt": r.random() < 0.6, "variables": variables}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("templates", nargs="+")
    arguments.add_argument("--count", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    chat_template_utils.datetime = Fixed
    ours = subprocess.Popen([options.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"x": 0}, unk_token="x")), **SPECIAL)
    renders = rendered = differences = 0
    for path in options.templates:
        template = read_template(path)
        for index in range(options.count):
            request = pick_request(random.Random("%d/%d" % (options.seed, index)))
            try:
                wanted = {"output": tokenizer.apply_chat_template(request["messages"], tools=request["tools"], add_generation_prompt=request["add_generation_prompt"], chat_template=template, tokenize=False, **request["variables"])}
            except Exception as error:
                wanted = {"error": "%s: %s" % (type(error).__name__, error)}
            job = dict(request, template=template, variables={**SPECIAL, **request["variables"]}, now=calendar.timegm((2025, 7, 4, 12, 34, 56)))
            ours.stdin.write(json.dumps(job).encode() + b"\n")
            ours.stdin.flush()
            got = json.loads(ours.stdout.readline())
            renders += 1
            rendered += "output" in wanted
            if wanted.get("output") != got.get("output"):
                differences += 1
                print(json.dumps({"template": path, "request": request, "wanted": wanted, "got": got}, ensure_ascii=False))
    print("renders %d, rendered by transformers %d, differences %d" % (renders, rendered, differences), file=sys.stderr)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
