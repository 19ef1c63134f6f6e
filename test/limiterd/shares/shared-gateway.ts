/** Hosts that share an engine, as the gateway of a worked case. */
import type { RuleCounts } from "../../../shared/api/rule-item.js";
import type { Admitted } from "../../../shared/wire/message-from-daemon.js";
import type { CaseGateway, CaseRequest } from "../../conformance/cases.js";
import { admittedResponse, refusedResponse } from "../../conformance/core-answers.js";
import { ask, leaseOf, settleOf } from "../in-memory-daemon.js";
import type { Host, Hosts } from "./hosts.js";

/** So that what one host was charged is known to the other, as a second later. */
const quietMs = 1300;

interface Open {
  readonly host: Host;
  readonly request: CaseRequest;
  readonly answer: Admitted;
}

/** `next`: the host that is asked next. */
export function gatewayOf(hosts: Hosts, next: () => Host): CaseGateway {
  const open = new Map<string, Open>();
  let asked = 0;
  let settled = 0;
  const settle = async ({ host, request, answer }: Open): Promise<void> => {
    const { userPath, provider, model, tokens } = request;
    host.proxy.send(settleOf(leaseOf(answer, userPath, { provider, model }), ++settled, tokens));
    await hosts.passQuietly(quietMs);
  };
  return {
    setClock: (ms) => hosts.pass(ms - hosts.wallMs()),
    async request(request) {
      const host = next();
      const { received } = host.proxy;
      const before = received.length;
      asked++;
      const { userPath, provider, model } = request;
      host.proxy.send({
        read: 0,
        kind: "admit",
        id: asked,
        userPath,
        credential: "authenticated",
        targets: [{ provider, model }],
        submission: false,
      });
      await hosts.pass(0);
      const answer = received.slice(before).find(({ kind }) => kind !== "settled");
      if (answer?.kind === "refused") return refusedResponse(answer);
      if (answer?.kind !== "admitted") throw new Error(`the answer is ${answer?.kind}`);
      if (request.keepOpenAs === null) await settle({ host, request, answer });
      else open.set(request.keepOpenAs, { host, request, answer });
      return admittedResponse(answer.headers);
    },
    async finish(name) {
      await settle(open.get(name)!);
      open.delete(name);
    },
    async list(userPath) {
      const host = next();
      const body = { user_path: userPath, start_date: "2026-01-01", end_date: "2026-01-01" };
      const status = await ask(host.daemon, "usage.status", body);
      return status["rate_limits"] as (RuleCounts & { subject: string })[];
    },
  };
}
