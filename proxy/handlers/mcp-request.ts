/**
 * `/mcp/{server}`: MCP's streamable HTTP to a configured server (docs/mcp.md), with Sluice's
 * credentials in place of the caller's. Each JSON-RPC request is admitted as a request to the
 * provider `mcp:{server}`, with the called tool as its model. So rules, budgets, keys and usage
 * records apply as to models. Notifications, answers to the server, streams of notifications and
 * the end of a session aren't limited; `runningPerCallerMax` bounds them.
 */
import { mcpProvider, modelNameProblem } from "../../shared/domain/target-name.js";
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import { targetOfTool, toolName } from "../../shared/usage/tool-calls.js";
import { authorizeCaller, callerName, denialOfDense, modelProblem } from "../auth/caller.js";
import { hasMoreValues, unauthenticatedValuesMax } from "../body/count-values.js";
import { type RpcMessage, readRpcMessage } from "../body/rpc-message.js";
import { runningPerCallerMax } from "../capacity/unlimited-requests.js";
import type { Gateway, Provider } from "../gateway.js";
import { unreadBody } from "../http/body-spool.js";
import { describeJson, forwardRequestHeaders } from "../http/copy-headers.js";
import type { Exchange } from "../http/exchange.js";
import { admittedHeaders } from "../http/limit-headers.js";
import { targetHeader } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import { sessionOf } from "../routing/session.js";
import { type ForwardResult, isGone } from "../upstream/forwarded.js";
import { type McpCall, relayMcp } from "../upstream/passthrough/relay-mcp.js";
import { admitRequest, finishRequest, refuseUnread, settleRequest } from "./admit-and-settle.js";
import { refuseBeforeAdmission, refuseCaller } from "./refuse-request.js";

/** A POST: one message. Never rejects. */
export async function mcpRequest(context: RequestContext): Promise<void> {
  const { gateway, exchange, caller, record } = context;
  const server = serverAt(gateway, exchange);
  if (server === null) return refuseBeforeAdmission(context, noServer(exchange));
  const isCompressed = exchange.header("content-encoding") !== undefined;
  if (isCompressed && (await refuseUnread(context))) return;
  const { bodyBytesMax } = gateway.config.server;
  const bodyResult = await exchange.readBody(bodyBytesMax);
  if (!bodyResult.ok) return refuseBeforeAdmission(context, unreadBody(bodyResult, bodyBytesMax));
  const { bytes } = bodyResult;
  const isDense = (): boolean => hasMoreValues(bytes, unauthenticatedValuesMax);
  const denied = await denialOfDense(gateway.limiter, caller, isDense);
  if (denied !== null) return refuseBeforeAdmission(context, denied);
  const message = readRpcMessage(bytes, gateway.isUtf8);
  if (message.kind === "invalid")
    return refuseBeforeAdmission(
      context,
      invalid(`the body must be one JSON-RPC message: ${message.problem}`, "body"),
    );
  if (message.kind === "request") exchange.rpcId = message.id;
  const mismatch = headerProblem(exchange, message);
  if (mismatch !== null) return refuseBeforeAdmission(context, mismatch);
  if (message.kind === "other") return passUncounted(context, server, bytes);
  const tool = message.method === "tools/call" ? message.name! : "";
  const problem = modelNameProblem(tool);
  if (problem !== null) return refuseBeforeAdmission(context, invalid(problem, "params.name"));
  const { name: provider } = server.config;
  record.model = `${provider}/${tool}`;
  record.session = sessionOf(exchange, null);
  const target = targetOfTool(provider, tool);
  const admitted = await admitRequest(context, {
    targets: [target],
    model: record.model,
    modelNames: [record.model],
  });
  if (admitted === null) return;
  const forwarded = await relayMcp(exchange, {
    ...callOf(context, server, bytes),
    rpcId: message.id,
    headers: [...admittedHeaders(admitted), "x-sluice-target", targetHeader(target)],
  });
  const isCall = tool !== "" && hasBegun(forwarded);
  settleRequest(
    context,
    admitted.admission,
    isCall ? { ...forwarded, toolCalls: { [toolName(record.model)]: 1 } } : forwarded,
  );
}

/** Whether the tool ran or may run: the server answers, or its answer was cut or given up. */
function hasBegun({ status, outcome, executed }: ForwardResult): boolean {
  return status === 200 || (executed && (isGone(outcome) || outcome === "upstream_cut"));
}

