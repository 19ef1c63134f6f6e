/** The settings of the proxy's server, `server.*` in the file. */
import type { Network } from "../ip-network.js";
import { boolean, passthroughAccess } from "../kinds/choice-kinds.js";
import { hostNames, networks, origins } from "../kinds/list-kinds.js";
import { integer, seconds } from "../kinds/number-kinds.js";
import { masterKey } from "../kinds/secret-kinds.js";
import { headerName, host } from "../kinds/text-kinds.js";
import type { PassthroughAccess } from "../provider-type.js";
import { setting } from "./setting.js";

export const serverSettings = {
  host: setting({
    path: "server.host",
    env: "HOST",
    flag: "host",
    kind: host,
    defaultValue: "127.0.0.1",
    defaultText: "127.0.0.1",
    unit: null,
    meaning: "The address that the proxy listens on.",
  }),
  port: setting({
    path: "server.port",
    env: "PORT",
    flag: "port",
    kind: integer({ min: 0, max: 65_535 }),
    defaultValue: 8080,
    defaultText: "8080",
    unit: null,
    meaning: "The port that the proxy listens on; 0 chooses any free one.",
  }),
  masterKey: setting({
    path: "server.master_key",
    env: "SLUICE_MASTER_KEY",
    flag: null,
    kind: masterKey,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning:
      "The token that opens all of /v1 and /admin; with neither it nor a JWT issuer or a managed key the gateway is open.",
  }),
  allowOpen: setting({
    path: "server.allow_open",
    env: "SLUICE_ALLOW_OPEN",
    flag: null,
    kind: boolean,
    defaultValue: false,
    defaultText: "false",
    unit: null,
    meaning: "Lets an open gateway listen on an address other than loopback.",
  }),
  allowedHosts: setting<readonly string[]>({
    path: "server.allowed_hosts",
    env: "SLUICE_ALLOWED_HOSTS",
    flag: null,
    kind: hostNames,
    defaultValue: [],
    defaultText: "none",
    unit: null,
    meaning:
      "The host names, besides localhost and server.host, by which callers without credentials may call an open gateway; IP addresses always may.",
  }),
  corsOrigins: setting<readonly string[]>({
    path: "server.cors_origins",
    env: "SLUICE_CORS_ORIGINS",
    flag: null,
    kind: origins,
    defaultValue: [],
    defaultText: "none",
    unit: null,
    meaning: "The origins of the web pages that may call from a browser (CORS).",
  }),
  trustedProxies: setting<readonly Network[]>({
    path: "server.trusted_proxies",
    env: "SLUICE_TRUSTED_PROXIES",
    flag: null,
    kind: networks,
    defaultValue: [],
    defaultText: "none",
    unit: null,
    meaning:
      "The addresses, or networks such as 10.0.0.0/8, of the reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.",
  }),
  passthrough: setting<PassthroughAccess>({
    path: "server.passthrough",
    env: "SLUICE_PASSTHROUGH",
    flag: null,
    kind: passthroughAccess,
    defaultValue: "master_key",
    defaultText: "master_key",
    unit: null,
    meaning:
      "Who may use /p/{provider}/…, which forwards requests unchanged, to any path of a provider, with its key: off, only the master key (and an open gateway's callers), or all callers.",
  }),
  userPathHeader: setting({
    path: "server.user_path_header",
    env: "USER_PATH_HEADER",
    flag: null,
    kind: headerName,
    defaultValue: "x-sluice-user-path",
    defaultText: "x-sluice-user-path",
    unit: null,
    meaning: "The request header in which a master-key caller names its user path, in any case.",
  }),
  bodyBytesMax: setting({
    path: "server.max_body_bytes",
    env: null,
    flag: null,
    kind: integer({ min: 1024, max: 1_073_741_824 }),
    defaultValue: 33_554_432,
    defaultText: "33554432",
    unit: "bytes",
    meaning: "The largest request body that is accepted; a larger one gets 413.",
  }),
  uploadBytesMax: setting({
    path: "server.max_upload_bytes",
    env: null,
    flag: null,
    kind: integer({ min: 1024, max: 1_099_511_627_776 }),
    defaultValue: 536_870_912,
    defaultText: "536870912",
    unit: "bytes",
    meaning:
      "The largest upload that is accepted, audio or a file, which isn't held in memory; a larger one gets 413.",
  }),
  heldBytesMax: setting<number | null>({
    path: "server.max_held_bytes",
    env: null,
    flag: null,
    kind: integer({ min: 1_048_576, max: 1_099_511_627_776 }),
    defaultValue: null,
    defaultText: "a quarter of the memory, at most 2 GiB",
    unit: null,
    meaning:
      "How many bytes of requests and answers a proxy holds in memory at once; a request that doesn't fit gets 503.",
  }),
  connectionsMax: setting({
    path: "server.max_connections",
    env: null,
    flag: null,
    kind: integer({ min: 1, max: 1_000_000 }),
    defaultValue: 10_000,
    defaultText: "10000",
    unit: null,
    meaning:
      "How many connections and requests a proxy holds at once; fewer if it may not open as many files.",
  }),
  drainMs: setting({
    path: "server.drain_seconds",
    env: null,
    flag: null,
    kind: seconds({ min: 0, max: 3600, zero: true }),
    defaultValue: 25_000,
    defaultText: "25",
    unit: "seconds",
    meaning: "How long a stopping proxy lets running requests finish.",
  }),
  stalledClientMs: setting({
    path: "server.stalled_client_seconds",
    env: null,
    flag: null,
    kind: seconds({ min: 0.1, max: 3600, zero: false }),
    defaultValue: 60_000,
    defaultText: "60",
    unit: "seconds",
    meaning: "How long a client may leave a response unread before its connection is closed.",
  }),
  streamKeepAliveMs: setting({
    path: "server.stream_keep_alive_seconds",
    env: null,
    flag: null,
    kind: seconds({ min: 0.1, max: 3600, zero: true }),
    defaultValue: 0,
    defaultText: "0",
    unit: "seconds",
    meaning:
      "After how long without a byte of a stream its client is sent a keep-alive, also before the answer begins; 0 never sends one.",
  }),
  requestIdInRefusals: setting({
    path: "server.request_id_in_refusals",
    env: null,
    flag: null,
    kind: boolean,
    defaultValue: false,
    defaultText: "false",
    unit: null,
    meaning:
      "Adds request_id beside error to the body of a 429 by Sluice, for callers that log bodies but no headers.",
  }),
} as const;
