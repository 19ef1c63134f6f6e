"""Google's SDK for Python."""

import base64
import json

from google import genai
from google.genai import types
from serve import (
    FRUIT_SCHEMA,
    INSTRUCTIONS,
    NOTE_SCHEMA,
    PICTURE,
    read_note,
    serve,
    until_done,
)

DECLARATION = types.FunctionDeclaration(
    name="read_note", description="reads", parameters_json_schema=NOTE_SCHEMA
)
CONFIG = types.GenerateContentConfig(
    system_instruction=INSTRUCTIONS,
    tools=[types.Tool(function_declarations=[DECLARATION])],
    thinking_config=types.ThinkingConfig(include_thoughts=True),
)


def client(job):
    retry = types.HttpRetryOptions(attempts=3, initial_delay=0.5)
    options = types.HttpOptions(base_url=job["url"], retry_options=retry)
    return genai.Client(api_key=job["key"], http_options=options)


def ask(job, contents):
    google = client(job)
    answer = google.models.generate_content(model=job["model"], contents=contents, config=CONFIG)
    return answer.candidates[0].content.parts


def stream(job, contents):
    google = client(job)
    parts = []
    usage = None
    for chunk in google.models.generate_content_stream(
        model=job["model"], contents=contents, config=CONFIG
    ):
        parts.extend(chunk.candidates[0].content.parts or [])
        usage = chunk.usage_metadata or usage
    if usage is None:
        raise RuntimeError("the stream has no usage")
    return parts


def text_of(parts):
    return "".join(part.text or "" for part in parts if not part.thought)


def task(job, memory, answer):
    contents = [types.UserContent(parts=[types.Part(text=job["prompt"])])]
    memory["contents"] = contents

    def turn():
        parts = answer(job, contents)
        contents.append(types.ModelContent(parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return text_of(parts)
        results = [
            types.FunctionResponse(
                id=call.id, name=call.name, response={"output": read_note(call.args["number"])}
            )
            for call in calls
        ]
        contents.append(
            types.UserContent(parts=[types.Part(function_response=result) for result in results])
        )
        return None

    return until_done(turn)


def again(job, memory):
    memory["contents"].append(types.UserContent(parts=[types.Part(text=job["prompt"])]))
    return text_of(ask(job, memory["contents"]))


def as_json(job, _memory):
    google = client(job)
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_json_schema=FRUIT_SCHEMA
    )
    answer = google.models.generate_content(
        model=job["model"], contents=job["prompt"], config=config
    )
    return json.loads(answer.text)


def see(job, _memory):
    google = client(job)
    image = types.Part.from_bytes(data=base64.b64decode(PICTURE), mime_type="image/png")
    return google.models.generate_content(
        model=job["model"], contents=[image, job["prompt"]]
    ).text


def count(job, _memory):
    google = client(job)
    counted = google.models.count_tokens(model=job["model"], contents=job["prompt"])
    return f"counted {counted.total_tokens} tokens"


def leave(job, _memory):
    google = client(job)
    chunks = google.models.generate_content_stream(model=job["model"], contents=job["prompt"])
    for chunk in chunks:
        if chunk.text:
            break
    chunks.close()
    return "left"


serve(
    {
        "task": lambda job, memory: task(job, memory, ask),
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
