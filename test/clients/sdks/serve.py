"""The process of a Python SDK: the same lines as in serve.mjs."""

import json
import sys
import traceback

INSTRUCTIONS = "You read notes for people who are in a hurry."
NOTE_SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "integer", "minimum": 1, "description": "which note"}},
    "required": ["number"],
}
FRUIT_SCHEMA = {
    "type": "object",
    "properties": {"fruit": {"type": "string"}, "grams": {"type": "integer"}},
    "required": ["fruit", "grams"],
    "additionalProperties": False,
}
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/"
    "iZk9HQAAAABJRU5ErkJggg=="
)


def read_note(number):
    return f"note {number} of 3: {['kum', 'qu', 'at'][number - 1]}\n"


def serve(steps):
    memories = {}
    for line in sys.stdin:
        job = json.loads(line)
        memory = memories.setdefault(job["model"], {})
        try:
            said = steps[job["step"]](job, memory)
            if not isinstance(said, str):
                said = json.dumps(said, separators=(",", ":"))
            outcome = {"succeeded": True, "output": said}
        except Exception as error:
            body = json.dumps(getattr(error, "body", None), default=str)
            outcome = {"succeeded": False, "output": f"{traceback.format_exc()}{body}"}
        print("\x01" + json.dumps(outcome), flush=True)


def until_done(ask):
    for _ in range(6):
        done = ask()
        if done is not None:
            return done
    raise RuntimeError("the task doesn't end")
