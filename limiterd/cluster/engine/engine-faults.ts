/**
 * Describes a fault of the engine in one sentence for the log and for users. The sentence never
 * contains a password or a command's arguments, only an error's code and the engine's own message.
 */

/** A fault whose message `faultOf` returns unchanged. */
export class EngineFault extends Error {
  override readonly name = "EngineFault";
}

export function unreadableFile(setting: string, error: unknown): EngineFault {
  return new EngineFault(`${setting} can't be read (${codeOf(error) ?? "no reason given"})`);
}

export function silentInTls(): EngineFault {
  return new EngineFault(
    "the engine hasn't answered in TLS in time: if it doesn't use TLS, its address must begin with valkey://",
  );
}

function codeOf(error: unknown): string | null {
  const code = error instanceof Error ? (error as { readonly code?: unknown }).code : undefined;
  return typeof code === "string" ? code : null;
}

const notTrusted =
  /^(?:CERT_|ERR_TLS_CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_SSL_.*CERT|HOSTNAME_MISMATCH)/;

/** The sentence for each error message of the engine or the connection; the first match applies. */
const sentences: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/ECONNREFUSED/, "nothing listens at the engine's address (ECONNREFUSED): check cluster.url"],
  [/ENOTFOUND|EAI_AGAIN/, "the name of the engine's host can't be resolved: check cluster.url"],
  [
    /EHOSTUNREACH|ENETUNREACH|EAFNOSUPPORT|EACCES|EPERM/,
    "no network leads to the engine from this process: check the firewall and the unit's cluster.conf",
  ],
  [
    /wrong version number|packet length too long|ERR_SSL|EPROTO/i,
    "the engine doesn't answer in TLS: if it doesn't use TLS, its address must begin with valkey://",
  ],
  [
    /Socket timeout|ETIMEDOUT/,
    "the engine hasn't answered in time: it is overloaded, or a firewall drops packets",
  ],
  [
    /WRONGPASS|invalid password|invalid username-password/,
    "the engine refuses cluster.username or its password",
  ],
  [/NOAUTH/, "the engine wants a password: set cluster.password or cluster.password_file"],
  [
    /^NOPERM|has no permissions|can't run this command/,
    "the engine's ACL doesn't allow all commands that are needed",
  ],
  [/unknown command .?(?:eval|evalsha|script)/i, "the engine has no Lua scripts (EVALSHA)"],
  [
    /unknown command/i,
    "the engine doesn't know a command that is needed: use Valkey 7.2, Redis 7.0 or newer",
  ],
  [/^READONLY/, "the engine is a replica that takes no writes: give the primary's address"],
  [/^OOM/, "the engine is full (maxmemory), and takes no writes"],
  [/^MISCONF/, "the engine takes no writes, since it can't write its data to disk"],
  [/^NOREPLICAS/, "the engine takes no writes, since too few replicas follow it"],
  [/^LOADING/, "the engine is reading its data from disk"],
  [/^MASTERDOWN/, "the engine is a replica whose primary is away"],
  [
    /^CLUSTERDOWN|startup nodes|slots cache|Too many Cluster redirections|^MOVED|^ASK|^TRYAGAIN|Cluster isn't ready/,
    "a part of the engine's Cluster is away",
  ],
  [/^BUSY/, "the engine runs a script that takes long"],
  [/All sentinels/, "no Sentinel answers, or none knows cluster.sentinel_master"],
  [
    /^Command queue state error/,
    "the engine answers what it wasn't asked: connect without a proxy or load balancer",
  ],
  [/Protocol error|as reply type byte/, "what answers at the address is no Valkey or Redis"],
  [
    /ECONNRESET|EPIPE|Connection is closed|connection close|Stream isn't writeable/,
    "the engine has closed the connection: check its maxclients, and the firewall",
  ],
];

/** Describes a fault in one sentence without a full stop. */
export function faultOf(error: unknown): string {
  if (error instanceof EngineFault) return error.message;
  const code = codeOf(error);
  if (code !== null && notTrusted.test(code))
    return `the engine's certificate isn't trusted (${code}): see cluster.ca_file`;
  const message = error instanceof Error ? error.message : String(error);
  const match = sentences.find(([pattern]) => pattern.test(`${message} ${code ?? ""}`));
  if (match === undefined) return `the engine or the connection to it fails: ${firstLine(message)}`;
  const command = /permissions to run the '([\w|]+)'/.exec(message)?.[1];
  return command === undefined ? match[1] : `${match[1]}: ${command} is refused`;
}

/** A command or script, for messages about its refusal. */
export interface EngineCommand {
  /** A command's name, or a script's. */
  readonly command: string;
  readonly keys: readonly string[];
}

/** The message of an error about one command. */
export function refusalOf(error: unknown, { command, keys }: EngineCommand): string {
  const message = firstLine(error instanceof Error ? error.message : String(error));
  const key = keys.map((part) => JSON.stringify(part)).join(", ");
  return `${command} fails in the engine, on the key ${key}: ${message.replace(/ script: .*$/, "")}`;
}

/** Whether the engine answers but refuses writes until its state changes. */
export function refusesWrites(error: unknown): boolean {
  return error instanceof Error && /^(?:OOM|MISCONF|NOREPLICAS) /.test(error.message);
}

/** Whether the error is about this one command: others may succeed. */
export function isAboutCommand(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "ReplyError") return false;
  return !sentences.some(([pattern]) => pattern.test(error.message));
}

function firstLine(text: string): string {
  return text.replace(/[\r\n].*/s, "").slice(0, 200);
}
