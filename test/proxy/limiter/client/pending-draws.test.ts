import t from "tap";
import type { Admission, Metering } from "../../../../proxy/limiter/admission.js";
import type { LimiterClientOptions } from "../../../../proxy/limiter/client/limiter-client.js";
import { drawWaitMsMax } from "../../../../shared/bounds.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { ClientHarness, deadlineMs, expiryIntervalMs, gpt, kinds } from "./client-harness.js";

const metered = {
  promptTokens: 30,
  outputMax: null,
  isStreamed: true,
  rates: [{ input: 1, output: 2 }],
};

const waitMs = 30;

class Drawing {
  readonly harness: ClientHarness;
  admission!: Admission;
  answers = 0;

  constructor(options: Partial<LimiterClientOptions> = {}) {
    this.harness = new ClientHarness(options);
    this.harness.connect();
    this.harness.welcome();
  }

  get metering(): Metering {
    return this.admission.metering!;
  }

  async admit(allowance: number | null = 64): Promise<this> {
    const { client } = this.harness;
    const caller = { userPath: "/a", credential: "authenticated" };
    this.harness.take();
    const asked = client.admit(caller, [gpt], { metered });
    const [admit] = this.harness.take() as unknown as [{ id: number }];
    this.harness.receive({
      kind: "admitted",
      id: admit.id,
      target: 0,
      admittedAtMs: 100,
      lsn: 5,
      headers: null,
      key: null,
      allowance: allowance ?? undefined,
    });
    const outcome = await asked;
    if (outcome.kind === "admitted") this.admission = outcome.admission;
    return this;
  }

  draw(total: number): void {
    this.harness.client.draw(this.admission, { total, waitMs }, () => void this.answers++);
  }

  drawn(total: number, cap?: string): void {
    this.harness.receive({ kind: "drawn", id: this.admission.lease, total, cap });
  }
}

t.test("an admission says what it may use, and knows what it is granted", async (t) => {
  const drawing = await new Drawing().admit();
  t.same(drawing.metering, {
    promptTokens: 30,
    isPromptKnown: false,
    rates: { input: 1, output: 2 },
    granted: 64,
    spent: 0,
    cap: null,
  });
  const free = await new Drawing().admit(null);
  t.equal(free.admission.metering, undefined, "no hard cap counts it");
});

t.test("a draw asks for a total, and its answer raises the grant or ends it", async (t) => {
  const drawing = await new Drawing().admit();
  drawing.draw(128);
  const { lease } = drawing.admission;
  t.same(drawing.harness.take(), [
    { kind: "draw", id: lease, total: 128, promptTokens: undefined, waitMs },
  ]);
  t.equal(drawing.answers, 0);
  drawing.drawn(100);
  t.equal(drawing.answers, 1);
  t.equal(drawing.metering.granted, 100);
  Object.assign(drawing.metering, { promptTokens: 12, isPromptKnown: true });
  drawing.draw(164);
  t.match(drawing.harness.take(), exactly([{ total: 164, promptTokens: 12, waitMs }]));
  drawing.drawn(100, "budget of /a");
  t.match(drawing.metering, { granted: 100, cap: "budget of /a" });
  t.equal(drawing.answers, 2);
});

t.test("after a reconnect the lease says what it holds, and the draw is repeated", async (t) => {
  const drawing = await new Drawing().admit();
  const { harness } = drawing;
  drawing.draw(128);
  harness.lose();
  harness.take();
  harness.connect();
  const [hello] = harness.take();
  t.match(hello, {
    kind: "hello",
    leases: exactly([
      {
        lease: drawing.admission.lease,
        holding: { promptTokens: 30, output: 64, rates: { input: 1 } },
      },
    ]),
  });
  harness.welcome();
  t.match(
    harness.take().filter(({ kind }) => kind === "draw"),
    exactly([{ total: 128, waitMs }]),
  );
  drawing.drawn(128);
  t.equal(drawing.answers, 1);
});

t.test("without an answer in time the failure mode decides", async (t) => {
  for (const failureMode of ["open", "closed"] as const) {
    const drawing = await new Drawing({ failureMode }).admit();
    drawing.draw(128);
    drawing.harness.advance(deadlineMs + drawWaitMsMax + expiryIntervalMs);
    t.equal(drawing.answers, 1, failureMode);
    const expected =
      failureMode === "open"
        ? { granted: 128, cap: null }
        : { granted: 64, cap: "the limiter daemon does not answer" };
    t.match(drawing.metering, expected);
    t.same(drawing.harness.silences, ["silent"]);
    drawing.draw(192);
    t.equal(drawing.answers, 2, "a silent daemon isn't asked");
    if (failureMode === "closed") continue;
    t.equal(drawing.metering.granted, 192);
    drawing.drawn(128);
    t.equal(drawing.metering.granted, 192, "a late answer takes nothing back");
    t.equal(drawing.answers, 2);
  }
});

t.test("a late answer doesn't answer a later draw", async (t) => {
  const drawing = await new Drawing({ failureMode: "open" }).admit();
  drawing.draw(128);
  drawing.harness.advance(deadlineMs + drawWaitMsMax + expiryIntervalMs);
  drawing.harness.receive({ kind: "event", name: "limited", value: true });
  drawing.draw(192);
  drawing.drawn(128);
  t.equal(drawing.answers, 1);
  drawing.drawn(192);
  t.equal(drawing.answers, 2);
});

t.test("a settled request gets no answer", async (t) => {
  const drawing = await new Drawing().admit();
  drawing.draw(128);
  drawing.harness.client.settle(
    drawing.admission,
    { tokens: 1, estimated: false, record: null },
    () => {},
  );
  drawing.drawn(128);
  drawing.harness.advance(2 * (deadlineMs + drawWaitMsMax));
  t.equal(drawing.answers, 0);
  t.same(kinds(drawing.harness.take()), ["draw", "settle"]);
});
