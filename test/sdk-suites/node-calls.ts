/**
 * Every method of the Node SDKs of OpenAI and Anthropic, whose tests no registry has: called with
 * what its source says of its parameters, at an API that answers everything. The request that
 * arrives through Sluice must be the one that arrives directly.
 */
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

type Method = (...args: unknown[]) => unknown;

/** The method's name, and what came of it: the request that arrived, or the refusal. */
export type Calls = ReadonlyMap<string, string>;

export const nodeSdks = {
  "openai-node": (baseURL: string): object =>
    new OpenAI({ ...common, adminAPIKey: "key", baseURL }),
  "anthropic-node": (baseURL: string): object => new Anthropic({ ...common, baseURL }),
} as const;

const common = { apiKey: "key", maxRetries: 0, timeout: 10_000 };

/** Steps of their own, of several requests or none. */
const composite =
  /poll|stream$|^(?:runTools|toolRunner|parse|waitFor|uploadFiles|uploadAnd|connect|unwrap|verify|constructEvent|worker|poller)/i;

function* methodsOf(resource: object, path: string): Generator<readonly [string, Method]> {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(resource));
  const members = resource as Readonly<Record<string, unknown>>;
  for (const name of path === "" ? [] : names) {
    const method = members[name];
    if (typeof method === "function" && name !== "constructor" && !composite.test(name))
      yield [`${path}.${name}`, method.bind(resource) as Method];
  }
  for (const [name, member] of Object.entries(members))
    if (typeof member === "object" && member !== null && "_client" in member && name !== "_client")
      yield* methodsOf(member, path === "" ? name : `${path}.${name}`);
}

/** What the operations that Sluice reads need; the others pass it on. */
const body = {
  model: "gpt-4o",
  max_tokens: 10,
  messages: [{ role: "user", content: "x" }],
  input: "x",
  prompt: "x",
};

/** Strings for ids, and one object with what the method takes out of it. */
function argumentsOf(source: string): readonly unknown[] {
  const [, list = ""] = /^(?:async )?\w+\(([^)]*)\)/.exec(source) ?? [];
  const ids = [...source.matchAll(/const \{ ([^}]*?)(?:, \.\.\.\w+)? \} = /g)].flatMap(
    ([, names]) => names!.split(", ").filter((name) => name.endsWith("_id")),
  );
  const isQuery = /_client\.(?:get|delete)/.test(source);
  const params = {
    ...(isQuery ? {} : body),
    ...Object.fromEntries(ids.map((id) => [id, "x1"])),
    ...(source.includes("multipartFormRequestOptions")
      ? { file: new File(["x"], "x.txt"), image: new File(["x"], "x.png") }
      : {}),
  };
  return list
    .split(",")
    .map((parameter) => parameter.trim().split(" ")[0]!)
    .filter((name) => name !== "" && name !== "options")
    .map((name) => (/^(?:body|params|query)/.test(name) ? params : "x1"));
}

export async function callAll(
  sdk: keyof typeof nodeSdks,
  api: EveryApi,
  baseUrl: string,
): Promise<Calls> {
  const calls = new Map<string, string>();
  const client = nodeSdks[sdk](baseUrl);
  for (const [name, method] of methodsOf(client, "")) {
    api.arrived.length = 0;
    // Bound functions have no source of their own.
    const source = sourceOf(client, name);
    try {
      await method(...argumentsOf(source));
      calls.set(name, api.arrived.join(", ") || "nothing arrived");
    } catch (error) {
      calls.set(name, api.arrived.join(", ") || String(error).slice(0, 300));
    }
  }
  return calls;
}

function sourceOf(client: object, name: string): string {
  const found = name
    .split(".")
    .reduce<unknown>((at, part) => (at as Readonly<Record<string, unknown>>)[part], client);
  return String(found);
}

export interface EveryApi {
  readonly url: string;
  /** Method, path and body of each request since it was emptied. */
  readonly arrived: string[];
  close(): void;
}

/** Answers every request with an object that is empty, as far as SDKs look. */
export async function startEveryApi(): Promise<EveryApi> {
  const arrived: string[] = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => (body += piece.toString("latin1")));
    request.on("end", () => {
      // Boundaries are random.
      const text = body.replace(/-+(?:form-?data|geckoformboundary)[\w-]*/gi, "boundary");
      arrived.push(`${request.method} ${request.url} ${text}`);
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"id":"x1","object":"x","data":[],"has_more":false}');
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
