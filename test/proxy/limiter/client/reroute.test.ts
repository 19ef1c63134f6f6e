import t from "tap";
import type { SuccessHeaders } from "../../../../shared/domain/verdict.js";
import { uncountedLsn, unlimitedLsn } from "../../../../shared/wire/lsn.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  admissionOf,
  ClientHarness,
  deadlineMs,
  expiryIntervalMs,
  gpt,
  linkedHarness,
  llama,
  nothing,
  promisesResolved,
} from "./client-harness.js";

const other = { ...llama, model: "other" };

t.test(
  "a failed target: its attempt is settled, then another is asked for; the admission keeps its lease",
  async (t) => {
    const harness = linkedHarness();
    const admission = await harness.granted("/team");
    const { lease, lsn, targetLsn } = admission;
    harness.take();
    const rerouting = harness.client.reroute(admission, [llama]);
    const [attempt, reroute] = harness.take();
    t.match(attempt, {
      kind: "settle",
      seq: 1,
      part: "attempt",
      lease,
      userPath: "/team",
      lsn,
      target: gpt,
      targetLsn,
      tokens: 0,
    });
    t.match(reroute, exactly({ kind: "reroute", lease, targets: [llama] }));
    t.equal(admission.target, null);
    const headers: SuccessHeaders = {
      requests: { limit: 10, remaining: 9, resetSeconds: 60 },
      tokens: null,
    };
    harness.receive({
      kind: "admitted",
      id: (reroute as { id: number }).id,
      target: 0,
      admittedAtMs: 500,
      lsn: 99,
      headers,
      key: null,
    });
    const outcome = await rerouting;
    t.match(outcome, { kind: "admitted", headers, key: null });
    t.equal(admissionOf({ outcome }), admission);
    harness.lose();
    harness.connect();
    t.match(
      harness.take(),
      exactly([
        { kind: "hello", leases: [{ lease, lsn, target: llama, targetAtMs: 500, targetLsn: 99 }] },
      ]),
    );
    harness.welcome({ settledSeq: 1 });
    harness.client.settle(admission, { tokens: 5, estimated: false, record: null }, () => {});
    t.match(
      harness.take(),
      exactly([
        {
          kind: "settle",
          seq: 2,
          part: "request",
          lease,
          lsn,
          target: llama,
          targetAtMs: 500,
          targetLsn: 99,
          tokens: 5,
        },
      ]),
    );
  },
);

t.test(
  "a reroute that is refused, or without an answer in mode closed, keeps the path's slot, and the settle names no target",
  async (t) => {
    for (const refused of [true, false]) {
      const harness = linkedHarness();
      const admission = await harness.granted();
      const rerouting = harness.client.reroute(admission, [llama]);
      const { id } = harness.take().at(-1) as { id: number };
      if (refused)
        harness.receive({
          kind: "refused",
          id,
          scope: "model",
          subject: "llama-3",
          periodSeconds: 0,
          dimension: "concurrent",
          cap: 1,
          waitSeconds: 1,
          key: null,
        });
      else harness.advance(deadlineMs + expiryIntervalMs);
      t.match(
        await rerouting,
        refused ? { kind: "refused", breach: { subject: "llama-3" } } : { kind: "unavailable" },
      );
      if (!refused)
        harness.receive({
          kind: "admitted",
          id,
          target: 0,
          admittedAtMs: 500,
          lsn: 99,
          headers: null,
          key: null,
        });
      t.match(
        harness.take(),
        exactly(
          refused
            ? { length: 0 }
            : [{ part: "untried", lease: admission.lease, target: llama, targetLsn: 99 }],
        ),
        "it came too late for anyone",
      );
      harness.client.settle(admission, nothing, () => {});
      t.match(
        harness.take(),
        exactly([
          {
            kind: "settle",
            part: "request",
            lease: admission.lease,
            target: null,
            targetLsn: 0,
          },
        ]),
      );
    }
  },
);

t.test(
  "open: a reroute without an answer uses the first target and tells so; what a late answer chooses is taken back",
  async (t) => {
    for (const chosen of [0, 1]) {
      const harness = linkedHarness({ failureMode: "open" });
      const admission = await harness.granted();
      const rerouting = harness.client.reroute(admission, [llama, other]);
      const { id } = harness.take().at(-1) as { id: number };
      harness.advance(deadlineMs + expiryIntervalMs);
      t.match(await rerouting, {
        kind: "admitted",
        headers: null,
        admission: { target: llama, targetLsn: 0 },
      });
      t.equal(harness.client.state, "silent");
      harness.receive({
        kind: "admitted",
        id,
        target: chosen,
        admittedAtMs: 500,
        lsn: 99,
        headers: null,
        key: null,
      });
      harness.client.settle(admission, { tokens: 3, estimated: false, record: null }, () => {});
      const { lease, lsn } = admission;
      t.match(
        harness.take(),
        exactly([
          { part: "request", lease: 0, lsn: uncountedLsn, target: llama, targetLsn: 0, tokens: 0 },
          { kind: "hold", leases: [{ lease, lsn, target: llama, targetLsn: uncountedLsn }] },
          { part: "untried", lease, target: [llama, other][chosen], targetLsn: 99, tokens: 0 },
          { part: "request", lease, lsn, target: llama, targetLsn: uncountedLsn, tokens: 3 },
        ]),
      );
    }
  },
);

