/**
 * `client.mjs 1|2 auto|legacy`: a client of the TypeScript SDK. Reads jobs as lines of JSON
 * (`{url, key, tool, leave}`), makes each call on a connection of its own, and prints what came of
 * it as one line: `{tools, revision, said, progress, error}`.
 */
import { createInterface } from "node:readline";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [version, mode] = process.argv.slice(2);

async function call({ url, key, tool, leave }) {
  const sdk = version === "2" ? v2 : { Client, StreamableHTTPClientTransport };
  const client = new sdk.Client(
    { name: "test", version: "1.0.0" },
    version === "2" ? { versionNegotiation: { mode } } : {},
  );
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  const came = { tools: [], revision: "", said: "", progress: 0, error: "" };
  try {
    await client.connect(transport);
    came.revision = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? "";
    came.tools = (await client.listTools()).tools.map(({ name }) => name);
    const leaving = new AbortController();
    const options = {
      signal: leaving.signal,
      timeout: 60_000,
      onprogress: () => {
        came.progress++;
        if (leave) leaving.abort();
      },
    };
    const request = { name: tool, arguments: tool === "add" ? { a: 2, b: 3 } : {} };
    const { content } =
      version === "2"
        ? await client.callTool(request, options)
        : await client.callTool(request, undefined, options);
    came.said = content[0].text;
  } catch (error) {
    came.error = `${error.message}`;
  }
  await client.close().catch(() => {});
  return came;
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await call(JSON.parse(line)))}\n`);
process.exit(0);
