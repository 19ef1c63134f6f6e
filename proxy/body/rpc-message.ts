/**
 * Reads the JSON-RPC message of a POST to an MCP server: whether it is a request, and which tool it
 * calls. The server gets the client's bytes. So messages that the server could read in another way
 * are refused: batches, repeated members, and members whose names differ only in case, which some
 * parsers ignore.
 */
import { isObject } from "../../shared/checked.js";
import { hasMoreValues, valuesMax } from "./count-values.js";
import { type JsonMember, scanObject } from "./scan-json.js";

/** As the client wrote it. */
export type RpcId = string | number;

export type RpcMessage =
  /** `name`: of the tool, prompt or resource; null without one. */
  | {
      readonly kind: "request";
      readonly id: RpcId;
      readonly method: string;
      readonly name: string | null;
    }
  /** A notification, or an answer to a request of the server. */
  | { readonly kind: "other"; readonly method: string; readonly name: null }
  | { readonly kind: "invalid"; readonly problem: string };

/** `isUtf8`: that of node:buffer, or another complete check. */
export function readRpcMessage(bytes: Buffer, isUtf8: (bytes: Buffer) => boolean): RpcMessage {
  if (!isUtf8(bytes)) return invalid("it is not valid UTF-8");
  const text = bytes.toString("utf8");
  if (hasMoreValues(text, valuesMax)) return invalid(`it has more than ${valuesMax} values`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid("it is not JSON");
  }
  if (Array.isArray(value)) return invalid("it is a batch: send each message on its own");
  if (!isObject(value)) return invalid("it is not an object");
  const members = scanObject(text);
  const repeated = repeatedIn(members, ["jsonrpc", "id", "method", "params", "result", "error"]);
  if (repeated !== null) return invalid(`${repeated} is given more than once`);
  const { id, method, params } = value;
  if (method === undefined)
    return value["result"] === undefined && value["error"] === undefined
      ? invalid("method is required")
      : { kind: "other", method: "", name: null };
  if (typeof method !== "string") return invalid("method must be a text");
  // A lenient server would run any other method without an id, too.
  if (!Object.hasOwn(value, "id"))
    return method.startsWith("notifications/")
      ? { kind: "other", method, name: null }
      : invalid("id is required");
  if (typeof id !== "string" && typeof id !== "number")
    return invalid("id must be a text or a number");
  if (!isObject(params))
    return method === "tools/call"
      ? invalid("params.name is required")
      : { kind: "request", id, method, name: null };
  const paramsMember = members.find(({ key }) => key === "params")!;
  const inParams = repeatedIn(scanObject(text, paramsMember.start), ["name", "uri"]);
  if (inParams !== null) return invalid(`params.${inParams} is given more than once`);
  const targetOfCall = method === "resources/read" ? params["uri"] : params["name"];
  if (method === "tools/call" && (typeof targetOfCall !== "string" || targetOfCall === ""))
    return invalid("params.name is required");
  return {
    kind: "request",
    id,
    method,
    name: typeof targetOfCall === "string" ? targetOfCall : null,
  };
}

function invalid(problem: string): RpcMessage {
  return { kind: "invalid", problem };
}

/**
 * The first of these names that a member has in another case, or that two members have; null if
 * none.
 */
function repeatedIn(members: readonly JsonMember[], names: readonly string[]): string | null {
  for (const name of names) {
    const sameName = members.filter(({ key }) => key.toLowerCase() === name);
    if (sameName.length > 1 || (sameName.length === 1 && sameName[0]!.key !== name)) return name;
  }
  return null;
}
