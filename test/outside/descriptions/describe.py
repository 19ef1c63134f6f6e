"""
Writes what providers publish of their requests, as JSON schemas, from the types of their own SDKs.

    python3 -m venv v && v/bin/pip install -r test/outside/descriptions/requirements.txt
    v/bin/python test/outside/descriptions/describe.py

Gemini's SDK names all settings of a request in one type; its converter says which of them are
settings of the generation, and which of them another service of Google's alone takes.
"""

import inspect
import json
import pathlib
import re
import warnings
from importlib.metadata import version

from anthropic.types.beta import message_create_params as beta_message
from anthropic.types import message_create_params as message
from google.genai import models, types
from openai.types import embedding_create_params as embedding
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

warnings.simplefilter("ignore")
folder = pathlib.Path(__file__).parent


class Lenient(GenerateJsonSchema):
    """A field that JSON can't have, such as a function, is any value: it is cut off later."""

    def handle_invalid_for_json_schema(self, schema, error_info):
        return {}


def schema_of(kind):
    return bare(TypeAdapter(kind).json_schema(schema_generator=Lenient))


def bare(node):
    """Without words for readers; what the SDK takes from its own answers, it sends as its inputs."""
    if isinstance(node, list):
        return [bare(each) for each in node]
    if not isinstance(node, dict):
        return node
    prose = {"title", "description", "default", "discriminator"}
    return {
        key: bare(value)
        for key, value in node.items()
        if not (key in prose and (key in ("default", "discriminator") or isinstance(value, str)))
    }


def is_answer(schema):
    return "properties" in schema and schema.get("additionalProperties") is True


def close(node, definitions):
    """An object takes the fields of its type alone."""
    if isinstance(node, list):
        for each in node:
            close(each, definitions)
    elif isinstance(node, dict):
        if isinstance(node.get("anyOf"), list):
            inputs = [
                each
                for each in node["anyOf"]
                if not is_answer(definitions.get(str(each.get("$ref", "")).removeprefix("#/$defs/"), {}))
            ]
            node["anyOf"] = inputs or node["anyOf"]
        if isinstance(node.get("properties"), dict) and node.get("type") == "object":
            node.setdefault("additionalProperties", False)
        for each in list(node.values()):
            close(each, definitions)


def references(node):
    if isinstance(node, list):
        return set().union(*map(references, node)) if node else set()
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"].removeprefix("#/$defs/")} if isinstance(node.get("$ref"), str) else set()
    return own.union(*map(references, node.values()))


def write(name, source, schema):
    definitions = schema.pop("$defs", {})
    close(schema, definitions)
    close(definitions, definitions)
    used, found = set(), references(schema)
    while found - used:
        used |= found
        found = set().union(*(references(definitions[each]) for each in used))
    def lines(members):
        return ",\n".join(
            f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in members
        )
    head = [("$comment", source)] + [item for item in schema.items() if item[0] != "properties"]
    text = (
        "{\n" + lines(head) + ',\n"properties":{\n' + lines(schema["properties"].items())
        + '\n},\n"$defs":{\n' + lines((each, definitions[each]) for each in sorted(used)) + "\n}\n}\n"
    )
    json.loads(text)
    (folder / f"{name}.json").write_text(text)


def write_params(name, package, params):
    schema = schema_of(params)
    for each in ["betas", "user_profile_id", "workspace_id"]:  # The SDK sends them as headers.
        schema["properties"].pop(each, None)
    if package == "anthropic":
        # Older models take them, but the SDK no longer has them; their types are those of 0.125.
        number = {"type": "number"}
        schema["properties"].update(temperature=number, top_p=number, top_k={"type": "integer"})
    if "stream" in schema["properties"]:
        schema["properties"]["stream"] = {"type": "boolean"}
    write(name, f"{package} {version(package)}, {params.__module__}.{params.__name__}", schema)


def only_elsewhere(name):
    """Fields of a type that the converter for this API refuses."""
    converter = getattr(models, f"_{name}_to_mldev", None)
    if converter is None:
        return set()
    refused = re.findall(r"\['(\w+)'\]\) is not None:\s+raise ValueError", inspect.getsource(converter))
    return {re.sub(r"_(\w)", lambda found: found[1].upper(), each) for each in refused}


def write_google():
    schema = schema_of(types.GenerateContentConfig)
    for each in ["Content", "Tool", "ToolConfig", "SafetySetting"]:
        more = schema_of(getattr(types, each))
        schema["$defs"].update(more.pop("$defs", {}))
        schema["$defs"][each] = more
    for each, definition in schema["$defs"].items():
        for field in only_elsewhere(each):
            definition.get("properties", {}).pop(field, None)
    # Google's own examples write them in lower case.
    kinds = schema["$defs"]["Type"]["enum"]
    schema["$defs"]["Type"]["enum"] = kinds + [each.lower() for each in kinds]
    source = inspect.getsource(models._GenerateContentConfig_to_mldev)
    inner = set(re.findall(r"setv\(\s*to_object,\s*\['(\w+)'\]", source))
    outer = set(re.findall(r"setv\(\s*parent_object,\s*\['(\w+)'\]", source))
    settings = schema["properties"]
    # Schemas and systems that the SDK takes in forms of its own and sends in this one.
    settings["responseSchema"] = {"$ref": "#/$defs/Schema"}
    settings["responseJsonSchema"] = {"type": "object"}
    settings["systemInstruction"] = {"$ref": "#/$defs/Content"}
    settings["tools"] = {"type": "array", "items": {"$ref": "#/$defs/Tool"}}
    settings["speechConfig"] = {"$ref": "#/$defs/SpeechConfig"}
    write(
        "google",
        f"google-genai {version('google-genai')}, google.genai.types.GenerateContentConfig,"
        " google.genai.models._GenerateContentConfig_to_mldev",
        {
            "type": "object",
            "required": ["contents"],
            "properties": {
                "contents": {"type": "array", "items": {"$ref": "#/$defs/Content"}},
                "generationConfig": {
                    "type": "object",
                    "properties": {each: settings[each] for each in settings if each in inner},
                },
                **{each: settings[each] for each in settings if each in outer},
            },
            "$defs": schema["$defs"],
        },
    )


write_params("chat", "openai", chat.CompletionCreateParamsNonStreaming)
write_params("responses", "openai", responses.ResponseCreateParamsNonStreaming)
write_params("embeddings", "openai", embedding.EmbeddingCreateParams)
write_params("messages", "anthropic", message.MessageCreateParamsNonStreaming)
write_params("messages-beta", "anthropic", beta_message.MessageCreateParamsNonStreaming)
write_google()
