/**
 * Every worked case, its requests dealt to two hosts in turn: they share one engine, and give the
 * verdicts that one host gives.
 */
import t from "tap";
import { limiterCases, playCase } from "../../conformance/cases.js";
import { definitionOf } from "../../conformance/core-answers.js";
import { startHosts } from "./hosts.js";
import { gatewayOf } from "./shared-gateway.js";

for (const item of limiterCases("all")) {
  t.test(`${item.id}: ${item.given.title}`, (t) => {
    const { rules, clock_base: baseSeconds } = item.given;
    const hosts = startHosts(rules.map(definitionOf), { startMs: baseSeconds * 1000 });
    let turn = 0;
    return playCase(
      t,
      item,
      gatewayOf(hosts, () => hosts.all[turn++ % hosts.all.length]!),
    );
  });
}
