"""Anthropic's SDK for Python."""

import json

from anthropic import Anthropic
from serve import (
    FRUIT_SCHEMA,
    INSTRUCTIONS,
    NOTE_SCHEMA,
    PICTURE,
    read_note,
    serve,
    until_done,
)

TOOLS = [{"name": "read_note", "description": "reads", "input_schema": NOTE_SCHEMA}]


def client(job):
    return Anthropic(base_url=job["url"], api_key=job["key"])


def request(job, messages):
    old = "4-5" in job["model"]
    return {
        "model": job["model"],
        "max_tokens": 8000,
        "system": INSTRUCTIONS,
        "messages": messages,
        "tools": TOOLS,
        "thinking": {"type": "enabled", "budget_tokens": 2000} if old else {"type": "adaptive"},
    }


def create(job, messages):
    return client(job).messages.create(**request(job, messages))


def stream(job, messages):
    with client(job).messages.stream(**request(job, messages)) as events:
        return events.get_final_message()


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def task(job, memory, ask):
    messages = [{"role": "user", "content": job["prompt"]}]
    memory["messages"] = messages

    def turn():
        message = ask(job, messages)
        messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return text_of(message)
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": read_note(call.input["number"]),
            }
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
        return None

    return until_done(turn)


def again(job, memory):
    memory["messages"].append({"role": "user", "content": job["prompt"]})
    return text_of(create(job, memory["messages"]))


def as_json(job, _memory):
    message = client(job).messages.create(
        model=job["model"],
        max_tokens=1000,
        messages=[{"role": "user", "content": job["prompt"]}],
        output_config={"format": {"type": "json_schema", "schema": FRUIT_SCHEMA}},
    )
    return json.loads(text_of(message))


def see(job, _memory):
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    content = [{"type": "image", "source": source}, {"type": "text", "text": job["prompt"]}]
    message = client(job).messages.create(
        model=job["model"], max_tokens=1000, messages=[{"role": "user", "content": content}]
    )
    return text_of(message)


def count(job, _memory):
    counted = request(job, [{"role": "user", "content": job["prompt"]}])
    del counted["max_tokens"]
    return f"counted {client(job).messages.count_tokens(**counted).input_tokens} tokens"


def leave(job, _memory):
    messages = [{"role": "user", "content": job["prompt"]}]
    with client(job).messages.stream(
        model=job["model"], max_tokens=1000, messages=messages
    ) as events:
        for _ in events.text_stream:
            break
    return "left"


serve(
    {
        "task": lambda job, memory: task(job, memory, create),
        "stream": lambda job, memory: task(job, memory, stream),
        "busy": lambda job, memory: task(job, memory, stream),
        "day": lambda job, memory: task(job, memory, stream),
        "again": again,
        "json": as_json,
        "picture": see,
        "count": count,
        "abort": leave,
        "cap": lambda job, memory: task(job, memory, stream),
    }
)
