/** Parses `--to` of `sluice usage follow`. Pure. */
import { show } from "../../../shared/checked.js";

/** `checked`: with TLS, and the server's certificate is verified. */
type Tls = "none" | "unchecked" | "checked";

export type Destination =
  | {
      readonly kind: "postgres";
      /** Without the TLS parameters. */
      readonly url: string;
      /** Without a password. */
      readonly displayUrl: string;
      readonly tls: Tls;
      /** A file with trusted authorities; null for those that Node trusts. */
      readonly caFile: string | null;
    }
  /** Null for standard output. */
  | { readonly kind: "ndjson"; readonly file: string | null }
  | { readonly kind: "https"; readonly url: string; readonly displayUrl: string };

type ParsedDestination =
  | { readonly ok: true; readonly value: Destination }
  | { readonly ok: false; readonly message: string };

const expected = "--to must be postgres://…, https://… or ndjson";
const loopback = /^(?:localhost|127\.[\d.]+|\[?::1\]?|)$/;

/** `output`: the file from `--output`. */
export function parseDestination(to: string, output: string | null): ParsedDestination {
  const text = to.trim();
  if (text === "ndjson") return { ok: true, value: { kind: "ndjson", file: output } };
  if (output !== null) return wrongDestination("--output is for --to ndjson");
  const url = URL.canParse(text) ? new URL(text) : null;
  switch (url?.protocol) {
    case "postgres:":
    case "postgresql:":
      return postgresDestination(url);
    case "https:":
    case "http:":
      return webDestination(url);
    default:
      if (text === "")
        return wrongDestination("--to is required: postgres://…, https://… or ndjson");
      return wrongDestination(`${expected}, not ${show(text.replace(/^.*@/s, "…@"))}`);
  }
}

function webDestination(url: URL): ParsedDestination {
  if (url.protocol === "http:" && !loopback.test(url.hostname))
    return wrongDestination(
      "--to must be an https:// address: records and the token would pass in the clear",
    );
  if (url.username !== "" || url.password !== "")
    return wrongDestination("--to must be without a password: give the token with --secret-file");
  return {
    ok: true,
    value: { kind: "https", url: url.href, displayUrl: `${url.origin}${url.pathname}` },
  };
}

const tlsOfMode: Readonly<Record<string, Tls>> = {
  disable: "none",
  require: "unchecked",
  "verify-ca": "checked",
  "verify-full": "checked",
};

/** A server on another host is reached by TLS, unless `sslmode` says otherwise. */
function postgresDestination(address: URL): ParsedDestination {
  const url = new URL(address);
  const mode = url.searchParams.get("sslmode");
  const caFile = url.searchParams.get("sslrootcert");
  url.searchParams.delete("sslmode");
  url.searchParams.delete("sslrootcert");
  const tls = mode === null ? null : (tlsOfMode[mode] ?? undefined);
  if (tls === undefined)
    return wrongDestination(
      `sslmode of --to must be one of ${Object.keys(tlsOfMode).join(", ")}, not ${show(mode)}`,
    );
  if (url.pathname.length < 2)
    return wrongDestination("--to must name a database, such as postgres://host/usage");
  // The host may also be the directory of a Unix socket.
  const host = url.searchParams.get("host") ?? url.hostname;
  const isHere = loopback.test(host) || host.startsWith("/");
  const display = `postgres://${url.host}${url.pathname}`;
  return {
    ok: true,
    value: {
      kind: "postgres",
      url: url.href,
      displayUrl: display,
      tls: tls ?? (isHere ? "none" : "checked"),
      caFile,
    },
  };
}

function wrongDestination(message: string): ParsedDestination {
  return { ok: false, message };
}
