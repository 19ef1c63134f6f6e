/**
 * Places breakpoints of Anthropic's prompt cache in a translated request. Anthropic caches only up
 * to a breakpoint, and clients of other dialects expect a cache that works without any.
 *
 * From a breakpoint Anthropic looks at most 20 blocks back for an earlier entry. Parallel calls can
 * add more blocks than that in one turn, so the end of the previous request gets a breakpoint too.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { CacheMode } from "../../../shared/config/provider-type.js";
import { append } from "../../../shared/long-lists.js";
import type { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";

type Block = Record<string, unknown>;

/** Anthropic refuses a request with more. */
const breakpointsMax = 4;

/**
 * `body`: the result of a translation, whose blocks are changed in place. The client's breakpoints
 * stay, the last four of them. Others are only added after them: those of five minutes must not
 * precede one of an hour, and a client that marks the end of its turns needs no others.
 */
export function placeBreakpoints(body: JsonObject, mode: CacheMode, check: RequestCheck): void {
  const tools = blocksOf(body["tools"]);
  const system = blocksOf(body["system"]);
  const messages = body["messages"] as readonly JsonObject[];
  const turns = messages.map(({ content }) => blocksOf(content));
  const all: Block[] = [...tools, ...system];
  for (const blocks of turns) append(all, blocks);
  const marked: Block[] = [];
  let lastMarked = -1;
  for (let i = 0; i < all.length; i++) if (addMarked(all[i]!, marked)) lastMarked = i;
  const surplus = marked.slice(0, -breakpointsMax);
  if (surplus.length > 0) check.drop("cache_control", `must mark at most ${breakpointsMax} blocks`);
  for (const block of surplus) delete block["cache_control"];
  if (mode === "off" || (tools.length === 0 && turns.length === 1)) return;
  const last = messages.findLastIndex(
    ({ role, content }) => role === "user" && Array.isArray(content),
  );
  // The most useful first. Turns alternate, so the previous request ended two turns before.
  const candidates = [turns[last], turns[last - 2], system, tools].map((blocks) =>
    blocks?.findLast(isCacheable),
  );
  let room = breakpointsMax - marked.length;
  for (const end of candidates) {
    if (room <= 0) return;
    if (end === undefined || all.indexOf(end) <= lastMarked) continue;
    end["cache_control"] = { type: "ephemeral" };
    room -= 1;
  }
}

function blocksOf(value: unknown): readonly Block[] {
  return Array.isArray(value) ? (value as readonly Block[]) : [];
}

/** Adds the block itself and the blocks of a tool's result that have a breakpoint, if any. */
function addMarked(block: Block, to: Block[]): boolean {
  const before = to.length;
  const { content } = block;
  if (Array.isArray(content))
    for (const part of content as readonly unknown[])
      if (isObject(part) && !isAbsent(part["cache_control"])) to.push(part as Block);
  if (!isAbsent(block["cache_control"])) to.push(block);
  return to.length > before;
}

/** Thinking can't have a breakpoint. */
function isCacheable({ type }: Block): boolean {
  return type !== "thinking" && type !== "redacted_thinking";
}