t.test(
  "after a reconnect during a reroute: the lease without a target, then the failed attempt, then the reroute again",
  async (t) => {
    const harness = linkedHarness();
    const admission = await harness.granted();
    const rerouting = harness.client.reroute(admission, [llama]);
    harness.take();
    harness.lose();
    harness.advance(200);
    harness.connect();
    t.match(
      harness.take(),
      exactly([
        { kind: "hello", leases: [{ lease: admission.lease, target: null, targetLsn: 0 }] },
      ]),
    );
    harness.welcome();
    const sent = harness.take();
    t.match(
      sent,
      exactly([
        { kind: "settle", part: "attempt", target: gpt },
        { kind: "reroute", lease: admission.lease, targets: [llama] },
      ]),
    );
    harness.receive({
      kind: "admitted",
      id: (sent[1] as { id: number }).id,
      target: 0,
      admittedAtMs: 500,
      lsn: 99,
      headers: null,
      key: null,
    });
    t.match(await rerouting, { kind: "admitted", admission: { target: llama, targetLsn: 99 } });
  },
);

t.test(
  "a request without a verdict is rerouted without one: where no rule exists, and before its late verdict",
  async (t) => {
    const free = new ClientHarness();
    free.connect();
    free.welcome({ limited: false });
    const asked = free.ask();
    await promisesResolved();
    free.take();
    t.match(await free.client.reroute(admissionOf(asked), [llama]), {
      kind: "admitted",
      admission: { lease: 0, target: llama },
    });
    t.match(
      free.take(),
      exactly([
        {
          kind: "settle",
          part: "attempt",
          lease: 0,
          lsn: unlimitedLsn,
          target: gpt,
          targetLsn: unlimitedLsn,
        },
      ]),
    );
    const open = linkedHarness({ failureMode: "open" });
    const late = open.ask();
    const { id } = open.take()[0] as { id: number };
    open.advance(deadlineMs + expiryIntervalMs);
    await promisesResolved();
    t.match(await open.client.reroute(admissionOf(late), [llama]), {
      kind: "admitted",
      admission: { lease: 0, target: llama },
    });
    t.match(open.take(), exactly([{ part: "attempt", lease: 0, target: gpt, targetLsn: 0 }]));
    open.receive({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100,
      lsn: 5,
      headers: null,
      key: null,
    });
    open.client.settle(admissionOf(late), { tokens: 2, estimated: false, record: null }, () => {});
    t.match(
      open.take(),
      exactly([
        { part: "request", lease: 0, lsn: 0, target: llama, targetLsn: 0, tokens: 0 },
        { kind: "hold", leases: [{ lsn: uncountedLsn, target: llama }] },
        { part: "withdrawn", lease: id, lsn: 5, target: gpt },
        { part: "request", lsn: uncountedLsn, target: llama, targetLsn: uncountedLsn, tokens: 2 },
      ]),
    );
  },
);

t.test(
  "a settle says since when its target is tried if that took over without the daemon",
  async (t) => {
    const harness = new ClientHarness({ failureMode: "open" });
    harness.advance(deadlineMs);
    const [straight, asked] = [harness.ask(), harness.ask()];
    await promisesResolved();
    harness.advance(5000);
    await harness.client.reroute(admissionOf(asked), [llama]);
    harness.advance(200);
    harness.client.settle(admissionOf(asked), nothing, () => {});
    harness.client.settle(admissionOf(straight), nothing, () => {});
    harness.advance(100);
    harness.connect();
    harness.welcome();
    const settles = harness.take().filter((message) => message.kind === "settle");
    t.match(
      settles,
      exactly([
        { part: "attempt", target: gpt, startedAgoMs: 5300 },
        { part: "request", target: llama, startedAgoMs: 5300 },
        { part: "request", target: gpt, startedAgoMs: 5300 },
      ]),
    );
    t.same(
      settles.map(({ targetStartedAgoMs }) => targetStartedAgoMs),
      [undefined, 300, undefined],
    );
  },
);
