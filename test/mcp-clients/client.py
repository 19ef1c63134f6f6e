"""`client.py auto|legacy`: the Python SDK, with the lines of client.mjs."""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def first_cause(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def call(job):
    came = {"tools": [], "revision": "", "said": "", "progress": 0, "error": ""}
    headers = {"authorization": f"Bearer {job['key']}"}
    try:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(job["url"], http_client=http), mode=sys.argv[1]) as client,
        ):
            came["revision"] = client.protocol_version
            came["tools"] = [tool.name for tool in (await client.list_tools()).tools]
            calling = None

            async def progressed(_progress, _total, _message):
                came["progress"] += 1
                if job["leave"]:
                    calling.cancel()

            given = {"a": 2, "b": 3} if job["tool"] == "add" else {}
            calling = asyncio.ensure_future(
                client.call_tool(
                    job["tool"], given, progress_callback=progressed, read_timeout_seconds=60
                )
            )
            result = await calling
            came["said"] = result.content[0].text
    except asyncio.CancelledError:
        came["error"] = "cancelled"
    except Exception as error:
        came["error"] = str(first_cause(error))
    return came


async def main():
    for line in sys.stdin:
        print(json.dumps(await call(json.loads(line))), flush=True)


asyncio.run(main())
