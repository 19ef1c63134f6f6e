/**
 * Every worked case against the pure core: rule book, verdict, charge and list, with time as an
 * argument.
 */

import t from "tap";
import type { Counter } from "../../../limiterd/counters/counter.js";
import { listRules } from "../../../limiterd/lists/list-rules.js";
import { admit } from "../../../limiterd/rules/admit.js";
import { charge, release } from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { refusalHeaders, successHeaders } from "../../../proxy/http/rate-limit-headers.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { Scope } from "../../../shared/domain/rule.js";
import {
  type CaseGateway,
  type CaseRule,
  limiterCases,
  playCase,
} from "../../conformance/cases.js";
import { wholeList } from "../lists/whole-list.js";

for (const item of limiterCases("all")) {
  t.test(`${item.id}: ${item.given.title}`, (t) =>
    playCase(t, item, coreGateway(item.given.rules, item.given.clock_base * 1000)),
  );
}

function coreGateway(rules: readonly CaseRule[], startMs: number): CaseGateway {
  let nowMs = startMs;
  const book = new RuleBook();
  for (const rule of rules) {
    book.put(
      {
        scope: (rule.scope ?? "user_path") as Scope,
        subject: rule.subject,
        periodSeconds: rule.period_seconds,
        maxRequests: rule.max_requests ?? null,
        maxTokens: rule.max_tokens ?? null,
        perChild: rule.per_child ?? false,
      },
      { source: "config", nowMs, lsn: 0 },
    );
  }
  const open = new Map<string, { counters: readonly Counter[]; tokens: number }>();
  const end = ({ counters, tokens }: { counters: readonly Counter[]; tokens: number }): void => {
    release(counters);
    charge(book, counters, { atMs: nowMs, requests: 0, tokens }, nowMs);
  };
  return {
    async setClock(ms) {
      nowMs = ms;
    },
    async request(request) {
      const verdict = admit(
        book,
        {
          userPath: request.userPath,
          targets: [{ provider: request.provider, model: request.model }],
          submission: false,
        },
        { nowMs, tokensEnforced: true },
      );
      if (verdict.kind !== "admitted") {
        const { breach } = verdict;
        if (breach.dimension === "budget") throw new Error("no budget was judged");
        const body = {
          error: {
            type: "rate_limit_error",
            message: refusalMessage(breach),
            param: null,
            code: "rate_limit_exceeded",
          },
        };
        return {
          status: 429,
          headers: asRecord(
            refusalHeaders(breach).filter((_, i, all) => all[i - (i % 2)] !== "x-should-retry"),
          ),
          body,
          upstreamCalled: false,
        };
      }
      const held = { counters: verdict.counters, tokens: request.tokens };
      if (request.keepOpenAs === null) end(held);
      else open.set(request.keepOpenAs, held);
      return {
        status: 200,
        headers: asRecord(successHeaders(verdict.headers)),
        body: null,
        upstreamCalled: true,
      };
    },
    async finish(name) {
      end(open.get(name)!);
      open.delete(name);
    },
    list: async () =>
      listRules(book, {
        nowMs,
        inertReason: () => null,
        configFile: null,
        declared: { get: () => null },
        query: wholeList,
      }).rate_limits,
  };
}

function asRecord(flat: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) record[flat[i]!] = flat[i + 1]!;
  return record;
}
