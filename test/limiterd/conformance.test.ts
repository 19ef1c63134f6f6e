/**
 * Every worked case against the pure core: rule book, verdict, charge and list, with time as an
 * argument.
 */

import t from "tap";
import type { Counter } from "../../limiterd/counters/counter.js";
import { listRules } from "../../limiterd/lists/list-rules.js";
import { admit } from "../../limiterd/rules/admit.js";
import { charge } from "../../limiterd/rules/charge.js";
import { RuleBook } from "../../limiterd/rules/rule-book.js";
import { freeSlots } from "../../limiterd/rules/slots.js";
import { type CaseGateway, type CaseRule, limiterCases, playCase } from "../conformance/cases.js";
import { admittedResponse, definitionOf, refusedResponse } from "../conformance/core-answers.js";
import { wholeList } from "./lists/whole-list.js";

for (const item of limiterCases("all")) {
  t.test(`${item.id}: ${item.given.title}`, (t) =>
    playCase(t, item, coreGateway(item.given.rules, item.given.clock_base * 1000)),
  );
}

function coreGateway(rules: readonly CaseRule[], startMs: number): CaseGateway {
  let nowMs = startMs;
  const book = new RuleBook();
  for (const rule of rules) book.put(definitionOf(rule), { source: "config", nowMs, lsn: 0 });
  const open = new Map<string, { counters: readonly Counter[]; tokens: number }>();
  const end = ({ counters, tokens }: { counters: readonly Counter[]; tokens: number }): void => {
    freeSlots(counters);
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
        return refusedResponse(breach);
      }
      const held = { counters: verdict.counters, tokens: request.tokens };
      if (request.keepOpenAs === null) end(held);
      else open.set(request.keepOpenAs, held);
      return admittedResponse(verdict.headers);
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
