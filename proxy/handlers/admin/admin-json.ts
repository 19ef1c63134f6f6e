/** The JSON body of a request to /admin, and a failure in the shape of /admin. */
import { shortName } from "../../../shared/checked.js";
import { type Failure, invalid } from "../../../shared/error-code.js";
import { unreadBody } from "../../http/body-spool.js";
import { queryParameters } from "../../http/query-parameters.js";
import { replyFailure } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";

/** Far more than a rule needs; as msgpack, a body of this size fits into a frame. */
const adminBodyBytesMax = 16 * 1024;
/** A rule has shares, these have children, and each of them is an object. */
const adminBodyDepthMax = 4;

/** The bounds of a body with many rules. */
interface BodyBounds {
  readonly bytesMax: number;
  readonly depthMax: number;
}

const usual: BodyBounds = { bytesMax: adminBodyBytesMax, depthMax: adminBodyDepthMax };

/** Answers with a failure in the shape of /admin. */
export function failAdmin(
  { exchange, record }: Pick<RequestContext, "exchange" | "record">,
  failure: Failure,
): void {
  record.end(failure.status, "refused");
  replyFailure(exchange, "admin", failure);
}

/** For endpoints without parameters: refuses a request that has one. Returns whether it did. */
export function refusesParameters(context: Pick<RequestContext, "exchange" | "record">): boolean {
  const [name] = queryParameters(context.exchange.query).keys();
  if (name === undefined) return false;
  const shortened = shortName(name);
  failAdmin(context, invalid(`unknown parameter ${shortened}: there is none`, shortened));
  return true;
}

export type JsonBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** The body of an admin request as a JSON value: bounded in bytes and in depth. */
export async function readJson(
  { gateway, exchange }: Pick<RequestContext<"isUtf8">, "gateway" | "exchange">,
  { bytesMax, depthMax }: BodyBounds = usual,
): Promise<JsonBody> {
  const body = await exchange.readBody(bytesMax);
  if (!body.ok)
    return { ok: false, failure: unreadBody(body, bytesMax) ?? invalid("it broke off") };
  if (!gateway.isUtf8(body.bytes))
    return {
      ok: false,
      failure: invalid("the body must be a JSON object: it is not valid UTF-8", "body"),
    };
  try {
    const value: unknown = JSON.parse(body.bytes.toString("utf8"));
    if (isDeeper(value, depthMax))
      return {
        ok: false,
        failure: invalid(
          `the body must be a JSON object: it is nested more than ${depthMax} deep`,
          "body",
        ),
      };
    const unsendable = findProto(value, "");
    if (unsendable !== null)
      return { ok: false, failure: invalid(`unknown field ${unsendable}`, unsendable) };
    return { ok: true, value };
  } catch (error) {
    return {
      ok: false,
      failure: invalid(
        `the body must be a JSON object: ${error instanceof Error ? error.message : String(error)}`,
        "body",
      ),
    };
  }
}

/**
 * The path of a field `__proto__`, such as `limit_key.__proto__`; null without one. Such a field is
 * refused, because the reader of msgpack would rename it.
 */
function findProto(value: unknown, parentPath: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    const place =
      parentPath + (Array.isArray(value) ? `[${name}]` : parentPath === "" ? name : `.${name}`);
    const protoPath = name === "__proto__" ? place : findProto(member, place);
    if (protoPath !== null) return protoPath;
  }
  return null;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
