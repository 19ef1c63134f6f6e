"""OpenAI's SDK for Python, chat completions."""

import json

from openai import OpenAI
from serve import (
    FRUIT_SCHEMA,
    INSTRUCTIONS,
    NOTE_SCHEMA,
    PICTURE,
    read_note,
    serve,
    until_done,
)

TOOLS = [
    {
        "type": "function",
        "function": {"name": "read_note", "description": "reads", "parameters": NOTE_SCHEMA},
    }
]


def client(job):
    return OpenAI(base_url=f"{job['url']}/v1", api_key=job["key"])


def create(job, messages):
    return client(job).chat.completions.create(model=job["model"], messages=messages, tools=TOOLS)


def stream(job, messages):
    with client(job).chat.completions.stream(
        model=job["model"], messages=messages, tools=TOOLS
    ) as events:
        for _ in events:
            pass
        return events.get_final_completion()


def task(job, memory, ask):
    messages = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": job["prompt"]},
    ]
    memory["messages"] = messages

    def turn():
        message = ask(job, messages).choices[0].message
        sent = message.model_dump(exclude_none=True, exclude={"parsed"})
        for call in sent.get("tool_calls", []):
            call.pop("index", None)
            call["function"].pop("parsed_arguments", None)
        if sent.get("tool_calls") == []:
            del sent["tool_calls"]
        messages.append(sent)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            number = json.loads(call.function.arguments)["number"]
            messages.append(
                {"role": "tool", "tool_call_id": call.id, "content": read_note(number)}
            )
        return None

    return until_done(turn)


def again(job, memory):
    memory["messages"].append({"role": "user", "content": job["prompt"]})
    return create(job, memory["messages"]).choices[0].message.content


def as_json(job, _memory):
    answer = client(job).chat.completions.create(
        model=job["model"],
        messages=[{"role": "user", "content": job["prompt"]}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "fruit", "strict": True, "schema": FRUIT_SCHEMA},
        },
    )
    return json.loads(answer.choices[0].message.content)


def see(job, _memory):
    url = f"data:image/png;base64,{PICTURE}"
    content = [
        {"type": "text", "text": job["prompt"]},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    answer = client(job).chat.completions.create(
        model=job["model"], messages=[{"role": "user", "content": content}]
    )
    return answer.choices[0].message.content


def leave(job, _memory):
    messages = [{"role": "user", "content": job["prompt"]}]
    chunks = client(job).chat.completions.create(
        model=job["model"], messages=messages, stream=True
    )
    for chunk in chunks:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    chunks.close()
    return "left"


def go_on(job, _memory):
    """Not by `stream`, which takes an end at the maximum for an error, whoever ends it."""
    messages = [{"role": "user", "content": job["prompt"]}]
    chunks = client(job).chat.completions.create(
        model=job["model"], messages=messages, stream=True
    )
    choices = [choice for chunk in chunks for choice in chunk.choices]
    if choices[-1].finish_reason != "length":
        raise RuntimeError(f"it ends with {choices[-1].finish_reason}")
    return "".join(choice.delta.content or "" for choice in choices)


serve(
    {
        "task": lambda job, memory: task(job, memory, create),
        "stream": lambda job, memory: task(job, memory, stream),
        "busy": lambda job, memory: task(job, memory, stream),
        "day": lambda job, memory: task(job, memory, stream),
        "again": again,
        "json": as_json,
        "picture": see,
        "abort": leave,
        "cap": go_on,
    }
)