/** A GET or DELETE: a stream of notifications, or the end of a session. Never rejects. */
export async function mcpSession(context: RequestContext): Promise<void> {
  const { gateway, exchange, caller } = context;
  const server = serverAt(gateway, exchange);
  if (server === null) return refuseBeforeAdmission(context, noServer(exchange));
  const problem = modelProblem(caller, [`${server.config.name}/`]);
  if (problem !== null) return refuseBeforeAdmission(context, problem);
  const relayed = relayMcp(exchange, callOf(context, server, null));
  if (exchange.method === "DELETE") return endUncounted(context, await relayed);
  // A stop needn't wait for notifications: clients open the stream again.
  const session = { drain: () => exchange.cut() };
  gateway.sessions.add(session);
  const forwarded = await relayed;
  gateway.sessions.remove(session);
  endUncounted(context, forwarded);
}

/** Forwards a message that no rule counts, after checking its caller, since no admission does. */
async function passUncounted(
  context: RequestContext,
  server: Provider,
  bytes: Buffer,
): Promise<void> {
  const { gateway, exchange, record } = context;
  const authorized = await authorizeCaller(gateway.limiter, context.caller, "model");
  if (!authorized.ok) return refuseCaller(context, "model", authorized);
  const { caller } = authorized;
  record.setCaller(caller);
  const problem = modelProblem(caller, [`${server.config.name}/`]);
  if (problem !== null) return refuseBeforeAdmission({ ...context, caller }, problem);
  const name = callerName(caller);
  if (!gateway.runningPerCaller.begin("mcp_session", name))
    return refuseBeforeAdmission(
      { ...context, caller },
      failure(
        "overloaded",
        `${runningPerCallerMax.mcp_session} such requests of this caller are running already`,
      ),
    );
  const forwarded = await relayMcp(exchange, callOf(context, server, bytes));
  gateway.runningPerCaller.end("mcp_session", name);
  endUncounted(context, forwarded);
}

function endUncounted(
  { gateway, exchange, record }: RequestContext,
  forwarded: ForwardResult,
): void {
  record.setResult(forwarded);
  finishRequest({ gateway, exchange }, forwarded.finish);
}

function callOf(
  { gateway, exchange }: RequestContext,
  { config, passed, passthrough }: Provider,
  body: Buffer | null,
): McpCall {
  const { pathname, search } = new URL(config.baseUrl);
  const headers = forwardRequestHeaders(exchange.rawHeaders, passed);
  if (body !== null) describeJson(headers, exchange);
  return {
    upstream: passthrough!,
    provider: config.name,
    request: { method: exchange.method, path: pathname + search, headers, body },
    rpcId: null,
    headers: [],
    monoMs: gateway.monoMs,
    setTimer: gateway.setTimer,
  };
}

function serverAt(
  { mcpServers }: Pick<Gateway, "mcpServers">,
  { path }: Pick<Exchange, "path">,
): Provider | null {
  return mcpServers.get(mcpProvider(nameIn(path))) ?? null;
}

function nameIn(path: string): string {
  return path.split("/")[2]!.toLowerCase();
}

function noServer({ path }: Pick<Exchange, "path">): Failure {
  const name = JSON.stringify(nameIn(path).slice(0, 64));
  return plainFailure(404, "not_found_error", `no MCP server ${name} is configured`);
}

/**
 * Refuses headers that contradict the body: the server might run another method than the counted
 * one.
 */
function headerProblem(
  exchange: Pick<Exchange, "header">,
  { method, name }: Exclude<RpcMessage, { readonly kind: "invalid" }>,
): Failure | null {
  const methodHeader = exchange.header("mcp-method");
  if (methodHeader !== undefined && methodHeader !== method)
    return invalid("the header Mcp-Method differs from the method in the body", "mcp-method");
  const nameHeader = exchange.header("mcp-name");
  if (nameHeader !== undefined && name !== null && decoded(nameHeader) !== name)
    return invalid("the header Mcp-Name differs from the name in the body", "mcp-name");
  return null;
}

/** Decodes a name that a header can't contain, which is in base64. */
function decoded(value: string): string {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
  return base64 === undefined ? value : Buffer.from(base64, "base64").toString("utf8");
}
