/** A collector of spans on loopback: OTLP over HTTP, of which it understands JSON alone. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  /** In nanoseconds. */
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  /** 2: an error. */
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: object }[];
}

export interface TraceCollector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** As they came, each with the attributes of who sent it. */
  readonly requests: { readonly path: string; headers: IncomingHttpHeaders; body: string }[];
  /** The attributes of who has sent spans last. */
  resource: Readonly<Record<string, unknown>>;
  /** What to do with each request from now on, after it is read. */
  answer: (response: ServerResponse) => void;
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

type SentSpan = Omit<CollectedSpan, "attributes" | "events"> & {
  readonly attributes: readonly Attribute[];
  readonly events?: readonly { readonly name: string; readonly attributes: Attribute[] }[];
};

/** Each value has one member, named after its type; whole numbers are texts. */
function valuesOf(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      "intValue" in value ? Number(value["intValue"]) : Object.values(value)[0],
    ]),
  );
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      collector.requests.push({ path: request.url ?? "", headers: request.headers, body });
      const isJson = request.headers["content-type"] === "application/json";
      const sent = isJson ? (JSON.parse(body) as Sent).resourceSpans : [];
      for (const { resource, scopeSpans } of sent) {
        collector.resource = valuesOf(resource.attributes);
        for (const span of scopeSpans.flatMap(({ spans }) => spans))
          collector.spans.push({
            ...span,
            attributes: valuesOf(span.attributes),
            events: (span.events ?? []).map(({ name, attributes }) => ({
              name,
              attributes: valuesOf(attributes),
            })),
          });
      }
      collector.answer(response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const collector: TraceCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    requests: [],
    resource: {},
    answer: (response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end("{}"),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}
