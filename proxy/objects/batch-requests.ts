/**
 * Parses the body of a batch of messages, which contains the requests themselves: 100,000 of them
 * are more values than any other body may have. It parses them one by one, with pauses for other
 * work, and stores none.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import { hasMoreValues, tooManyValues } from "../body/count-values.js";
import { stringEnd } from "../body/scan-json.js";
import { notObject, type ParsedObjectBody, parseObjectText, partProblem } from "./object-body.js";
import { namedIds, namedMax } from "./object-ids.js";

/** Requests of one batch: twice as many as Anthropic accepts. */
export const requestsPerBatchMax = 200_000;

/** Parsed in one turn of the event loop, which takes some ten milliseconds. */
const charsPerTurn = 128 * 1024;
const requestsPerTurn = 1_000;

/** The beginning of such a body. For any other, the usual bound on values applies. */
const beginning = /^\s*\{\s*"requests"\s*:\s*\[/;

/** Why a request of a batch can't name this model; null if it can. */
type ModelCheck = (model: string, param: string) => Failure | null;

/** As `parseObjectBody`, but `requests` isn't in `fields`: its items are checked one by one. */
export async function parseBatchRequests(
  bytes: Buffer,
  isUtf8: (bytes: Buffer) => boolean,
  {
    nextTurn,
    modelProblem,
  }: { readonly nextTurn: () => Promise<void>; readonly modelProblem: ModelCheck },
): Promise<ParsedObjectBody> {
  await nextTurn();
  if (!isUtf8(bytes)) return notObject("it is not valid UTF-8");
  const text = bytes.toString("utf8");
  const first = beginning.exec(text)?.[0].length;
  if (first === undefined) {
    const parsed = parseObjectText(text);
    const { requests } = parsed.ok ? parsed.fields : {};
    if (!Array.isArray(requests)) return parsed;
    for (const [i, item] of requests.entries()) {
      const failure = itemProblem(item, `requests[${i}]`, modelProblem);
      if (failure !== null) return { ok: false, failure };
    }
    return parsed;
  }
  const ids = new Map<string, string>();
  let requests = 0;
  let from = first;
  let turn = { from, requests };
  for (;;) {
    const end = itemEnd(text, from);
    if (end === -1) return notObject("it is not valid JSON");
    const isLast = text[end] === "]";
    const item = text.slice(from, end);
    if (isLast) from = end;
    if (requests === 0 && isLast && item.trim() === "") break;
    const itemIds = readItem(item, `requests[${requests}]`, modelProblem);
    if (!itemIds.ok) return itemIds;
    if (ids.size <= namedMax) for (const [id, field] of itemIds.ids) ids.set(id, field);
    if (++requests > requestsPerBatchMax) {
      const problem = `requests must have at most ${requestsPerBatchMax} items`;
      return { ok: false, failure: invalid(problem, "requests") };
    }
    if (isLast) break;
    from = end + 1;
    if (end - turn.from > charsPerTurn || requests - turn.requests >= requestsPerTurn) {
      await nextTurn();
      turn = { from, requests };
    }
  }
  const rest = parseObjectText(text.slice(0, first) + text.slice(from));
  if (!rest.ok) return rest;
  for (const [id, field] of rest.named ?? []) ids.set(id, field);
  return { ...rest, named: rest.named === null || ids.size > namedMax ? null : ids };
}

type ItemResult =
  | { readonly ok: true; readonly ids: Iterable<readonly [id: string, field: string]> }
  | Extract<ParsedObjectBody, { readonly ok: false }>;

function itemProblem(item: unknown, param: string, modelProblem: ModelCheck): Failure | null {
  const params = isObject(item) ? item["params"] : null;
  const model = isObject(params) ? params["model"] : null;
  return typeof model === "string" ? modelProblem(model, `${param}.params.model`) : null;
}

function readItem(text: string, param: string, modelProblem: ModelCheck): ItemResult {
  if (hasMoreValues(text)) return { ok: false, failure: tooManyValues(param, param) };
  const value = parseJson(text);
  if (value === undefined) return notObject("it is not valid JSON");
  const problem =
    (isObject(value) ? partProblem(text, value) : null) ?? itemProblem(value, param, modelProblem);
  if (problem !== null) return { ok: false, failure: problem };
  const ids = namedIds(value);
  return ids === null
    ? { ok: false, failure: invalid(`${param} names more than ${namedMax} stored objects`, param) }
    : { ok: true, ids };
}

/**
 * The position after an item, at a comma or at the end of its list; -1 if there is none, so that
 * the text isn't JSON.
 */
function itemEnd(text: string, from: number): number {
  let depth = 0;
  for (let position = from; position < text.length; position++) {
    switch (text.charCodeAt(position)) {
      case 0x22: // "
        position = stringEnd(text, position) - 1;
        if (position < 0) return -1;
        break;
      case 0x7b: // {
      case 0x5b: // [
        depth++;
        break;
      case 0x2c: // ,
        if (depth === 0) return position;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        if (depth === 0) return text[position] === "]" ? position : -1;
        depth--;
        break;
      default:
    }
  }
  return -1;
}
