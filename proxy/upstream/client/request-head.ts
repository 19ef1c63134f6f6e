/**
 * Formats the head of a request to a provider. Refuses a name or value that could end a line, and
 * headers that would give the body another length.
 */
import { cacheByText } from "../../../shared/text/remembered.js";

class InvalidRequest extends Error {
  override name = "InvalidRequest";
}

/** What is sent before the body. */
export interface RequestHead {
  /** The head without the body's headers and the final empty line. */
  readonly text: string;
  /** The body's length according to the headers; null if they don't state one. */
  readonly length: number | null;
  /** Whether the method is one whose requests have a body. */
  readonly hasBody: boolean;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const notInValues = /[^\t\x20-\x7e\x80-\xff]/;
const notInPaths = /[^\x21-\xff]/;
const withBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "QUERY"]);
/** Headers that belong to the connection, which this client manages itself. */
const refused = /^(?:connection|transfer-encoding|keep-alive|upgrade|expect|te|trailer)$/i;

/** `host`: the provider's, in the form of the Host header, unless the headers have another one. */
export function requestHead(
  { method, path, headers }: { method: string; path: string; headers: readonly string[] },
  host: string,
  closes: boolean,
): RequestHead {
  if (!token.test(method)) throw new InvalidRequest("invalid request method");
  if (!path.startsWith("/") || notInPaths.test(path))
    throw new InvalidRequest("invalid request path");
  let length: number | null = null;
  let hostHeader: string | null = null;
  let rest = closes ? "connection: close\r\n" : "connection: keep-alive\r\n";
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (notInValues.test(value)) throw new InvalidRequest(`invalid ${name} header`);
    switch (checkedName(name)) {
      case "host":
        if (hostHeader !== null) throw new InvalidRequest("duplicate host header");
        hostHeader = value;
        break;
      case "length":
        if (length !== null || !/^\d+$/.test(value))
          throw new InvalidRequest("invalid content-length header");
        length = Number(value);
        break;
      case "refused":
        throw new InvalidRequest(`invalid ${name} header`);
      default:
        rest += `${name}: ${value}\r\n`;
    }
  }
  const text = `${method} ${path} HTTP/1.1\r\nhost: ${hostHeader ?? host}\r\n${rest}`;
  return { text, length, hasBody: withBody.has(method) };
}

type HeaderKind = "host" | "length" | "refused" | "other";

const checkedName = cacheByText((name: string): HeaderKind => {
  if (!token.test(name)) return "refused";
  const lower = name.toLowerCase();
  if (lower === "host") return "host";
  if (lower === "content-length") return "length";
  return refused.test(name) ? "refused" : "other";
});
