"""
Answers each method of an SDK with an example of the type that the SDK reads:
`python mock.py openai` prints the port. Which paths there are, and what each answers, is read from
the SDK's own resources.
"""

import ast
import base64
import importlib
import inspect
import json
import pathlib
import pkgutil
import re
import struct
import sys
import typing
from datetime import date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic import BaseModel

sdk = sys.argv[1]
calls = {"_get", "_post", "_put", "_patch", "_delete", "_get_api_list"}


def modules(name):
    package = importlib.import_module(name)
    yield package
    for found in pkgutil.walk_packages(package.__path__, name + "."):
        yield importlib.import_module(found.name)


def routes():
    for module in modules(f"{sdk}.resources"):
        tree = ast.parse(pathlib.Path(module.__file__).read_text())
        # Its other half is the same, with promises.
        sync = [each for each in tree.body if not getattr(each, "name", "").startswith("Async")]
        for call in ast.walk(ast.Module(sync, [])):
            name = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
            if name not in calls or not call.args:
                continue
            words = {each.arg: each.value for each in call.keywords}
            for constant in ast.walk(call.args[0]):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str) and constant.value[:1] == "/":
                    yield route(module, name, constant.value, words)


def route(module, name, template, words):
    def value(word):
        try:
            return eval(ast.unparse(words[word]), dict(vars(module)))
        except Exception:
            return None

    method = {"_get_api_list": value("method") or "get"}.get(name, name[1:]).upper()
    path = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template.split("?")[0]))
    return method, re.compile(path + "$"), value("page" if name == "_get_api_list" else "cast_to")


def example(kind, depth=0):
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if hasattr(kind, "__value__"):
        return example(kind.__value__, depth)
    if origin is typing.Annotated:
        return example(args[0], depth)
    if origin is typing.Literal:
        return args[0]
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return example(next(each for each in args if each is not type(None)), depth)
    if origin is list:
        return [] if depth > 6 else [example(args[0], depth + 1)]
    if origin is dict or kind in (dict, object):
        return {}
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        return {
            field.alias or name: example(field.annotation, depth + 1)
            for name, field in kind.model_fields.items()
            if field.is_required() or name == "data"
        }
    simple = {bool: True, int: 1, float: 1.5, datetime: "2026-01-01T00:00:00Z", date: "2026-01-01"}
    return simple.get(kind, "string")


table = list(routes())
ends = {
    "openai": b"data: [DONE]\n\n",
    "anthropic": b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("transfer-encoding") == "chunked":
            parts = b""
            while size := int(self.rfile.readline(), 16):
                parts += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return parts
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def answer(self):
        body = self.body()
        path = self.path.split("?")[0]
        if sdk == "openai":  # Its templates are below its base URL.
            path = path.removeprefix("/v1") if path.startswith("/v1/") else "/at-the-origin" + path
        # The template with the most fixed text is the most exact one.
        found = max(
            (each for each in table if each[0] == self.command and each[1].match(path)),
            key=lambda each: len(each[1].pattern.replace("[^/]+", "")),
            default=None,
        )
        if found is None:
            return self.send(404, "application/json", b'{"error":{"message":"no such path"}}')
        kind = found[2]
        if b'"stream":true' in body.replace(b" ", b""):
            return self.send(200, "text/event-stream", ends[sdk])
        if "Binary" in str(kind):
            return self.send(200, "application/octet-stream", b"bytes")
        if kind is str:
            return self.send(200, "text/plain", b"text")
        # A type that depends on the arguments: of a transcription.
        value = {"text": "string"} if kind is None else None if kind is type(None) else example(kind)
        # As the API does; the SDK's strict types know floats alone.
        if path == "/embeddings" and b'"encoding_format":"base64"' in body.replace(b" ", b""):
            for each in value["data"]:
                floats = struct.pack(f"<{len(each['embedding'])}f", *each["embedding"])
                each["embedding"] = base64.b64encode(floats).decode()
        self.send(200, "application/json", json.dumps(value).encode())

    def send(self, status, content_type, body):
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer


if "--list" in sys.argv:
    for method, path, kind in sorted(table, key=lambda each: each[1].pattern):
        print(method, path.pattern, kind, json.dumps(example(kind))[:80])
else:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
