#!/usr/bin/env python3
"""Renders a chat template of the hub as transformers does, for chat_test (Debian's python3-jinja2).

    tests/golden/render_template.py TEMPLATE.jinja < CONVERSATION.json

The conversation is {"messages": [{"role", "content"}, …], and what else the template reads}. The test reads the templates
from data/templates. scripts/fetch_data brings qwen2.5.jinja and qwen3.jinja; llada.jinja and sdar.jinja are to be put
there by hand: the text of `chat_template` in the tokenizer_config.json (or the chat_template.jinja) of
GSAI-ML/LLaDA-8B-Instruct and JetLM/SDAR-4B-Chat. They are others' work and not part of this tree.
"""
import json
import sys

from jinja2.sandbox import ImmutableSandboxedEnvironment


def main():
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        template = environment.from_string(file.read())
    conversation = json.load(sys.stdin)
    sys.stdout.write(template.render(add_generation_prompt=True, **conversation))


main()
